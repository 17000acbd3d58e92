/** A trial that cannot pass any more is ended, and no other one. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { NS_PER_MS } from "../../src/base/units.ts";
import { overMost } from "../../src/load/early_stopping.ts";
import type { Target } from "../../src/load/result.ts";
import { loadPlan } from "../../src/load/plan.ts";
import { trialEnd } from "../../src/load/trial_end.ts";
import { Prng } from "../../src/base/prng.ts";
import { interval } from "../../src/workload/arrivals.ts";
import { propertyRuns } from "../property_runs.ts";
import type { Served } from "./fake_wire.ts";
import { REQUEST, virtualRun } from "./run_load.ts";

const RATE_PER_S = 100;
const GOOD: Served = { tookNs: NS_PER_MS };
const BAD: readonly Served[] = [
  { tookNs: 11 * NS_PER_MS },
  { tookNs: NS_PER_MS, status: 503 },
  { tookNs: NS_PER_MS, status: 500 },
  { tookNs: NS_PER_MS, error: "ECONNRESET", status: 0 },
];

function run(
  target: Target,
  { serve, seconds, isTrial, warmUpS = 1 }: {
    serve: (nth: number) => Served;
    seconds: number;
    isTrial: boolean;
    warmUpS?: number;
  },
) {
  const plan = loadPlan({
    ...{ arrivals: interval({ ratePerS: RATE_PER_S }), ratePerS: RATE_PER_S },
    ...{ warmUpS, seconds, prng: new Prng(1), bodies: [REQUEST] },
    ...{ leaves: 0, leavesWithinNs: 0 },
  });
  return virtualRun({
    ...{ ratePerS: RATE_PER_S, seconds, warmUpS, target, serve },
    ...(isTrial && trialEnd(plan, target)),
  });
}

Deno.test("a trial ends with the first request too many, whatever became of it", async () => {
  for (const bad of BAD) {
    for (const confidence of [0.9, 0.99]) {
      const target = { sloNs: 10 * NS_PER_MS, share: 0.99, confidence };
      const most = overMost(1000, 0.99, confidence);
      // The warm-up's do not count.
      const serve = (nth: number) =>
        nth < 100 || (nth >= 300 && nth % 10 === 0) ? bad : GOOD;
      const { sent, result } = await run(target, {
        ...{ serve, seconds: 10, isTrial: true },
      });
      const last = 300 + 10 * most;
      assert(
        sent.length > last && sent.length <= last + 3,
        `${sent.length}, ${JSON.stringify(bad)}`,
      );
      assert.equal(result.verdict!.over, most + 1);
      assert.equal(result.verdict!.holds, false);
    }
  }
});

Deno.test("with the last request that may be late a trial runs to its end, and holds", async () => {
  const target = { sloNs: 10 * NS_PER_MS, share: 0.99, confidence: 0.9 };
  const most = overMost(1000, 0.99, 0.9);
  assert(most > 0);
  const serve = (nth: number) => nth >= 100 && nth < 100 + most ? BAD[0] : GOOD;
  const { sent, result } = await run(target, {
    ...{ serve, seconds: 10, isTrial: true },
  });
  assert.equal(sent.length, 1100);
  assert.equal(result.verdict!.over, most);
  assert.equal(result.verdict!.holds, true);
});

Deno.test("ending a trial changes no verdict", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 1e9 }),
      fc.constantFrom(0, 0.005, 0.01, 0.02, 0.1),
      fc.constantFrom(0.8, 0.9, 0.99),
      fc.integer({ min: 2, max: 12 }),
      async (seed, badShare, confidence, seconds) => {
        const target = { sloNs: 10 * NS_PER_MS, share: 0.99, confidence };
        const verdict = async (isTrial: boolean) => {
          const prng = new Prng(seed);
          const serve = () =>
            prng.float() < badShare ? BAD[prng.int(BAD.length)] : GOOD;
          const { result } = await run(target, { serve, seconds, isTrial });
          return result.verdict!.holds;
        };
        assert.equal(await verdict(true), await verdict(false));
      },
    ),
    { numRuns: propertyRuns(40) },
  );
});

Deno.test("a trial may end with the first request that counts", async () => {
  const target = { sloNs: 10 * NS_PER_MS, share: 0.99, confidence: 0.9 };
  const serve = () => BAD[1];
  const { result } = await run(target, { serve, seconds: 2, isTrial: true });
  assert.equal(result.requests, 1);
  assert.equal(result.verdict!.holds, false);
});
