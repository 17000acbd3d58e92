import assert from "node:assert/strict";
import fc from "fast-check";
import {
  type CoRun,
  coRunTimes,
  keepsQos,
  newWorkerShare,
  overlapBound,
} from "./co_running.ts";
import {
  LSTM_STEP_V100,
  RESNET_TITAN_RTX,
  sharedTable,
  titanRtxInterference,
} from "../../src/cost/published.ts";
import { coRunNs, SharedCapacity } from "../../src/cost/shared_capacity.ts";
import { type CurvePoints, onCurve } from "../../src/base/curve.ts";
import { staticChain } from "../policy/static_chain.ts";
import { propertyRuns } from "../property_runs.ts";

Deno.test("coRunNs(): jobs that fit beside each other do not slow each other down", () => {
  const jobs = [{ aloneNs: 20, demand: 0.75 }, { aloneNs: 40, demand: 0.25 }];
  assert.deepEqual(coRunNs(jobs), [20, 40]);
});

Deno.test("coRunNs(): two jobs that each fill the device take twice as long", () => {
  const full = { aloneNs: 100, demand: 1 };
  assert.deepEqual(coRunNs([full, full]), [200, 200]);
  // 60 of the first and 60 of the second by 120; 40 are left of the second.
  assert.deepEqual(coRunNs([{ aloneNs: 60, demand: 1 }, full]), [120, 160]);
});

Deno.test("coRunNs(): what sums of demands round is no work", () => {
  // 3 x 0.4 is 1.2000000000000002.
  const job = { aloneNs: 1000, demand: 0.4 };
  assert.deepEqual(coRunNs([job, job, job]), [1200, 1200, 1200]);
});

Deno.test("SharedCapacity equals integration in small steps", () => {
  const job = fc.record({
    startNs: fc.nat(200),
    aloneNs: fc.integer({ min: 1, max: 100 }),
    demand: fc.double({ min: 0.1, max: 1, noNaN: true }),
  });
  fc.assert(
    fc.property(fc.array(job, { minLength: 1, maxLength: 6 }), (jobs) => {
      jobs.sort((a, b) => a.startNs - b.startNs);
      const device = new SharedCapacity<number>();
      const endsNs: number[] = [];
      let next = 0;
      for (;;) {
        const end = device.next();
        const start = jobs[next];
        if (!end && !start) break;
        if (end && (!start || end.atNs <= start.startNs)) {
          endsNs[end.job] = end.atNs;
          device.finish(end.job, end.atNs);
        } else {
          const { aloneNs, demand, startNs } = start;
          device.start(next++, aloneNs, demand, startNs);
        }
      }
      const stepNs = 1 / 64;
      const left = jobs.map(({ aloneNs }) => aloneNs);
      const naive: number[] = [];
      for (
        let at = 0;
        naive.filter(() => true).length < jobs.length;
        at += stepNs
      ) {
        const runs = jobs.map((job, i) => job.startNs <= at && left[i] > 0);
        const demand = jobs.reduce(
          (sum, job, i) => sum + (runs[i] ? job.demand : 0),
          0,
        );
        jobs.forEach((_, i) => {
          if (!runs[i]) return;
          left[i] -= stepNs / Math.max(1, demand);
          if (left[i] <= 0) naive[i] = at + stepNs;
        });
      }
      // Ends are whole nanoseconds, rounded up, each of which delays the others by at most as much.
      endsNs.forEach((ns, i) => {
        assert(
          Math.abs(ns - naive[i]) <= jobs.length + 1,
          `${ns} for ${naive[i]}`,
        );
      });
    }),
    { numRuns: propertyRuns(100) },
  );
});

const positive = fc.double({ min: 0.01, max: 100, noNaN: true });
const coRun: fc.Arbitrary<CoRun> = fc.record({
  w1: positive,
  w2: positive,
  w1New: positive,
  w2New: positive,
  u0: fc.constant(1),
  u2: fc.double({ min: 0.01, max: 0.99, noNaN: true }),
});

Deno.test("E2bird Eq. 5 holds exactly when Eq. 2 does, wherever both workers alone keep the target", () => {
  fc.assert(
    fc.property(coRun, positive, (run, t3) => {
      fc.pre(t3 > run.w1 && t3 > run.w2New);
      const { above, below } = newWorkerShare(run, t3);
      fc.pre(
        Math.abs(run.u2 - above) > 1e-9 && Math.abs(run.u2 - below) > 1e-9,
      );
      assert.equal(keepsQos(run, t3), above < run.u2 && run.u2 < below);
    }),
    { numRuns: propertyRuns(500) },
  );
});

