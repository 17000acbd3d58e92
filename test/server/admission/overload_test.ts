/** More than can be done: what is done in time must not suffer from what cannot be. */
import assert from "node:assert/strict";
import { Prng } from "../../../src/base/prng.ts";
import { poisson } from "../../../src/workload/arrivals.ts";
import { CostAdmission } from "../../../src/server/admission/cost_admission.ts";
import type { AdmissionLimits } from "../../../src/server/admission/admission_limits.ts";
import { EngineMachine } from "./engine_machine.ts";
import { type BatchNs, isInTime, Machine, tokensOf } from "./machine.ts";
import { VirtualTime } from "./virtual_time.ts";

const SLO_NS = 100e6;
const SECOND_NS = 1e9;

/** A fixed part, and a part of every token: 64 requests of 32 tokens take 20 ms. */
const BATCH_NS: BatchNs = (sizes) =>
  2e6 + sizes.reduce((sum, size) => sum + size * 9e3, 0);

/** The most that the machine can do: full batches, one behind the other. */
const PEAK_PER_S = 64 / (BATCH_NS(new Array(64).fill(32)) / SECOND_NS);

async function offered(
  perSecond: number,
  seconds: number,
  limits: Partial<AdmissionLimits>,
): Promise<Machine> {
  const time = new VirtualTime();
  const machine = new Machine(
    time,
    new CostAdmission(limits, time),
    64,
    BATCH_NS,
  );
  const prng = new Prng(7);
  const count = Math.round(perSecond * seconds);
  const timesNs = poisson({ ratePerS: perSecond }).timesNs(count, prng);
  for (const atNs of timesNs) {
    const size = 1 + prng.int(63);
    time.at(atNs, () => void machine.send({ size }));
  }
  await time.until(seconds * SECOND_NS);
  // What is still there ends.
  await time.until(2 * seconds * SECOND_NS);
  return machine;
}

Deno.test("ten times the peak: nine tenths of the peak are done in time", async () => {
  const machine = await offered(10 * PEAK_PER_S, 4, { sloMs: SLO_NS / 1e6 });
  const inTime = machine.inTime(SLO_NS) / 4;
  assert(inTime >= 0.9 * PEAK_PER_S, `${inTime} of ${PEAK_PER_S} a second`);
  const refused = machine.ended.filter(({ outcome }) => outcome === "refused");
  // Nearly nobody waits to be told.
  const waited = refused.filter(({ arrivalNs, endNs }) => endNs > arrivalNs);
  assert(waited.length <= 0.05 * refused.length, `${waited.length} waited`);
  // Those that were admitted were right to be.
  const late = machine.ended.length - refused.length - machine.inTime(SLO_NS);
  assert(late <= 0.05 * 4 * PEAK_PER_S, `${late} late`);
});

Deno.test("without a target what waits is bounded by its cost", async () => {
  const queueCostMs = 200;
  const machine = await offered(10 * PEAK_PER_S, 2, { queueCostMs });
  const done = machine.ended.filter(({ outcome }) => outcome === "done");
  const latest = Math.max(
    ...done.slice(1000).map(({ arrivalNs, endNs }) => endNs - arrivalNs),
  );
  // What waits at most, and the batch under way.
  assert(latest <= 1.5 * (queueCostMs * 1e6 + 20e6), `${latest / 1e6} ms`);
  assert(done.length / 2 >= 0.9 * PEAK_PER_S, `${done.length / 2}`);
});

Deno.test("below the peak nobody is refused", async () => {
  const machine = await offered(0.6 * PEAK_PER_S, 3, { sloMs: SLO_NS / 1e6 });
  const refused = machine.ended.filter(({ outcome }) => outcome !== "done");
  assert.equal(
    refused.length,
    0,
    `${refused.length} of ${machine.ended.length}`,
  );
});

Deno.test("an overload that is over is forgotten: a second later nobody is refused", async () => {
  const time = new VirtualTime();
  const admission = new CostAdmission({ sloMs: SLO_NS / 1e6 }, time);
  const machine = new Machine(time, admission, 64, BATCH_NS);
  const prng = new Prng(3);
  const send = (perSecond: number, fromNs: number, seconds: number) => {
    const count = Math.round(perSecond * seconds);
    for (const atNs of poisson({ ratePerS: perSecond }).timesNs(count, prng)) {
      const size = 1 + prng.int(63);
      time.at(fromNs + atNs, () => void machine.send({ size }));
    }
  };
  send(10 * PEAK_PER_S, 0, 2);
  send(0.1 * PEAK_PER_S, 2 * SECOND_NS, 3);
  await time.until(10 * SECOND_NS);
  const after = machine.ended.filter(({ arrivalNs }) =>
    arrivalNs > 3 * SECOND_NS
  );
  const refused = after.filter(({ outcome }) => outcome !== "done").length;
  assert(after.length > 300);
  assert.equal(refused, 0, `${refused} of ${after.length}`);
});

/** An encoder on a processor: batches gain next to nothing, one of all that may run takes longer than the target. */
const ENCODER_NS: BatchNs = (sizes) =>
  0.5e6 + sizes.reduce((sum, size) => sum + size * 150e3, 0);
const ENCODER_TOKENS_PER_S = 1e9 / 150e3;
const ENCODER_PER_S = ENCODER_TOKENS_PER_S / 64;

