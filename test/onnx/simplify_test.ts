/** What is taken out of a graph, and what is left alone. */
import assert from "node:assert/strict";
import { runPlainGraph } from "../../src/onnx/plain_graph.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import { describeDims } from "../../src/onnx/shapes/value.ts";
import {
  simplify,
  type SimplifyOptions,
} from "../../src/onnx/simplify/simplify.ts";
import { plainOf, scalarOf } from "../../src/tensor/plain_tensor.ts";
import { node, writeModel, type WrittenGraph } from "./write_model.ts";

const X = { name: "x", dims: ["n", 4] };

function modelOf(graph: Partial<WrittenGraph>, version = 20) {
  return readModel(
    writeModel({
      graph: { inputs: [X], outputs: [{ name: "y" }], nodes: [], ...graph },
      opsets: { "": version },
    }),
    { label: "m.onnx" },
  );
}

function simplified(
  graph: Partial<WrittenGraph>,
  options?: SimplifyOptions,
  version?: number,
) {
  const model = modelOf(graph, version);
  const found = simplify(model, options);
  // Whatever is taken out, results are the same.
  if (options === undefined) {
    const inputs = new Map(
      model.graph.inputs.map(({ name }) =>
        [name, plainOf("float32", [3, 4], Array(12).keys())] as const
      ),
    );
    assert.deepEqual(
      runPlainGraph(found.model.graph, inputs),
      runPlainGraph(model.graph, inputs),
    );
  }
  const { graph: { nodes, initializers } } = found.model;
  return {
    ...found,
    ops: nodes.map(({ op }) => op),
    nodes,
    initializers,
    shapeOf: (name: string) => describeDims(found.values.get(name)!.dims),
  };
}

Deno.test("a product of integers with zeros is zeros, one of floats may be NaN", () => {
  const graph = (type: "int64" | "float32"): Partial<WrittenGraph> => ({
    inputs: [X, { name: "rate", type, dims: [2] }],
    initializers: { nothing: plainOf(type, [2, 1], [0, 0]) },
    nodes: [
      node("Mul", ["rate", "nothing"], ["z"]),
      node("Cast", ["z"], ["y"], { to: 1 }),
    ],
  });
  const whole = simplified(graph("int64"), {});
  assert.deepEqual(whole.ops, []);
  assert.deepEqual(
    whole.initializers.get("y"),
    plainOf("float32", [2, 2], [0, 0, 0, 0]),
  );
  assert.deepEqual(simplified(graph("float32"), {}).ops, ["Mul", "Identity"]);
});

Deno.test("a Cast to the type that a value has is left out, no other", () => {
  const graph = (to: number): Partial<WrittenGraph> => ({
    nodes: [
      node("Relu", ["x"], ["a"]),
      node("Cast", ["a"], ["b"], { to }),
      node("Neg", ["b"], ["y"]),
    ],
  });
  assert.deepEqual(simplified(graph(1), {}).ops, ["Relu", "Neg"]);
  assert.deepEqual(simplified(graph(6), {}).ops, ["Relu", "Cast", "Neg"]);
});

Deno.test("nodes of constants are computed, and what only they need is left out", () => {
  const { ops, initializers } = simplified({
    initializers: {
      a: plainOf("float32", [2, 2], [1, 2, 3, 4]),
      b: plainOf("float32", [2], [10, 20]),
      never: plainOf("float32", [1], [1]),
    },
    nodes: [
      node("Add", ["a", "b"], ["c"]),
      node("Reshape", ["c", "to"], ["d"]),
      node("Constant", [], ["to"], { value_ints: [4] }),
      node("Relu", ["never"], ["unread"]),
      node("Mul", ["x", "d"], ["y"]),
    ],
  });
  assert.deepEqual(ops, ["Mul"]);
  assert.deepEqual([...initializers], [
    ["d", plainOf("float32", [4], [11, 22, 13, 24])],
  ]);
});

Deno.test("shape arithmetic that exporters leave behind comes to sizes", () => {
  // view(x.shape[0], -1, 2) as PyTorch writes it.
  const { ops, shapeOf, nodes } = simplified({
    nodes: [
      node("Shape", ["x"], ["shape"]),
      node("Gather", ["shape", "i"], ["n"]),
      node("Unsqueeze", ["n", "axes"], ["n1"]),
      node("Concat", ["n1", "rest"], ["to"], { axis: 0 }),
      node("Reshape", ["x", "to"], ["y"]),
    ],
    initializers: {
      i: scalarOf("int64", 0),
      axes: plainOf("int64", [1], [0]),
      rest: plainOf("int64", [2], [-1, 2]),
    },
  });
  assert.equal(shapeOf("y"), "[n, 2, 2]");
  assert.deepEqual(ops, ["Shape", "Gather", "Unsqueeze", "Concat", "Reshape"]);
  assert.deepEqual(nodes.at(-1)?.inputs, ["x", "to"]);
});

