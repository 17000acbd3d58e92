/**
 * The papers' worked examples, to the digit. The figures themselves are not in the texts: inputs that
 * had to be inferred are marked `Assumption:`.
 */
import assert from "node:assert/strict";
import { constantCost, TableCost } from "../../src/cost/table_cost.ts";
import { CellGraph } from "../../src/graph/cell_graph.ts";
import type { ParseTree } from "../../src/graph/parse_tree.ts";
import { treeLstm } from "../../src/models/tree_lstm.ts";
import { bucketed } from "../../src/policy/baselines/bucketed.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import { graph } from "../../src/policy/baselines/graph_batching.ts";
import { late } from "../../src/policy/late_batching/late.ts";
import {
  type CellularRequest,
  partition,
  type Subgraph,
} from "../../src/policy/cellular_batching/subgraph.ts";
import { runSimulated } from "../engine/harness.ts";
import { batchAt, chain, chainArrivals, simulateChain } from "./timeline.ts";

/**
 * Cellular Batching, Fig. 5 and section 3.2: batch 4, one unit per cell, req1-4 at time 0.
 * Stated: req1 has length 2, req4 length 5; req2 and req3 leave at 3, so they have length 3; the second
 * graph batch takes 7 units. Assumption: req5 has arrived by 2, req6 and req7 by 3, req8 by 5; req5 is
 * the one of length 7; req6, req7 and req8 have lengths 3, 4 and 2.
 */
const FIG_5 = [
  { arrivalNs: 0, length: 2 },
  { arrivalNs: 0, length: 3 },
  { arrivalNs: 0, length: 3 },
  { arrivalNs: 0, length: 5 },
  { arrivalNs: 1, length: 7 },
  { arrivalNs: 2, length: 3 },
  { arrivalNs: 2, length: 4 },
  { arrivalNs: 4, length: 2 },
];

Deno.test("Cellular Batching Fig. 5: graph batching runs req1-4 in 0..5 and req5-8 in 5..12", () => {
  const { departNs } = simulateChain(graph({ batchSizeMax: 4 }), FIG_5);
  assert.deepEqual(departNs.slice(1), [5, 5, 5, 5, 12, 12, 12, 12]);
});

Deno.test("Cellular Batching Fig. 5: cellular batching lets requests join and leave at 2 and 3", () => {
  const timeline = simulateChain(
    cellular({ batchSizeMax: 4, maxTasksToSubmit: 1 }),
    FIG_5,
  );
  assert.deepEqual(batchAt(timeline, 0), [1, 2, 3, 4]);
  assert.deepEqual(batchAt(timeline, 1), [1, 2, 3, 4]);
  assert.deepEqual(batchAt(timeline, 2), [2, 3, 4, 5]);
  assert.deepEqual(batchAt(timeline, 3), [4, 5, 6, 7]);
  assert.equal(timeline.departNs[1], 2);
  assert.equal(timeline.departNs[2], 3);
  assert.equal(timeline.departNs[3], 3);
  assert.equal(timeline.departNs[4], 5);
});

/**
 * LazyBatching, Fig. 6 and section III-B: at most 3 per batch, one unit per cell. Stated: Req1-2 start
 * at 0, Req1 has 5 steps and Req5 10; Req3 joins at 1; Req4 at 4, held back by the limit; Req3, Req4 and
 * Req5 execute together at 5. So Req2 has 4 steps and Req3 more than 4. Assumption: Req3 has 7 and Req4
 * 6 steps; Req3 arrives at 1, Req4 at 2, Req5 at 3.
 */
const FIG_6 = [
  { arrivalNs: 0, length: 5 },
  { arrivalNs: 0, length: 4 },
  { arrivalNs: 1, length: 7 },
  { arrivalNs: 2, length: 6 },
  { arrivalNs: 3, length: 10 },
];

Deno.test("LazyBatching Fig. 6: graph batching keeps Req3-5 waiting until 5", () => {
  const timeline = simulateChain(graph({ batchSizeMax: 3 }), FIG_6);
  assert.deepEqual(batchAt(timeline, 0), [1, 2]);
  assert.deepEqual(timeline.departNs.slice(1, 3), [5, 5]);
  assert.deepEqual(batchAt(timeline, 5), [3, 4, 5]);
});

Deno.test("LazyBatching Fig. 6: cellular batching takes Req3 in at 1, Req4 at 4 and Req5 at 5", () => {
  const timeline = simulateChain(
    cellular({ batchSizeMax: 3, maxTasksToSubmit: 1 }),
    FIG_6,
  );
  assert.deepEqual(batchAt(timeline, 0), [1, 2]);
  assert.deepEqual(batchAt(timeline, 1), [1, 2, 3]);
  assert.deepEqual(batchAt(timeline, 3), [1, 2, 3]);
  assert.deepEqual(batchAt(timeline, 4), [1, 3, 4]);
  assert.deepEqual(batchAt(timeline, 5), [3, 4, 5]);
});

