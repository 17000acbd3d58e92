/** Small models of int8 of every kind, with seeded weights. */
import { Prng } from "../../src/base/prng.ts";
import type { OperatorName } from "../../src/graph/operator.ts";
import {
  numbersOf,
  plainOf,
  type PlainTensor,
  plainTensor,
  type PlainType,
} from "../../src/tensor/plain_tensor.ts";
import { elementCount } from "../../src/tensor/tensor.ts";
import { node, type WrittenNode } from "./write_model.ts";

const prng = new Prng(23);

type Bytes = "int8" | "uint8";

const bytes = (type: Bytes, ...dims: number[]): PlainTensor =>
  plainOf(
    type,
    dims,
    Array.from(
      { length: elementCount(dims) },
      () => prng.int(256) - (type === "int8" ? 128 : 0),
    ),
  );
const floats = (...dims: number[]): PlainTensor =>
  plainTensor(
    "float32",
    dims,
    Float32Array.from(
      { length: elementCount(dims) },
      () => 6 * prng.float() - 3,
    ),
  );
const scales = (count: number, about = 0.01): PlainTensor =>
  plainOf(
    "float32",
    [count],
    Array.from({ length: count }, () => about * (0.5 + prng.float())),
  );
const scale = (value: number) => plainOf("float32", [], [value]);
const zero = (type: Bytes, value: number) => plainOf(type, [], [value]);
const bias = (count: number) =>
  plainOf(
    "int32",
    [count],
    Array.from({ length: count }, () => prng.int(40_001) - 20_000),
  );

/** Nodes and constants; the result is y. */
export interface Model {
  nodes: readonly WrittenNode[];
  weights: Record<string, PlainTensor>;
}

/** A model with what is expected of it. */
export interface Case extends Model {
  inputs: Record<string, { type: PlainType; dims: readonly number[] }>;
  /** Operators that must be there. */
  kernels: readonly OperatorName[];
  /** Nodes in plain TypeScript by ONNX's names: those where bytes come in and go out. */
  plain?: readonly string[];
  /** What is equal to it to the bit, run by plain operators; by default the model itself. */
  reference?: Model;
  type?: PlainType;
}

const input = (type: PlainType, ...dims: number[]) => ({ type, dims });

/** Inputs 1 to 7 of QLinearConv and QLinearMatMul but their weight, x's first. */
const FROM = ["xs", "xz", "w", "ws", "wz", "ys", "yz"];

/** How bytes of a request become q8 rows, and these bytes. */
const IN = "DequantizeLinear";
const OUT = "QuantizeLinear";

/** By what they are. */
export const CASES: Record<string, Case> = {};

for (const type of ["uint8", "int8"] as const) {
  const low = type === "int8" ? -128 : 0;
  for (const isPerChannel of [false, true]) {
    const of = (count: number) => isPerChannel ? scales(count) : scale(0.0123);
    const range = {
      xs: scale(0.037),
      xz: zero(type, low + 131),
      ys: scale(0.71),
      yz: zero(type, low + 120),
    };
    const per = isPerChannel ? "per channel" : "per tensor";
    CASES[`QLinearMatMul of ${type}, ${per}`] = {
      inputs: { x: input(type, 3, 21) },
      kernels: ["QLinearMatMul"],
      plain: [IN, OUT],
      type,
      weights: {
        ...range,
        w: bytes(type, 21, 13),
        ws: of(13),
        wz: isPerChannel ? bytes(type, 13) : zero(type, low + 7),
      },
      nodes: [node("QLinearMatMul", ["x", ...FROM], ["y"])],
    };
    for (const [window, w, attributes] of WINDOWS()) {
      const [out] = w;
      const weights = {
        ...range,
        w: bytes(type, ...w),
        ws: of(out),
        wz: isPerChannel ? bytes(type, out) : zero(type, low + 128),
        b: bias(out),
      };
      CASES[`QLinearConv of ${type}, ${per}, ${window}`] = {
        inputs: { x: input(type, 1, 6, 7, 5) },
        kernels: ["QLinearConv"],
        plain: [IN, OUT],
        type,
        weights,
        nodes: [node("QLinearConv", ["x", ...FROM], ["y"], attributes)],
      };
      CASES[`QLinearConv of ${type}, ${per}, ${window}, with bias`] = {
        inputs: { x: input(type, 1, 6, 7, 5) },
        kernels: ["ConvIntegerToFloat", "QuantizeLinear"],
        plain: [IN, OUT],
        type,
        weights,
        nodes: [node("QLinearConv", ["x", ...FROM, "b"], ["y"], attributes)],
      };
    }
  }
}

