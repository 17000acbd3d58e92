/**
 * Operators on bytes of `com.microsoft`: between DequantizeLinear and QuantizeLinear they are what they are called, and
 * products of integers are found again (fuse/fuse_quantized.ts). ONNX Runtime takes tables or integers for some of
 * them, so that a byte may be one more or less there.
 */
import { N_BITS } from "./n_bits.ts";
import type { Expand, Expansion } from "./expansion.ts";

/** Inputs `i`, `i + 1` and `i + 2`: bytes, scale and zero point; of several scales one for each index of an axis. */
function dequantized(given: Expansion, i: number, axis = 1): string {
  const [x, scale, zero = ""] = given.node.inputs.slice(i, i + 3);
  return given.add(
    "DequantizeLinear",
    zero === "" ? [x, scale] : [x, scale, zero],
    { axis },
  );
}

/** Inputs `i` and `i + 1`: scale and zero point of the result. */
function quantize(given: Expansion, x: string, i: number): void {
  const [scale, zero = ""] = given.node.inputs.slice(i, i + 2);
  given.add(
    "QuantizeLinear",
    zero === "" ? [x, scale] : [x, scale, zero],
    {},
    given.node.outputs[0],
  );
}

const binary = (op: "Add" | "Mul"): Expand => (given) =>
  quantize(
    given,
    given.add(op, [dequantized(given, 0), dequantized(given, 3)]),
    6,
  );

const unary =
  (make: (x: string, given: Expansion) => string): Expand => (given) =>
    quantize(given, make(dequantized(given, 0), given), 3);

const averagePool = (x: string, given: Expansion): string => {
  given.refuse(given.int("channels_last") !== 0, "channels_last");
  const lists = ["kernel_shape", "strides", "pads"].flatMap((name) => {
    const value = given.attribute(name, "ints", []);
    return value.length === 0 ? [] : [[name, value] as const];
  });
  return given.add("AveragePool", [x], {
    ...Object.fromEntries(lists),
    ceil_mode: given.int("ceil_mode"),
    count_include_pad: given.int("count_include_pad"),
    auto_pad: given.attribute("auto_pad", "string", "NOTSET"),
  });
};

const globalAveragePool = (x: string, given: Expansion): string => {
  given.refuse(given.int("channels_last") !== 0, "channels_last");
  return given.add("GlobalAveragePool", [x]);
};

const concat: Expand = (given) => {
  const { length } = given.node.inputs;
  const parts = [];
  for (let i = 2; i < length; i += 3) parts.push(dequantized(given, i));
  const axis = given.int("axis");
  quantize(given, given.add("Concat", parts, { axis }), 0);
};

const qGemm: Expand = (given) => {
  const transB = given.int("transB");
  // Scales of B are those of its columns, as it is multiplied.
  const operands = [
    dequantized(given, 0),
    dequantized(given, 3, transB === 0 ? 1 : 0),
  ];
  if (given.has(6)) {
    const scale = given.add("Mul", [given.input(1), given.input(4)]);
    const bias = [given.input(6), scale];
    operands.push(given.add("DequantizeLinear", bias, { axis: -1 }));
  }
  const alpha = { float: given.float("alpha", 1) };
  // C is added to the sums of bytes, so that alpha, which scales these, is a factor of its scale as well.
  const attributes = {
    ...{ transA: given.int("transA"), transB },
    ...{ alpha, beta: alpha },
  };
  if (given.has(7)) {
    quantize(given, given.add("Gemm", operands, attributes), 7);
  } else given.add("Gemm", operands, attributes, given.node.outputs[0]);
};

/**
 * Sums of A B, times both scales, and a bias.
 * @param to its name; by default a new one
 */
export function scaled(
  given: Expansion,
  [a, b, aZero, bZero]: readonly string[],
  scales: readonly string[],
  bias: string,
  to?: string,
): string {
  const sums = given.add(
    "MatMulInteger",
    bZero !== "" ? [a, b, aZero, bZero] : aZero !== "" ? [a, b, aZero] : [a, b],
  );
  const floats = given.add("Cast", [sums], { to: FLOAT });
  const operands = [floats, given.add("Mul", scales)];
  return bias === ""
    ? given.add("Mul", operands, {}, to)
    : given.add("Add", [given.add("Mul", operands), bias], {}, to);
}

/** Of onnx.proto, `TensorProto.FLOAT`. */
const FLOAT = 1;

const matMulIntegerToFloat: Expand = (given) => {
  const [a, b, aScale, bScale, aZero = "", bZero = "", bias = ""] =
    given.node.inputs;
  const [to] = given.node.outputs;
  scaled(given, [a, b, aZero, bZero], [aScale, bScale], bias, to);
};

const dynamicQuantizeMatMul: Expand = (given) => {
  const [x, b, bScale, bZero = "", bias = ""] = given.node.inputs;
  const made = given.fresh(3);
  const [a, scale, zero] = given.several(
    ...["DynamicQuantizeLinear", [x], {}, made] as const,
  );
  const [to] = given.node.outputs;
  scaled(given, [a, b, zero, bZero], [scale, bScale], bias, to);
};

/** The same as ONNX's own. */
const asOwn = (op: string): Expand => (given) => {
  const { inputs, outputs } = given.node;
  given.add(op, inputs, { axis: given.int("axis", 1) }, outputs[0]);
};

export const QUANTIZED: Readonly<Record<string, Expand>> = {
  QLinearAdd: binary("Add"),
  QLinearMul: binary("Mul"),
  QLinearSigmoid: unary((x, given) => given.add("Sigmoid", [x])),
  QLinearLeakyRelu: unary((x, given) =>
    given.add("LeakyRelu", [x], {
      alpha: { float: given.float("alpha", 0.01) },
    })
  ),
  QLinearSoftmax: unary((x, given) =>
    given.add(
      "Softmax",
      [x],
      { axis: given.int("axis", -1) },
      undefined,
      given.int("opset", 13),
    )
  ),
  QLinearAveragePool: unary(averagePool),
  QLinearGlobalAveragePool: unary(globalAveragePool),
  QLinearConcat: concat,
  QGemm: qGemm,
  MatMulIntegerToFloat: matMulIntegerToFloat,
  DynamicQuantizeMatMul: dynamicQuantizeMatMul,
  ...N_BITS,
  QuantizeLinear: asOwn("QuantizeLinear"),
  DequantizeLinear: asOwn("DequantizeLinear"),
};
