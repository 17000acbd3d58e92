/** Sequences of tensors, which are taken apart when a file is loaded, beside lists of what is in them. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { onnxModel } from "../../src/onnx/model.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import { plainOf } from "../../src/tensor/plain_tensor.ts";
import { runRequests } from "../run_requests.ts";
import {
  node,
  writeModel,
  type WrittenGraph,
  type WrittenNode,
} from "./write_model.ts";

const ROWS = 5;
const WIDTH = 3;
const X = { name: "x", dims: [ROWS, WIDTH] };
const whole = (...values: number[]) =>
  plainOf("int64", [values.length], values);
const number = (value: number) => plainOf("int64", [], [value]);

function modelOf(graph: Partial<WrittenGraph>) {
  return onnxModel(readModel(
    writeModel({
      graph: { inputs: [X], outputs: [{ name: "y" }], nodes: [], ...graph },
    }),
    { label: "m.onnx" },
  ));
}

/** x is 0, 1, 2, ... and more by `offset`. */
const request = (offset: number) => ({
  x: Float32Array.from({ length: ROWS * WIDTH }, (_, i) => i + offset),
});

/** Results of a request alone, and in a batch of others; the same. */
function resultOf(graph: Partial<WrittenGraph>) {
  const model = modelOf(graph);
  const [alone] = runRequests(model, [request(0)]);
  const [, inBatch] = runRequests(model, [request(7), request(0), request(9)]);
  assert.deepEqual(inBatch, alone);
  return alone;
}

/** What happens to a list of rows of x; places are taken as fractions of those that there are. */
const STEPS = fc.array(
  fc.oneof(
    fc.record({
      what: fc.constant("insert" as const),
      row: fc.nat(ROWS - 1),
      at: fc.option(fc.double({ min: 0, max: 1, noNaN: true })),
      fromEnd: fc.boolean(),
    }),
    fc.record({
      what: fc.constant("erase" as const),
      at: fc.option(fc.double({ min: 0, max: 1, noNaN: true })),
      fromEnd: fc.boolean(),
    }),
  ),
  { maxLength: 8 },
);

Deno.test("sequences that are split, filled and emptied are the lists that they stand for", () => {
  fc.assert(
    fc.property(
      STEPS,
      fc.constantFrom("each", "chunks", "lengths"),
      (steps, way) => {
        const nodes: WrittenNode[] = [];
        const initializers: Record<string, ReturnType<typeof whole>> = {};
        // Rows of x, one by one, whatever they are split into.
        let list: number[][] = way === "each"
          ? [[0], [1], [2], [3], [4]]
          : way === "chunks"
          ? [[0, 1], [2, 3], [4]]
          : [[0], [1, 2, 3], [4]];
        if (way === "chunks") initializers["split"] = number(2);
        if (way === "lengths") initializers["split"] = whole(1, 3, 1);
        nodes.push(
          node("SplitToSequence", way === "each" ? ["x"] : ["x", "split"], [
            "s0",
          ], { axis: -2 }),
        );
        let sequence = "s0";
        steps.forEach((step, i) => {
          const { length } = list;
          const isInsert = step.what === "insert";
          const count = isInsert ? length + 1 : length;
          if (count === 0) return;
          const place = step.at === null
            ? count - 1
            : Math.min(count - 1, Math.floor(step.at * count));
          const isNegative = step.fromEnd && place < length;
          const made = `s${i + 1}`;
          const at = step.at === null ? [] : [`at${i}`];
          if (step.at !== null) {
            initializers[`at${i}`] = number(
              isNegative ? place - length : place,
            );
          }
          if (isInsert) {
            initializers[`row${i}`] = whole(step.row);
            nodes.push(
              node("Gather", ["x", `row${i}`], [`r${i}`], { axis: 0 }),
              node("SequenceInsert", [sequence, `r${i}`, ...at], [made]),
            );
            list = list.toSpliced(place, 0, [step.row]);
          } else {
            nodes.push(node("SequenceErase", [sequence, ...at], [made]));
            list = list.toSpliced(place, 1);
          }
          sequence = made;
        });
        nodes.push(node("SequenceLength", [sequence], ["n"]));
        const outputs: { name: string; type?: "int64" }[] = [
          { name: "n", type: "int64" },
        ];
        if (list.length > 0) {
          initializers["last"] = number(-1);
          nodes.push(
            node("ConcatFromSequence", [sequence], ["y"], { axis: 0 }),
            node("SequenceAt", [sequence, "last"], ["z"]),
          );
          outputs.push({ name: "y" }, { name: "z" });
        }
        const { n, y, z } = resultOf({ nodes, initializers, outputs });
        assert.deepEqual([...n.data], [BigInt(list.length)]);
        if (list.length === 0) return;
        const valuesOf = (rows: readonly number[]) =>
          rows.flatMap((row) => [0, 1, 2].map((at) => row * WIDTH + at));
        assert.deepEqual([...y.data], valuesOf(list.flat()));
        assert.deepEqual(y.shape, [list.flat().length, WIDTH]);
        assert.deepEqual([...z.data], valuesOf(list.at(-1)!));
      },
    ),
    { numRuns: 60 },
  );
});

