import assert from "node:assert/strict";
import fc from "fast-check";
import { power } from "../../src/base/elementary/power.ts";
import { propertyRuns } from "../property_runs.ts";
import { CORNERS, elementaryBits, FUNCTIONS } from "./elementary_functions.ts";

/** Units of the last place that ours may be from the engine's, which has up to two of its own. */
const UNITS_MAX = 5;

const number = new Float64Array(1);
const bits = new BigInt64Array(number.buffer);

/** Its place among all numbers of f64. */
function placeOf(x: number): bigint {
  number[0] = Math.abs(x);
  return x < 0 ? -bits[0] : bits[0];
}

function assertNear(found: number, expected: number, what: string): void {
  if (Object.is(found, expected)) return;
  const units = placeOf(found) - placeOf(expected);
  const size = Number(units < 0n ? -units : units);
  const isNear = Number.isFinite(expected) && Number.isFinite(found) &&
    // The sign of 0 counts.
    found !== expected && size <= UNITS_MAX;
  assert(isNear, `${what}: ${found} for ${expected}`);
}

const anyNumber = fc.oneof(
  fc.double({ min: -1, max: 1 }),
  fc.double({ min: -20, max: 20 }),
  fc.double({ min: -1e6, max: 1e6 }),
  fc.double(),
  fc.float(),
);

for (const [name, [ours, engines]] of Object.entries(FUNCTIONS)) {
  Deno.test(`${name} is the engine's to the last places`, () => {
    for (const x of CORNERS) assertNear(ours(x), engines(x), `${name} ${x}`);
    fc.assert(
      fc.property(anyNumber, (x) => {
        assertNear(ours(x), engines(x), `${name} ${x}`);
      }),
      { numRuns: propertyRuns(2000) },
    );
  });
}

Deno.test("power is the engine's to the last places, and IEEE's", () => {
  const check = (x: number, y: number) => {
    const isOne = x === 1 || x === -1 && Math.abs(y) === Infinity;
    assertNear(power(x, y), isOne ? 1 : x ** y, `${x} ** ${y}`);
  };
  const exponents = [...CORNERS, 2, 3, 63, 64, 65, -2, -63, -64, 1e308];
  for (const x of CORNERS) for (const y of exponents) check(x, y);
  fc.assert(
    fc.property(
      anyNumber,
      fc.oneof(anyNumber, fc.integer({ min: -70, max: 70 })),
      check,
    ),
    { numRuns: propertyRuns(4000) },
  );
});

Deno.test("powers of whole numbers are exact as long as f64 has them", () => {
  for (let x = 1; x <= 30; x++) {
    for (let n = 1, exact = BigInt(x); n <= 64; n++, exact *= BigInt(x)) {
      if (exact !== BigInt(Number(exact))) break;
      assert.equal(power(x, n), Number(exact), `${x} ** ${n}`);
      assert.equal(power(-x, n), Number(exact) * (n % 2 === 0 ? 1 : -1));
      assert.equal(power(2 ** x, -n), 2 ** (-x * n));
    }
  }
});

Deno.test("elementary functions have the bits that they had", () => {
  assert.equal(elementaryBits(), 2916316594);
});
