/** Operators on bytes of `com.microsoft`, beside what they stand for. */
import {
  plainOf,
  type PlainTensor,
  plainTensor,
} from "../../src/tensor/plain_tensor.ts";
import { drawn, positive } from "./cell_cases.ts";
import { PARTS, parts } from "./contrib_attention.ts";
import { type Case, contrib, float, ids } from "./contrib_cases.ts";
import { node, type WrittenNode } from "./write_model.ts";

const bytes = (...dims: number[]) =>
  plainTensor(
    "int8",
    dims,
    Int8Array.from(drawn(...dims).data as Float32Array, (x) => 127 * x),
  );
const unsigned = (value: number) => plainOf("uint8", [], [value]);

const dequantize = (x: string, scale: string, zero: string, y: string) =>
  node("DequantizeLinear", [x, scale, zero], [y]);
const quantize = (x: string) => node("QuantizeLinear", [x, "ys", "yz"], ["y"]);
const RANGES = {
  xs: float(0.02),
  xz: unsigned(120),
  zs: float(0.01),
  zz: unsigned(7),
  ys: float(0.05),
  yz: unsigned(99),
};
const byteRows = (...dims: number[]): PlainTensor =>
  plainTensor(
    "uint8",
    dims,
    Uint8Array.from(
      positive(...dims).data as Float32Array,
      (x) => 255 * (x - 0.5),
    ),
  );
const unaryBytes = (
  op: string,
  own: WrittenNode,
  attributes: WrittenNode["attributes"] = {},
  dims: readonly number[] = [1, 12],
): Case => ({
  given: contrib(
    `QLinear${op}`,
    ["x", "xs", "xz", "ys", "yz"],
    ["y"],
    attributes,
  ),
  own: [dequantize("x", "xs", "xz", "a"), own, quantize("b")],
  inputs: { x: byteRows(...dims) },
  constants: RANGES,
});
const binaryBytes = (op: "Add" | "Mul"): Case => ({
  given: contrib(`QLinear${op}`, [
    ...["x", "xs", "xz", "z", "zs", "zz", "ys", "yz"],
  ]),
  own: [
    dequantize("x", "xs", "xz", "a"),
    dequantize("z", "zs", "zz", "c"),
    node(op, ["a", "c"], ["b"]),
    quantize("b"),
  ],
  inputs: { x: byteRows(1, 9), z: byteRows(1, 9) },
  constants: RANGES,
});

