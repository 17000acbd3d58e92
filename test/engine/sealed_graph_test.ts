/** What a model may do with a request's graph once it is unfolded. */
import { tensor } from "../../src/tensor/tensor.ts";
import assert from "node:assert/strict";
import { defineCell, f32, i32 } from "../../src/graph/cell_builder.ts";
import type { CellGraph, CellNode } from "../../src/graph/cell_graph.ts";
import type { Model } from "../../src/graph/model.ts";
import { endings } from "../run_requests.ts";

const step = defineCell({
  name: "step",
  phase: "decoder",
  recurrent: true,
  inputs: { id: i32() },
  body: (op) => ({ next: op.ArgMax(op.Constant([0, 1])) }),
  stop: { output: "next", token: null },
});

/** Takes three steps, each from what `from` makes of the step before. */
function growing(
  from: (graph: CellGraph, node: CellNode) => Parameters<CellGraph["node"]>[1],
): Model<unknown> {
  const append = (
    graph: CellGraph,
    inputs: Parameters<CellGraph["node"]>[1],
  ) => graph.collect("ids", graph.output(graph.node(step, inputs), "next"));
  return {
    name: "steps",
    cells: [step],
    shape: "chain",
    check() {},
    unfold(_input, graph) {
      append(graph, { id: graph.id(graph.ids([0]), 0) });
      graph.grows(3);
    },
    grow: (node, graph) => append(graph, from(graph, node)),
  };
}

Deno.test("a model that brings data while it grows fails its request alone", () => {
  const [bringing] = endings(
    growing((graph) => ({ id: graph.id(graph.ids([1]), 0) })),
    [0],
  );
  assert(bringing instanceof TypeError);
  assert.match(bringing.message, /^Model "steps" calls graph\.ids\(\) in grow/);
  const [good] = endings(
    growing((graph, node) => ({ id: graph.output(node, "next") })),
    [0],
  );
  assert.deepEqual(good, { ids: tensor([3], Int32Array.of(1, 1, 1)) });
});

Deno.test("a model that keeps a graph cannot append to it later, and its requests end as if it had not tried", () => {
  const double = defineCell({
    name: "double",
    inputs: { x: f32(2) },
    body: (op, { x }) => ({ y: op.Add(x, x) }),
  });
  const kept: CellGraph[] = [];
  const errors: unknown[] = [];
  const keeping: Model<number[]> = {
    name: "keeping",
    cells: [double],
    shape: "chain",
    check() {},
    unfold(row, graph) {
      for (const before of kept) {
        try {
          before.node(double, { x: before.zeros(2) });
        } catch (error) {
          errors.push(error);
        }
      }
      kept.push(graph);
      const x = graph.row(graph.rows(row), 0, 2);
      graph.result("y", graph.output(graph.node(double, { x }), "y"));
    },
  };
  assert.deepEqual(endings(keeping, [[1, 2], [3, 4]]), [
    { y: tensor([2], Float32Array.of(2, 4)) },
    { y: tensor([2], Float32Array.of(6, 8)) },
  ]);
  assert.equal(errors.length, 1);
  assert(errors[0] instanceof TypeError);
});