Deno.test("E2bird Fig. 8 and Eq. 3: the device's re-timing gives t2 and t4", () => {
  // Worker 1 alone for 300; then both, at a rate of 1 / 1.5 each; then worker 2 alone.
  const device = new SharedCapacity<string>();
  device.start("worker 1", 700, 1, 0);
  device.start("worker 2", 900, 0.5, 300);
  const first = device.next()!;
  device.finish(first.job, first.atNs);
  const second = device.next()!;
  const rate = 1 / 1.5;
  const { t2, t4 } = coRunTimes({
    w1: 300,
    w2: 400,
    // Worker 2's work in units of capacity: it gets half of what worker 1 gets.
    w1New: 400 * 0.5,
    w2New: (900 - 400) * 0.5,
    u0: 1,
    u2: rate * 0.5,
  });
  assert.deepEqual(first, { job: "worker 1", atNs: Math.round(t2) });
  // Alone, worker 2 gets its demand of 0.5, not the whole device as Eq. 3 has it.
  assert.equal(second.atNs, Math.round(t4) + 250);
});

Deno.test("E2bird Eq. 1: what overlap saves of the time, and what it adds to the throughput", () => {
  assert.deepEqual(overlapBound(1, 4), {
    timeSaved: 0.2,
    throughputGain: 0.25,
  });
});

Deno.test("E2bird Table 1: batch over latency gives the printed throughputs", () => {
  const printed: Record<string, number[]> = {
    resnet50: [588, 661, 740, 798],
    resnet101: [338, 388, 441, 489],
    resnet152: [231, 273, 323, 341],
  };
  for (const [network, perS] of Object.entries(printed)) {
    [4, 8, 16, 32].forEach((rows, i) => {
      const computed = rows / (onCurve(RESNET_TITAN_RTX[network], rows) / 1e9);
      // The printed latencies have a tenth of a millisecond.
      assert(Math.abs(computed / perS[i] - 1) < 0.008, `${network} ${rows}`);
    });
  }
});

Deno.test("Cellular Batching section 7.3: the LSTM step table has the printed times", () => {
  assert.equal(onCurve(LSTM_STEP_V100, 64), 185_000);
  assert.equal(onCurve(LSTM_STEP_V100, 512), 784_000);
  assert.equal(onCurve(LSTM_STEP_V100, 1024), 2 * 784_000);
});

Deno.test("sharedTable(): any mix of batches does the work of its rows at the best throughput", () => {
  const { cells: [cell] } = staticChain({ cells: ["A"] });
  const cost = sharedTable(RESNET_TITAN_RTX["resnet152"]);
  const jobs = [8, 8, 16].map((rows) => ({
    aloneNs: cost.latencyNs(cell, rows),
    demand: cost.demand(cell, rows),
  }));
  const endNs = Math.max(...coRunNs(jobs));
  assert(endNs >= cost.latencyNs(cell, 32) - 3);
  assert.equal(cost.demand(cell, 32), 1);
});

Deno.test("sharedTable(): a batch that takes no time fills the device, and the others as without it", () => {
  const { cells: [cell] } = staticChain({ cells: ["a"] });
  const demands = (points: CurvePoints) =>
    [1, 2, 4].map((rows) => sharedTable(points).demand(cell, rows));
  assert.deepEqual(demands([[1, 0]]), [1, 1, 1]);
  assert.deepEqual(demands([[1, 0], [2, 40], [4, 40]]), [1, 0.5, 1]);
});

Deno.test("E2bird Fig. 12: interference gives the profile's 85.3 ms and four times as much", () => {
  const cost = sharedTable(RESNET_TITAN_RTX["resnet152"]);
  const [cell] = staticChain({ cells: ["A"] }).cells;
  const meanMs = (sizes: readonly number[]) => {
    const ends = coRunNs(
      sizes.map((rows) => ({
        aloneNs: cost.latencyNs(cell, rows),
        demand: cost.demand(cell, rows),
      })),
      titanRtxInterference,
    );
    return ends.reduce((sum, ns) => sum + ns, 0) / ends.length / 1e6;
  };
  const best = meanMs([8, 8, 16]);
  assert(Math.abs(best - 85.3) < 0.1, String(best));
  const worst = meanMs(new Array(32).fill(1));
  assert(Math.abs(worst / 85.3 - 4) < 0.02, String(worst));
  assert.equal(titanRtxInterference(1), 1);
});