Deno.test("what passes a value on is left out, where that is not a result of the model", () => {
  const { ops, nodes } = simplified({
    nodes: [
      node("Identity", ["x"], ["a"]),
      node("Dropout", ["a"], ["b", ""]),
      node("Cast", ["b"], ["c"], { to: 1 }),
      node("Relu", ["c"], ["d"]),
      node("Identity", ["d"], ["y"]),
    ],
  });
  assert.deepEqual(ops, ["Relu", "Identity"]);
  assert.deepEqual(nodes[0].inputs, ["x"]);
});

Deno.test("a Dropout whose mask is wanted stays, and one that trains", () => {
  const mask = simplified({
    outputs: [{ name: "y" }, { name: "mask", type: "bool" }],
    nodes: [node("Dropout", ["x"], ["a", "mask"]), node("Relu", ["a"], ["y"])],
  });
  assert.deepEqual(mask.ops, ["Dropout", "Relu"]);
  const training = simplify(modelOf({
    initializers: {
      ratio: scalarOf("float32", 0.5),
      training: scalarOf("bool", 1),
    },
    nodes: [
      node("Dropout", ["x", "ratio", "training"], ["a"]),
      node("Relu", ["a"], ["y"]),
    ],
  }));
  assert.equal(training.model.graph.nodes.length, 2);
});

Deno.test("results that nobody wants are left out; before version 14 a BatchNormalization that has some is constant like any other", () => {
  const initializers = {
    w: plainOf("float32", [1, 4, 2], Array(8).keys()),
    scale: plainOf("float32", [4], [1, 1, 1, 1]),
    shift: plainOf("float32", [4], [0, 0, 0, 0]),
  };
  const { model } = simplify(modelOf({
    initializers: { ...initializers, rows: plainOf("int64", [2], [2, 4]) },
    nodes: [
      node(
        "BatchNormalization",
        ["w", "scale", "shift", "shift", "scale"],
        ["a", "b", "c", "d", "e"],
      ),
      node("Reshape", ["a", "rows"], ["r"]),
      node("Gemm", ["x", "r"], ["y"], { transB: 1 }),
    ],
  }, 13));
  assert.deepEqual(model.graph.nodes.map(({ op }) => op), ["Gemm"]);
});

Deno.test("slices without elements are taken out of what is put together", () => {
  const bounds = (...values: number[]) =>
    plainOf("int64", [values.length], values);
  const { ops, nodes } = simplified({
    initializers: { four: bounds(4), end: bounds(9), axis: bounds(1) },
    nodes: [
      node("Relu", ["x"], ["a"]),
      node("Slice", ["x", "four", "end", "axis"], ["none"]),
      node("Concat", ["a", "none"], ["b"], { axis: 1 }),
      node("Concat", ["b", "x", "none"], ["y"], { axis: 1 }),
    ],
  });
  assert.deepEqual(ops, ["Relu", "Concat"]);
  assert.deepEqual(nodes[1].inputs, ["a", "x"]);
});

Deno.test("a column times a row of what is not constant is a product element by element", () => {
  const column = plainOf("float32", [4, 1], [1, 2, 3, 4]);
  const axes = plainOf("int64", [1], [1]);
  const { ops } = simplified({
    initializers: { column, axes, row: plainOf("float32", [1, 2], [5, 6]) },
    nodes: [
      node("Unsqueeze", ["x", "axes"], ["rows"]),
      node("MatMul", ["column", "rows"], ["outer"]),
      node("MatMul", ["column", "row"], ["weights"]),
      node("MatMul", ["outer", "weights"], ["y"]),
    ],
  });
  assert.deepEqual(ops, ["Unsqueeze", "Mul", "MatMul"]);
});

/** An If whose branches add a constant of their own and read what is around. */
function choice(condition: string, output: string) {
  const branch = (value: number): WrittenGraph => ({
    outputs: [{ name: "r" }],
    initializers: { k: scalarOf("float32", value) },
    nodes: [
      node("Identity", ["around"], ["inner"]),
      node("Add", ["inner", "k"], ["r"]),
    ],
  });
  return node("If", [condition], [output], {
    then_branch: { graph: branch(1) },
    else_branch: { graph: branch(2) },
  });
}

