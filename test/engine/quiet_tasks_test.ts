/** What an engine submits at once, and which tasks it need not hear of alone, where hearing of one is dear. */
import assert from "node:assert/strict";
import { constantCost } from "../../src/cost/table_cost.ts";
import { EngineCore } from "../../src/engine/core/engine.ts";
import { SimExecutor } from "../../src/engine/virtual/sim_executor.ts";
import { Timeline } from "../../src/engine/virtual/timeline.ts";
import { driveVirtual } from "../../src/engine/virtual/virtual_driver.ts";
import { transformer } from "../../src/models/transformer.ts";
import type { Task } from "../../src/policy/launch.ts";
import type { Policy } from "../../src/policy/policy.ts";
import { serial } from "../../src/policy/baselines/serial.ts";

/** An encoder of four tasks, and four cells a step. */
const model = transformer({
  layers: 1,
  hidden: 8,
  heads: 2,
  vocabulary: 11,
});

/** What was submitted behind each number of completed tasks; quiet ones in brackets. */
function submitted(
  policy: Policy,
  isRemote: boolean,
): Record<number, string> {
  const timeline = new Timeline();
  const log: Record<number, string> = {};
  let completed = 0;
  const executor = new SimExecutor({
    timeline,
    cost: constantCost(1000),
    onCompleted(task, startNs, endNs) {
      completed++;
      engine.completed(task, startNs, endNs);
    },
  });
  const push = executor.push.bind(executor);
  executor.push = (task: Task) => {
    const name = task.cell.name.replace(/^.*_/, "");
    log[completed] = [
      ...log[completed]?.split(" ") ?? [],
      task.quiet ? `(${name})` : name,
    ].join(" ");
    push(task as Parameters<typeof push>[0]);
  };
  const engine = new EngineCore({
    ...{ models: [model], policy, executor, isRemote },
  });
  driveVirtual(engine, timeline, [
    { model, input: { tokens: [3, 4, 5, 6] }, arrivalNs: 0, stepsFixed: 3 },
  ]);
  return log;
}

Deno.test("of a run that departs as a whole a growing step is submitted whole, and quiet up to its last task", () => {
  assert.deepEqual(submitted(serial(), true), {
    0: "(embedding) (attention) (forward) (keys) (attention) (source) forward classifier",
    // Four are left, the first step's: none of an earlier one.
    4: "(attention) (source)",
    // The first step was not the last.
    8: "(forward) classifier (attention) (source)",
    12: "(forward) classifier (attention) (source)",
  });
});

Deno.test("nothing is quiet of an engine that hears of tasks at once, or where requests depart step by step", () => {
  const oneAhead = {
    0: "embedding attention forward keys attention source forward classifier",
    7: "attention",
    8: "source",
    9: "forward",
    10: "classifier",
    11: "attention",
    12: "source",
    13: "forward",
    14: "classifier",
    15: "attention",
  };
  assert.deepEqual(submitted(serial(), false), oneAhead);
  const { schedule, ...others } = serial();
  const stepwise: Policy = {
    ...others,
    schedule(view) {
      const decision = schedule(view);
      if (decision.kind !== "launch") return decision;
      return { ...decision, launch: { ...decision.launch, release: "step" } };
    },
  };
  assert.deepEqual(submitted(stepwise, true), oneAhead);
});
