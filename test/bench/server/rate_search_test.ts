/** The search for a rate, on virtual time, against queues whose capacity is known. */
import assert from "node:assert/strict";
import {
  heldRate,
  type RateSearchOptions,
} from "../../../bench/server/rate_search.ts";
import { NS_PER_S } from "../../../src/base/units.ts";
import { requestsLeast } from "../../../src/load/early_stopping.ts";
import type { LoadResult } from "../../../src/load/result.ts";
import { fakeWire } from "../../load/fake_wire.ts";
import { REQUEST } from "../../load/run_load.ts";
import { VirtualClock } from "../../load/virtual_clock.ts";

/** One at a time, in their order. */
async function searched(
  serviceNs: number,
  options: Partial<RateSearchOptions>,
) {
  const clock = new VirtualClock();
  let freeNs = 0;
  const wire = fakeWire(clock, (_nth, atNs) => {
    freeNs = Math.max(freeNs, atNs) + serviceNs;
    return { tookNs: freeNs - atNs };
  });
  const results: LoadResult[] = [];
  const found = await clock.run(heldRate({
    ...{ wire, clock, bodies: [REQUEST], connections: 64, seed: 1 },
    ...{ timeoutMs: 60_000, sloMs: 500, confidence: 0.9, precision: 0.25 },
    fromPerS: NS_PER_S / serviceNs,
    onTrial(_ratePerS, _holds, result) {
      results.push(result);
      return Promise.resolve();
    },
    ...options,
  }));
  return { ...found, results, seconds: clock.nowNs() / NS_PER_S };
}

Deno.test("a server of ten requests a second is searched in three minutes, wherever that begins", async () => {
  const serviceNs = 0.1 * NS_PER_S;
  for (const fromPerS of [20, 10, 4]) {
    const { best, lostPerS, seconds, trials, results } = await searched(
      serviceNs,
      { fromPerS },
    );
    // Half a second is five services: by M/D/1 half of the capacity keeps that at p99, and somewhat less shows it.
    const { ratePerS } = best!;
    assert(ratePerS >= 3 && ratePerS <= 6, `${ratePerS} from ${fromPerS}`);
    assert(lostPerS > ratePerS && lostPerS <= 1.2501 * ratePerS);
    assert(seconds <= 180, `${seconds} s from ${fromPerS}`);
    trials.forEach(({ holds, result }, i) => {
      assert.equal(result, results[i]);
      const { verdict, requests, checks } = result;
      assert.equal(holds, verdict!.holds);
      assert.equal(verdict!.confidence, 0.9);
      const isWhole = checks.find(({ name }) => name === "whole")!.ok;
      if (holds) assert(isWhole && requests >= 230, `${requests}`);
    });
    // One that fails is not sat through.
    for (const { ratePerS, holds, result } of trials) {
      if (holds || ratePerS < 9) continue;
      assert(result.requests < 115, `${result.requests} at ${ratePerS}`);
    }
  }
});

Deno.test("a trial is as long as a queue needs to show, however many requests that is", async () => {
  // A thousand a second: 230 requests would be over before the target is.
  const { best, trials } = await searched(NS_PER_S / 1000, { fromPerS: 1250 });
  assert(best!.ratePerS <= 1000, `${best!.ratePerS}`);
  assert(best!.result.requests >= 20 * 0.5 * 0.9 * best!.ratePerS);
  const first = trials[0];
  assert.equal(first.ratePerS, 1250);
  assert.equal(first.holds, false);
  assert(first.result.verdict!.over > 1, `${first.result.verdict!.over}`);
});

Deno.test("a server that holds nothing has no rate, one that holds all has no bound", async () => {
  const slow = await searched(NS_PER_S, { fromPerS: 1 });
  assert.equal(slow.best, undefined);
  assert.equal(slow.lostPerS, 1 / 16);
  const quick = await searched(1000, { fromPerS: 2, precision: 1 });
  assert.equal(quick.best!.ratePerS, 32);
  assert.equal(quick.lostPerS, Infinity);
});

Deno.test("more confidence takes more requests", async () => {
  for (const confidence of [0.9, 0.99]) {
    const { best } = await searched(NS_PER_S / 100, {
      ...{ confidence, sloMs: 100 },
    });
    assert(best!.result.requests >= requestsLeast(0.99, 0, confidence));
    assert(Number.isFinite(best!.result.latency[2].ns));
  }
  assert.equal(requestsLeast(0.99, 0, 0.9), 230);
});
