/**
 * Integers with a scale and a zero point, to the bit what the plain operators make of them: sums are exact, and
 * factors are multiplied in ONNX's order. A bias, which ONNX adds to the sum before that, is added by a kernel of
 * floats where all of these are small enough to be floats.
 */
import type { Value } from "../../graph/operator.ts";
import { tensor } from "../../tensor/tensor.ts";
import type { LoweredNode, NodeLowering } from "./lowered_node.ts";
import { imageSizeOf, type Operand } from "./operand.ts";
import {
  type ByteType,
  factorsOf,
  isByteType,
  isScale,
  perOutput,
  scalarIn,
  sumsAreFloats,
  transposedBytes,
  unsignedZero,
  type WeightBytes,
  weightBytes,
  withScales,
} from "../quantized_bytes.ts";
import { quantizedOf, QuantizedOperand, stepsOf } from "./quantized_operand.ts";
import { fourSides, windowOf } from "./images.ts";

/** A weight of which every row is an output; undefined unless it and its zero point, if there is one, are constant. */
function rowsAt(
  view: LoweredNode,
  i: number,
  zeroAt: number,
): WeightBytes | undefined {
  const zero = view.constant(zeroAt);
  return view.has(zeroAt) && !zero
    ? undefined
    : weightBytes(view.constant(i), zero);
}

/** The same of a matrix of which every column is. */
function columnsAt(
  view: LoweredNode,
  i: number,
  zeroAt: number,
): WeightBytes | undefined {
  const zero = view.constant(zeroAt);
  return view.has(zeroAt) && !zero
    ? undefined
    : weightBytes(transposedBytes(view.constant(i)), zero);
}

/** What says how a value is quantised: inputs `i` and `i + 1`, each one number. */
function rangeAt(
  view: LoweredNode,
  i: number,
): { scale: number; zero: number } | undefined {
  const scale = scalarIn(view.constant(i));
  const zero = view.has(i + 1) ? scalarIn(view.constant(i + 1)) : 0;
  return isScale(scale) && zero !== undefined ? { scale, zero } : undefined;
}

/** A value of a request in bytes. */
function isBytes({ type, constant }: Operand): boolean {
  return isByteType(type) && constant === undefined;
}

/** Whether it is an image or a signal, of which channels alone are not all. */
function isSpatial({ dims }: Operand): boolean {
  return dims.length >= 3 && imageSizeOf(dims) !== undefined;
}

/** The node's result, of bytes of its type. */
function made(view: LoweredNode, value: Value, zero: number): QuantizedOperand {
  const { type, dims } = view.around.known(view.result);
  return new QuantizedOperand(
    view.op,
    { type: type as ByteType, dims },
    value,
    zero,
  );
}

const quantizeLinear: NodeLowering = (view) => {
  const x = view.operand();
  const range = rangeAt(view, 1);
  const { type } = view.around.known(view.result);
  if (x.type !== "float32" || x.constant || !range || !isByteType(type)) {
    return undefined;
  }
  return quantized(view, x.any, range);
};

/** x / scale, which is rounded as ONNX does it, to bytes of scale 1. */
function quantized(
  view: LoweredNode,
  x: Value,
  { scale, zero }: { scale: number; zero: number },
): QuantizedOperand {
  const { op } = view;
  const { type } = view.around.known(view.result);
  const steps = scale === 1
    ? x
    : op.Div(x, op.Constant(tensor([1], Float32Array.of(scale))));
  const bytes = op.QuantizeLinear(steps, {
    scale: 1,
    zero: unsignedZero(type as ByteType, zero),
  });
  return made(view, bytes, zero);
}

const dequantizeLinear: NodeLowering = (view) => {
  const x = view.operand();
  const range = rangeAt(view, 1);
  if (!isBytes(x) || !range) return undefined;
  const steps = stepsOf(x, range.zero).any;
  if (range.scale === 1) return steps;
  const scale = tensor([1], Float32Array.of(range.scale));
  return view.op.Mul(steps, view.op.Constant(scale));
};

