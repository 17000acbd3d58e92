import assert from "node:assert/strict";
import { Prng } from "../../../src/base/prng.ts";
import { RecentMisses } from "../../../src/server/admission/recent_misses.ts";

Deno.test("a prediction with its margin is kept as often as it is to be, whatever it is of", () => {
  const prng = new Prng(4);
  const misses = new RecentMisses(0.9);
  let kept = 0;
  for (let i = 0; i < 10_000; i++) {
    const expectedNs = 1e6 * (1 + prng.float());
    const tookNs = expectedNs * (0.5 + prng.float() ** 4 * 3);
    if (tookNs <= expectedNs * (1 + misses.margin)) kept++;
    misses.add(expectedNs, tookNs, i * 1e6);
  }
  assert(Math.abs(kept / 10_000 - 0.9) < 0.01, `${kept}`);
});

Deno.test("what was always sooner than predicted needs no margin", () => {
  const misses = new RecentMisses(0.9);
  assert.equal(misses.margin, 0);
  misses.add(100, 50, 0);
  assert.equal(misses.margin, 0);
});

Deno.test("misses are forgotten", () => {
  const misses = new RecentMisses(0.9);
  for (let i = 0; i < 50; i++) misses.add(100, 300, 0);
  assert.equal(misses.margin, 2);
  misses.add(100, 110, 6e9);
  assert(Math.abs(misses.margin - 0.1) < 1e-9, `${misses.margin}`);
});
