/**
 * The promise on networks of many layers: the registry's models have two cells at most, so deep stacks of
 * sub-batches, stages and buffer pairs need chains of their own.
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import type { VirtualArrival } from "../../src/engine/virtual/virtual_driver.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { serial } from "../../src/policy/baselines/serial.ts";
import { staticChain } from "../policy/static_chain.ts";
import { propertyRuns } from "../property_runs.ts";
import { anyOptions, seldom } from "./arbitraries.ts";
import { runPaired } from "./harness.ts";

const MODELS = [
  staticChain({ cells: ["A", "B", "C", "D", "E", "F"] }),
  staticChain({ name: "recurrent", cells: ["P", "Q*", "R", "S*", "T"] }),
];

const arrivals: fc.Arbitrary<VirtualArrival[]> = fc.array(
  fc.record({
    model: fc.constantFrom(...MODELS),
    gapNs: fc.integer({ min: 0, max: 3000 }),
    x: fc.tuple(fc.float(), fc.float(), fc.float()),
    steps: fc.integer({ min: 1, max: 4 }),
    cancelAfterNs: seldom(fc.integer({ min: 0, max: 20_000 })),
    deadlineAfterNs: seldom(fc.integer({ min: 1, max: 30_000 })),
    finishAfterNs: seldom(fc.integer({ min: 1, max: 40_000 })),
  }),
  { minLength: 1, maxLength: 16 },
).map((drawn) => {
  let arrivalNs = 0;
  return drawn.map(
    ({ model, gapNs, x, steps, ...after }) => {
      const { cancelAfterNs, deadlineAfterNs, finishAfterNs } = after;
      arrivalNs += gapNs;
      return {
        model,
        arrivalNs,
        input: {
          x: x.map((value) => Number.isFinite(value) ? value : 0),
          steps,
        },
        ...(cancelAfterNs !== null &&
          { cancelAtNs: arrivalNs + cancelAfterNs }),
        ...(deadlineAfterNs !== null &&
          { deadlineNs: arrivalNs + deadlineAfterNs }),
        ...(finishAfterNs !== null && { finishNs: arrivalNs + finishAfterNs }),
      };
    },
  );
});

for (const [name, entry] of Object.entries(POLICIES)) {
  Deno.test(`${name}: networks of many layers give the bits of serial execution`, () => {
    fc.assert(
      fc.property(
        arrivals,
        anyOptions(name),
        fc.integer({ min: 1, max: 6 }),
        fc.nat(300),
        (arrivals, options, workers, rowNs) => {
          const cost = {
            latencyNs: (_: unknown, rows: number) => 1000 + rowNs * rows,
          };
          const plain = arrivals.map((
            { cancelAtNs: _c, deadlineNs: _d, finishNs: _f, ...arrival },
          ) => arrival);
          const expected = runPaired({
            models: MODELS,
            policy: serial(),
            arrivals: plain,
            cost,
          });
          const { endings } = runPaired({
            models: MODELS,
            policy: entry.build(options),
            arrivals,
            workers,
            cost,
          });
          endings.forEach((ending, i) => {
            const { cancelAtNs, deadlineNs, finishNs } = arrivals[i];
            if (ending?.outcome === "cancelled") {
              assert(cancelAtNs !== undefined);
            } else if (ending?.outcome === "expired") {
              assert((deadlineNs ?? finishNs) !== undefined);
            } else {
              assert.equal(ending?.outcome, "done", ending?.error?.message);
              assert.deepStrictEqual(
                ending.result,
                expected.endings[i]?.result,
              );
            }
          });
        },
      ),
      { numRuns: propertyRuns(200) },
    );
  });
}
