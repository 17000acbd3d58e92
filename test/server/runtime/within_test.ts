/** How long a server that ends waits for what is under way. */
import assert from "node:assert/strict";
import { within } from "../../../src/server/runtime/within.ts";
import { withLongTimers } from "../long_timers.ts";

Deno.test("a server that ends may wait for as long as it takes", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  let cuts = 0;
  await withLongTimers(async (ring) => {
    const ended = within(promise, Infinity, () => cuts++);
    assert.equal(ring(), 2 ** 31 - 1);
    assert.equal(cuts, 1);
    resolve();
    await ended;
  });
});
