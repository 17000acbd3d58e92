import { describe } from "../../base/describe.ts";
import { type ImageShape, imageShape } from "../../tensor/image_shape.ts";
import {
  type QuantizedTensor,
  type SignedWeights,
  signedWeights,
} from "../../tensor/quantized.ts";
import { isShape, type Tensor } from "../../tensor/tensor.ts";
import type { CellBody } from "../cell_body.ts";
import type {
  Activation,
  QuantizedOperator,
  Requantized,
  Value,
} from "../operator.ts";
import { lastAxis, rowsOf, shapeOf } from "../row_layout.ts";
import type { WindowAttributes } from "./images.ts";
import { matrixProduct } from "./matrix_product.ts";

/** How ranges are taken. */
export interface DynamicRange {
  /**
   * Bits of the bytes: 8, as ONNX has them, or 7, which products compute faster where the processor has no instruction
   * for bytes; default 8.
   */
  readonly bits?: 7 | 8;
  /**
   * One range for all that a request brings, as ONNX has it, or one for every row of the last axis; default "request".
   * With 7 bits and several rows "row" alone.
   */
  readonly per?: "request" | "row";
}

/** Scale and zero point (of unsigned bytes) that results are quantised with. */
export interface OutputRange {
  /** What a step of one is worth; positive. */
  readonly scale: number;
  /** The byte that is 0; default 0. Of ONNX's int8: 128 more. */
  readonly zero?: number;
  /** Applied before they are quantised; default none. */
  readonly activation?: Activation;
}

/** Attributes of convolutions of int8; as of Conv. */
export interface QuantizedConvAttributes extends WindowAttributes {
  /** One number per output channel, added in f32; default none. */
  readonly bias?: Tensor;
  /** Groups of channels that see only each other; default 1. */
  readonly group?: number;
}

/** Weights of a step of an LSTM or GRU. */
export interface QuantizedStep {
  /** Of x: [4h, x], or [3h, x]. */
  readonly w: QuantizedTensor;
  /** Of h: [4h, h], or [3h, h]. */
  readonly r: QuantizedTensor;
  /** [8h], or [6h], f32; default 0. */
  readonly b?: Tensor;
  /** Bits that x and h are quantised to; default 8. */
  readonly bits?: 7 | 8;
}

/**
 * Products of int8. Quantised rows are values of type "q8", which only these operators, Reshape and ports take. Their
 * bytes are unsigned: a signed zero point of ONNX's int8 is 128 more here, and what is multiplied is the same.
 */
export interface QuantizedOperators {
  /**
   * To bytes with a range that includes 0, rounded half to even: ONNX's, of each request by itself, so that results do
   * not depend on the batch.
   */
  DynamicQuantizeLinear(x: Value, range?: DynamicRange): Value;
  /** To bytes with a given scale and zero point (of unsigned bytes, default 0): round(x / scale) + zero, half to even. */
  QuantizeLinear(x: Value, range: { scale: number; zero?: number }): Value;
  /** (q - zero) scale, f32. */
  DequantizeLinear(q: Value): Value;
  /** W (q - zero), exact, i32: weight W [n, k] without its scale (ONNX MatMulInteger). */
  MatMulInteger(q: Value, weight: QuantizedTensor): Value;
  /** scale_q scale_W times this, plus the bias [n] (default none), f32; an activation behind it is fused. */
  MatMulIntegerToFloat(
    q: Value,
    weight: QuantizedTensor,
    bias?: Tensor,
  ): Value;
  /**
   * MatMulInteger of two values of a request, a [.., m, k] and b [.., k, n], i32. If transposed b is [.., n, k], and its
   * rows may have ranges of their own; otherwise they have one, quantised in the same cell.
   */
  DynamicMatMulInteger(
    a: Value,
    b: Value,
    options?: { transposed?: boolean },
  ): Value;
  /** scale_a scale_b times this, f32; an activation behind it is fused. */
  DynamicMatMulIntegerToFloat(
    a: Value,
    b: Value,
    options?: { transposed?: boolean },
  ): Value;
  /** This quantised again (ONNX QLinearMatMul). */
  QLinearMatMul(
    q: Value,
    weight: QuantizedTensor,
    range: OutputRange & { bias?: Tensor },
  ): Value;
  /** ONNX ConvInteger over images that are quantised whole; i32, an image. */
  ConvInteger(
    q: Value,
    weight: QuantizedTensor,
    attributes?: Omit<QuantizedConvAttributes, "bias">,
  ): Value;
  /** scale_q scale_W times this, plus the bias, f32; an activation behind it is fused. */
  ConvIntegerToFloat(
    q: Value,
    weight: QuantizedTensor,
    attributes?: QuantizedConvAttributes,
  ): Value;
  /** This quantised again (ONNX QLinearConv). */
  QLinearConv(
    q: Value,
    weight: QuantizedTensor,
    range: OutputRange & QuantizedConvAttributes,
  ): Value;
  /** One step of LSTM whose x and h (f32) are quantised, each request's with its own ranges; c stays f32. */
  DynamicQuantizeLSTM(
    x: Value,
    h: Value,
    c: Value,
    weights: QuantizedStep,
  ): { h: Value; c: Value };
  /** One step of GRU, linear_before_reset = 1, whose x and h are quantised. Returns the new state. */
  DynamicQuantizeGRU(x: Value, h: Value, weights: QuantizedStep): Value;
}

