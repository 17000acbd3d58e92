/** Frames of many sources: how many, when, and in which order. */
import assert from "node:assert/strict";
import fc from "fast-check";
import {
  type StreamArrival,
  streamLoad,
  type StreamSources,
} from "../../src/workload/stream_load.ts";
import { propertyRuns } from "../property_runs.ts";

const MS = 1e6;

const sources = fc.array(
  fc.record({
    streams: fc.integer({ min: 1, max: 6 }),
    periodNs: fc.integer({ min: 1, max: 40 }).map((ms) => ms * MS),
    jitterNs: fc.integer({ min: 0, max: 90 }).map((ms) => ms * MS),
    stallEveryNs: fc.constantFrom(20 * MS, 200 * MS, Infinity),
    stallNs: fc.constantFrom(1, 50 * MS),
  }),
  { minLength: 1, maxLength: 3 },
);

Deno.test("every source makes a frame in every period, and a stream's frames arrive in order", () => {
  fc.assert(
    fc.property(sources, fc.nat(300), fc.nat(), (sources, ms, seed) => {
      const durationNs = (ms + 1) * MS;
      const byStream: StreamArrival[][] = [];
      let lastNs = 0;
      for (const frame of streamLoad({ sources, durationNs, seed })) {
        assert(frame.atNs >= lastNs, "in order of arrival");
        lastNs = frame.atNs;
        (byStream[frame.stream] ??= []).push(frame);
      }
      const groups = sources.flatMap(({ streams }, group) =>
        new Array<number>(streams).fill(group)
      );
      groups.forEach((group, stream) => {
        const { periodNs } = sources[group];
        const frames = byStream[stream] ?? [];
        const phaseNs = frames[0]?.madeNs ?? durationNs;
        assert(frames.length >= Math.floor(durationNs / periodNs));
        assert(phaseNs <= Math.max(periodNs, durationNs));
        frames.forEach((frame, at) => {
          assert.equal(frame.frame, at);
          assert.equal(frame.group, group);
          assert.equal(frame.madeNs, phaseNs + at * periodNs);
          assert(frame.madeNs < durationNs);
          assert(frame.atNs >= frame.madeNs);
          if (at > 0) assert(frame.atNs >= frames[at - 1].atNs);
        });
        const next = phaseNs + frames.length * periodNs;
        assert(next >= durationNs, "none is missing at the end");
      });
    }),
    { numRuns: propertyRuns(200) },
  );
});

function arrivals(source: Partial<StreamSources>, seed = 1): StreamArrival[] {
  const sources = [{ streams: 50, periodNs: 8 * MS, ...source }];
  return [...streamLoad({ sources, durationNs: 2000 * MS, seed })];
}

Deno.test("a source whose phase is nearly a period makes a frame in the first one", () => {
  // Those of the first twenty million in which one rounds to the whole period.
  for (const seed of [1793420, 5566213, 7390777, 8374939]) {
    const sources = [{ streams: 1, periodNs: MS }];
    const frames = [...streamLoad({ sources, durationNs: MS, seed })];
    assert.equal(frames.length, 1);
  }
});

Deno.test("without jitter and stalls a frame arrives when it is made; with jitter within its bound", () => {
  for (const { atNs, madeNs } of arrivals({})) assert.equal(atNs, madeNs);
  const delays = arrivals({ jitterNs: 3 * MS }).map(({ atNs, madeNs }) =>
    atNs - madeNs
  );
  assert(Math.max(...delays) <= 3 * MS);
  const mean = delays.reduce((sum, delay) => sum + delay, 0) / delays.length;
  assert(Math.abs(mean / (1.5 * MS) - 1) < 0.03, `${mean} ns`);
});

Deno.test("a stall holds a source's frames back and lets them go at once", () => {
  const frames = arrivals({
    streams: 400,
    stallEveryNs: 400 * MS,
    stallNs: 100 * MS,
  });
  const heldBack = frames.filter(({ atNs, madeNs }) => atNs > madeNs);
  const share = heldBack.length / frames.length;
  // A fifth, but none begins in one: 0.192 of the first 2 s.
  assert(Math.abs(share - 0.192) < 0.02, `${share} of the time`);
  const bursts = new Map<string, number>();
  for (const { stream, atNs } of heldBack) {
    const key = `${stream} ${atNs}`;
    bursts.set(key, (bursts.get(key) ?? 0) + 1);
  }
  // 100 ms are 12 or 13 frames in the mean; of stalls longer than a frame rather more.
  const mean = heldBack.length / bursts.size;
  assert(mean > 9 && mean < 17, `${mean} frames a burst`);
});

