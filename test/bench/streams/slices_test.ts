/** Which slices of a trial count, with disturbances that are told; nothing is timed. */
import assert from "node:assert/strict";
import { Slices } from "../../../bench/streams/slices.ts";

Deno.test("a slice in which others had the machine does not count, nor does the one after", () => {
  const disturbed = [false, true, false, false, true, true, false, false];
  // Watched are the time before the first one, and each of them.
  let watched = -2;
  const slices = new Slices(10, () => {
    const slice = ++watched;
    return () => disturbed[slice] ?? false;
  });
  disturbed.forEach((_, slice) => {
    const tally = slices.of(10 * slice);
    assert.equal(slices.isDisturbed, disturbed[slice]);
    for (let i = 0; i <= slice; i++) {
      assert.equal(slices.of(10 * slice + i), tally);
      tally.frames++;
      // One of each is late, and one is never done.
      if (i > 0) tally.latenciesMs.add(i);
      if (i > 1) tally.onTime++;
    }
  });
  slices.end();
  const { all, counted } = slices;
  assert.equal(all.frames, 1 + 2 + 3 + 4 + 5 + 6 + 7 + 8);
  // The first, fourth and last.
  assert.equal(counted.frames, 1 + 4 + 8);
  assert.equal(counted.latenciesMs.count, 0 + 3 + 7);
  assert.equal(counted.onTime, 0 + 2 + 6);
  assert.equal(slices.late, 13 - 8);
  assert.equal(counted.latenciesMs.max, 7);
  assert(all.wallMs >= counted.wallMs);
});
