/** LeakyRelu at the ends of its range. */
import assert from "node:assert/strict";
import { defineCell, f32 } from "../../src/graph/cell_builder.ts";
import type { Model } from "../../src/graph/model.ts";
import { runRequests } from "../run_requests.ts";

Deno.test("LeakyRelu without a slope is 0 below 0, and infinite where x is", () => {
  const cell = defineCell({
    name: "slope",
    inputs: { x: f32(4) },
    body: (op, { x }) => ({ y: op.LeakyRelu(x, 0) }),
  });
  const model: Model<number[]> = {
    name: "slope",
    cells: [cell],
    shape: "chain",
    check() {},
    unfold(input, graph) {
      const x = graph.row(graph.rows(input), 0, 4);
      graph.result("y", graph.output(graph.node(cell, { x }), "y"));
    },
  };
  const [{ y }] = runRequests(model, [[Infinity, 3, -0.5, -1e30]]);
  assert.deepEqual([...y.data], [Infinity, 3, 0, 0]);
});