function WINDOWS(): [string, number[], Record<string, number | number[]>][] {
  return [
    ["3x3", [9, 6, 3, 3], { pads: [1, 0, 2, 1], strides: [2, 1] }],
    ["1x1", [17, 6, 1, 1], {}],
    ["depthwise", [6, 1, 3, 2], { group: 6, pads: [1, 1, 1, 1] }],
    ["in groups", [4, 3, 2, 2], { group: 2, dilations: [2, 1] }],
  ];
}

/** Layers of integers one after the other, with quantisation at both ends. */
const chain = {
  xs: scale(0.031),
  xz: zero("uint8", 97),
  w: bytes("int8", 8, 3, 3, 3),
  ws: scales(8),
  wz: zero("int8", 0),
  ys: scale(0.9),
  yz: zero("uint8", 0),
  b: bias(8),
  v: bytes("int8", 5, 8, 1, 1),
  vs: scale(0.004),
  zs: scale(0.5),
  zz: zero("uint8", 128),
};
CASES["quantised, two convolutions, dequantised"] = {
  inputs: { x: input("float32", 1, 3, 6, 6) },
  kernels: ["QuantizeLinear", "QLinearConv", "DequantizeLinear"],
  weights: chain,
  nodes: [
    node("QuantizeLinear", ["x", "xs", "xz"], ["q"]),
    node("QLinearConv", ["q", ...FROM, "b"], ["c"]),
    node("QLinearConv", ["c", "ys", "yz", "v", "vs", "wz", "zs", "zz"], ["d"]),
    node("DequantizeLinear", ["d", "zs", "zz"], ["y"]),
  ],
};
CASES["the same between DequantizeLinear and QuantizeLinear"] = {
  inputs: { x: input("float32", 1, 3, 6, 6) },
  kernels: ["QuantizeLinear", "QLinearConv", "DequantizeLinear"],
  weights: {
    ...chain,
    bs: plainOf(
      "float32",
      [8],
      numbersOf(chain.ws).map((ws) => ws * 0.031),
    ),
  },
  nodes: [
    node("QuantizeLinear", ["x", "xs", "xz"], ["q"]),
    node("DequantizeLinear", ["q", "xs", "xz"], ["qf"]),
    node("DequantizeLinear", ["w", "ws"], ["wf"], { axis: 0 }),
    node("DequantizeLinear", ["b", "bs"], ["bf"], { axis: 0 }),
    node("Conv", ["qf", "wf", "bf"], ["cf"]),
    node("Relu", ["cf"], ["cr"]),
    node("QuantizeLinear", ["cr", "ys", "yz"], ["c"]),
    node("DequantizeLinear", ["c", "ys", "yz"], ["cd"]),
    node("DequantizeLinear", ["v", "vs", "wz"], ["vf"]),
    node("Conv", ["cd", "vf"], ["df"]),
    node("QuantizeLinear", ["df", "zs", "zz"], ["d"]),
    node("DequantizeLinear", ["d", "zs", "zz"], ["y"]),
  ],
  reference: CASES["quantised, two convolutions, dequantised"],
};

