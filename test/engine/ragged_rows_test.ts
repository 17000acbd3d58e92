/** Rows of nobody among ragged ones. */
import assert from "node:assert/strict";
import { ActiveRequest } from "../../src/engine/core/active_request.ts";
import { unfold } from "../../src/engine/core/unfold.ts";
import { taskLayout } from "../../src/engine/lowering/task_layout.ts";
import type { SlotRequest, SlotTask } from "../../src/engine/tensors/slot.ts";
import { TensorStore } from "../../src/engine/tensors/tensor_store.ts";
import { CellGraph } from "../../src/graph/cell_graph.ts";
import { bert } from "../../src/models/bert.ts";
import { graph } from "../../src/policy/baselines/graph_batching.ts";
import { serial } from "../../src/policy/baselines/serial.ts";
import type { Policy } from "../../src/policy/policy.ts";
import { kernels, runPaired } from "./harness.ts";

const encoder = bert({
  ...{ hidden: 8, heads: 2, layers: 2, inner: 8 },
  ...{ vocabulary: 11, classes: 4 },
});

Deno.test("a row of nobody may stand before those of others", () => {
  const arrivals = [[1, 2, 3], [4, 5], [6]].map((tokens) => ({
    ...{ model: encoder, input: { tokens }, arrivalNs: 0 },
  }));
  const run = (policy: Policy, cancelAtNs?: number) =>
    runPaired({
      models: [encoder],
      policy,
      arrivals: arrivals.map((arrival, i) => ({
        ...arrival,
        ...(i === 0 && cancelAtNs !== undefined && { cancelAtNs }),
      })),
      cost: { latencyNs: () => 1000 },
    }).endings.map((ending) => ending?.result);
  const [, ...others] = run(serial());
  // Cancelled while the first cell runs: padding from the second on.
  assert.deepStrictEqual(run(graph(), 500).slice(1), others);
});

Deno.test("rows of nobody have the tokens of the longest beside them", () => {
  const store = new TensorStore({
    ...{ models: [encoder], kernels, shared: false },
    ...{ workers: 1, workerBytes: 4096, slotBytes: 2 ** 20 },
  });
  const nodes = [[1, 2, 3], [4, 5, 6, 7]].map((tokens, id) => {
    const graph = new CellGraph<SlotRequest>(encoder);
    const request: SlotRequest = new ActiveRequest(
      ...[id, encoder, graph, 0] as const,
      ...[Infinity, Infinity, undefined, undefined] as const,
    );
    graph.owner = request;
    unfold(encoder, { tokens }, graph);
    store.admit(request);
    return graph.nodes[0];
  });
  const [{ cell }] = nodes;
  const padding = 3;
  const task: SlotTask = {
    ...{ id: 0, launchId: 0, worker: 0, cell, nodes, padding },
    ...{ padsDone: true, paddedLength: 0 },
  };
  const address = store.workerMemory(0);
  store.tables.write(task, address);
  const { last } = taskLayout(store.programs[store.programId(cell)]);
  const rows = nodes.length + padding;
  const at = (address >>> 2) + last * rows;
  assert.deepEqual([...store.words.subarray(at, at + rows)], [3, 4, 4, 4, 4]);
});
