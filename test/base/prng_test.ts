import assert from "node:assert/strict";
import { Prng } from "../../src/base/prng.ts";

Deno.test("Prng repeats itself for a seed, and its forks are independent of what is drawn", () => {
  const draw = (random: Prng) =>
    Array.from({ length: 20 }, () => random.int(1000));
  assert.deepEqual(draw(new Prng(7)), draw(new Prng(7)));
  assert.notDeepEqual(draw(new Prng(7)), draw(new Prng(8)));
  const parent = new Prng(7);
  const before = draw(parent.fork("a"));
  parent.float();
  assert.deepEqual(draw(parent.fork("a")), before);
  assert.notDeepEqual(draw(parent.fork("b")), before);
});

Deno.test("Prng draws within its ranges, with the means they should have", () => {
  const random = new Prng(1);
  const n = 20_000;
  let floats = 0;
  let gaps = 0;
  const counts = new Array<number>(5).fill(0);
  for (let i = 0; i < n; i++) {
    const float = random.float();
    assert(float >= 0 && float < 1);
    floats += float / n;
    counts[random.int(5)]++;
    const gap = random.exponential(3);
    assert(gap >= 0);
    gaps += gap / n;
  }
  assert(Math.abs(floats - 0.5) < 0.01, `${floats}`);
  assert(Math.abs(gaps - 3) < 0.1, `${gaps}`);
  for (const count of counts) assert(Math.abs(count / n - 0.2) < 0.015);
});

Deno.test("Prng refuses a seed that is not an integer", () => {
  for (const seed of [0.5, NaN, Infinity]) {
    assert.throws(() => new Prng(seed), {
      name: "RangeError",
      message: `A seed is an integer, got ${seed}`,
    });
  }
});
