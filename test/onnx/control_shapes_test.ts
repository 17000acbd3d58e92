/** Shapes of what graphs inside nodes return. */
import assert from "node:assert/strict";
import { Place } from "../../src/onnx/place.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import { ShapeInference } from "../../src/onnx/shapes/infer_graph.ts";
import { describeDims } from "../../src/onnx/shapes/value.ts";
import { scalarOf } from "../../src/tensor/plain_tensor.ts";
import { node, writeModel, type WrittenGraph } from "./write_model.ts";

/** Shapes of the named values of a graph with the input x [n, 3]. */
function shapesOf(graph: Partial<WrittenGraph>, ...names: string[]): string[] {
  const model = readModel(writeModel({
    graph: {
      inputs: [{ name: "x", dims: ["n", 3] }],
      outputs: [{ name: names[0] }],
      nodes: [],
      ...graph,
    },
  }));
  const values = new ShapeInference().graph(model.graph, new Place("m.onnx"));
  return names.map((name) => describeDims(values.get(name)!.dims));
}

/** A Loop whose body keeps a value, makes another grow, and returns a third from each round. */
function loop(condition: string, on = node("Identity", ["go"], ["on"])) {
  return node(
    "Loop",
    ["trips", condition, "x", "x"],
    ["same", "grown", "all"],
    {
      body: {
        graph: {
          inputs: [
            { name: "i", type: "int64", dims: [] },
            { name: "go", type: "bool", dims: [] },
            { name: "v" },
            { name: "w" },
          ],
          outputs: [
            { name: "on", type: "bool" },
            { name: "v1" },
            { name: "w1" },
            { name: "u" },
          ],
          nodes: [
            on,
            node("Relu", ["v"], ["v1"]),
            node("Concat", ["w", "x"], ["w1"], { axis: 0 }),
            node("Transpose", ["v"], ["u"]),
          ],
        },
      },
    },
  );
}

const initializers = {
  trips: scalarOf("int64", 5),
  yes: scalarOf("bool", 1),
};

Deno.test("a Loop keeps the sizes that its body keeps, and has a result of each round", () => {
  const names = ["same", "grown", "all"];
  assert.deepEqual(
    shapesOf({ initializers, nodes: [loop("")] }, ...names),
    ["[n, 3]", "[?grown.0, 3]", "[5, 3, n]"],
  );
  // With a condition it may end before, unless that always holds.
  assert.deepEqual(
    shapesOf({ initializers, nodes: [loop("yes")] }, ...names),
    ["[n, 3]", "[?grown.0, 3]", "[5, 3, n]"],
  );
  // Also where the body alone has one: ONNX Runtime, ONNX's reference and the plain operator end by it.
  for (const condition of ["yes", ""]) {
    const byValue = loop(condition, node("Less", ["i", "trips"], ["on"]));
    assert.deepEqual(
      shapesOf({ initializers, nodes: [byValue] }, ...names),
      ["[n, 3]", "[?grown.0, 3]", "[?all.0, 3, n]"],
    );
  }
});

Deno.test("a Scan goes over an axis, and puts results along another", () => {
  const scan = node("Scan", ["s", "x"], ["last", "all"], {
    num_scan_inputs: 1,
    scan_input_axes: [1],
    scan_output_axes: [-1],
    body: {
      graph: {
        inputs: [{ name: "s0" }, { name: "e" }],
        outputs: [{ name: "s1" }, { name: "o" }],
        nodes: [node("Add", ["s0", "e"], ["s1"]), node("Relu", ["e"], ["o"])],
      },
    },
  });
  const sum = node("ReduceSum", ["x", "axis"], ["s"], { keepdims: 0 });
  assert.deepEqual(
    shapesOf(
      {
        initializers: { axis: { ...scalarOf("int64", 1), dims: [1] } },
        nodes: [sum, scan],
      },
      "last",
      "all",
    ),
    ["[n]", "[n, 3]"],
  );
});

Deno.test("an If has the sizes that its branches have in common", () => {
  const branch = (op: string): WrittenGraph => ({
    outputs: [{ name: "r" }],
    nodes: op === "Concat"
      ? [node("Concat", ["x", "x"], ["r"], { axis: 0 })]
      : [node(op, ["x"], ["r"])],
  });
  const choice = (op: string) =>
    node("If", ["c"], ["y"], {
      then_branch: { graph: branch("Relu") },
      else_branch: { graph: branch(op) },
    });
  const inputs = [{ name: "x", dims: ["n", 3] }, {
    name: "c",
    type: "bool" as const,
    dims: [],
  }];
  assert.deepEqual(shapesOf({ inputs, nodes: [choice("Neg")] }, "y"), [
    "[n, 3]",
  ]);
  assert.deepEqual(shapesOf({ inputs, nodes: [choice("Concat")] }, "y"), [
    "[?y.0, 3]",
  ]);
});
