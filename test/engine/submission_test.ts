/** Host time between a task's submission and its worker. */
import assert from "node:assert/strict";
import { constantCost } from "../../src/cost/table_cost.ts";
import { sharedTable } from "../../src/cost/published.ts";
import { simulatedEngine } from "../../src/engine/virtual/simulated_engine.ts";
import { SubmissionDelay } from "../../src/engine/virtual/submission.ts";
import { Timeline } from "../../src/engine/virtual/timeline.ts";
import { driveVirtual } from "../../src/engine/virtual/virtual_driver.ts";
import type { Task } from "../../src/policy/launch.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import { staticChain } from "../policy/static_chain.ts";
import { told, type ToldOptions } from "../policy/told.ts";

const model = staticChain({ cells: ["A*"] });

const run = (
  submitNs: number,
  steps: readonly number[],
  options: Partial<ToldOptions> = {},
) =>
  told({
    policy: cellular({ batchSizeMax: 1, maxTasksToSubmit: 2 }),
    models: [model],
    requests: steps.map((steps) => ({ arrivalNs: 0, input: { steps } })),
    cost: constantCost(3),
    submitNs: () => submitNs,
    ...options,
  });

Deno.test("host time delays a task whose worker stands still, and hides behind what it executes", () => {
  assert.deepEqual(run(1, [4]), [
    "1..4 w0 A:1",
    "4..7 w0 A:1",
    // The next burst is decided at 7.
    "8..11 w0 A:1",
    "11..14 w0 A:1",
  ]);
});

Deno.test("a worker's host hands on one task after the other", () => {
  assert.deepEqual(run(5, [2]), ["5..8 w0 A:1", "10..13 w0 A:1"]);
});

Deno.test("every worker has a host of its own", () => {
  assert.deepEqual(
    run(2, [1, 1], {
      policy: cellular({ batchSizeMax: 1, maxTasksToSubmit: 1 }),
      workers: 2,
    }),
    ["2..5 w0 A:1", "2..5 w1 A:2"],
  );
});

Deno.test("a shared device is submitted to in the same way", () => {
  assert.deepEqual(run(1, [4], { cost: sharedTable([[1, 3]]) }), run(1, [4]));
});

Deno.test("a task that costs its host nothing does not overtake one that is handed on at that time", () => {
  const timeline = new Timeline();
  const handedOn: number[] = [];
  const devices = { count: 1, push: ({ id }: Task) => handedOn.push(id) };
  const delay = new SubmissionDelay(
    devices,
    timeline,
    ({ id }) => id === 0 ? 5 : 0,
  );
  const task = (id: number) =>
    ({ id, worker: 0, cell: {}, nodes: [], padding: 1 }) as unknown as Task;
  // What ends then was begun before, and is heard of first.
  timeline.at(5, 0, () => delay.push(task(1) as never));
  delay.push(task(0) as never);
  while (timeline.advance());
  assert.deepEqual(handedOn, [0, 1]);
});

Deno.test("an engine that hears late hears of a worker's tasks in order, those that end at that time included", () => {
  const heard: number[] = [];
  const policy = cellular({ batchSizeMax: 1, maxTasksToSubmit: 2 });
  const { completed } = policy;
  policy.completed = (task, ranNs) => {
    heard.push(task.id);
    completed?.call(policy, task, ranNs);
  };
  let tasks = 0;
  const { engine, timeline } = simulatedEngine({
    models: [model],
    policy,
    cost: { latencyNs: () => tasks++ % 2 === 0 ? 300 : 700 },
    observer: {},
    heardNs: (nowNs) => 1000 * Math.ceil(nowNs / 1000),
  });
  driveVirtual(engine, timeline, [
    { model, input: { steps: 4 }, arrivalNs: 0 },
  ]);
  assert.deepEqual(heard, [0, 1, 2, 3]);
});
