/** What exporters write in parts is put together, and what only looks like it is left alone. */
import { plainOf } from "../../src/tensor/plain_tensor.ts";
import { type Case, checkCase, drawn, whole } from "./cell_cases.ts";
import { node, type WrittenNode } from "./write_model.ts";

const GELU_NUMBERS = {
  half: plainOf("float32", [], [0.5]),
  one: plainOf("float32", [], [1]),
  three: plainOf("float32", [], [3]),
  cubed: plainOf("float32", [], [0.044715]),
  other: plainOf("float32", [], [0.05]),
  scale: plainOf("float32", [], [Math.sqrt(2 / Math.PI)]),
};

/** y = x / 2 (1 + tanh(...)), of which the inner sum is `${y}4`. */
const tanhGelu = (
  x: string,
  y: string,
  inner: readonly WrittenNode[],
): WrittenNode[] => [
  ...inner,
  node("Tanh", [`${y}4`], [`${y}5`]),
  node("Add", [`${y}5`, "one"], [`${y}6`]),
  node("Mul", [x, `${y}6`], [`${y}7`]),
  node("Mul", [`${y}7`, "half"], [y]),
];

const CASES: Readonly<Record<string, Case>> = {
  "layer norm in parts": {
    operators: ["LayerNormalization"],
    inputs: { x: [1, 5, 7] },
    weights: {
      two: plainOf("float32", [], [2]),
      epsilon: plainOf("float32", [], [1e-5]),
      scale: drawn(7),
      shift: drawn(7),
      axes: whole(-1),
    },
    nodes: [
      node("ReduceMean", ["x", "axes"], ["m"]),
      node("Sub", ["x", "m"], ["d"]),
      node("Pow", ["d", "two"], ["s"]),
      node("ReduceMean", ["s", "axes"], ["v"]),
      node("Add", ["v", "epsilon"], ["e"]),
      node("Sqrt", ["e"], ["r"]),
      node("Div", ["d", "r"], ["n"]),
      node("Mul", ["n", "scale"], ["a"]),
      node("Add", ["a", "shift"], ["y"]),
    ],
  },
  "layer norm over another axis is left alone": {
    inputs: { x: [1, 5, 7] },
    weights: {
      two: plainOf("float32", [], [2]),
      epsilon: plainOf("float32", [], [1e-5]),
      scale: drawn(7),
      shift: drawn(7),
      axes: whole(1),
    },
    nodes: [
      node("ReduceMean", ["x", "axes"], ["m"]),
      node("Sub", ["x", "m"], ["d"]),
      node("Pow", ["d", "two"], ["s"]),
      node("ReduceMean", ["s", "axes"], ["v"]),
      node("Add", ["v", "epsilon"], ["e"]),
      node("Sqrt", ["e"], ["r"]),
      node("Div", ["d", "r"], ["n"]),
      node("Mul", ["n", "scale"], ["a"]),
      node("Add", ["a", "shift"], ["y"]),
    ],
  },
  "GELU in parts, three ways, and SiLU": {
    inputs: { x: [1, 3, 20] },
    operators: ["Gelu", "Gelu", "Gelu", "Swish"],
    weights: {
      root: plainOf("float32", [], [Math.SQRT2]),
      inverse: plainOf("float32", [], [Math.SQRT1_2]),
      one: plainOf("float32", [], [1]),
      half: plainOf("float32", [], [0.5]),
    },
    nodes: [
      node("Div", ["x", "root"], ["a1"]),
      node("Erf", ["a1"], ["a2"]),
      node("Add", ["a2", "one"], ["a3"]),
      node("Mul", ["x", "a3"], ["a4"]),
      node("Mul", ["a4", "half"], ["a"]),
      node("Mul", ["a", "half"], ["b0"]),
      node("Mul", ["a", "inverse"], ["b1"]),
      node("Erf", ["b1"], ["b2"]),
      node("Add", ["one", "b2"], ["b3"]),
      node("Mul", ["b0", "b3"], ["b"]),
      node("Div", ["b", "root"], ["c1"]),
      node("Erf", ["c1"], ["c2"]),
      node("Add", ["c2", "one"], ["c3"]),
      node("Mul", ["c3", "half"], ["c4"]),
      node("Mul", ["b", "c4"], ["c"]),
      node("Sigmoid", ["c"], ["s"]),
      node("Mul", ["c", "s"], ["y"]),
    ],
  },
  "layer norm in parts, the difference written twice": {
    operators: ["LayerNormalization"],
    inputs: { x: [1, 5, 7] },
    weights: {
      epsilon: plainOf("float32", [], [1e-5]),
      scale: drawn(7),
      shift: drawn(7),
    },
    nodes: [
      node("ReduceMean", ["x", "axes"], ["m"]),
      node("Sub", ["x", "m"], ["d"]),
      node("Sub", ["x", "m"], ["d1"]),
      node("Mul", ["d", "d"], ["s"]),
      node("ReduceMean", ["s", "axes"], ["v"]),
      node("Add", ["v", "epsilon"], ["e"]),
      node("Sqrt", ["e"], ["r"]),
      node("Div", ["d1", "r"], ["n"]),
      node("Mul", ["scale", "n"], ["a"]),
      node("Add", ["a", "shift"], ["y"]),
    ],
  },
  "RMS norm in parts, three ways": {
    operators: ["RMSNormalization", "RMSNormalization", "RMSNormalization"],
    inputs: { x: [1, 5, 7] },
    weights: {
      two: plainOf("float32", [], [2]),
      one: plainOf("float32", [], [1]),
      epsilon: plainOf("float32", [], [1e-6]),
      scale: drawn(7),
    },
    nodes: [
      node("Pow", ["x", "two"], ["a1"]),
      node("ReduceMean", ["a1", "axes"], ["a2"]),
      node("Add", ["a2", "epsilon"], ["a3"]),
      node("Sqrt", ["a3"], ["a4"]),
      node("Reciprocal", ["a4"], ["a5"]),
      node("Mul", ["x", "a5"], ["a6"]),
      node("Mul", ["scale", "a6"], ["a"]),
      node("Mul", ["a", "a"], ["b1"]),
      node("ReduceMean", ["b1", "axes"], ["b2"]),
      node("Add", ["epsilon", "b2"], ["b3"]),
      node("Sqrt", ["b3"], ["b4"]),
      node("Div", ["a", "b4"], ["b5"]),
      node("Mul", ["b5", "scale"], ["b"]),
      node("Mul", ["b", "b"], ["c1"]),
      node("ReduceMean", ["c1", "axes"], ["c2"]),
      node("Add", ["c2", "epsilon"], ["c3"]),
      node("Sqrt", ["c3"], ["c4"]),
      node("Div", ["one", "c4"], ["c5"]),
      node("Mul", ["c5", "b"], ["c6"]),
      node("Mul", ["c6", "scale"], ["y"]),
    ],
  },
  "RMS norm over another axis, or with a root that others read, is left alone":
    {
      // A Concat or Gemm writes a column as often as there are columns.
      operators: [
        ...["Mul", "Transpose", "Gemm", "Add", "Sqrt", "Concat", "Div", "Mul"],
        ...["Mul", "Gemm", "Add", "Sqrt", "Gemm", "Div", "Mul", "Gemm", "Add"],
      ],
      inputs: { x: [1, 7, 7] },
      weights: {
        epsilon: plainOf("float32", [], [1e-6]),
        scale: drawn(7),
        other: whole(1),
      },
      nodes: [
        node("Mul", ["x", "x"], ["a1"]),
        node("ReduceMean", ["a1", "other"], ["a2"]),
        node("Add", ["a2", "epsilon"], ["a3"]),
        node("Sqrt", ["a3"], ["a4"]),
        node("Div", ["x", "a4"], ["a5"]),
        node("Mul", ["a5", "scale"], ["a"]),
        node("Mul", ["a", "a"], ["b1"]),
        node("ReduceMean", ["b1", "axes"], ["b2"]),
        node("Add", ["b2", "epsilon"], ["b3"]),
        node("Sqrt", ["b3"], ["b4"]),
        node("Div", ["a", "b4"], ["b5"]),
        node("Mul", ["b5", "scale"], ["b6"]),
        node("Add", ["b6", "b4"], ["y"]),
      ],
      opset: 18,
    },
  "GELU of tanh in parts, three ways": {
    operators: ["GeluTanh", "GeluTanh", "GeluTanh"],
    inputs: { x: [1, 3, 20] },
    weights: GELU_NUMBERS,
    nodes: [
      ...tanhGelu("x", "a", [
        node("Pow", ["x", "three"], ["a1"]),
        node("Mul", ["cubed", "a1"], ["a2"]),
        node("Add", ["x", "a2"], ["a3"]),
        node("Mul", ["a3", "scale"], ["a4"]),
      ]),
      ...tanhGelu("a", "b", [
        node("Mul", ["a", "a"], ["b0"]),
        node("Mul", ["b0", "a"], ["b1"]),
        node("Mul", ["b1", "cubed"], ["b2"]),
        node("Add", ["b2", "a"], ["b3"]),
        node("Mul", ["scale", "b3"], ["b4"]),
      ]),
      ...tanhGelu("b", "y", [
        node("Mul", ["b", "cubed"], ["y1"]),
        node("Mul", ["y1", "b"], ["y2"]),
        node("Add", ["one", "y2"], ["y3"]),
        node("Mul", ["b", "scale"], ["y0"]),
        node("Mul", ["y0", "y3"], ["y4"]),
      ]),
    ],
  },
  "GELU of tanh with another number, or the square, is left alone": {
    operators: [
      ...["Mul", "Mul", "Mul", "Add", "Mul", "Tanh", "Add", "Mul", "Mul"],
      ...["Mul", "Mul", "Add", "Mul", "Tanh", "Add", "Mul", "Mul"],
    ],
    inputs: { x: [1, 3, 20] },
    weights: GELU_NUMBERS,
    nodes: [
      ...tanhGelu("x", "a", [
        node("Mul", ["x", "x"], ["a0"]),
        node("Mul", ["a0", "x"], ["a1"]),
        node("Mul", ["other", "a1"], ["a2"]),
        node("Add", ["x", "a2"], ["a3"]),
        node("Mul", ["a3", "scale"], ["a4"]),
      ]),
      ...tanhGelu("a", "y", [
        node("Mul", ["a", "a"], ["y1"]),
        node("Mul", ["y1", "cubed"], ["y2"]),
        node("Add", ["y2", "a"], ["y3"]),
        node("Mul", ["scale", "y3"], ["y4"]),
      ]),
    ],
  },
  "Sigmoid and SiLU in parts": {
    operators: ["Sigmoid", "Swish", "Swish"],
    inputs: { x: [1, 20] },
    weights: { one: plainOf("float32", [], [1]) },
    nodes: [
      node("Neg", ["x"], ["a1"]),
      node("Exp", ["a1"], ["a2"]),
      node("Add", ["a2", "one"], ["a3"]),
      node("Div", ["one", "a3"], ["a"]),
      node("Neg", ["a"], ["b1"]),
      node("Exp", ["b1"], ["b2"]),
      node("Add", ["one", "b2"], ["b3"]),
      node("Div", ["a", "b3"], ["b"]),
      node("Neg", ["b"], ["c1"]),
      node("Exp", ["c1"], ["c2"]),
      node("Add", ["c2", "one"], ["c3"]),
      node("Div", ["one", "c3"], ["c4"]),
      node("Mul", ["c4", "b"], ["y"]),
    ],
  },
  "no Sigmoid: the quotient the other way round, or not of minus x": {
    operators: ["Neg", "Exp", "Add", "Div", "Exp", "Add", "Div"],
    inputs: { x: [1, 20] },
    weights: { one: plainOf("float32", [], [1]) },
    nodes: [
      node("Neg", ["x"], ["a1"]),
      node("Exp", ["a1"], ["a2"]),
      node("Add", ["a2", "one"], ["a3"]),
      node("Div", ["a3", "one"], ["a"]),
      node("Exp", ["a"], ["b2"]),
      node("Add", ["b2", "one"], ["b3"]),
      node("Div", ["one", "b3"], ["y"]),
    ],
  },
  "parts that others read are left alone": {
    inputs: { x: [1, 20] },
    operators: ["Sigmoid", "Mul", "Add"],
    nodes: [
      node("Sigmoid", ["x"], ["s"]),
      node("Mul", ["x", "s"], ["a"]),
      node("Add", ["a", "s"], ["y"]),
    ],
  },
};

for (const [name, made] of Object.entries(CASES)) {
  Deno.test(`put together: ${name}`, () => checkCase(made));
}
