/** All elementary functions beside the engine's own, and what shows that their bits are the same everywhere. */
import {
  acosh,
  asinh,
  atanh,
  cosh,
  sinh,
  tanh,
} from "../../src/base/elementary/hyperbolic.ts";
import { exp, expm1 } from "../../src/base/elementary/exponential.ts";
import {
  acos,
  asin,
  atan,
} from "../../src/base/elementary/inverse_trigonometric.ts";
import {
  log,
  log10,
  log1p,
  log2,
} from "../../src/base/elementary/logarithm.ts";
import { power } from "../../src/base/elementary/power.ts";
import { cos, sin, tan } from "../../src/base/elementary/trigonometric.ts";
import { fnv1a } from "../../src/base/hash.ts";
import { Prng } from "../../src/base/prng.ts";

type OfOne = (x: number) => number;

/** Ours and the engine's. */
export const FUNCTIONS: Readonly<Record<string, readonly [OfOne, OfOne]>> = {
  exp: [exp, Math.exp],
  expm1: [expm1, Math.expm1],
  log: [log, Math.log],
  log1p: [log1p, Math.log1p],
  log2: [log2, Math.log2],
  log10: [log10, Math.log10],
  sin: [sin, Math.sin],
  cos: [cos, Math.cos],
  tan: [tan, Math.tan],
  asin: [asin, Math.asin],
  acos: [acos, Math.acos],
  atan: [atan, Math.atan],
  sinh: [sinh, Math.sinh],
  cosh: [cosh, Math.cosh],
  tanh: [tanh, Math.tanh],
  asinh: [asinh, Math.asinh],
  acosh: [acosh, Math.acosh],
  atanh: [atanh, Math.atanh],
};

/** Where functions begin, end, turn and change their way of computing. */
export const CORNERS: readonly number[] = [
  ...[0, 0.3466, 0.5, 0.75, 1, 1.5, 2, 22, 22.1, 37, 38, 709.7, 710, 745, 746],
  ...[1e-9, 1e-8, 1.1e-8, 2 ** -30, 2 ** 28, 2 ** 29, 1e300, Number.MAX_VALUE],
  ...[5e-324, 1e-310, 2 ** -1022, 1 - 2 ** -53, 1 + 2 ** -52],
  ...[1, 2, 3, 4].map((quarters) => quarters * Math.PI / 2),
  ...[1.64e6, 1.65e6, 1e7, 1e22, 3.4e38, 2 ** 1023, Infinity, NaN],
].flatMap((x) => [x, -x]);

const DRAWN = 2000;

/** FNV-1a of their results' bits over corners and drawn numbers of all sizes. */
export function elementaryBits(): number {
  const prng = new Prng(5);
  const signed = (size: number) => size * (2 * prng.float() - 1);
  const drawn = Array.from(
    { length: DRAWN },
    (_, i) => signed([1, 10, 700, 1e5, 1e30][i % 5]),
  );
  const inputs = [...CORNERS, ...drawn];
  const results = [
    ...Object.values(FUNCTIONS).flatMap(([ours]) => inputs.map(ours)),
    ...drawn.map((x, i) =>
      power(Math.abs(x), i % 2 === 0 ? signed(20) : Math.round(signed(64)))
    ),
  ];
  // Which bits a NaN has is nobody's promise.
  const known = results.filter((y) => !Number.isNaN(y));
  return fnv1a(Float64Array.from(known));
}
