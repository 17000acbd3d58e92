/** Memory is looked at as often as was said, after a collection at both ends. */
import assert from "node:assert/strict";
import { LOOKS, MemoryLooks } from "../../../bench/streams/soak.ts";

Deno.test("the first and the last sample come after a collection, and none behind the last", () => {
  const collected: number[] = [];
  const looks: MemoryLooks = new MemoryLooks(() =>
    collected.push(looks.samples.length)
  );
  for (let i = 0; i < LOOKS + 2; i++) looks.look();
  assert.equal(looks.samples.length, LOOKS);
  assert.deepEqual(collected, [0, LOOKS - 1]);
  assert(looks.samples.every(({ heap, rss }) => heap > 0 && rss > 0));
});
