/** Small valid models with what files of the field have in them; tests change them into bad ones. */
import { plainOf, scalarOf } from "../../src/tensor/plain_tensor.ts";
import { bytes, integer, message, text } from "./wire.ts";
import { node, type WrittenGraph, type WrittenModel } from "./write_model.ts";

/** Numbers from -1 to 1, not all the same. */
function floats(...dims: number[]) {
  const count = dims.reduce((product, size) => product * size, 1);
  return plainOf(
    "float32",
    dims,
    Array.from({ length: count }, (_, i) => (i * 7 % 11) / 5.5 - 1),
  );
}

function ints(...values: number[]) {
  return plainOf("int64", [values.length], values);
}

const images: WrittenGraph = {
  inputs: [{ name: "x", dims: ["n", 2, 8, 8] }],
  outputs: [{ name: "y", dims: ["n", 3] }],
  initializers: {
    w: floats(4, 2, 3, 3),
    b: floats(4),
    scale: floats(4),
    mean: floats(4),
    variance: plainOf("float32", [4], [1, 2, 3, 4]),
    up: floats(4, 2, 2, 2),
    scales: plainOf("float32", [4], [1, 1, 2, 0.5]),
    pads: ints(0, 0, 1, 1, 0, 0, 1, 1),
    head: floats(3, 4),
  },
  nodes: [
    node("Conv", ["x", "w", "b"], ["c"], {
      kernel_shape: [3, 3],
      pads: [1, 1, 1, 1],
      strides: [2, 2],
      auto_pad: "NOTSET",
    }),
    node("BatchNormalization", ["c", "scale", "b", "mean", "variance"], ["d"], {
      epsilon: { float: 1e-5 },
    }),
    node("Relu", ["d"], ["e"]),
    node("MaxPool", ["e"], ["f"], { kernel_shape: [2, 2], ceil_mode: 1 }),
    node("ConvTranspose", ["f", "up"], ["g"], { strides: [2, 2] }),
    node("Resize", ["g", "", "scales"], ["h"], { mode: "nearest" }),
    node("Pad", ["h", "pads"], ["i"], { mode: "constant" }),
    node("Concat", ["i", "i"], ["j"], { axis: 1 }),
    node("GlobalAveragePool", ["j"], ["k"]),
    node("Flatten", ["k"], ["l"], { axis: 1 }),
    node("Gemm", ["l", "head"], ["m"], { transB: 1, alpha: { float: 0.5 } }),
    node("Softmax", ["m"], ["y"], { axis: -1 }),
  ],
};

const shapes: WrittenGraph = {
  inputs: [{ name: "x", dims: ["batch", "seq", 8] }],
  outputs: [{ name: "y", dims: ["batch", "seq", 8] }],
  initializers: {
    zero: scalarOf("int64", 0),
    one: scalarOf("int64", 1),
    axes: ints(0),
    heads: ints(2, -1),
    w: floats(8, 8),
    cut: ints(1),
    end: ints(2 ** 31),
  },
  nodes: [
    node("Shape", ["x"], ["s"]),
    node("Gather", ["s", "zero"], ["b"]),
    node("Gather", ["s", "one"], ["t"]),
    node("Unsqueeze", ["b", "axes"], ["b1"]),
    node("Unsqueeze", ["t", "axes"], ["t1"]),
    node("Concat", ["b1", "t1", "heads"], ["split"], { axis: 0 }),
    node("MatMul", ["x", "w"], ["q"]),
    node("Reshape", ["q", "split"], ["q4"]),
    node("Transpose", ["q4"], ["qt"], { perm: [0, 2, 1, 3] }),
    node("Transpose", ["q4"], ["kt"], { perm: [0, 2, 3, 1] }),
    node("MatMul", ["qt", "kt"], ["a"]),
    node("Softmax", ["a"], ["p"]),
    node("MatMul", ["p", "qt"], ["o"]),
    node("Transpose", ["o"], ["ot"], { perm: [0, 2, 1, 3] }),
    node("Reshape", ["ot", "s"], ["r"]),
    node("Slice", ["r", "cut", "end", "cut"], ["rest"]),
    node("Range", ["zero", "t", "one"], ["range"]),
    node("Cast", ["range"], ["float"], { to: 1 }),
    node("ReduceMean", ["r"], ["mean"], { keepdims: 1 }),
    node("ReduceSum", ["rest"], ["sum"]),
    node("ReduceMax", ["float"], ["max"], { keepdims: 0 }),
    node("Sum", ["r", "mean", "sum", "max"], ["y"]),
  ],
};

const recurrent: WrittenGraph = {
  inputs: [{ name: "x", dims: ["t", 1, 3] }, { name: "h", dims: [1, 1, 2] }],
  outputs: [{ name: "y" }, { name: "h1", dims: [1, 1, 2] }],
  initializers: {
    w: floats(1, 8, 3),
    r: floats(1, 8, 2),
    b: floats(1, 16),
    gw: floats(2, 6, 2),
    gr: floats(2, 6, 2),
    axes: ints(1),
    parts: ints(1, 1),
    k: ints(1),
  },
  nodes: [
    node("LSTM", ["x", "w", "r", "b", "", "h", "h"], ["all", "h1", ""], {
      hidden_size: 2,
      activations: { strings: ["Sigmoid", "Tanh", "Tanh"] },
    }),
    node("Squeeze", ["all", "axes"], ["a"]),
    node("GRU", ["a", "gw", "gr"], ["g"], {
      hidden_size: 2,
      direction: "bidirectional",
    }),
    node("Split", ["g", "parts"], ["left", "right"], { axis: 1 }),
    node("Sub", ["left", "right"], ["d"]),
    node("TopK", ["d", "k"], ["v", "i"], { axis: -1 }),
    node("GatherElements", ["d", "i"], ["e"], { axis: -1 }),
    node("Where", ["less", "v", "e"], ["y"]),
    node("Less", ["v", "e"], ["less"]),
  ],
};

