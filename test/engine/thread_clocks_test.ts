/** Threads whose clocks began when the machine had another time. */
import assert from "node:assert/strict";
import { pastSpan } from "../../src/engine/wall/clock.ts";
import { cellular, lstm, lstmStream, ServingEngine } from "../../src/mod.ts";

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

Deno.test("what has been timed elsewhere lies in the past, and took as long as it took", () => {
  const { timeOrigin } = performance;
  const span = (startMs: number, endMs: number) =>
    pastSpan(timeOrigin + startMs, timeOrigin + endMs, 5e6);
  assert.deepEqual(span(1, 3), { startNs: 1e6, endNs: 3e6 });
  assert.deepEqual(span(1, 5), { startNs: 1e6, endNs: 5e6 });
  assert.deepEqual(span(HOUR_MS, HOUR_MS + 2), { startNs: 3e6, endNs: 5e6 });
});
