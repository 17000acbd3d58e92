import assert from "node:assert/strict";
import { RecordedTime } from "../../src/plan/recorded_time.ts";
import { type SeenTask, stretchOf } from "../../src/plan/stretch.ts";

const MS = 1e6;
/** Times in milliseconds, on a clock that began long ago. */
const seen = (
  [worker, start, end]: readonly [worker: number, start: number, end: number],
  nominal: number | undefined,
  late = 0,
): SeenTask => ({
  ...{ worker, startNs: (700 + start) * MS, endNs: (700 + end) * MS },
  heardNs: (700 + end + late) * MS,
  ...(nominal !== undefined && { nominalNs: nominal * MS }),
});

Deno.test("a stretch has each worker's speed by millisecond, slow tasks where they were", () => {
  const { speed, pauses } = stretchOf(
    [
      seen([0, 0, 2], 2),
      // Held up for most of 4 ms.
      seen([0, 2, 6], 0.1),
      seen([1, 3, 4.5], 3),
      // Nothing is known of this one, and nothing runs for a while.
      seen([0, 6, 7], undefined),
      seen([0, 9, 10], 0.5),
    ],
    2,
    0.5 * MS,
  );
  assert.deepEqual(speed, [
    [1000, 1000, 25, 25, 25, 25, 25, 25, 25, 500],
    [1000, 1000, 1000, 2000, 2000, 2000, 2000, 2000, 2000, 2000],
  ]);
  assert.deepEqual(pauses, []);
  // Whatever it takes, it ends.
  const [[slowest]] = stretchOf([seen([0, 0, 1], 1e-9)], 1, 0).speed;
  assert.equal(slowest, 1);
  // Less than a slice is one.
  assert.deepEqual(stretchOf([seen([0, 0, 0.1], 0.05)], 1, 0).speed, [[500]]);
  // Nor does one that took no time by the clock undo what its slice says.
  assert.deepEqual(
    stretchOf([seen([0, 0, 0.5], 0.5), seen([0, 0.6, 0.6], 1e-3)], 1, 0).speed,
    [[1000]],
  );
});

Deno.test("one small task that was held up does not slow those after it, however little there is to do", () => {
  // 2 us each, so that no millisecond says anything alone but that in which one took 60.
  const tasks = Array.from({ length: 40_000 }, (_, i) => {
    const start = i / 20;
    return seen([0, start, start + (i === 200 ? 0.06 : 0.002)], 0.002);
  });
  const { speed: [own] } = stretchOf(tasks, 1, 0.5 * MS);
  assert.deepEqual(own.slice(0, 10), Array(10).fill(1000));
  assert.deepEqual(own.slice(10, 12), [408, 408]);
  assert.deepEqual(own.slice(12), Array(own.length - 12).fill(1000));
});

Deno.test("a host that hears late paused, once for all that ended meanwhile", () => {
  const { pauses } = stretchOf(
    [
      seen([0, 0, 1], 1, 0.4),
      seen([0, 1, 2], 1, 3),
      seen([1, 0, 3], 3, 2.2),
      seen([0, 2, 3.5], 1, 1),
      seen([0, 8, 9], 1, 0.6),
    ],
    2,
    0.5 * MS,
  );
  assert.deepEqual(pauses, [[2 * MS, 5.2 * MS], [9 * MS, 9.6 * MS]]);
});

Deno.test("recorded time: what tasks take from where they begin, by worker, round and round", () => {
  const recorded = new RecordedTime([
    { speed: [[1000, 1], [500, 500]], pauses: [] },
    { speed: [[500], [500]], pauses: [] },
  ]);
  assert.equal(recorded.lengthNs, 3 * MS);
  assert.equal(recorded.tookNs(0, 0.4 * MS, 0), 0.4 * MS);
  // 1 ms, a thousandth of the next one, and the rest at half the speed.
  assert.equal(recorded.tookNs(0, 1.1 * MS, 0), (2 + 2 * 0.099) * MS);
  // From the last slice into the first.
  assert.equal(recorded.tookNs(0, 0.75 * MS, 5.5 * MS), MS);
  assert.equal(recorded.tookNs(1, 0.25 * MS, 1.5 * MS), 0.5 * MS);
});

Deno.test("recorded time: the host hears at once, or when its pause is over", () => {
  const speed = [[1000, 1000]];
  const recorded = new RecordedTime([
    { speed, pauses: [[0.5 * MS, 0.7 * MS], [1.5 * MS, 9 * MS]] },
    { speed, pauses: [[0.1 * MS, 0.2 * MS], [3 * MS, 4 * MS]] },
  ]);
  const heard = (ms: number) => recorded.heardNs(ms * MS) / MS;
  assert.deepEqual(
    [0.4, 0.5, 0.69, 0.7, 1.6, 2, 2.15, 3.5].map(heard),
    // Behind the end of its stretch a pause is not known.
    [0.4, 0.7, 0.7, 0.7, 2, 2, 2.2, 3.5],
  );
  assert.equal(heard(4.6), 4.7);
});
