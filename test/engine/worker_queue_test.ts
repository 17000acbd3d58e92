/** Tasks of unlike size in an arena that they fill: a small one may not go before a large one that waits. */
import assert from "node:assert/strict";
import { ActiveRequest } from "../../src/engine/core/active_request.ts";
import { unfold } from "../../src/engine/core/unfold.ts";
import type { RunnerTask } from "../../src/engine/tensors/cell_runner.ts";
import type { SlotRequest, SlotTask } from "../../src/engine/tensors/slot.ts";
import { TensorStore } from "../../src/engine/tensors/tensor_store.ts";
import { runEntry } from "../../src/engine/wall/worker_loop.ts";
import { WorkerQueue } from "../../src/engine/wall/worker_queue.ts";
import {
  ARENA_OFFSET,
  CONTROL,
  ENTRY_BYTES,
  entryAddress,
  openControl,
  reportDone,
  RING_ENTRIES,
} from "../../src/engine/wall/worker_ring.ts";
import { CellGraph } from "../../src/graph/cell_graph.ts";
import { alignUp } from "../../src/graph/slot_plan.ts";
import { lstm } from "../../src/models/lstm.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import { alone, assertEqualBits } from "./alone.ts";
import { kernels, runThreads } from "./harness.ts";
import { runStepped } from "./run_stepped.ts";

const model = lstm({ hidden: 16, vocabulary: 50 });

/** Most are short: after three tasks of 60 rows come small ones, for which there would be room. */
const arrivals = Array.from({ length: 60 }, (_, i) => ({
  model,
  input: {
    tokens: Array.from({ length: i % 6 ? 3 : 12 }, (_, t) => (i + t) % 50),
  },
  arrivalNs: 0,
}));

const policy = () => cellular({ batchSizeMax: 64, maxTasksToSubmit: 8 });

/** Room for two tasks of 60 rows and one of 10, not for three of 60. */
const taskBytes = 4096;

Deno.test("a task does not overtake those that wait for room in their worker's arena", () => {
  const expected = alone([model], arrivals);
  for (let seed = 0; seed < 20; seed++) {
    const outcome = runStepped(
      { models: [model], arrivals, policy },
      { seed, speeds: [1], taskBytes, deaths: 0 },
    );
    assertEqualBits(arrivals, outcome, expected);
  }
});

Deno.test("nor in worker threads", async () => {
  const outcome = await runThreads({
    models: [model],
    arrivals,
    policy: policy(),
    taskBytes,
  });
  assert.equal(outcome.records.length, arrivals.length);
  assertEqualBits(arrivals, outcome, alone([model], arrivals));
});

Deno.test("a worker is given as many tasks as its ring holds, and the others when there is room", () => {
  const many = Array.from({ length: 4 * RING_ENTRIES }, (_, i) => ({
    model,
    input: { tokens: [i % 50] },
    arrivalNs: 0,
  }));
  const policy = () =>
    cellular({ batchSizeMax: 1, maxTasksToSubmit: many.length });
  const outcome = runStepped(
    { models: [model], arrivals: many, policy },
    { seed: 1, speeds: [1], taskBytes: 2 ** 20, deaths: 0 },
  );
  assertEqualBits(many, outcome, alone([model], many));
});

Deno.test("a ring has room for all of its entries", () => {
  const [first, ...others] = Array.from(
    { length: RING_ENTRIES },
    (_, n) => entryAddress(0, n),
  );
  let end = first;
  for (const address of others) {
    assert.equal(address, end += ENTRY_BYTES);
  }
  assert.equal(end + ENTRY_BYTES, ARENA_OFFSET);
  assert.equal(entryAddress(0, RING_ENTRIES), first);
});

Deno.test("of what a worker leaves undone it had begun at most the first, and no task of an earlier entry counts", () => {
  const { store, control, queue, push } = queueOfOne();
  const runner = { run: () => true };
  for (let round = 0; round < 3; round++) {
    const task = push(2 * round);
    push(2 * round + 1);
    assert.equal(queue.takeBack(), undefined);
    openControl(store.words, control);
    queue.resume();
    runEntry(runner, store, entryAddress(control, 0));
    assert.equal(queue.takeBack(), task);
    openControl(store.words, control);
    queue.resume();
    for (let done = 0; done < 2; done++) {
      runEntry(runner, store, entryAddress(control, done));
      const bell = { control, doorbell: control + 4 * CONTROL.doorbell };
      reportDone(store.words, bell, done, false);
    }
    assert.equal(queue.poll().length, 2);
    queue.pause();
    assert.equal(queue.takeBack(), undefined);
    openControl(store.words, control);
    queue.resume();
  }
});

Deno.test("a worker keeps no ring back while tasks wait for room in its ring", () => {
  const { store, control, queue, push } = queueOfOne();
  const doorbell = control + 4 * CONTROL.doorbell;
  const told = () => store.words[(control >>> 2) + CONTROL.linger];
  for (let id = 0; id <= RING_ENTRIES; id++) push(id);
  queue.linger(1000, doorbell);
  assert.equal(told(), 0);
  runEntry({ run: () => true }, store, entryAddress(control, 0));
  reportDone(store.words, { control, doorbell }, 0, false);
  assert.equal(queue.poll().length, 1);
  queue.linger(1000, doorbell);
  assert.equal(told(), 1000);
  push(RING_ENTRIES + 1);
  queue.linger(1000, doorbell);
  assert.equal(told(), 0);
});

/** A queue, and a way to give it tasks of one row. */
function queueOfOne() {
  const store = new TensorStore({
    ...{ models: [model], kernels, shared: false, workers: 1 },
    ...{ workerBytes: alignUp(ARENA_OFFSET) + 4096, slotBytes: 2 ** 16 },
  });
  const control = store.workerMemory(0);
  const queue = new WorkerQueue(store, control, 4096);
  const graph = new CellGraph<SlotRequest>(model);
  const request: SlotRequest = new ActiveRequest(
    ...[0, model, graph, 0] as const,
    ...[Infinity, Infinity, undefined, undefined] as const,
  );
  graph.owner = request;
  unfold(model, { tokens: [1] }, graph);
  store.admit(request);
  const [node] = graph.nodes;
  const push = (id: number, shape = PLAIN, quiet = false): SlotTask => {
    const task = { id, launchId: 0, worker: 0, cell: node.cell };
    const whole = { ...task, nodes: [node], ...shape, quiet };
    queue.push(whole);
    return whole;
  };
  return { store, control, node, queue, push };
}

const PLAIN = { padding: 0, padsDone: false, paddedLength: 0 };

Deno.test("a worker is told of a task what the engine was told", () => {
  const { store, control, node, push } = queueOfOne();
  const told: RunnerTask[] = [];
  const runner = { run: (task: RunnerTask) => told.push(task) < 4 };
  const shapes = [
    { padding: 0, padsDone: false, paddedLength: 0 },
    { padding: 3, padsDone: true, paddedLength: 0 },
    { padding: 1, padsDone: true, paddedLength: 7 },
    { padding: 0, padsDone: false, paddedLength: 0 },
  ];
  const quiet: boolean[] = [];
  shapes.forEach((shape, id) => {
    push(id, shape, id > 1);
    quiet.push(runEntry(runner, store, entryAddress(control, id)));
  });
  // The last was void.
  assert.deepEqual(quiet, [false, false, true, false]);
  assert.deepEqual(
    told.map(({ tables: _, ...task }) => task),
    shapes.map(({ padding, ...shape }) => ({
      ...{ program: store.programId(node.cell), rows: 1 + padding },
      ...shape,
    })),
  );
});
