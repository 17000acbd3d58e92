/**
 * The promise: under every policy, whatever arrives when, a request's result is the same bits as when
 * it is executed alone. A new policy or model is covered by its line in the registry.
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import type { DeadlineError } from "../../src/engine/core/errors.ts";
import type { VirtualArrival } from "../../src/engine/virtual/virtual_driver.ts";
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import type { Model } from "../../src/graph/model.ts";
import type { Result } from "../../src/graph/result.ts";
import type { TaskRecord } from "../../src/policy/records.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { serial } from "../../src/policy/baselines/serial.ts";
import { propertyRuns } from "../property_runs.ts";
import { anyCase } from "./arbitraries.ts";
import {
  type RunOutcome,
  runPaired,
  runSimulated,
  runThreads,
} from "./harness.ts";

/** The same request without cancellation and deadlines. */
function patient(
  { cancelAtNs: _c, deadlineNs: _d, finishNs: _f, ...arrival }: VirtualArrival,
): VirtualArrival {
  return arrival;
}

/** Results of every request executed alone, without cancellations and deadlines. */
function alone(
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

function assertEqualBits(
  arrivals: readonly VirtualArrival[],
  outcome: RunOutcome,
  expected: readonly (Result | undefined)[],
): void {
  outcome.endings.forEach((ending, i) => {
    assert(ending !== undefined, `request ${i} ended`);
    const { cancelAtNs, deadlineNs, finishNs = Infinity } = arrivals[i];
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

for (const [name, entry] of Object.entries(POLICIES)) {
  Deno.test(`${name}: every result equals serial execution bit for bit (paired)`, () => {
    fc.assert(
      fc.property(
        anyCase(name),
        ({ models, arrivals, options, workers, rowNs }) => {
          const outcome = runPaired({
            models,
            policy: entry.build(options),
            arrivals,
            workers,
            cost: { latencyNs: (_cell, rows) => 1000 + rowNs * rows },
          });
          assertEqualBits(arrivals, outcome, alone(models, arrivals));
        },
      ),
      { numRuns: propertyRuns(1000) },
    );
  });

  Deno.test(`${name}: equal requests in equal order are scheduled the same again`, () => {
    fc.assert(
      fc.property(
        anyCase(name),
        ({ models, arrivals, options, workers, rowNs }) => {
          const timeline = () => {
            const tasks: TaskRecord[] = [];
            const { records } = runSimulated({
              models,
              policy: entry.build(options),
              arrivals,
              workers,
              cost: { latencyNs: (_cell, rows) => 1000 + rowNs * rows },
              observer: { task: (_task, record) => void tasks.push(record) },
            });
            return { tasks, records };
          };
          assert.deepEqual(timeline(), timeline());
        },
      ),
      { numRuns: propertyRuns(200) },
    );
  });

  Deno.test(`${name}: every result equals serial execution bit for bit (worker threads)`, async () => {
    await fc.assert(
      fc.asyncProperty(
        anyCase(name),
        fc.integer({ min: 1, max: 2 }),
        async ({ models, arrivals, options, workers }, threadsPerWorker) => {
          const plain = arrivals.map(patient);
          const outcome = await runThreads({
            models,
            policy: entry.build(options),
            arrivals: plain,
            workers,
            threadsPerWorker,
            // Nothing here is large: cut whatever can be cut.
            team: { leastNs: 0, wakeNs: 0 },
          });
          assertEqualBits(plain, outcome, alone(models, plain));
        },
      ),
      { numRuns: Math.ceil(propertyRuns(1000) / 100) },
    );
  });

  Deno.test(`${name}: every result equals serial execution bit for bit (the engine's own thread)`, async () => {
    await fc.assert(
      fc.asyncProperty(anyCase(name), async ({ models, arrivals, options }) => {
        await using engine = await ServingEngine.create({
          models,
          policy: entry.build(options),
          workers: 0,
          slotBytes: 2 ** 22,
          warmUp: false,
        });
        const results = await Promise.all(
          arrivals.map(({ model, input, stepsFixed }) =>
            engine.run(model, input, { stepsFixed })
          ),
        );
        assert.deepStrictEqual(
          results.map(({ outputs }) => outputs),
          alone(models, arrivals),
        );
      }),
      { numRuns: Math.ceil(propertyRuns(1000) / 20) },
    );
  });
}