/** A product with a bias: in plain operators a convolution of one pixel. */
const dense = {
  xs: scale(0.05),
  xz: zero("int8", -3),
  w: bytes("int8", 11, 24),
  ws: scales(11, 0.02),
  wz: bytes("int8", 11),
  ys: scale(1.3),
  yz: zero("int8", 5),
  b: bias(11),
};
CASES["Gemm with bias between DequantizeLinear and QuantizeLinear"] = {
  inputs: { x: input("float32", 1, 24) },
  kernels: ["MatMulIntegerToFloat", "QuantizeLinear", "DequantizeLinear"],
  weights: {
    ...dense,
    bs: plainOf(
      "float32",
      [11],
      numbersOf(dense.ws).map((ws) => ws * 0.05),
    ),
  },
  nodes: [
    node("QuantizeLinear", ["x", "xs", "xz"], ["q"]),
    node("DequantizeLinear", ["q", "xs", "xz"], ["qf"]),
    node("DequantizeLinear", ["w", "ws", "wz"], ["wf"], { axis: 0 }),
    node("DequantizeLinear", ["b", "bs"], ["bf"], { axis: 0 }),
    node("Gemm", ["qf", "wf", "bf"], ["g"], { transB: 1 }),
    node("QuantizeLinear", ["g", "ys", "yz"], ["c"]),
    node("DequantizeLinear", ["c", "ys", "yz"], ["y"]),
  ],
  reference: {
    weights: {
      ...dense,
      w: { ...dense.w, dims: [11, 24, 1, 1] } as PlainTensor,
      pixel: plainOf("int64", [4], [1, 24, 1, 1]),
      flat: plainOf("int64", [2], [1, 11]),
    },
    nodes: [
      node("QuantizeLinear", ["x", "xs", "xz"], ["q"]),
      node("Reshape", ["q", "pixel"], ["p"]),
      node("QLinearConv", ["p", ...FROM, "b"], ["c"]),
      node("Reshape", ["c", "flat"], ["f"]),
      node("DequantizeLinear", ["f", "ys", "yz"], ["y"]),
    ],
  },
};
CASES["MatMul between DequantizeLinear and QuantizeLinear"] = {
  inputs: { x: input("float32", 1, 4, 24) },
  kernels: ["QLinearMatMul", "QuantizeLinear", "DequantizeLinear"],
  weights: { ...dense, w: bytes("int8", 24, 11) },
  nodes: [
    node("QuantizeLinear", ["x", "xs", "xz"], ["q"]),
    node("DequantizeLinear", ["q", "xs", "xz"], ["qf"]),
    node("DequantizeLinear", ["w", "ws", "wz"], ["wf"], { axis: 1 }),
    node("MatMul", ["qf", "wf"], ["g"]),
    node("QuantizeLinear", ["g", "ys", "yz"], ["c"]),
    node("DequantizeLinear", ["c", "ys", "yz"], ["y"]),
  ],
};
CASES["MatMul between DequantizeLinear and QuantizeLinear"].reference = {
  weights: CASES["MatMul between DequantizeLinear and QuantizeLinear"].weights,
  nodes: [
    node("QuantizeLinear", ["x", "xs", "xz"], ["q"]),
    node("QLinearMatMul", ["q", ...FROM], ["c"]),
    node("DequantizeLinear", ["c", "ys", "yz"], ["y"]),
  ],
};

/** Scales of which factors come so close to 1/2 that another order of roundings gives other bytes. */
const ties = {
  xz: zero("uint8", 100),
  w: plainOf("int8", [1, 1, 1, 1], [3]),
  wz: zero("int8", 0),
  yz: zero("uint8", 128),
  b: plainOf("int32", [1], [-201]),
};
CASES["halves: scales are multiplied as ONNX does it"] = {
  inputs: { x: input("uint8", 1, 1, 40, 40) },
  kernels: ["QLinearConv"],
  plain: [IN, OUT],
  type: "uint8",
  weights: {
    ...ties,
    xs: scale(0.021357767283916473),
    ws: scale(0.009137938730418682),
    ys: scale(0.0003903319302480668),
  },
  nodes: [node("QLinearConv", ["x", ...FROM], ["y"])],
};
CASES["halves: the product of scales is rounded"] = {
  inputs: { x: input("uint8", 1, 1, 40, 40) },
  kernels: ["QLinearConv"],
  plain: [IN, OUT],
  type: "uint8",
  weights: {
    ...ties,
    xs: scale(0.020344845950603485),
    ws: scale(0.013565637171268463),
    ys: scale(0.0005519816186279058),
  },
  nodes: [node("QLinearConv", ["x", ...FROM], ["y"])],
};
CASES["halves: a bias is added before sums are scaled"] = {
  inputs: { x: input("uint8", 1, 1, 40, 40) },
  kernels: ["ConvIntegerToFloat", "QuantizeLinear"],
  plain: [IN, OUT],
  type: "uint8",
  weights: {
    ...ties,
    xs: scale(0.03846637159585953),
    ws: scale(0.010161804966628551),
    ys: scale(0.0007817756268195808),
  },
  nodes: [node("QLinearConv", ["x", ...FROM, "b"], ["y"])],
};

