import assert from "node:assert/strict";
import { widenBfloat16, widenFloat16 } from "../../src/tensor/half.ts";

/** By the definition: sign, exponent biased by `bias`, fraction with a hidden 1 unless the exponent is 0. */
function valueOf(bits: number, fractionBits: number, bias: number): number {
  const exponentMax = 2 ** (15 - fractionBits) - 1;
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits & 0x7fff) >> fractionBits;
  const fraction = (bits & (2 ** fractionBits - 1)) / 2 ** fractionBits;
  if (exponent === exponentMax) return fraction === 0 ? sign * Infinity : NaN;
  return exponent === 0
    ? sign * fraction * 2 ** (1 - bias)
    : sign * (1 + fraction) * 2 ** (exponent - bias);
}

const ALL = Uint16Array.from({ length: 1 << 16 }, (_, i) => i);

Deno.test("every float16 is widened to its value", () => {
  const widened = widenFloat16(ALL);
  for (const bits of ALL) {
    assert(Object.is(widened[bits], valueOf(bits, 10, 15)), `${bits}`);
  }
});

Deno.test("every bfloat16 is widened to its value", () => {
  const widened = widenBfloat16(ALL);
  for (const bits of ALL) {
    assert(Object.is(widened[bits], valueOf(bits, 7, 127)), `${bits}`);
  }
});
