/** Timers of an hour or more: they are kept for a test to ring. A runtime takes a delay beyond 2^31 - 1 ms for none at all. */
import assert from "node:assert/strict";

const LONG_MS = 3_600_000;
const DELAY_MAX = 2 ** 31 - 1;

/** @param run is given what rings the only one that is set, and returns its delay */
export async function withLongTimers(
  run: (ring: () => number) => Promise<void>,
): Promise<void> {
  const { setTimeout: set, clearTimeout: clear } = globalThis;
  const long = new Map<number, { delayMs: number; call: () => void }>();
  let last = -1;
  const fakes = {
    setTimeout(call: () => void, delayMs = 0) {
      if (delayMs < LONG_MS) return set(call, delayMs);
      assert(delayMs <= DELAY_MAX, `a timer of ${delayMs} ms is over at once`);
      long.set(--last, { delayMs, call });
      return last;
    },
    clearTimeout(id: number) {
      if (!long.delete(id)) clear(id);
    },
  };
  Object.assign(globalThis, fakes);
  try {
    await run(() => {
      assert.equal(long.size, 1);
      const [[id, { delayMs, call }]] = long;
      long.delete(id);
      call();
      return delayMs;
    });
    assert.equal(long.size, 0, "a timer was left");
  } finally {
    Object.assign(globalThis, { setTimeout: set, clearTimeout: clear });
  }
}