/** Longest sums of products of two bytes that fit 32 bits. */
const DYNAMIC_K_MAX = 33_025;

const CONV = ["strides", "pads", "dilations", "group"];
const RANGE = ["scale", "zero", "activation"];
const ACTIVATIONS: Readonly<Record<Activation, true>> = {
  Relu: true,
  Sigmoid: true,
  Tanh: true,
  Gelu: true,
  GeluTanh: true,
  Swish: true,
};

const NAMES: Readonly<Record<QuantizedOperator["op"], true>> = {
  DynamicQuantizeLinear: true,
  QuantizeLinear: true,
  DequantizeLinear: true,
  MatMulInteger: true,
  MatMulIntegerToFloat: true,
  DynamicMatMulInteger: true,
  DynamicMatMulIntegerToFloat: true,
  QLinearMatMul: true,
  ConvInteger: true,
  ConvIntegerToFloat: true,
  QLinearConv: true,
  DynamicQuantizeLSTM: true,
  DynamicQuantizeGRU: true,
};

/** Whether a cell has operators of int8. */
export function usesBytes(
  { operators }: { readonly operators: readonly { readonly op: string }[] },
): boolean {
  return operators.some(({ op }) => Object.hasOwn(NAMES, op));
}

export const quantizedOperators = (body: CellBody): QuantizedOperators => {
  const quantized = (op: string, q: Value): void => {
    body.own(`an input of ${op}`, q);
    body.expect(
      q.dtype === "q8",
      `${op} takes quantised rows, got ${q.dtype}; QuantizeLinear them`,
    );
  };

  const weights = (what: string, given: QuantizedTensor): SignedWeights =>
    signedWeights(`Cell "${body.cell}": ${what}`, given);

  const expectShape = (
    what: string,
    { shape }: QuantizedTensor,
    expected: readonly number[],
  ): void =>
    body.expect(
      isShape(shape, expected),
      `${what} has shape ${describe(shape)}, expected ${describe(expected)}`,
    );

  /** @throws RangeError unless they are those of a byte */
  const checkRange = (
    op: string,
    { scale, zero = 0 }: { scale: number; zero?: number },
  ): { scale: number; zero: number } => {
    body.expect(
      Math.fround(scale) > 0 && Number.isFinite(Math.fround(scale)) &&
        Number.isInteger(zero) && zero >= 0 && zero <= 255,
      `${op} takes a positive scale and a zero point from 0 to 255, got ${
        describe(scale)
      } and ${describe(zero)}`,
    );
    return { scale: Math.fround(scale), zero };
  };

  const requantized = (op: string, range: OutputRange): Requantized => {
    const { activation } = range;
    body.expect(
      activation === undefined || Object.hasOwn(ACTIVATIONS, activation),
      `${op} applies one of ${Object.keys(ACTIVATIONS).join(", ")}, got ${
        describe(activation)
      }`,
    );
    return { ...checkRange(op, range), ...(activation && { activation }) };
  };

  const levelsOf = (op: string, bits: 7 | 8): 127 | 255 => {
    body.expect(
      bits === 7 || bits === 8,
      `${op} has 7 or 8 bits, got ${describe(bits)}`,
    );
    return bits === 7 ? 127 : 255;
  };

  /** What products with a matrix have in common. */
  const product = (
    op: string,
    q: Value,
    weight: QuantizedTensor,
    bias?: Tensor,
  ) => {
    quantized(op, q);
    const given = weights(`${op} weight`, weight);
    const n = weight.shape[0];
    body.expect(
      q.image === undefined || q.image.channels === q.width,
      `${op} of an image of ${shapeOf(q)}: it takes plain rows`,
    );
    expectShape(`${op} weight`, weight, [n, lastAxis(q)]);
    if (bias) body.shape(`${op} bias`, bias, [n]);
    return { weight: given, ...(bias && { bias }), inputs: [q] };
  };

  /** Whether all rows of a value were quantised with one scale and zero point. */
  const hasOneRange = (q: Value): boolean => {
    const producer = body.operators.find(({ outputs }) => outputs.includes(q));
    switch (producer?.op) {
      case "Reshape":
        return hasOneRange(producer.inputs[0]);
      case "DynamicQuantizeLinear":
        return producer.per === "request" || rowsOf(q) === 1;
      case "QuantizeLinear":
      case "QLinearMatMul":
        return true;
      default:
        return rowsOf(q) === 1;
    }
  };

  /** What products of two values have in common. */
  const dynamicProduct = (
    op: string,
    [a, b]: readonly [Value, Value],
    transposed: boolean,
  ) => {
    quantized(op, a);
    quantized(op, b);
    const { m, n, k, before } = matrixProduct(body, op, [a, b], transposed);
    body.expect(
      k <= DYNAMIC_K_MAX,
      `${op} sums over ${k}, more than ${DYNAMIC_K_MAX}: 32 bits may not hold it`,
    );
    body.expect(
      transposed || hasOneRange(b),
      `${op} of rows of ${shapeOf(b)} that have ranges of their own, or of ` +
        `another cell: quantise them per request, or transpose`,
    );
    return { inputs: [a, b], shape: [...before, m, n] };
  };

  /** What convolutions have in common. */
  const convolution = (
    op: string,
    q: Value,
    weight: QuantizedTensor,
    attributes: QuantizedConvAttributes,
  ) => {
    quantized(op, q);
    const given = weights(`${op} weight`, weight);
    const { bias, group = 1, strides = 1, dilations = 1, pads = 0 } =
      attributes;
    const [out, , ...kernel] = weight.shape;
    body.expect(
      q.image !== undefined && weight.shape.length === 4,
      `${op} takes images and a weight of four axes, got ${shapeOf(q)} and ${
        describe(weight.shape)
      }`,
    );
    let shape: ImageShape;
    try {
      shape = imageShape({
        ...q.image!,
        outChannels: out,
        kernel: kernel as unknown as readonly [number, number],
        groups: group,
        stride: strides,
        dilation: dilations,
        pads: typeof pads === "number" ? [pads, pads, pads, pads] : pads,
      });
    } catch (error) {
      throw new RangeError(
        `Cell "${body.cell}": ${op} of an image of ${shapeOf(q)}: ${
          (error as Error).message
        }`,
      );
    }
    const { channels } = q.image!;
    expectShape(`${op} weight`, weight, [out, channels / group, ...kernel]);
    if (bias) body.shape(`${op} bias`, bias, [out]);
    return { weight: given, ...(bias && { bias }), shape, inputs: [q] };
  };

  const imageOf = (shape: ImageShape, dtype: "f32" | "i32" | "q8"): Value => {
    const { outHeight: height, outWidth: width, outChannels: channels } = shape;
    return body.declare(dtype, height * width * channels, {
      image: { height, width, channels },
    });
  };

  const step = (
    op: string,
    gates: number,
    [x, h]: readonly [Value, Value],
    { w, r, b, bits = 8 }: QuantizedStep,
  ) => {
    const hidden = h.width;
    const given = { w: weights(`${op} W`, w), r: weights(`${op} R`, r) };
    expectShape(`${op} W`, w, [gates * hidden, x.width]);
    expectShape(`${op} R`, r, [gates * hidden, hidden]);
    if (b) body.shape(`${op} B`, b, [2 * gates * hidden]);
    return { ...given, ...(b && { b }), levels: levelsOf(op, bits) };
  };

  return {
    DynamicQuantizeLinear(x, { bits = 8, per = "request" } = {}) {
      body.float("DynamicQuantizeLinear", x);
      const levels = levelsOf("DynamicQuantizeLinear", bits);
      body.expect(
        per === "row" || per === "request" && (bits === 8 || rowsOf(x) === 1),
        `DynamicQuantizeLinear to ${bits} bits per ${describe(per)} of ${
          shapeOf(x)
        }`,
      );
      return body.emit({
        op: "DynamicQuantizeLinear",
        levels,
        per,
        inputs: [x],
        outputs: [body.declare("q8", x.width, x)],
      });
    },

    QuantizeLinear(x, range) {
      body.known("QuantizeLinear", range, ["scale", "zero"]);
      body.float("QuantizeLinear", x);
      return body.emit({
        op: "QuantizeLinear",
        ...checkRange("QuantizeLinear", range),
        inputs: [x],
        outputs: [body.declare("q8", x.width, x)],
      });
    },

    DequantizeLinear(q) {
      quantized("DequantizeLinear", q);
      return body.emit({
        op: "DequantizeLinear",
        inputs: [q],
        outputs: [body.declare("f32", q.width, q)],
      });
    },

    MatMulInteger(q, weight) {
      const op = "MatMulInteger";
      return body.emit({
        op,
        ...product(op, q, weight),
        outputs: [body.alongside(q, "i32", weight.shape[0])],
      });
    },

    MatMulIntegerToFloat(q, weight, bias) {
      const op = "MatMulIntegerToFloat";
      return body.emit({
        op,
        ...product(op, q, weight, bias),
        outputs: [body.alongside(q, "f32", weight.shape[0])],
      });
    },

    DynamicMatMulInteger(a, b, { transposed = false } = {}) {
      const op = "DynamicMatMulInteger";
      const { inputs, shape } = dynamicProduct(op, [a, b], transposed);
      const outputs = [body.shaped("i32", shape)];
      return body.emit({ op, transposed, inputs, outputs });
    },

    DynamicMatMulIntegerToFloat(a, b, { transposed = false } = {}) {
      const op = "DynamicMatMulIntegerToFloat";
      const { inputs, shape } = dynamicProduct(op, [a, b], transposed);
      const outputs = [body.shaped("f32", shape)];
      return body.emit({ op, transposed, inputs, outputs });
    },

    QLinearMatMul(q, weight, range) {
      const op = "QLinearMatMul";
      body.known(op, range, [...RANGE, "bias"]);
      return body.emit({
        op,
        ...product(op, q, weight, range.bias),
        ...requantized(op, range),
        outputs: [body.alongside(q, "q8", weight.shape[0])],
      });
    },

    ConvInteger(q, weight, attributes = {}) {
      const op = "ConvInteger";
      body.known(op, attributes, CONV);
      const given = convolution(op, q, weight, attributes);
      const outputs = [imageOf(given.shape, "i32")];
      return body.emit({ op, ...given, outputs });
    },

    ConvIntegerToFloat(q, weight, attributes = {}) {
      const op = "ConvIntegerToFloat";
      body.known(op, attributes, [...CONV, "bias"]);
      const given = convolution(op, q, weight, attributes);
      const outputs = [imageOf(given.shape, "f32")];
      return body.emit({ op, ...given, outputs });
    },

    QLinearConv(q, weight, range) {
      const op = "QLinearConv";
      body.known(op, range, [...CONV, ...RANGE, "bias"]);
      const given = convolution(op, q, weight, range);
      const outputs = [imageOf(given.shape, "q8")];
      return body.emit({ op, ...given, ...requantized(op, range), outputs });
    },

    DynamicQuantizeLSTM(x, h, c, given) {
      const op = "DynamicQuantizeLSTM";
      body.known(op, given, ["w", "r", "b", "bits"]);
      body.float(op, x, h, c);
      body.expect(
        h.width === c.width,
        `${op} h (${h.width}) and c (${c.width}) have one width`,
      );
      const rest = step(op, 4, [x, h], given);
      const outputs = [
        body.declare("f32", h.width),
        body.declare("f32", h.width),
      ];
      body.emit({ op, ...rest, inputs: [x, h, c], outputs });
      return { h: outputs[0], c: outputs[1] };
    },

    DynamicQuantizeGRU(x, h, given) {
      const op = "DynamicQuantizeGRU";
      body.known(op, given, ["w", "r", "b", "bits"]);
      body.float(op, x, h);
      const rest = step(op, 3, [x, h], given);
      const outputs = [body.declare("f32", h.width)];
      return body.emit({ op, ...rest, inputs: [x, h], outputs });
    },
  };
};
