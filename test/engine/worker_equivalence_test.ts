/**
 * The promise where workers have queues: in threads, in the engine's own one, and stepped by the test, which
 * seeks orders that threads seldom meet: arenas that a few tasks of unlike size fill, workers that fall behind,
 * crews that die between a task and saying so.
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { propertyRuns } from "../property_runs.ts";
import { alone, assertEqualBits, patient } from "./alone.ts";
import { anyCase } from "./arbitraries.ts";
import { calmOptions } from "./calm_options.ts";
import { type RunOutcome, runThreads } from "./harness.ts";
import { lacksTaskBytes, runStepped } from "./run_stepped.ts";

/** Workers of unlike speed, with arenas that a few tasks fill, or that die now and then. */
const anyPace = fc.record({
  seed: fc.nat(),
  speeds: fc.array(fc.constantFrom(1, 1, 4, 30), {
    minLength: 3,
    maxLength: 3,
  }),
  taskBytes: fc.constantFrom(64, 256, 1024),
  deaths: fc.constantFrom(0, 0, 20, 3),
});

for (const [name, entry] of Object.entries(POLICIES)) {
  Deno.test(`${name}: every result equals serial execution bit for bit (workers that take their time)`, () => {
    fc.assert(
      fc.property(
        anyCase(name),
        anyPace,
        ({ models, arrivals, options, workers }, { speeds, ...pace }) => {
          const cancelled = arrivals.map((arrival) => ({
            ...patient(arrival),
            ...(arrival.cancelAtNs !== undefined &&
              { cancelAtNs: arrival.cancelAtNs }),
          }));
          const outcome = runStepped(
            {
              models,
              policy: () => entry.build(options),
              arrivals: cancelled,
            },
            { ...pace, speeds: speeds.slice(0, workers) },
          );
          assertEqualBits(cancelled, outcome, alone(models, cancelled));
        },
      ),
      { numRuns: propertyRuns(200) },
    );
  });

  Deno.test(`${name}: every result equals serial execution bit for bit (worker threads)`, async () => {
    await fc.assert(
      fc.asyncProperty(
        anyCase(name),
        fc.record({
          threadsPerWorker: fc.integer({ min: 1, max: 2 }),
          spinMs: fc.constantFrom(0, 0.05),
          taskBytes: fc.constantFrom(2 ** 10, 2 ** 14),
        }),
        async ({ models, arrivals, options, workers }, threads) => {
          const plain = arrivals.map(patient);
          const run = async (taskBytes: number): Promise<RunOutcome> => {
            try {
              return await runThreads({
                models,
                policy: entry.build(calmOptions(options)),
                arrivals: plain,
                workers,
                ...threads,
                taskBytes,
                // Nothing here is large: cut whatever can be cut.
                team: { leastNs: 0, wakeNs: 0 },
              });
            } catch (error) {
              if (!lacksTaskBytes(error)) throw error;
              return run(2 * taskBytes);
            }
          };
          const outcome = await run(threads.taskBytes);
          assertEqualBits(plain, outcome, alone(models, plain));
        },
      ),
      { numRuns: Math.ceil(propertyRuns(1000) / 40) },
    );
  });

  Deno.test(`${name}: every result equals serial execution bit for bit (the engine's own thread)`, async () => {
    await fc.assert(
      fc.asyncProperty(anyCase(name), async ({ models, arrivals, options }) => {
        await using engine = await ServingEngine.create({
          models,
          policy: entry.build(calmOptions(options)),
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