Deno.test("a stall is ten periods long unless told", () => {
  const arrivalsNs = (stalls: Partial<StreamSources>) =>
    arrivals({ stallEveryNs: 400 * MS, ...stalls })
      .reduce((sum, { atNs }) => sum + atNs, 0);
  assert.equal(arrivalsNs({}), arrivalsNs({ stallNs: 80 * MS }));
  assert.notEqual(arrivalsNs({}), arrivalsNs({ stallNs: 8 * MS }));
});

Deno.test("sources begin in every part of their first period", () => {
  const parts = new Array<number>(20).fill(0);
  for (const { frame, madeNs } of arrivals({ streams: 1000 })) {
    if (frame === 0) parts[Math.floor(20 * madeNs / (8 * MS))]++;
  }
  // 50 of each, give or take 7: bunched ones are all over the place.
  for (const count of parts) assert(Math.abs(count - 50) < 28, `${parts}`);
});

Deno.test("a load of one source begins in every part of the period, and stalls at any time, over seeds in a row", () => {
  const phases = new Array<number>(4).fill(0);
  const stalls = new Array<number>(4).fill(0);
  for (let seed = 1; seed <= 400; seed++) {
    const stallEveryNs = 400 * MS;
    const frames = arrivals({ streams: 1, stallEveryNs }, seed);
    phases[Math.floor(4 * frames[0].madeNs / (8 * MS))]++;
    const stalled = frames.find(({ atNs, madeNs }) => atNs > madeNs);
    const beforeNs = stalled?.madeNs ?? Infinity;
    stalls[Math.floor(4 * Math.exp(-beforeNs / stallEveryNs))]++;
  }
  // 100 of each, give or take 9.
  for (const count of [...phases, ...stalls]) {
    assert(Math.abs(count - 100) < 40, `${phases} and ${stalls}`);
  }
});

Deno.test("a source's times do not depend on how many others there are", () => {
  const jitterNs = 5 * MS;
  const stallEveryNs = 300 * MS;
  const few = arrivals({ streams: 3, jitterNs, stallEveryNs });
  const many = arrivals({ streams: 40, jitterNs, stallEveryNs });
  assert.deepEqual(many.filter(({ stream }) => stream < 3), few);
  assert.notDeepEqual(
    arrivals({ streams: 3, jitterNs, stallEveryNs }, 2),
    few,
  );
});

Deno.test("a load names the option that is none", () => {
  const good = { streams: 1, periodNs: 1 };
  const load = (source: unknown, more = {}) => () =>
    streamLoad({
      sources: [source as StreamSources],
      durationNs: 10,
      seed: 1,
      ...more,
    }).next();
  assert.throws(load({ ...good, streams: 0 }), /"streams"/);
  assert.throws(load({ ...good, periodNs: 0 }), /"periodNs"/);
  assert.throws(load({ ...good, jitterNs: NaN }), /"jitterNs"/);
  assert.throws(load({ ...good, stallEveryNs: -1 }), /"stallEveryNs"/);
  assert.throws(load({ ...good, jitter: 1 }), /"jitter"/);
  assert.throws(load(good, { durationNs: Infinity }), /"durationNs"/);
  assert.throws(load(good, { seed: 0.5 }), /"seed"/);
  assert.throws(load(good, { sources: 3 }), /"sources"/);
});

Deno.test("an option without a value has its default", () => {
  const given = { streams: 2, jitterNs: MS, stallEveryNs: 30 * MS };
  for (const name of ["jitterNs", "stallEveryNs", "stallNs"] as const) {
    const { [name]: _, ...absent } = { ...given, stallNs: undefined };
    const frames = arrivals({ ...absent, [name]: undefined });
    assert(frames.length > 0);
    assert.deepEqual(frames, arrivals(absent), name);
    assert(frames.every(({ atNs }) => atNs >= 0), name);
  }
});
