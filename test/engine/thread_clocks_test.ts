/** Threads whose clocks began when the machine had another time. */
import assert from "node:assert/strict";
import { ThreadClock } from "../../src/engine/wall/clock.ts";
import {
  cellular,
  lstm,
  lstmStream,
  ServingEngine,
  type TaskRecord,
} from "../../src/mod.ts";

const HOUR_MS = 3_600_000;

Deno.test("no deadline is missed since a worker started after the machine's clock was set forward", async () => {
  const line = lstm({ hidden: 4, vocabulary: 10 });
  const live = lstmStream({ hidden: 4, features: 1 });
  const value = performance.timeOrigin - HOUR_MS;
  Object.defineProperty(performance, "timeOrigin", {
    value,
    configurable: true,
  });
  try {
    await using engine = await ServingEngine.create({
      models: [line, live],
      policy: cellular(),
      warmUp: false,
    });
    await using stream = engine.open(live, { deadlineMs: HOUR_MS / 2 });
    const results = [
      await engine.run(line, { tokens: [1, 2] }, { finishMs: HOUR_MS / 2 }),
      await stream.push({ x: [1] }),
    ];
    for (const { timing: { queuedMs, ranMs } } of results) {
      assert(queuedMs + ranMs < HOUR_MS / 2, `${queuedMs} + ${ranMs} ms`);
    }
  } finally {
    // Its own, in front of the true one.
    Reflect.deleteProperty(performance, "timeOrigin");
  }
});

Deno.test("no deadline is kept, and nothing takes no time, since a worker started after the clock was set back", async () => {
  const line = lstm({ hidden: 4, vocabulary: 10 });
  const value = performance.timeOrigin + HOUR_MS;
  Object.defineProperty(performance, "timeOrigin", {
    value,
    configurable: true,
  });
  try {
    const records: TaskRecord[] = [];
    await using engine = await ServingEngine.create({
      models: [line],
      policy: cellular(),
      warmUp: false,
      observer: { task: (_, record) => void records.push(record) },
    });
    const beforeNs = performance.now() * 1e6 - 1;
    const { timing } = await engine.run(line, { tokens: [1, 2] }, {
      batches: true,
    });
    const afterNs = performance.now() * 1e6 + 1;
    assert.equal(records.length, 2);
    for (const { startNs, endNs } of records) {
      assert(beforeNs <= startNs && startNs <= endNs && endNs <= afterNs);
    }
    assert(timing.batches!.every(({ startedMs }) => startedMs > 0));
  } finally {
    // Its own, in front of the true one.
    Reflect.deleteProperty(performance, "timeOrigin");
  }
});

/** What a clock says of spans that another thread has timed, in milliseconds. */
function spansOf(
  ...timed: readonly (readonly [
    start: number,
    end: number,
    asked: number,
    now: number,
  ])[]
): number[][] {
  const { timeOrigin } = performance;
  const clock = new ThreadClock();
  return timed.map(([start, end, asked, now]) => {
    const { startNs, endNs } = clock.span(
      timeOrigin + start,
      timeOrigin + end,
      asked * 1e6,
      now * 1e6,
    );
    // Milliseconds since 1970 have a fraction of a thousandth.
    return [startNs, endNs].map((ns) => Math.round(ns / 1e4) / 100);
  });
}

Deno.test("what has been timed elsewhere lies between its beginning and now, and took as long as it took", () => {
  assert.deepEqual(spansOf([1, 3, 0, 5]), [[1, 3]]);
  assert.deepEqual(spansOf([1, 5, 1, 5]), [[1, 5]]);
  assert.deepEqual(spansOf([HOUR_MS, HOUR_MS + 2, 1, 5]), [[3, 5]]);
  assert.deepEqual(spansOf([-HOUR_MS, 2 - HOUR_MS, 1, 5]), [[1, 3]]);
  // Clocks that are rounded, as browsers' are: it took longer there than all did here.
  assert.deepEqual(spansOf([1, 4, 1, 3]), [[1, 3]]);
});

Deno.test("how far another clock is ahead is known better with every task", () => {
  for (const ahead of [HOUR_MS, -HOUR_MS]) {
    assert.deepEqual(
      spansOf(
        // Between being asked for and begun, and being over and heard of, time passes.
        [12 + ahead, 14 + ahead, 10, 20],
        [22 + ahead, 24 + ahead, 22, 24],
        [32 + ahead, 34 + ahead, 30, 40],
      ).slice(1),
      [[22, 24], [32, 34]],
    );
  }
  // Set while both were running.
  assert.deepEqual(
    spansOf([1, 2, 1, 2], [HOUR_MS, HOUR_MS + 1, 3, 4], [5, 6, 5, 6]),
    [[1, 2], [3, 4], [5, 6]],
  );
});
