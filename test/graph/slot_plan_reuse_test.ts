/** Rows that a plan may not hand on, each the smallest graph that shows why. */
import assert from "node:assert/strict";
import { defineCell, f32 } from "../../src/graph/cell_builder.ts";
import { CellGraph, type CellNode } from "../../src/graph/cell_graph.ts";
import type { Model } from "../../src/graph/model.ts";
import { SlotPlan } from "../../src/graph/slot_plan.ts";

const WIDTH = 5;

const plain = defineCell({
  name: "plain",
  inputs: { x: f32(WIDTH) },
  body: (op, { x }) => ({ y: op.Relu(x) }),
});
const sum = defineCell({
  name: "sum",
  inputs: { a: f32(WIDTH), b: f32(WIDTH) },
  body: (op, { a, b }) => ({ y: op.Add(a, b) }),
});
const step = defineCell({
  name: "step",
  recurrent: true,
  phase: "decoder",
  inputs: { x: f32(WIDTH), old: f32(WIDTH) },
  body: (op, { x, old }) => ({ y: op.Add(x, old), id: op.ArgMax(x) }),
  stop: { output: "id", token: null },
});

const model: Model = {
  name: "plans",
  cells: [plain, sum, step],
  shape: "dag",
  check() {},
  unfold() {},
};

const rowOf = (node: CellNode) => node.offsets[0];

Deno.test("SlotPlan keeps a row whose readers it could not find among those that ran before", () => {
  const graph = new CellGraph(model);
  const after = (node: CellNode) =>
    graph.node(plain, { x: graph.output(node, "y") });
  const read = graph.node(plain, { x: graph.zeros(WIDTH) });
  // A reader that may run at any time, behind everything else.
  after(read);
  const parent = after(read);
  let chain = graph.node(plain, { x: graph.zeros(WIDTH) });
  for (let i = 0; i < 300; i++) chain = after(chain);
  const last = graph.node(sum, {
    a: graph.output(parent, "y"),
    b: graph.output(chain, "y"),
  });
  new SlotPlan(graph);
  assert.notEqual(rowOf(last), rowOf(read));
});

Deno.test("SlotPlan keeps what a growing step reads: later steps may read it, too", () => {
  const graph = new CellGraph(model);
  const read = graph.node(plain, { x: graph.zeros(WIDTH) });
  const first = graph.node(step, {
    x: graph.output(read, "y"),
    old: graph.zeros(WIDTH),
  });
  const behind = graph.node(plain, { x: graph.output(first, "y") });
  graph.grows(9);
  new SlotPlan(graph);
  assert.notEqual(rowOf(behind), rowOf(read));
});

Deno.test("SlotPlan refuses a growing step that reads a step before the last", () => {
  const graph = new CellGraph(model);
  const nodes = [
    graph.node(step, { x: graph.zeros(WIDTH), old: graph.zeros(WIDTH) }),
  ];
  graph.grows(9);
  const plan = new SlotPlan(graph);
  const append = (stepsAgo: number): void =>
    graph.growing(() => {
      nodes.push(graph.node(step, {
        x: graph.output(nodes[nodes.length - 1], "y"),
        old: graph.output(nodes[nodes.length - stepsAgo], "y"),
      }));
      plan.place(nodes[nodes.length - 1]);
    });
  append(1);
  append(1);
  assert.throws(() => append(2), {
    name: "RangeError",
    message:
      'Cell "step" of model "plans" reads "step" of 2 steps ago; a growing step reads itself and the step before',
  });
});