/** A product or a convolution, as its kernels are called. */
interface Kernels {
  quantised(weight: WeightBytes, factors: number[], zero: number): Value;
  sums(weight: WeightBytes, bias: Float32Array): Value;
}

/** Sums of bytes with a bias, scaled and quantised again. */
function requantized(
  view: LoweredNode,
  { weight, factors, zero, bias, inputZero }: {
    weight: WeightBytes;
    factors: number[];
    /** Of results, in their type. */
    zero: number;
    bias: ArrayLike<number> | undefined;
    /** Of unsigned bytes. */
    inputZero: number;
  },
  kernels: Kernels,
): QuantizedOperand | undefined {
  const { op } = view;
  const type = view.around.known(view.result).type as ByteType;
  const unsigned = unsignedZero(type, zero);
  if (!bias || Array.from(bias).every((one) => one === 0)) {
    return made(view, kernels.quantised(weight, factors, unsigned), zero);
  }
  if (!sumsAreFloats(weight, inputZero, bias)) return undefined;
  const sums = kernels.sums(weight, Float32Array.from(bias));
  const scaled = op.Mul(
    sums,
    op.Constant(tensor([factors.length], Float32Array.from(factors))),
  );
  return made(
    view,
    op.QuantizeLinear(scaled, { scale: 1, zero: unsigned }),
    zero,
  );
}

/** Results come behind a bias that QLinearMatMul has not: ONNX Runtime's QGemm. */
const qLinearProduct = (biasAt: number | undefined): NodeLowering => (view) => {
  const { op } = view;
  const a = view.operand(0);
  const after = biasAt === undefined ? 6 : 7;
  const [from, to] = [rangeAt(view, 1), rangeAt(view, after)];
  if (!isBytes(a) || a.rank < 2 || !from || !to) return undefined;
  const weight = columnsAt(view, 3, 5);
  const scales = weight && perOutput(view.constant(4), weight.shape[0]);
  const factors = scales && factorsOf(from.scale, scales, to.scale);
  if (!weight || !factors) return undefined;
  const bias = biasAt === undefined ? undefined : view.numbers(biasAt);
  const inputZero = unsignedZero(a.type as ByteType, from.zero);
  const rows = () => quantizedOf(a, from.zero, "row");
  return requantized(
    view,
    { weight, factors, zero: to.zero, bias, inputZero },
    {
      quantised: (weight, factors, zero) =>
        op.QLinearMatMul(rows(), withScales(weight, factors), {
          scale: 1,
          zero,
        }),
      sums: (weight, bias) =>
        op.MatMulIntegerToFloat(
          rows(),
          withScales(weight, [1]),
          tensor([bias.length], bias),
        ),
    },
  );
};

const qLinearConv: NodeLowering = (view) => {
  const { op } = view;
  const x = view.operand(0);
  const [from, to] = [rangeAt(view, 1), rangeAt(view, 6)];
  if (!isBytes(x) || !isSpatial(x) || !from || !to) return undefined;
  if (view.has(8) && !view.constant(8)) return undefined;
  const weight = rowsAt(view, 3, 5);
  const window = weight && windowOf(view, weight.shape.slice(2));
  const scales = weight && perOutput(view.constant(4), weight.shape[0]);
  const factors = scales && factorsOf(from.scale, scales, to.scale);
  if (!weight || !factors || !window) return undefined;
  const attributes = { ...window, group: view.int("group", 1) };
  const inputZero = unsignedZero(x.type as ByteType, from.zero);
  const four = { ...weight, shape: fourSides(weight.shape) };
  const image = () => quantizedOf(x, from.zero, "image");
  const bias = view.numbers(8);
  return requantized(
    view,
    { weight: four, factors, zero: to.zero, bias, inputZero },
    {
      quantised: (weight, factors, zero) =>
        op.QLinearConv(image(), withScales(weight, factors), {
          ...attributes,
          ...{ scale: 1, zero },
        }),
      sums: (weight, bias) =>
        op.ConvIntegerToFloat(image(), withScales(weight, [1]), {
          ...attributes,
          bias: tensor([bias.length], bias),
        }),
    },
  );
};

