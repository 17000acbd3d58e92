/** Integers that a file has as constants are computed as their types have them, also where they are no sizes. */
import assert from "node:assert/strict";
import { runPlainGraph } from "../../src/onnx/plain_graph.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import { simplify } from "../../src/onnx/simplify/simplify.ts";
import { plainOf, type PlainType } from "../../src/tensor/plain_tensor.ts";
import { node, writeModel, type WrittenNode } from "./write_model.ts";

const LARGEST = 2n ** 63n - 1n;

const filled = (type: PlainType, value: number | bigint) =>
  node("ConstantOfShape", ["two"], ["y"], {
    value: { tensor: plainOf(type, [1], [value]) },
  });

/** Elements of a and b, nodes that make y of them, and what y is. */
const CASES: Record<
  string,
  [
    PlainType,
    readonly (number | bigint)[],
    readonly (number | bigint)[],
    readonly WrittenNode[],
    readonly (number | bigint)[],
  ]
> = {
  "a tensor filled with the largest integer": [
    ...["int64", [], []] as const,
    [filled("int64", LARGEST)],
    [LARGEST, LARGEST],
  ],
  "a tensor filled with the largest integer without a sign": [
    ...["uint64", [], []] as const,
    [filled("uint64", 2n ** 64n - 1n)],
    [2n ** 64n - 1n, 2n ** 64n - 1n],
  ],
  "a remainder by a negative number": [
    ...["int64", [5, 4], [-3, -2]] as const,
    [node("Mod", ["a", "b"], ["y"])],
    [-1n, 0n],
  ],
  "a remainder with the sign of what is divided": [
    ...["int64", [5, -5], [-3, 3]] as const,
    [node("Mod", ["a", "b"], ["y"], { fmod: 1 })],
    [2n, -2n],
  ],
  "a product beyond 2^53": [
    ...["int64", [2n ** 40n, 3n], [2n ** 20n + 1n, 5n]] as const,
    [node("Mul", ["a", "b"], ["y"])],
    [2n ** 60n + 2n ** 40n, 15n],
  ],
  "a sum that wraps around and is looked at": [
    ...["uint8", [200, 1], [100, 2]] as const,
    [node("Add", ["a", "b"], ["c"]), node("Max", ["c", "b"], ["y"])],
    [100, 3],
  ],
  "a reduction that wraps around": [
    ...["int32", [2 ** 31 - 1, 1], [5]] as const,
    [
      node("ReduceSum", ["a"], ["c"], { keepdims: 1 }),
      node("Max", ["c", "b"], ["y"]),
    ],
    [5],
  ],
  "the lowest integer without its sign": [
    ...["int8", [-128], [-127]] as const,
    [node("Abs", ["a"], ["c"]), node("Max", ["c", "b"], ["y"])],
    [-127],
  ],
};

for (const [what, [type, a, b, nodes, expected]] of Object.entries(CASES)) {
  Deno.test(`${what} is exact as a constant`, () => {
    const file = readModel(writeModel({
      graph: {
        inputs: [],
        outputs: [{ name: "y" }],
        initializers: {
          a: plainOf(type, [a.length], a),
          b: plainOf(type, [b.length], b),
          two: plainOf("int64", [1], [2]),
        },
        nodes,
      },
    }));
    const { model: { graph }, values } = simplify(file);
    assert.deepEqual(graph.nodes, []);
    assert.deepEqual(
      values.get("y")!.constant,
      plainOf(type, [expected.length], expected),
    );
    assert.deepEqual(
      runPlainGraph(file.graph, new Map()).get("y"),
      plainOf(type, [expected.length], expected),
    );
  });
}

/** What is made of [n, 3, 2^32], of which n is the number of rows. */
const BESIDE_ROWS: Record<string, [WrittenNode, (number | null)[]]> = {
  "cast to a type that wraps around": [
    node("Cast", ["both"], ["y"], { to: 6 }),
    [3, null],
  ],
  "divided by numbers below 0": [
    node("Mod", ["both", "by"], ["y"]),
    [null, 0],
  ],
};

for (const [what, [made, expected]] of Object.entries(BESIDE_ROWS)) {
  Deno.test(`integers beside a number of rows are followed as far as they are certain: ${what}`, () => {
    const { values } = simplify(readModel(writeModel({
      graph: {
        inputs: [{ name: "x", dims: ["n", 3] }],
        outputs: [{ name: "y" }],
        initializers: {
          far: plainOf("int64", [1], [2 ** 32]),
          by: plainOf("int64", [3], [2, -2, 2]),
        },
        nodes: [
          node("Shape", ["x"], ["shape"]),
          node("Concat", ["shape", "far"], ["both"], { axis: 0 }),
          made,
        ],
      },
    })));
    assert.deepEqual(values.get("y")!.elements?.slice(1), expected);
  });
}
