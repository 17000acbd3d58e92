import assert from "node:assert/strict";
import { ActiveRequest } from "../../src/engine/core/active_request.ts";
import { settleRow } from "../../src/engine/core/settle_row.ts";
import { defineCell, f32 } from "../../src/graph/cell_builder.ts";
import { CellGraph } from "../../src/graph/cell_graph.ts";
import type { Model } from "../../src/graph/model.ts";

const cell = defineCell({
  name: "twice",
  inputs: { x: f32(1) },
  body: (op, { x }) => ({ y: op.Add(x, x) }),
});

Deno.test("a request starts with its earliest batch, whichever ends first", () => {
  const model: Model = {
    name: "pair",
    cells: [cell],
    shape: "dag",
    check() {},
    unfold() {},
  };
  const graph = new CellGraph<ActiveRequest>(model);
  const request = new ActiveRequest(
    ...[0, model, graph, 0, Infinity, Infinity] as const,
    ...[undefined, undefined] as const,
  );
  graph.owner = request;
  const [long, short, last] = [0, 1, 2].map(() =>
    graph.node(cell, { x: graph.zeros(1) })
  );
  // From 0 to 50 on one worker, from 10 to 11 on another, from 20 on one of them.
  assert(settleRow(short, "done", 10));
  assert.equal(request.startNs, 10);
  assert(settleRow(long, "done", 0));
  assert.equal(request.startNs, 0);
  assert(settleRow(last, "done", 20));
  assert.equal(request.startNs, 0);
});
