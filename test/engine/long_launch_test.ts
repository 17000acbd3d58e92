/** What requests leave behind while a launch goes on that they are not in. */
import assert from "node:assert/strict";
import type { CostModel } from "../../src/cost/cost_model.ts";
import { defineCell, f32 } from "../../src/graph/cell_builder.ts";
import type { CellGraph } from "../../src/graph/cell_graph.ts";
import type { Model } from "../../src/graph/model.ts";
import type { Launch } from "../../src/policy/launch.ts";
import { IDLE, type Policy } from "../../src/policy/policy.ts";
import type { Request } from "../../src/policy/request.ts";
import { runPaired } from "./harness.ts";

const NS = 1000;
const REQUESTS = 40;

const double = defineCell({
  name: "double",
  inputs: { x: f32(1) },
  body: (op, { x }) => ({ y: op.Add(x, x) }),
});

/** Four times x, and the graphs that it was unfolded into. */
function model(isKnown: boolean) {
  const graphs: CellGraph[] = [];
  const fourfold: Model<number> = {
    name: "fourfold",
    cells: [double],
    shape: "chain",
    check() {},
    ...(isKnown && { brings: (x) => [Float32Array.of(x)] }),
    unfold(x, graph) {
      graphs.push(graph);
      const first = graph.node(double, {
        x: graph.row(graph.rows([x]), 0, 1),
      });
      const y = graph.node(double, { x: graph.output(first, "y") });
      graph.result("y", graph.output(y, "y"));
    },
  };
  return { fourfold, graphs };
}

const byRows: CostModel = { latencyNs: (_cell, rows) => rows * NS };

/** Each request is a launch: the first one's takes longer than all others together, beside it. */
function firstBesideOthers(): Policy {
  const waiting: Request[] = [];
  return {
    name: "first beside others",
    supports: () => undefined,
    enqueue: (request) => void waiting.push(request),
    schedule({ workers }) {
      const [request] = waiting;
      const worker = request?.id === 0 ? 0 : 1;
      if (!request || workers[worker].queued > 0) return IDLE;
      waiting.shift();
      const launch: Launch = {
        worker,
        steps: request.graph.nodes.map((node) => ({
          cell: node.cell,
          nodes: [node],
        })),
        release: "step",
        paddedRows: worker === 0 ? 100 * REQUESTS : 0,
        why: "it is next",
      };
      return { kind: "launch", launch };
    },
  };
}

/** Most graphs that somebody had when a request departed, and all that were made. */
function played(isKnown: boolean): { owned: number; made: number } {
  const { fourfold, graphs } = model(isKnown);
  let owned = 0;
  const ended: number[] = [];
  const { endings } = runPaired({
    models: [fourfold],
    policy: firstBesideOthers(),
    workers: 2,
    cost: byRows,
    arrivals: Array.from(
      { length: REQUESTS },
      (_, i) => ({ model: fourfold, input: i, arrivalNs: 3 * NS * i }),
    ),
    observer: {
      request: ({ id }) => {
        ended.push(id);
        const held = graphs.filter(({ owner }) => owner !== undefined);
        owned = Math.max(owned, held.length);
      },
    },
  });
  assert.equal(ended.at(-1), 0, "the first one is the last");
  endings.forEach((ending, i) =>
    assert.deepEqual([...ending!.result!["y"].data], [4 * i])
  );
  return { owned, made: graphs.length };
}

Deno.test("graphs of requests that are over are taken apart while a launch without them goes on", () => {
  const { owned, made } = played(false);
  assert.equal(made, REQUESTS);
  // The first one's, that of who departs, and of who did before.
  assert(owned <= 3, `${owned} graphs`);
});

Deno.test("graphs of requests that are over are used again while a launch without them goes on", () => {
  const { owned, made } = played(true);
  assert(owned <= 3, `${owned} graphs`);
  assert(made <= 3, `${made} graphs`);
});
