/** What integers of a request may be, as far as the graph says. */
import assert from "node:assert/strict";
import { onnxModel } from "../../src/onnx/model.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import { plainOf, type PlainType } from "../../src/tensor/plain_tensor.ts";
import { node, writeModel, type WrittenNode } from "./write_model.ts";

const floats = (...dims: number[]) =>
  plainOf(
    "float32",
    dims,
    Array.from({ length: dims.reduce((a, b) => a * b, 1) }, (_, i) => i),
  );

const TABLES = {
  large: floats(9, 2),
  small: floats(2, 5),
  depth: plainOf("int64", [], [7]),
  onOff: plainOf("float32", [2], [0, 1]),
  codes: plainOf("int64", [1, 4], [3, 11, 0, 5]),
  shape: plainOf("int64", [1], [3]),
  last: plainOf("int64", [1], [2]),
};

/** Bounds of inputs `ids`, `more` and `x` of such nodes, of which `y` comes out. */
function boundsOf(
  nodes: readonly WrittenNode[],
  type: PlainType = "float32",
): Record<string, number> {
  const used = new Set(nodes.flatMap(({ inputs }) => inputs));
  const given: [string, PlainType][] = [
    ["ids", "int64"],
    ["more", "int32"],
    ["x", "float32"],
  ];
  const file = readModel(writeModel({
    graph: {
      inputs: given.filter(([name]) => used.has(name)).map(([name, type]) => ({
        ...{ name, type },
        dims: [1, 3],
      })),
      outputs: [{ name: "y", type }],
      initializers: Object.fromEntries(
        Object.entries(TABLES).filter(([name]) => used.has(name)),
      ),
      nodes,
    },
  }));
  return Object.fromEntries(onnxModel(file).indexBounds);
}

Deno.test("indices are below the size of the axis that they pick from", () => {
  const bounds = boundsOf([node("Gather", ["large", "ids"], ["y"])]);
  assert.deepEqual(bounds, { ids: 9 });
  assert.deepEqual(
    boundsOf([node("Gather", ["small", "ids"], ["y"], { axis: -1 })]),
    { ids: 5 },
  );
});

Deno.test("bounds are found behind reshapes and casts, and the smallest counts", () => {
  assert.deepEqual(
    boundsOf([
      node("Cast", ["more"], ["wide"], { to: 7 }),
      node("Reshape", ["wide", "shape"], ["flat"]),
      node("Gather", ["large", "flat"], ["a"]),
      node("Gather", ["small", "flat"], ["b"], { axis: 1 }),
      node("Transpose", ["b"], ["c"]),
      node("Add", ["a", "c"], ["y"]),
    ]),
    { more: 5 },
  );
});

Deno.test("codes that are made one-hot, or compared, are below the largest", () => {
  assert.deepEqual(
    boundsOf([node("OneHot", ["ids", "depth", "onOff"], ["y"])]),
    { ids: 7 },
  );
  assert.deepEqual(
    boundsOf([
      node("Unsqueeze", ["ids", "last"], ["column"]),
      node("Equal", ["column", "codes"], ["y"]),
    ], "bool"),
    { ids: 12 },
  );
});

Deno.test("nothing is said of integers that are counted with, nor of floats", () => {
  assert.deepEqual(
    boundsOf([
      node("Cast", ["ids"], ["weights"], { to: 1 }),
      node("Mul", ["weights", "x"], ["y"]),
    ]),
    {},
  );
});
