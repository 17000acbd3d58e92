/** What the promise compares with: every request executed alone. */
import assert from "node:assert/strict";
import type { DeadlineError } from "../../src/engine/core/errors.ts";
import type { VirtualArrival } from "../../src/engine/virtual/virtual_driver.ts";
import type { Model } from "../../src/graph/model.ts";
import type { Result } from "../../src/graph/result.ts";
import { serial } from "../../src/policy/baselines/serial.ts";
import { assertSteps } from "./joined_steps.ts";
import { type RunOutcome, runPaired } from "./harness.ts";

/** The same request without cancellation and deadlines. */
export function patient(
  { cancelAtNs: _c, deadlineNs: _d, finishNs: _f, ...arrival }: VirtualArrival,
): VirtualArrival {
  return arrival;
}

/** Results of every request executed alone, without cancellations and deadlines. */
export function alone(
  models: readonly Model[],
  arrivals: readonly VirtualArrival[],
): (Result | undefined)[] {
  const plain = arrivals.map(patient);
  const { endings } = runPaired({
    models,
    policy: serial(),
    arrivals: plain,
    cost: { latencyNs: () => 1000 },
  });
  return endings.map((ending) => ending?.result);
}

export function assertEqualBits(
  arrivals: readonly VirtualArrival[],
  outcome: RunOutcome,
  expected: readonly (Result | undefined)[],
): void {
  outcome.endings.forEach((ending, i) => {
    assert(ending !== undefined, `request ${i} ended`);
    const { model, cancelAtNs, deadlineNs, finishNs = Infinity } = arrivals[i];
    const result = expected[i];
    if (model.grow && result) {
      const isDone = ending.outcome === "done";
      assertSteps(outcome.steps[i], result, isDone, `steps of ${i}`);
    }
    if (ending.outcome === "cancelled") return assert(cancelAtNs !== undefined);
    if (ending.outcome === "expired") {
      return assert.equal(
        outcome.records.find(({ id }) => id === i)!.endNs,
        (ending.error as DeadlineError).missed === "start"
          ? deadlineNs
          : finishNs,
        `request ${i} ends at its deadline`,
      );
    }
    assert.equal(ending.outcome, "done", ending.error?.message);
    assert(
      outcome.records.find(({ id }) => id === i)!.endNs <= finishNs,
      `request ${i} is done in time`,
    );
    // deepStrictEqual compares typed arrays element by element with Object.is: -0 is not 0.
    assert.deepStrictEqual(
      ending.result,
      expected[i],
      `result of request ${i}`,
    );
  });
  assert.equal(
    outcome.records.length,
    arrivals.length,
    "every request is reported once",
  );
}