const control: WrittenGraph = {
  inputs: [{ name: "x", dims: ["n", 3] }],
  outputs: [{ name: "y" }, { name: "all" }],
  initializers: {
    trips: scalarOf("int64", 3),
    yes: scalarOf("bool", 1),
    zero: scalarOf("float32", 0),
    flat: ints(-1),
  },
  nodes: [
    node("ReduceSum", ["x"], ["sum"], { keepdims: 0 }),
    node("Greater", ["sum", "zero"], ["isMore"]),
    node("If", ["isMore"], ["chosen"], {
      then_branch: {
        graph: {
          outputs: [{ name: "r" }],
          nodes: [node("Relu", ["x"], ["r"])],
        },
      },
      else_branch: {
        graph: { outputs: [{ name: "r" }], nodes: [node("Neg", ["x"], ["r"])] },
      },
    }),
    node("If", ["yes"], ["certain"], {
      then_branch: {
        graph: {
          outputs: [{ name: "c" }],
          nodes: [
            node("Identity", ["chosen"], ["i"]),
            node("Add", ["i", "zero"], ["c"]),
          ],
        },
      },
      else_branch: {
        graph: {
          outputs: [{ name: "c" }],
          nodes: [node("Reshape", ["chosen", "flat"], ["c"])],
        },
      },
    }),
    node("Loop", ["trips", "yes", "certain"], ["y", "all"], {
      body: {
        graph: {
          inputs: [
            { name: "i", type: "int64", dims: [] },
            { name: "go", type: "bool", dims: [] },
            { name: "v" },
          ],
          outputs: [{ name: "on", type: "bool" }, { name: "w" }, { name: "u" }],
          nodes: [
            node("Identity", ["go"], ["on"]),
            node("Add", ["v", "x"], ["w"]),
            node("Mul", ["v", "zero"], ["u"]),
          ],
        },
      },
    }),
  ],
};

const quantised: WrittenGraph = {
  inputs: [{ name: "x", dims: ["n", 4] }],
  outputs: [{ name: "y" }],
  initializers: {
    scale: scalarOf("float32", 0.1),
    zero: scalarOf("uint8", 128),
    w: plainOf("int8", [4, 3], Array.from({ length: 12 }, (_, i) => i - 6)),
    wScale: plainOf("float32", [3], [0.1, 0.2, 0.3]),
    wZero: plainOf("int8", [3], [0, 0, 0]),
    half: {
      fields: [integer(1, 3), integer(2, 10), bytes(9, new Uint8Array(6))],
    },
    double: {
      fields: [integer(1, 1), integer(2, 11), [10, { double: 0.5 }]],
    },
  },
  nodes: [
    node("QuantizeLinear", ["x", "scale", "zero"], ["q"]),
    node("DequantizeLinear", ["q", "scale", "zero"], ["d"]),
    node("DequantizeLinear", ["w", "wScale", "wZero"], ["wd"], { axis: 1 }),
    node("MatMul", ["d", "wd"], ["m"]),
    node("DynamicQuantizeLinear", ["x"], ["dq", "ds", "dz"]),
    node("MatMulInteger", ["dq", "w", "dz"], ["mi"]),
    node("Cast", ["mi"], ["mf"], { to: 1 }),
    node("Mul", ["mf", "ds"], ["ms"]),
    node("Sum", ["m", "ms", "half", "double"], ["y"]),
  ],
};

const functions: WrittenModel = {
  opsets: { "": 20, own: 1 },
  graph: {
    inputs: [{ name: "x", dims: ["n"] }],
    outputs: [{ name: "y" }],
    nodes: [
      {
        ...node("Scaled", ["x"], ["a"], { by: { float: 2 } }),
        domain: "own",
      },
      { ...node("Twice", ["a"], ["y"]), domain: "own" },
    ],
  },
  functions: [
    {
      name: "Scaled",
      domain: "own",
      inputs: ["v"],
      outputs: ["w"],
      attributes: ["by"],
      nodes: [
        node("Constant", [], ["k"], {
          value_float: { reference: "by", type: 1 },
        }),
        node("Mul", ["v", "k"], ["w"]),
      ],
    },
    {
      name: "Twice",
      domain: "own",
      inputs: ["v"],
      outputs: ["w"],
      nodes: [
        {
          ...node("Scaled", ["v"], ["u"], { by: { float: 3 } }),
          domain: "own",
        },
        {
          ...node("Scaled", ["u"], ["w"], { by: { float: 4 } }),
          domain: "own",
        },
      ],
    },
  ],
};

const external: WrittenGraph = {
  inputs: [{ name: "x", dims: ["n", 2] }],
  outputs: [{ name: "y" }],
  initializers: {
    w: {
      fields: [
        integer(1, 2),
        integer(2, 1),
        message(13, [text(1, "location"), text(2, "weights.bin")]),
        message(13, [text(1, "offset"), text(2, "4")]),
        message(13, [text(1, "length"), text(2, "8")]),
        integer(14, 1),
      ],
    },
  },
  nodes: [node("Mul", ["x", "w"], ["y"])],
};

/** The file beside the last one. */
export const EXTERNAL_FILE = {
  name: "weights.bin",
  bytes: new Uint8Array(16),
};

/** By what they have in them. */
export const SEED_MODELS: Readonly<Record<string, WrittenModel>> = {
  images: { graph: images },
  shapes: { graph: shapes, opsets: { "": 18 } },
  recurrent: { graph: recurrent },
  control: { graph: control },
  quantised: { graph: quantised, metadata: { a: "b" } },
  functions,
  external: { graph: external },
};