/**
 * Late Batching, Fig. 1 and section 1: batch 4, one unit per cell. Stated: under dataflow batching
 * requests 10-13 start at 105 and return at 112, the shortest having length 2; under late batching one
 * request leaves at 102, request 10 joins at once and returns at 105, so it has length 3.
 * Assumption: the batch before, requests 6-9, starts at 100 with lengths 2, 4, 5, 5; requests 10-13
 * arrive at 100 (so that they are there when the block of 102 is pushed one block ahead, at 101), with
 * lengths 3, 2, 7, 4.
 */
const FIG_1 = [
  ...[2, 4, 5, 5].map((length) => ({ arrivalNs: 100, length })),
  ...[3, 2, 7, 4].map((length) => ({ arrivalNs: 100, length })),
];

Deno.test("Late Batching Fig. 1: dataflow batching returns requests 10-13 at 112", () => {
  const timeline = simulateChain(graph({ batchSizeMax: 4 }), FIG_1, 6);
  assert.deepEqual(batchAt(timeline, 105), [10, 11, 12, 13]);
  assert.deepEqual(timeline.departNs.slice(10), [112, 112, 112, 112]);
});

for (const pushAhead of [1, 2]) {
  Deno.test(`Late Batching Fig. 1: request 10 joins at 102 and returns at 105 (${pushAhead} pushed)`, () => {
    const timeline = simulateChain(
      late({ batchSizeMax: 4, pushAhead }),
      FIG_1,
      6,
    );
    assert.deepEqual(batchAt(timeline, 101), [6, 7, 8, 9]);
    assert.deepEqual(batchAt(timeline, 102), [7, 8, 9, 10]);
    assert.equal(timeline.departNs[6], 102);
    assert.equal(timeline.departNs[10], 105);
  });
}

Deno.test("Cellular Batching section 4.4: a complete tree of 16 leaves has 17 subgraphs", () => {
  const model = treeLstm({ hidden: 1, vocabulary: 1 });
  const cellGraph = new CellGraph<CellularRequest, Subgraph>(model);
  const complete = (depth: number): ParseTree =>
    depth === 0 ? 0 : [complete(depth - 1), complete(depth - 1)];
  model.unfold({ tree: complete(4) }, cellGraph);
  assert.equal(cellGraph.nodes.length, 31);
  const subgraphs = [...partition(cellGraph.nodes)];
  assert.equal(subgraphs.length, 17);
  assert.equal(
    subgraphs.filter(({ cell }) => cell.name === "tree_leaf").length,
    16,
  );
});

Deno.test("Cellular Batching section 7.3: bucket width 10 pads length 21 to 30", () => {
  const { departNs } = simulateChain(bucketed({ bucketWidth: 10 }), [{
    arrivalNs: 0,
    length: 21,
  }]);
  assert.equal(departNs[1], 30);
});

Deno.test("Cellular Batching section 7.3: 784 us per step of 512 bound length 24 by 53 batches/s", () => {
  const batches = 53;
  const requests = Array.from(
    { length: 512 * batches },
    () => ({ arrivalNs: 0, length: 24 }),
  );
  const { records } = runSimulated({
    models: [chain],
    policy: graph({ batchSizeMax: 512 }),
    arrivals: chainArrivals(requests),
    cost: new TableCost({ "*": [[512, 784_000]] }),
  });
  const lastNs = Math.max(...records.map(({ endNs }) => endNs));
  assert.equal(lastNs, batches * 24 * 784_000);
  assert.equal(Math.floor(1e9 / (24 * 784_000)), batches);
});

/**
 * LazyBatching, Fig. 7's rule on a model with a non-recurrent head, under its reading of cellular
 * batching: what arrives while a batch runs waits until it has ended.
 */
Deno.test("cellular() with nonRecurrent: serialize does not let requests join a running batch", () => {
  const model = treeLstm({ hidden: 1, vocabulary: 1 });
  const starts: number[] = [];
  runSimulated({
    models: [model],
    policy: cellular({ nonRecurrent: "serialize" }),
    arrivals: [0, 1, 1].map((arrivalNs) => ({
      model,
      arrivalNs,
      input: { tree: [0, [0, 0]] },
    })),
    cost: constantCost(1),
    observer: { request: (_request, { id, startNs }) => starts[id] = startNs },
  });
  assert.deepEqual(starts, [0, 3, 3]);
});
