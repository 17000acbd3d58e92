/**
 * The promise: under every policy, whatever arrives when, a request's result is the same bits as when
 * it is executed alone. A new policy or model is covered by its line in the registry. On virtual time; with
 * workers: worker_equivalence_test.ts.
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import type { TaskRecord } from "../../src/policy/records.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { propertyRuns } from "../property_runs.ts";
import { alone, assertEqualBits } from "./alone.ts";
import { anyCase } from "./arbitraries.ts";
import { runPaired, runSimulated } from "./harness.ts";

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
}