Deno.test("a server that has just begun, and was slow at first, comes to its peak under ten times as much", async () => {
  const time = new VirtualTime();
  const sloNs = 200e6;
  const admission = new CostAdmission({ sloMs: 200, runningMax: 64 }, time);
  let nth = 0;
  const machine = new Machine(
    ...[time, admission, 32] as const,
    // What is compiled on first use.
    (sizes) => ENCODER_NS(sizes) + (nth++ === 0 ? 500e6 : 0),
  );
  const prng = new Prng(5);
  const send = (perSecond: number, fromNs: number, seconds: number) => {
    const count = Math.round(perSecond * seconds);
    for (const atNs of poisson({ ratePerS: perSecond }).timesNs(count, prng)) {
      const size = 8 + prng.int(113);
      time.at(fromNs + atNs, () => void machine.send({ size }));
    }
  };
  send(0.9 * ENCODER_PER_S, 0, 2);
  send(10 * ENCODER_PER_S, 3 * SECOND_NS, 8);
  await time.until(3 * SECOND_NS);
  machine.ended.length = 0;
  const tokens = () =>
    tokensOf(machine.ended.filter((one) => isInTime(one, sloNs)));
  for (let second = 1; second <= 8; second++) {
    const before = tokens();
    await time.until((3 + second) * SECOND_NS);
    const inTime = tokens() - before;
    const least = (second === 1 ? 0.8 : 0.9) * ENCODER_TOKENS_PER_S;
    assert(inTime >= least, `${inTime} tokens in second ${second}`);
  }
  const wrong = machine.ended.filter(({ outcome, arrivalNs, endNs }) =>
    outcome === "refused" ? endNs > arrivalNs : endNs > arrivalNs + sloNs
  );
  // Nobody is let in to be refused when he has waited, nor to be late.
  assert(wrong.length <= 8, `${wrong.length}`);
});

/** How much slower than usual a task of a machine is that others use as well, and how much in the mean. */
const SLOWNESS: Readonly<
  Record<string, readonly [(prng: Prng) => number, mean: number]>
> = {
  "as quick as ever": [() => 1, 1],
  "unsteady": [(prng) => Math.exp(0.3 * normal(prng)), Math.exp(0.3 ** 2 / 2)],
  "that stands still at times": [
    (prng) => prng.float() < 0.03 ? 5 : 1,
    1 + 0.03 * 4,
  ],
};
const SEEDS = [5, 6, 7];

function normal(prng: Prng): number {
  return Math.sqrt(-2 * Math.log(1 - prng.float())) *
    Math.cos(2 * Math.PI * prng.float());
}

for (const [what, [slowness, mean]] of Object.entries(SLOWNESS)) {
  Deno.test(`an engine ${what}: of those admitted under ten times the peak, 5 % are late at most`, async () => {
    const sloNs = 200e6;
    let peaks = 0;
    for (const seed of SEEDS) {
      const prng = new Prng(seed);
      const chance = prng.fork("machine");
      const machine = new EngineMachine({
        admission: (time) =>
          new CostAdmission({ sloMs: 200, runningMax: 64 }, time),
        perTokenNs: 150e3,
        slowness: () => slowness(chance),
      });
      let nowNs = 0;
      /** Tokens a second that are done in time, and requests that are late. */
      const offer = async (share: number, seconds: number) => {
        const ratePerS = share * ENCODER_PER_S;
        const count = Math.round(ratePerS * seconds);
        for (const atNs of poisson({ ratePerS }).timesNs(count, prng)) {
          const size = 8 + prng.int(113);
          machine.at(nowNs + atNs, () => void machine.send(size));
        }
        machine.ended.length = 0;
        await machine.until(nowNs += seconds * SECOND_NS);
        const done = machine.ended.filter(({ outcome }) => outcome === "done");
        const inTime = done.filter((one) => isInTime(one, sloNs));
        return {
          tokensPerS: tokensOf(inTime) / seconds,
          late: (done.length - inTime.length) / done.length,
        };
      };
      let peak = 0;
      for (const share of [0.7, 0.85, 1, 1.15, 1.3]) {
        peak = Math.max(peak, (await offer(share, 4)).tokensPerS);
      }
      const { tokensPerS, late } = await offer(10, 8);
      const refused = machine.ended.filter(({ outcome }) =>
        outcome === "refused"
      );
      const waited = refused.filter(({ arrivalNs, endNs }) =>
        endNs > arrivalNs
      );
      assert(waited.length <= 0.002 * refused.length, `${waited.length}`);
      const found = `seed ${seed}: ${late} late, ${tokensPerS} of ${peak}`;
      assert(late <= 0.05, found);
      assert(tokensPerS >= 0.9 * peak, found);
      peaks += peak;
    }
    // And the peak is one: most of what the machine can do.
    const share = mean * peaks / SEEDS.length / ENCODER_TOKENS_PER_S;
    assert(share > 0.8, `peaks are ${share} of what can be done`);
  });
}

Deno.test("where batches pay, the engine is given enough for large ones, whatever the target", async () => {
  const time = new VirtualTime();
  const admission = new CostAdmission({ sloMs: 100, runningMax: 64 }, time);
  // One takes 20 ms, 64 of them 33 ms.
  const machine = new Machine(
    ...[time, admission, 64] as const,
    (sizes) => 20e6 + sizes.reduce((sum, size) => sum + size * 6e3, 0),
  );
  const prng = new Prng(2);
  const ratePerS = 0.7 * 64 / 33e-3;
  for (
    const atNs of poisson({ ratePerS }).timesNs(Math.round(4 * ratePerS), prng)
  ) {
    time.at(atNs, () => void machine.send({ size: 1 + prng.int(63) }));
  }
  await time.until(4 * SECOND_NS);
  const late = machine.ended.filter(({ arrivalNs }) =>
    arrivalNs > 2 * SECOND_NS
  );
  const inTime = late.filter((one) => isInTime(one, SLO_NS)).length;
  assert(inTime >= 0.95 * late.length, `${inTime} of ${late.length}`);
});