Deno.test("columns that are taken apart without their axis are put together along a new one", () => {
  const { y } = resultOf({
    nodes: [
      node("SplitToSequence", ["x"], ["s"], { axis: 1, keepdims: 0 }),
      node("ConcatFromSequence", ["s"], ["y"], { axis: 0, new_axis: 1 }),
    ],
  });
  assert.deepEqual(y.shape, [WIDTH, ROWS]);
  assert.deepEqual(
    [...y.data],
    [0, 1, 2].flatMap((column) =>
      [0, 1, 2, 3, 4].map((row) => row * WIDTH + column)
    ),
  );
});

Deno.test("a sequence is handed on by Identity and by the branch of an If that is certain", () => {
  const branch = (...tensors: string[]): WrittenGraph => ({
    outputs: [{ name: "made", isSequence: true }],
    nodes: [
      node("SequenceEmpty", [], ["none"]),
      node("SequenceConstruct", tensors, ["made"]),
    ],
  });
  const { y } = resultOf({
    initializers: { yes: plainOf("bool", [], [1]), second: number(1) },
    nodes: [
      node("Neg", ["x"], ["a"]),
      node("If", ["yes"], ["s"], {
        then_branch: { graph: branch("x", "a") },
        else_branch: { graph: branch("x") },
      }),
      node("Identity", ["s"], ["t"]),
      node("SequenceAt", ["t", "second"], ["y"]),
    ],
  });
  assert.deepEqual([...y.data], [...request(0).x].map((value) => -value));
});

Deno.test("sequences that are not known when a file is loaded are refused by name", () => {
  const at = (place: string): WrittenNode[] => [
    node("SplitToSequence", ["x"], ["s"], { axis: 0 }),
    node("SequenceAt", ["s", place], ["y"]),
  ];
  const refused: readonly (readonly [Partial<WrittenGraph>, RegExp])[] = [
    [
      {
        inputs: [X, { name: "i", type: "int64", dims: [] }],
        nodes: at("i"),
      },
      /node "SequenceAt:y" \(SequenceAt\): the place in the sequence depends on values/,
    ],
    [
      { initializers: { i: number(ROWS) }, nodes: at("i") },
      /place 5 is none in a sequence of 5 tensors/,
    ],
    [
      { initializers: { i: number(-ROWS - 1) }, nodes: at("i") },
      /place -6 is none in a sequence of 5 tensors/,
    ],
    [
      {
        inputs: [X, { name: "sizes", type: "int64", dims: [2] }],
        nodes: [
          node("SplitToSequence", ["x", "sizes"], ["s"], { axis: 0 }),
          node("ConcatFromSequence", ["s"], ["y"], { axis: 0 }),
        ],
      },
      /\(SplitToSequence\): sizes of the parts depend on values/,
    ],
    [
      {
        initializers: { each: number(0) },
        nodes: [
          node("SplitToSequence", ["x", "each"], ["s"], { axis: 0 }),
          node("ConcatFromSequence", ["s"], ["y"], { axis: 0 }),
        ],
      },
      /parts of 0 have no end/,
    ],
    [
      {
        nodes: [
          node("SplitToSequence", ["x"], ["s"], { axis: 2 }),
          node("ConcatFromSequence", ["s"], ["y"], { axis: 0 }),
        ],
      },
      /axis 2 is none of 2/,
    ],
    [
      {
        inputs: [{ name: "x", dims: [1, 5000] }],
        nodes: [
          node("SplitToSequence", ["x"], ["s"], { axis: 1 }),
          node("ConcatFromSequence", ["s"], ["y"], { axis: 1 }),
        ],
      },
      /a sequence of 5000 tensors is not supported/,
    ],
    [
      {
        nodes: [
          node("SequenceEmpty", [], ["s"]),
          node("ConcatFromSequence", ["s"], ["y"], { axis: 0 }),
        ],
      },
      /\(ConcatFromSequence\): the sequence is empty/,
    ],
    [
      {
        nodes: [
          node("SequenceEmpty", [], ["s"]),
          node("SequenceErase", ["s"], ["t"]),
          node("ConcatFromSequence", ["t"], ["y"], { axis: 0 }),
        ],
      },
      /\(SequenceErase\): the sequence is empty/,
    ],
    [
      { nodes: [node("SequenceLength", ["x"], ["y"])] },
      /which tensors are in "x" is not known before a request is there/,
    ],
  ];
  for (const [graph, message] of refused) {
    assert.throws(() => modelOf(graph), message);
  }
});
