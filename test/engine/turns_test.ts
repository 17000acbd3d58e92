/** Which requests find themselves in a batch, by when they were made: one task between two turns of the event loop. */
import assert from "node:assert/strict";
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import { defineCell, f32 } from "../../src/graph/cell_builder.ts";
import type { Model } from "../../src/graph/model.ts";
import {
  cellular,
  type CellularOptions,
} from "../../src/policy/cellular_batching/cellular.ts";
import type { EngineView } from "../../src/policy/policy.ts";

const cell = defineCell({
  name: "tanh",
  inputs: { x: f32(4) },
  body: (op, { x }) => ({ y: op.Tanh(x) }),
});

/** One row of one cell. */
const model: Model<number[]> = {
  name: "row",
  cells: [cell],
  shape: "chain",
  check() {},
  unfold(x, graph) {
    const node = graph.node(cell, { x: graph.row(graph.rows(x), 0, 4) });
    graph.result("y", graph.output(node, "y"));
  },
};

/** An engine in this thread, and the rows of its batches so far. */
async function observed(options: CellularOptions) {
  const rows: number[] = [];
  const engine = await ServingEngine.create({
    models: [model],
    policy: cellular(options),
    workers: 0,
    warmUp: false,
    slotBytes: 2 ** 20,
    observer: { task: (_, task) => rows.push(task.rows) },
  });
  const run = () => engine.run(model, [1, 2, 3, 4]);
  const runAll = (count: number) =>
    Promise.all(Array.from({ length: count }, run));
  return { engine, rows, run, runAll };
}

Deno.test("requests that are made at once share a batch, the first one included", async () => {
  const { engine, rows, runAll } = await observed({});
  await runAll(40);
  assert.deepEqual(rows, [40]);
  await engine.close();
});

Deno.test("who has a result asks for the next one before a busy worker is given more", async () => {
  const { engine, rows, run, runAll } = await observed({ tasksAhead: 1 });
  const lane = async () => {
    await run();
    await run();
  };
  // Two tasks of 12; further 9 wait until the worker has one task alone, together with the 12 that come again.
  const lanes = Array.from({ length: 24 }, lane);
  await Promise.resolve();
  await Promise.resolve();
  const more = runAll(9);
  await Promise.all([...lanes, more]);
  assert.deepEqual(rows.slice(0, 3), [12, 12, 17]);
  await engine.close();
});

Deno.test("policies hear whether workers run beside the engine", async () => {
  for (const workers of [0, 1]) {
    const policy = cellular();
    const { schedule } = policy;
    const views: (boolean | undefined)[] = [];
    policy.schedule = function (view: EngineView) {
      views.push(view.isRemote);
      return schedule.call(this, view);
    };
    await using engine = await ServingEngine.create({
      models: [model],
      policy,
      workers,
      warmUp: false,
      slotBytes: 2 ** 20,
    });
    await engine.run(model, [1, 2, 3, 4]);
    assert.deepEqual([...new Set(views)], [workers > 0]);
  }
});

Deno.test("an engine in this thread goes on where a test has put its own clock in the place of timers", async () => {
  const { engine } = await observed({});
  const { setImmediate } = globalThis;
  globalThis.setImmediate = (() => ({})) as unknown as typeof setImmediate;
  try {
    const { outputs } = await engine.run(model, [0, 0, 0, 0]);
    assert.deepEqual([...outputs.y.data], [0, 0, 0, 0]);
  } finally {
    globalThis.setImmediate = setImmediate;
    await engine.close();
  }
});