/** By name. */
export const BYTES: Readonly<Record<string, Case>> = {
  QLinearAdd: binaryBytes("Add"),
  QLinearMul: binaryBytes("Mul"),
  QLinearSigmoid: unaryBytes("Sigmoid", node("Sigmoid", ["a"], ["b"])),
  QLinearLeakyRelu: unaryBytes(
    "LeakyRelu",
    node("LeakyRelu", ["a"], ["b"], { alpha: { float: 0.25 } }),
    { alpha: { float: 0.25 } },
  ),
  QLinearSoftmax: unaryBytes(
    "Softmax",
    node("Softmax", ["a"], ["b"], { axis: 1 }),
    { axis: 1, opset: 13 },
  ),
  QLinearAveragePool: unaryBytes(
    "AveragePool",
    node("AveragePool", ["a"], ["b"], {
      kernel_shape: [2, 2],
      strides: [2, 1],
      pads: [1, 0, 0, 1],
    }),
    { kernel_shape: [2, 2], strides: [2, 1], pads: [1, 0, 0, 1] },
    [1, 2, 5, 4],
  ),
  QLinearGlobalAveragePool: unaryBytes(
    "GlobalAveragePool",
    node("GlobalAveragePool", ["a"], ["b"]),
    {},
    [1, 2, 5, 4],
  ),
  QLinearConcat: {
    given: contrib(
      "QLinearConcat",
      [
        ...["ys", "yz", "x", "xs", "xz", "z", "zs", "zz"],
      ],
      ["y"],
      { axis: 1 },
    ),
    own: [
      dequantize("x", "xs", "xz", "a"),
      dequantize("z", "zs", "zz", "c"),
      node("Concat", ["a", "c"], ["b"], { axis: 1 }),
      quantize("b"),
    ],
    inputs: { x: byteRows(1, 9), z: byteRows(1, 4) },
    constants: RANGES,
  },
  QGemm: {
    given: contrib("QGemm", [
      ...["x", "xs", "xz", "w", "ws", "wz", "b", "ys", "yz"],
    ]),
    own: [
      dequantize("x", "xs", "xz", "a"),
      dequantize("w", "ws", "wz", "c"),
      node("DequantizeLinear", ["b", "bs"], ["d"], { axis: 0 }),
      node("Gemm", ["a", "c", "d"], ["e"]),
      quantize("e"),
    ],
    inputs: { x: byteRows(1, 9) },
    constants: {
      ...RANGES,
      w: bytes(9, 4),
      ws: float(0.01),
      wz: plainOf("int8", [], [0]),
      b: plainOf("int32", [4], [100, -200, 300, 0]),
      bs: float(Math.fround(Math.fround(0.02) * Math.fround(0.01))),
    },
  },
  "QGemm with alpha and scales of columns": {
    given: contrib("QGemm", ["x", "xs", "xz", "w", "ws", "wz", "b"], ["y"], {
      transB: 1,
      alpha: { float: 0.5 },
    }),
    // alpha (A B + C), with C in units of both scales.
    own: [
      dequantize("x", "xs", "xz", "a"),
      node("Transpose", ["w"], ["t"], { perm: [1, 0] }),
      node("DequantizeLinear", ["t", "ws", "wz"], ["c"], { axis: 1 }),
      node("MatMul", ["a", "c"], ["d"]),
      node("Cast", ["b"], ["e"], { to: 1 }),
      node("Mul", ["xs", "ws"], ["s"]),
      node("Mul", ["e", "s"], ["f"]),
      node("Add", ["d", "f"], ["g"]),
      node("Mul", ["g", "half"], ["y"]),
    ],
    inputs: { x: byteRows(1, 4) },
    constants: {
      ...RANGES,
      half: float(0.5),
      // As many columns as rows: scales of either would do.
      w: bytes(4, 4),
      ws: plainOf("float32", [4], [0.01, 0.02, 0.03, 0.04]),
      wz: plainOf("int8", [4], [0, 5, -9, 20]),
      b: plainOf("int32", [1, 4], [100, -200, 300, 0]),
    },
  },
  MatMulIntegerToFloat: {
    given: contrib("MatMulIntegerToFloat", [
      ...["x", "w", "xs", "ws", "xz", "wz", "b"],
    ]),
    own: [
      node("MatMulInteger", ["x", "w", "xz", "wz"], ["a"]),
      node("Cast", ["a"], ["c"], { to: 1 }),
      node("Mul", ["xs", "ws"], ["s"]),
      node("Mul", ["c", "s"], ["d"]),
      node("Add", ["d", "b"], ["y"]),
    ],
    inputs: { x: byteRows(1, 9) },
    constants: {
      ...RANGES,
      w: bytes(9, 4),
      ws: float(0.01),
      wz: plainOf("int8", [], [0]),
      b: drawn(4),
    },
  },
  QAttention: {
    given: contrib(
      "QAttention",
      [
        ...["x", "w", "b", "xs", "ws", "mask", "xz", "wz"],
      ],
      ["y"],
      { num_heads: 2, unidirectional: 1 },
    ),
    own: [
      node("MatMulInteger", ["x", "w", "xz", "wz"], ["a"]),
      node("Cast", ["a"], ["c"], { to: 1 }),
      node("Mul", ["xs", "ws"], ["both"]),
      node("Mul", ["c", "both"], ["d"]),
      node("Add", ["d", "b"], ["e"]),
      node("Split", ["e"], ["q", "k", "v"], { axis: -1, num_outputs: 3 }),
      ...parts(["q", "k", "v"], "added"),
    ],
    inputs: { x: byteRows(1, 4, 5) },
    constants: {
      ...{ ...RANGES, ...PARTS },
      w: bytes(5, 18),
      // One for each column.
      ws: plainTensor(
        "float32",
        [18],
        Float32Array.from({ length: 18 }, (_, i) => (i + 1) / 1000),
      ),
      wz: plainOf("int8", [], [3]),
      b: drawn(18),
      mask: ids(1, 1, 0, 1),
      added: plainOf(
        "float32",
        [4, 4],
        Array.from(
          { length: 16 },
          (_, i) => i % 4 > i >> 2 ? -1e30 : i % 4 === 2 ? -10000 : 0,
        ),
      ),
    },
  },
  DynamicQuantizeMatMul: {
    given: contrib("DynamicQuantizeMatMul", ["x", "w", "ws", "wz", "b"]),
    own: [
      node("DynamicQuantizeLinear", ["x"], ["q", "qs", "qz"]),
      node("MatMulInteger", ["q", "w", "qz", "wz"], ["a"]),
      node("Cast", ["a"], ["c"], { to: 1 }),
      node("Mul", ["qs", "ws"], ["s"]),
      node("Mul", ["c", "s"], ["d"]),
      node("Add", ["d", "b"], ["y"]),
    ],
    inputs: { x: drawn(1, 9) },
    constants: {
      w: bytes(9, 4),
      ws: float(0.01),
      wz: plainOf("int8", [], [3]),
      b: drawn(4),
    },
  },
  QuantizeLinear: {
    given: contrib("QuantizeLinear", ["x", "ys", "yz"]),
    own: [quantize("x")],
    inputs: { x: drawn(1, 9) },
    constants: RANGES,
  },
  DequantizeLinear: {
    given: contrib("DequantizeLinear", ["x", "xs", "xz"]),
    own: [dequantize("x", "xs", "xz", "y")],
    inputs: { x: byteRows(1, 9) },
    constants: RANGES,
  },
};