Deno.test("an If of which the branch is certain becomes the branch", () => {
  for (const [certain, added] of [[1, 1], [0, 2]]) {
    const { nodes, initializers } = simplified({
      initializers: { certain: scalarOf("bool", certain) },
      nodes: [
        node("Identity", ["x"], ["around"]),
        choice("certain", "a"),
        choice("certain", "b"),
        node("Mul", ["a", "b"], ["y"]),
      ],
    });
    assert.deepEqual(nodes.map(({ op }) => op), ["Add", "Add", "Mul"]);
    assert.equal(nodes[0].inputs[0], "x");
    assert.deepEqual(
      [...initializers.values()],
      Array(2).fill(scalarOf("float32", added)),
    );
  }
});

Deno.test("an If whose condition is the size of an input's axis is certain once that is known", () => {
  const graph: Partial<WrittenGraph> = {
    initializers: { one: plainOf("int64", [1], [1]) },
    nodes: [
      node("Shape", ["x"], ["n"], { end: 1 }),
      node("Equal", ["n", "one"], ["certain"]),
      node("Relu", ["x"], ["around"]),
      choice("certain", "y"),
    ],
  };
  assert.deepEqual(simplified(graph).ops.at(-1), "If");
  const inputs = new Map([["x", [1, 4]]]);
  const { ops, shapeOf } = simplified(graph, { inputs });
  assert.deepEqual(ops, ["Relu", "Add", "Identity"]);
  assert.equal(shapeOf("y"), "[1, 4]");
});

Deno.test("graphs inside that stay read values by the names that are left", () => {
  const { nodes } = simplified({
    initializers: { trips: scalarOf("int64", 2), go: scalarOf("bool", 1) },
    nodes: [
      node("Identity", ["x"], ["around"]),
      node("Loop", ["trips", "go", "x"], ["y"], {
        body: {
          graph: {
            inputs: [
              { name: "i", type: "int64", dims: [] },
              { name: "c", type: "bool", dims: [] },
              { name: "v" },
            ],
            outputs: [{ name: "d", type: "bool" }, { name: "w" }],
            nodes: [
              node("Identity", ["c"], ["d"]),
              node("Add", ["v", "around"], ["w"]),
            ],
          },
        },
      }),
    ],
  });
  assert.deepEqual(nodes.map(({ op }) => op), ["Loop"]);
  const body = nodes[0].attributes.get("body");
  assert(body?.kind === "graph");
  assert.deepEqual(body.value.captured, ["x"]);
  assert.deepEqual(body.value.nodes[1].inputs, ["v", "x"]);
});

Deno.test("values that are given take the place of the file's", () => {
  const given = plainOf("float32", [4], [1, 2, 3, 4]);
  const { ops, initializers } = simplified({
    initializers: { shape: plainOf("int64", [1], [4]) },
    nodes: [
      node("ConstantOfShape", ["shape"], ["w"]),
      node("Mul", ["x", "w"], ["y"]),
    ],
  }, { constants: new Map([["w", given]]) });
  assert.deepEqual(ops, ["Mul"]);
  assert.deepEqual([...initializers], [["w", given]]);
  assert.throws(
    () =>
      simplified({ nodes: [node("Relu", ["x"], ["y"])] }, {
        constants: new Map([["none", given]]),
      }),
    /there is no value "none"/,
  );
});

Deno.test("constants beyond any need are not made", () => {
  const { ops, shapeOf } = simplified(
    {
      initializers: {
        shape: plainOf("int64", [3], [2 ** 20, 2 ** 20, 4]),
        // 560 MB would be no great work, but stand for 8 bytes.
        large: plainOf("int64", [1], [140_000_000]),
      },
      nodes: [
        node("ConstantOfShape", ["shape"], ["huge"]),
        node("ReduceSum", ["huge"], ["sum"]),
        node("ConstantOfShape", ["large"], ["many"]),
        node("ReduceSum", ["many"], ["count"]),
        node("Sum", ["x", "sum", "count"], ["y"]),
      ],
    },
    {},
    13,
  );
  assert.deepEqual(
    ops,
    ["ConstantOfShape", "ReduceSum", "ConstantOfShape", "ReduceSum", "Sum"],
  );
  assert.equal(shapeOf("huge"), "[1048576, 1048576, 4]");
});

Deno.test("quantised weights stay quantised", () => {
  const { ops } = simplified({
    initializers: {
      q: plainOf("int8", [4], [1, 2, 3, 4]),
      scale: scalarOf("float32", 0.5),
      zero: scalarOf("int8", 0),
    },
    nodes: [
      node("DequantizeLinear", ["q", "scale", "zero"], ["w"]),
      node("Mul", ["x", "w"], ["y"]),
    ],
  });
  assert.deepEqual(ops, ["DequantizeLinear", "Mul"]);
});