CASES["MatMulInteger of bytes"] = {
  inputs: { x: input("uint8", 4, 19) },
  kernels: ["MatMulInteger"],
  plain: [IN],
  type: "int32",
  weights: {
    xz: zero("uint8", 77),
    w: bytes("int8", 19, 10),
    wz: bytes("int8", 10),
  },
  nodes: [node("MatMulInteger", ["x", "w", "xz", "wz"], ["y"])],
};
CASES["ConvInteger of bytes"] = {
  inputs: { x: input("uint8", 1, 3, 6, 4) },
  kernels: ["ConvInteger"],
  plain: [IN],
  type: "int32",
  weights: { xz: zero("uint8", 200), w: bytes("uint8", 5, 3, 3, 2) },
  nodes: [
    node("ConvInteger", ["x", "w", "xz"], ["y"], { pads: [1, 0, 1, 1] }),
  ],
};
CASES["two products of what is quantised dynamically"] = {
  inputs: { x: input("float32", 1, 4, 30) },
  kernels: ["DynamicQuantizeLinear", "MatMulIntegerToFloat", "Relu"],
  weights: {
    w: bytes("uint8", 30, 12),
    ws: scale(0.011),
    wz: zero("uint8", 125),
    b: floats(12),
    v: bytes("int8", 30, 12),
    vs: scales(12),
  },
  nodes: [
    node("DynamicQuantizeLinear", ["x"], ["q", "qs", "qz"]),
    node("MatMulInteger", ["q", "w", "qz", "wz"], ["a"]),
    node("Cast", ["a"], ["af"], { to: 1 }),
    node("Mul", ["qs", "ws"], ["as"]),
    node("Mul", ["af", "as"], ["am"]),
    node("Add", ["b", "am"], ["ab"]),
    node("Relu", ["ab"], ["ar"]),
    node("MatMulInteger", ["q", "v", "qz"], ["c"]),
    node("Cast", ["c"], ["cf"], { to: 1 }),
    node("Mul", ["vs", "qs"], ["cs"]),
    node("Mul", ["cs", "cf"], ["cm"]),
    node("Sub", ["ar", "cm"], ["y"]),
  ],
};
CASES["a convolution of what is quantised dynamically"] = {
  inputs: { x: input("float32", 1, 3, 8, 5) },
  kernels: ["DynamicQuantizeLinear", "ConvIntegerToFloat"],
  weights: {
    w: bytes("int8", 7, 3, 3, 3),
    ws: scale(0.02),
    wz: zero("int8", 0),
    b: { ...floats(7), dims: [1, 7, 1, 1] } as PlainTensor,
  },
  nodes: [
    node("DynamicQuantizeLinear", ["x"], ["q", "qs", "qz"]),
    node("ConvInteger", ["q", "w", "qz", "wz"], ["a"], { pads: [1, 1, 1, 1] }),
    node("Cast", ["a"], ["af"], { to: 1 }),
    node("Mul", ["qs", "ws"], ["as"]),
    node("Mul", ["af", "as"], ["am"]),
    node("Add", ["am", "b"], ["y"]),
  ],
};
for (
  const [axes, dims, w] of [
    ["an image", [1, 7, 1, 1], bytes("uint8", 7, 3, 3, 3)],
    ["an image's channels alone", [7, 1, 1], bytes("int8", 7, 3, 3, 3)],
    ["a signal", [1, 7, 1], bytes("uint8", 7, 3, 3)],
  ] as const
) {
  CASES[
    `a convolution of what is quantised dynamically, a scale for each channel of ${axes}`
  ] = {
    inputs: {
      x: input("float32", 1, 3, 8, ...(w.dims.length === 4 ? [5] : [])),
    },
    kernels: ["DynamicQuantizeLinear", "ConvIntegerToFloat"],
    weights: {
      w,
      ws: { ...scales(7), dims } as PlainTensor,
      wz: zero(w.type as Bytes, w.type === "uint8" ? 128 : 0),
    },
    nodes: [
      node("DynamicQuantizeLinear", ["x"], ["q", "qs", "qz"]),
      node("ConvInteger", ["q", "w", "qz", "wz"], ["a"], {
        pads: w.dims.length === 4 ? [1, 1, 0, 1] : [1, 0],
      }),
      node("Cast", ["a"], ["af"], { to: 1 }),
      node("Mul", ["qs", "ws"], ["as"]),
      node("Mul", ["af", "as"], ["y"]),
    ],
  };
}
CASES["sums with a bias that are no floats stay plain"] = {
  inputs: { x: input("uint8", 1, 3000, 2, 1) },
  kernels: [],
  plain: ["QLinearConv"],
  type: "uint8",
  weights: {
    ...{ xs: scale(0.01), xz: zero("uint8", 0), ys: scale(9) },
    ...{ yz: zero("uint8", 100), ws: scale(0.02), wz: zero("int8", 0) },
    w: bytes("int8", 2, 3000, 1, 1),
    b: bias(2),
  },
  nodes: [node("QLinearConv", ["x", ...FROM, "b"], ["y"])],
};
CASES["a zero point of a weight that is computed stays plain"] = {
  inputs: { x: input("uint8", 3, 9), wz: input("uint8") },
  kernels: [],
  plain: ["QLinearMatMul"],
  type: "uint8",
  weights: {
    ...{ xs: scale(0.01), xz: zero("uint8", 30), ys: scale(0.3) },
    ...{ yz: zero("uint8", 100), ws: scale(0.02), w: bytes("uint8", 9, 4) },
  },
  nodes: [node("QLinearMatMul", ["x", ...FROM], ["y"])],
};
CASES["bytes between: pooled, put in a row, read with another zero point"] = {
  inputs: { x: input("float32", 1, 3, 6, 6) },
  kernels: ["QLinearConv", "QLinearMatMul"],
  plain: [IN, OUT, "MaxPool"],
  weights: {
    ...chain,
    flat: plainOf("int64", [2], [1, 32]),
    m: bytes("uint8", 32, 3),
    n: bytes("uint8", 3, 5),
    mz: zero("uint8", 140),
    other: zero("uint8", 9),
  },
  nodes: [
    node("QuantizeLinear", ["x", "xs", "xz"], ["q"]),
    node("QLinearConv", ["q", ...FROM], ["c"]),
    node("MaxPool", ["c"], ["p"], { kernel_shape: [2, 2], strides: [2, 2] }),
    node("Reshape", ["p", "flat"], ["f"]),
    node("QLinearMatMul", ["f", "ys", "yz", "m", "vs", "mz", "zs", "zz"], [
      "e",
    ]),
    node("QLinearMatMul", ["e", "ys", "other", "n", "vs", "mz", "zs", "zz"], [
      "d",
    ]),
    node("DequantizeLinear", ["d", "zs", "zz"], ["y"]),
  ],
};
CASES["a weight of bytes for a product of floats"] = {
  inputs: { x: input("float32", 2, 6) },
  kernels: ["Gemm"],
  weights: { w: bytes("int8", 6, 4), ws: scale(2 ** -7) },
  nodes: [
    node("DequantizeLinear", ["w", "ws"], ["wf"]),
    node("MatMul", ["x", "wf"], ["y"]),
  ],
};

/** A request's input. */
export const drawn = ({ type, dims }: Case["inputs"][string]) =>
  type === "float32" ? floats(...dims) : bytes(type as Bytes, ...dims);
