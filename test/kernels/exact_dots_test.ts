import assert from "node:assert/strict";
import {
  type Dots,
  dotsAreExact,
} from "../../src/kernels/module/exact_dots.ts";
import { supports } from "../../src/kernels/module/features.ts";

/** As specified, or with a flaw. */
function dots(
  { saturates = 32_767, sum = 32_767 }: { saturates?: number; sum?: number } =
    {},
): Dots {
  return (weights, activations, addend) => {
    const pairs = Int16Array.from({ length: 8 }, (_, i) =>
      Math.max(
        -saturates - 1,
        Math.min(
          saturates,
          weights[2 * i] * activations[2 * i] +
            weights[2 * i + 1] * activations[2 * i + 1],
        ),
      ));
    const quads = Int32Array.from(addend, (from, i) => {
      const [a, b] = [pairs[2 * i], pairs[2 * i + 1]];
      return from + Math.max(-2 * sum, Math.min(2 * sum, a + b));
    });
    return { pairs, quads };
  };
}

Deno.test("dotsAreExact() takes what the specification says, and this engine", {
  ignore: !supports("relaxed-simd"),
}, () => {
  assert.equal(dotsAreExact(dots()), true);
  assert.equal(dotsAreExact(), true);
});

Deno.test("dotsAreExact() finds sums that saturate too early, and operands taken for others", () => {
  assert.equal(dotsAreExact(dots({ saturates: 32_510 })), false);
  assert.equal(dotsAreExact(dots({ sum: 32_000 })), false);
  const exact = dots();
  assert.equal(
    dotsAreExact((weights, activations, addend) =>
      exact(activations, weights, addend.map((x) => x + 1))
    ),
    false,
  );
  // Activations of 7 bits shifted out of their place, as an engine that takes signed bytes for unsigned.
  assert.equal(
    dotsAreExact((weights, activations, addend) =>
      exact(weights.map(Math.abs) as Int8Array, activations, addend)
    ),
    false,
  );
});
