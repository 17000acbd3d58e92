/** E2bird's experiments: every claim is answered, and what is exact comes out to the digit. */
import assert from "node:assert/strict";
import { verdictOf } from "../../../bench/reproduce/claim.ts";
import { CLAIMS } from "../../../bench/reproduce/e2bird/claims.ts";
import { TITAN } from "../../../bench/reproduce/e2bird/device.ts";
import { EXPERIMENTS } from "../../../bench/reproduce/e2bird/experiments.ts";
import { launchedAtOnce } from "../../../bench/reproduce/e2bird/fig10.ts";
import {
  capacityPerS,
  highPerS,
  latenciesNs,
  lowPerS,
  N,
  optWait,
  peakPerS,
  phasesNs,
  type Place,
  twoPhases,
} from "../../../bench/reproduce/e2bird/systems.ts";
import type { Context } from "../../../bench/reproduce/experiment.ts";
import { outcomeProblems } from "../../../bench/reproduce/run/judge.ts";
import { Prng } from "../../../src/base/prng.ts";
import { mean } from "../../../src/base/statistics.ts";

Deno.test("E2bird's 19 claims are there, by the numbers of the paper", () => {
  assert.deepEqual(
    CLAIMS.map(({ id }) => id),
    Array.from(
      { length: 19 },
      (_, i) => `EB-${String(i + 1).padStart(2, "0")}`,
    ),
  );
});

/** Computes whatever it is asked for. */
const CONTEXT: Context = {
  seed: 1,
  runs: 1,
  quick: true,
  full: false,
  point: async (_key, compute) => await compute(),
};

/** Those that take next to no time. */
const WORKED = new Map([
  ["e2bird.eq1", { "EB-04": "to the digit" }],
  ["e2bird.eq5", { "EB-08": "to the digit" }],
  ["e2bird.fig10", { "EB-09": "to the digit", "EB-10": "to the digit" }],
  ["e2bird.decisions", { "EB-11": "to the digit" }],
  ["e2bird.fig9", { "EB-07": "same direction" }],
  ["e2bird.fig7", { "EB-06": "not reproduced" }],
  ["e2bird.fig12", { "EB-12": "not reproduced", "EB-13": "not reproduced" }],
]);

for (const [id, verdicts] of WORKED) {
  Deno.test(`${id} answers its claims as docs/papers.md says`, async () => {
    const experiment = EXPERIMENTS.find((one) => one.id === id)!;
    const outcome = await experiment.run(CONTEXT);
    assert.deepEqual(outcomeProblems(experiment, outcome, CLAIMS), []);
    const found = outcome.findings.map((finding) => {
      const claim = CLAIMS.find(({ id }) => id === finding.claim)!;
      return [claim.id, verdictOf(claim, finding)];
    });
    assert.deepEqual(Object.fromEntries(found), verdicts);
  });
}

const PLACE: Place = { network: "Res152", device: TITAN };

Deno.test("what is launched at once is in order of launch", () => {
  assert.deepEqual(launchedAtOnce(7).map(({ rows }) => rows), [4, 2, 1]);
});

Deno.test("two phases: means are those of the first 150 and the last 250 requests", () => {
  const [low, high] = [lowPerS(PLACE), 300];
  const times = phasesNs([
    { ratePerS: low, requests: 150 },
    { ratePerS: high, requests: 250 },
  ], new Prng(5));
  assert.equal(times.length, 400);
  times.slice(1).forEach((ns, i) => assert(ns >= times[i], "ascending"));
  const all = latenciesNs(N, PLACE, times);
  const found = twoPhases(N, PLACE, high, 5);
  assert.equal(found.lowMs, mean(all.slice(0, 150)) / 1e6);
  assert.equal(found.highMs, mean(all.slice(150)) / 1e6);
});

Deno.test("the high rate is the one at which TensorFlow Serving's tail reaches the target", () => {
  const system = optWait("Res152");
  const rate = highPerS(system, PLACE, 1);
  assert(twoPhases(system, PLACE, rate, 1).highP99Ms < 200);
  assert(twoPhases(system, PLACE, 1.01 * rate, 1).highP99Ms >= 200);
});

Deno.test("peaks are carried for long, not worked off in time: none is above what the device can do", () => {
  const place: Place = { network: "Res50", device: TITAN };
  const peak = peakPerS({ quick: false }, optWait("Res50"), place, 1);
  // With 3,000 requests, 19 targets, it was 802.3.
  assert(peak < capacityPerS(place), `${peak} of ${capacityPerS(place)}`);
});

Deno.test("copies, gaps and sharing cost what they say", () => {
  const device = { sharing: "equal", copyUs: 400, gapMs: 10 } as const;
  const alone = (
    system: Parameters<typeof latenciesNs>[0],
    place: Place,
  ) => latenciesNs(system, place, [0])[0];
  const noWait = { server: "NO_Wait", waitMs: 0 } as const;
  const plain = alone(noWait, PLACE);
  assert.equal(alone(noWait, { ...PLACE, device }), plain + 350e3 + 10e6);
  assert.equal(alone(N, { ...PLACE, device }), plain + 350e3);
  const apart = (sharing: "equal" | "interference") =>
    latenciesNs(N, { ...PLACE, device: { ...TITAN, sharing } }, [0, 1e6])[1];
  assert(apart("interference") > apart("equal"));
});
