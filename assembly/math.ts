// tanh, erf and what is made of them, of four f32 at once, built from plain SIMD: the same bits
// in every engine. Error bounds (checked in test/kernels/math_test.ts): tanh 5 ulp, erf 3
// ulp, over the whole range including subnormal results. NaN stays NaN. Coefficients: own
// minimax fits (weighted least squares), rounded to f32. exp and sigmoid: exponentials.ts.
import { constant, one } from "./constants";
import { exp4 } from "./exponentials";

/**
 * tanh, 5 ulp. With tanh(x / 2) = n / d from a rational fit, tanh(x) = 2 n d / (d^2 + n^2):
 * the doubling damps the fit's rounding errors where tanh is near 1.
 */
// @ts-ignore: decorator
@inline export function tanhWith(
  x: v128, low: v128, high: v128, a3: v128, a2: v128, a1: v128, a0: v128,
  d3: v128, d2: v128, d1: v128, d0: v128, unit: v128
): v128 {
  const y = f32x4.pmin(f32x4.pmax(x, low), high);
  const t = f32x4.mul(y, y);
  let a = f32x4.add(f32x4.mul(a3, t), a2);
  a = f32x4.add(f32x4.mul(a, t), a1);
  a = f32x4.add(f32x4.mul(a, t), a0);
  let d = f32x4.add(f32x4.mul(d3, t), d2);
  d = f32x4.add(f32x4.mul(d, t), d1);
  d = f32x4.add(f32x4.mul(d, t), d0);
  const n = f32x4.mul(y, a);
  const nd = f32x4.mul(n, d);
  const result = f32x4.div(f32x4.add(nd, nd), f32x4.add(f32x4.mul(d, d), f32x4.mul(n, n)));
  return f32x4.pmin(f32x4.pmax(result, f32x4.neg(unit)), unit);
}

export function tanh4(x: v128): v128 {
  return tanhWith(
    x, constant(13), constant(12), constant(17), constant(16), constant(15), constant(14),
    constant(21), constant(20), constant(19), constant(18), one()
  );
}

/** out = tanh(a), or out *= tanh(a), of the first n & -8 floats: two vectors a turn, and the constants in locals. */
export function tanhBody(n: i32, a: usize, out: usize, multiplies: bool): void {
  const low = constant(13), high = constant(12);
  const a3 = constant(17), a2 = constant(16), a1 = constant(15), a0 = constant(14);
  const d3 = constant(21), d2 = constant(20), d1 = constant(19), d0 = constant(18);
  const unit = one();
  for (const end = a + (<usize>(n & -8) << 2); a < end; a += 32, out += 32) {
    const x = v128.load(a), y = v128.load(a, 16);
    let first = tanhWith(x, low, high, a3, a2, a1, a0, d3, d2, d1, d0, unit);
    let second = tanhWith(y, low, high, a3, a2, a1, a0, d3, d2, d1, d0, unit);
    if (multiplies) {
      first = f32x4.mul(v128.load(out), first);
      second = f32x4.mul(v128.load(out, 16), second);
    }
    v128.store(out, first);
    v128.store(out, second, 16);
  }
}

/**
 * erf, 3 ulp: x + x p(x^2) below 1, 1 - e^-r(|x|) above, where e^-r is small and its
 * error smaller still.
 */
export function erf4(x: v128): v128 {
  const a = f32x4.abs(x);
  const t = f32x4.mul(a, a);
  let p = f32x4.add(f32x4.mul(constant(29), t), constant(28));
  p = f32x4.add(f32x4.mul(p, t), constant(27));
  p = f32x4.add(f32x4.mul(p, t), constant(26));
  p = f32x4.add(f32x4.mul(p, t), constant(25));
  p = f32x4.add(f32x4.mul(p, t), constant(24));
  p = f32x4.add(f32x4.mul(p, t), constant(23));
  const inner = f32x4.add(a, f32x4.mul(a, p));
  const y = f32x4.pmin(a, constant(37));
  let r = f32x4.add(f32x4.mul(constant(36), y), constant(35));
  r = f32x4.add(f32x4.mul(r, y), constant(34));
  r = f32x4.add(f32x4.mul(r, y), constant(33));
  r = f32x4.add(f32x4.mul(r, y), constant(32));
  r = f32x4.add(f32x4.mul(r, y), constant(31));
  r = f32x4.add(f32x4.mul(r, y), constant(30));
  const outer = f32x4.sub(one(), exp4(f32x4.neg(r)));
  const magnitude = v128.bitselect(inner, outer, f32x4.lt(a, one()));
  return v128.or(magnitude, v128.xor(x, a));
}

/** x (1 + erf(x / sqrt 2)) / 2 (Hendrycks, Gimpel 2016), 2^-22 of |x|. */
export function gelu4(x: v128): v128 {
  const twice = f32x4.add(one(), erf4(f32x4.mul(x, constant(38))));
  return f32x4.mul(f32x4.mul(x, constant(39)), twice);
}