/** The zero point of what is multiplied; undefined where it is not known before. */
function zeroAt(view: LoweredNode, i: number): number | undefined {
  return view.has(i) ? scalarIn(view.constant(i)) : 0;
}

const matMulInteger: NodeLowering = (view) => {
  const a = view.operand(0);
  const zero = zeroAt(view, 2);
  const weight = columnsAt(view, 1, 3);
  if (!isBytes(a) || a.rank < 2 || zero === undefined || !weight) {
    return undefined;
  }
  return view.op.MatMulInteger(
    quantizedOf(a, zero, "row"),
    withScales(weight, [1]),
  );
};

const convInteger: NodeLowering = (view) => {
  const { op } = view;
  const x = view.operand(0);
  const zero = zeroAt(view, 2);
  const weight = rowsAt(view, 1, 3);
  const window = weight && windowOf(view, weight.shape.slice(2));
  if (!isBytes(x) || !isSpatial(x) || zero === undefined || !window) {
    return undefined;
  }
  const sums = op.ConvInteger(
    quantizedOf(x, zero, "image"),
    withScales({ ...weight, shape: fourSides(weight.shape) }, [1]),
    { ...window, group: view.int("group", 1) },
  );
  const { height, width, channels } = sums.image!;
  const pixels = op.Reshape(sums, [height * width, channels]);
  return op.Transpose(pixels, [1, 0]);
};

/** Quantised values of requests, of which several products are made. */
const DYNAMIC = new WeakMap<Operand, Map<"row" | "image", Value>>();

function dynamicallyQuantized(x: Operand, layout: "row" | "image"): Value {
  const known = DYNAMIC.get(x) ?? new Map<"row" | "image", Value>();
  DYNAMIC.set(x, known);
  const found = known.get(layout) ??
    x.op.DynamicQuantizeLinear(layout === "image" ? x.image : x.row);
  known.set(layout, found);
  return found;
}

/** ONNX Runtime's: inputs A (f32), B, scale of B, zero point of B. */
const dynamicQuantizeMatMul: NodeLowering = (view) => {
  const weight = columnsAt(view, 1, 3);
  const scales = weight && perOutput(view.constant(2), weight.shape[0]);
  if (!weight || !scales) return undefined;
  return view.op.MatMulIntegerToFloat(
    dynamicallyQuantized(view.operand(), "row"),
    withScales(weight, scales),
    view.takeBias(view.dims().length - 1),
  );
};

/** The same of a convolution. */
const dynamicQuantizeConv: NodeLowering = (view) => {
  const weight = rowsAt(view, 1, 3);
  const scales = weight && perOutput(view.constant(2), weight.shape[0]);
  const window = weight && windowOf(view, weight.shape.slice(2));
  if (!weight || !scales || !window) return undefined;
  const bias = view.takeBias(1);
  return view.op.ConvIntegerToFloat(
    dynamicallyQuantized(view.operand(), "image"),
    withScales({ ...weight, shape: fourSides(weight.shape) }, scales),
    { ...window, group: view.int("group", 1), ...(bias && { bias }) },
  );
};

export const QUANTIZED: Readonly<Record<string, NodeLowering>> = {
  QuantizeLinear: quantizeLinear,
  DequantizeLinear: dequantizeLinear,
  QLinearMatMul: qLinearProduct(undefined),
  QLinearConv: qLinearConv,
  MatMulInteger: matMulInteger,
  ConvInteger: convInteger,
};

/** What patterns of nodes have become (fuse_quantized.ts). */
export const FUSED_QUANTIZED: Readonly<Record<string, NodeLowering>> = {
  QGemm: qLinearProduct(6),
  DynamicQuantizeMatMul: dynamicQuantizeMatMul,
  DynamicQuantizeConv: dynamicQuantizeConv,
};
