// exp, sigmoid, tanh, erf and what is made of them, of four f32 at once, built from plain SIMD: the same bits
// in every engine. Error bounds (checked in test/kernels/math_test.ts): exp 1 ulp,
// sigmoid 2 ulp, tanh 5 ulp, erf 3 ulp, over the whole range including subnormal results.
// NaN stays NaN. Coefficients: own minimax fits (weighted least squares), rounded to f32.
//
// Constants sit in a table: V8 rebuilds every v128.const where it is used, three
// instructions each, while a load from a constant address is one.

const TABLE = memory.data<f32>([
  1.4426950408889634, 1.4426950408889634, 1.4426950408889634, 1.4426950408889634, // log2(e)
  12582912, 12582912, 12582912, 12582912, // 1.5 * 2^23: adding it rounds to an integer
  0.693359375, 0.693359375, 0.693359375, 0.693359375, // ln 2, upper bits: exact times n
  -2.12194440e-4, -2.12194440e-4, -2.12194440e-4, -2.12194440e-4, // ln 2, the rest
  0.0013814173871651292, 0.0013814173871651292, 0.0013814173871651292, 0.0013814173871651292,
  0.008368921466171741, 0.008368921466171741, 0.008368921466171741, 0.008368921466171741,
  0.04166840761899948, 0.04166840761899948, 0.04166840761899948, 0.04166840761899948,
  0.1666651964187622, 0.1666651964187622, 0.1666651964187622, 0.1666651964187622,
  0.4999999403953552, 0.4999999403953552, 0.4999999403953552, 0.4999999403953552,
  1, 1, 1, 1,
  89, 89, 89, 89, // exp overflows above 88.73
  -104, -104, -104, -104, // and is 0 below -103.98
  9, 9, 9, 9, // tanh is 1 within half an ulp beyond 9.01
  -9, -9, -9, -9,
  0.45720118284225464, 0.45720118284225464, 0.45720118284225464, 0.45720118284225464, // tanh(x / 2) = x a(x^2) / b(x^2): a
  0.014397740364074707, 0.014397740364074707, 0.014397740364074707, 0.014397740364074707,
  7.308932254090905e-05, 7.308932254090905e-05, 7.308932254090905e-05, 7.308932254090905e-05,
  3.9274432594993414e-08, 3.9274432594993414e-08, 3.9274432594993414e-08, 3.9274432594993414e-08,
  0.9144023656845093, 0.9144023656845093, 0.9144023656845093, 0.9144023656845093, // b
  0.10499562323093414, 0.10499562323093414, 0.10499562323093414, 0.10499562323093414,
  0.0012758197262883186, 0.0012758197262883186, 0.0012758197262883186, 0.0012758197262883186,
  2.5016511244757567e-06, 2.5016511244757567e-06, 2.5016511244757567e-06, 2.5016511244757567e-06,
  18, 18, 18, 18, // sigmoid rounds to 1 from 17.33 on
  0.12837916612625122, 0.12837916612625122, 0.12837916612625122, 0.12837916612625122, // erf(x) / x - 1 in x^2, |x| < 1
  -0.3761262595653534, -0.3761262595653534, -0.3761262595653534, -0.3761262595653534,
  0.1128358542919159, 0.1128358542919159, 0.1128358542919159, 0.1128358542919159,
  -0.026853812858462334, -0.026853812858462334, -0.026853812858462334, -0.026853812858462334,
  0.005188327748328447, 0.005188327748328447, 0.005188327748328447, 0.005188327748328447,
  -0.0008010193705558777, -0.0008010193705558777, -0.0008010193705558777, -0.0008010193705558777,
  7.853861461626366e-05, 7.853861461626366e-05, 7.853861461626366e-05, 7.853861461626366e-05,
  0.0003415207611396909, 0.0003415207611396909, 0.0003415207611396909, 0.0003415207611396909, // -ln(1 - erf(x)) in x, 1 <= x < 4
  1.1270891427993774, 1.1270891427993774, 1.1270891427993774, 1.1270891427993774,
  0.6381447911262512, 0.6381447911262512, 0.6381447911262512, 0.6381447911262512,
  0.10310676693916321, 0.10310676693916321, 0.10310676693916321, 0.10310676693916321,
  -0.021838068962097168, -0.021838068962097168, -0.021838068962097168, -0.021838068962097168,
  0.002947659697383642, 0.002947659697383642, 0.002947659697383642, 0.002947659697383642,
  -0.00018637932953424752, -0.00018637932953424752, -0.00018637932953424752, -0.00018637932953424752,
  4, 4, 4, 4, // erf rounds to 1 from 3.92 on
  0.7071067811865476, 0.7071067811865476, 0.7071067811865476, 0.7071067811865476, // sqrt(1/2)
  0.5, 0.5, 0.5, 0.5,
  1.5957691216057308, 1.5957691216057308, 1.5957691216057308, 1.5957691216057308, // 2 sqrt(2/pi)
  0.07135481627260025, 0.07135481627260025, 0.07135481627260025, 0.07135481627260025, // that times 0.044715
  -87.3365447505531, -87.3365447505531, -87.3365447505531, -87.3365447505531, // ln(2^-126)
], 16);

/** Constant i of the table, in four lanes. */
// @ts-ignore: decorator
@inline export function constant(i: usize): v128 {
  return v128.load(TABLE + i * 16);
}

// @ts-ignore: decorator
@inline export function one(): v128 {
  return constant(9);
}

/** x * log2(e) rounded to an integer n, as n + 1.5 * 2^23. */
// @ts-ignore: decorator
@inline function shift(x: v128, log2e: v128, shifter: v128): v128 {
  return f32x4.add(f32x4.mul(x, log2e), shifter);
}

/**
 * The common part of exp and sigmoid: e^r - 1 for x = n ln 2 + r (reduction after Cody and
 * Waite), n = shifted - 1.5 * 2^23, e^r = 1 + r + r^2 q(r).
 */
// @ts-ignore: decorator
@inline function reducedExpm1(
  x: v128, shifted: v128, shifter: v128, ln2High: v128, ln2Low: v128,
  q4: v128, q3: v128, q2: v128, q1: v128, q0: v128
): v128 {
  const n = f32x4.sub(shifted, shifter);
  const r = f32x4.sub(f32x4.sub(x, f32x4.mul(n, ln2High)), f32x4.mul(n, ln2Low));
  let q = f32x4.add(f32x4.mul(q4, r), q3);
  q = f32x4.add(f32x4.mul(q, r), q2);
  q = f32x4.add(f32x4.mul(q, r), q1);
  q = f32x4.add(f32x4.mul(q, r), q0);
  return f32x4.add(f32x4.mul(f32x4.mul(r, r), q), r);
}

/**
 * e^x, 1 ulp. 2^n is applied as two factors: subnormal results round once, overflow gives infinity.
 * Loops over rows load the constants once and pass them (math_rows.ts).
 */
// @ts-ignore: decorator
@inline export function expWith(
  x: v128, low: v128, high: v128, log2e: v128, shifter: v128, ln2High: v128, ln2Low: v128,
  q4: v128, q3: v128, q2: v128, q1: v128, q0: v128, unit: v128
): v128 {
  // pmax and pmin keep a NaN that stands first.
  const y = f32x4.pmin(f32x4.pmax(x, low), high);
  const shifted = shift(y, log2e, shifter);
  const n = i32x4.sub(shifted, shifter);
  const half = i32x4.shr_s(n, 1);
  const first = i32x4.add(i32x4.shl(half, 23), unit);
  const second = i32x4.add(i32x4.shl(i32x4.sub(n, half), 23), unit);
  const t = reducedExpm1(y, shifted, shifter, ln2High, ln2Low, q4, q3, q2, q1, q0);
  return f32x4.mul(f32x4.mul(f32x4.add(t, unit), first), second);
}

// @ts-ignore: decorator
@inline export function exp4(x: v128): v128 {
  return expWith(
    x, constant(11), constant(10), constant(0), constant(1), constant(2), constant(3),
    constant(4), constant(5), constant(6), constant(7), constant(8), one()
  );
}

/**
 * e^x for x <= 0, 1 ulp down to 2^-126 and 0 below: what softmax needs, where the greatest
 * element's power is 1. 2^n is one factor: n lies in the lowest bits of `shifted`.
 */
// @ts-ignore: decorator
@inline export function expNegativeWith(
  x: v128, least: v128, log2e: v128, shifter: v128, ln2High: v128, ln2Low: v128,
  q4: v128, q3: v128, q2: v128, q1: v128, q0: v128, unit: v128
): v128 {
  const shifted = shift(x, log2e, shifter);
  const factor = i32x4.add(i32x4.shl(shifted, 23), unit);
  const t = reducedExpm1(x, shifted, shifter, ln2High, ln2Low, q4, q3, q2, q1, q0);
  return v128.andnot(f32x4.mul(f32x4.add(t, unit), factor), f32x4.lt(x, least));
}

/**
 * 1 / (1 + e^-x), 2 ulp. With e^-x = 2^n (1 + t) it is 2^-n / ((2^-n + t) + 1): nothing
 * overflows, and 1 + t is not rounded on its own. 2^-n as two factors keeps the bits of
 * small results.
 */
// @ts-ignore: decorator
@inline export function sigmoidWith(
  x: v128, low: v128, high: v128, log2e: v128, shifter: v128, ln2High: v128, ln2Low: v128,
  q4: v128, q3: v128, q2: v128, q1: v128, q0: v128, unit: v128
): v128 {
  const y = f32x4.neg(f32x4.pmin(f32x4.pmax(x, low), high));
  const shifted = shift(y, log2e, shifter);
  const n = i32x4.sub(shifted, shifter);
  const half = i32x4.shr_s(n, 1);
  const first = i32x4.sub(unit, i32x4.shl(half, 23));
  const second = i32x4.sub(unit, i32x4.shl(i32x4.sub(n, half), 23));
  const t = reducedExpm1(y, shifted, shifter, ln2High, ln2Low, q4, q3, q2, q1, q0);
  const sum = f32x4.add(f32x4.add(f32x4.mul(first, second), t), unit);
  return f32x4.mul(f32x4.div(first, sum), second);
}

// @ts-ignore: decorator
@inline export function sigmoid4(x: v128): v128 {
  return sigmoidWith(
    x, constant(11), constant(22), constant(0), constant(1), constant(2), constant(3),
    constant(4), constant(5), constant(6), constant(7), constant(8), one()
  );
}

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

// @ts-ignore: decorator
@inline export function tanh4(x: v128): v128 {
  return tanhWith(
    x, constant(13), constant(12), constant(17), constant(16), constant(15), constant(14),
    constant(21), constant(20), constant(19), constant(18), one()
  );
}

/**
 * erf, 3 ulp: x + x p(x^2) below 1, 1 - e^-r(|x|) above, where e^-r is small and its
 * error smaller still.
 */
// @ts-ignore: decorator
@inline export function erf4(x: v128): v128 {
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
// @ts-ignore: decorator
@inline export function gelu4(x: v128): v128 {
  const twice = f32x4.add(one(), erf4(f32x4.mul(x, constant(38))));
  return weigh(f32x4.mul(x, constant(39)), twice);
}

/** ONNX Gelu with approximate = tanh: x sigmoid(2 sqrt(2/pi) (x + 0.044715 x^3)). */
// @ts-ignore: decorator
@inline export function geluTanh4(x: v128): v128 {
  return weigh(x, sigmoid4(geluSlope(x)));
}

/** 2 sqrt(2/pi) (x + 0.044715 x^3). */
// @ts-ignore: decorator
@inline export function geluSlope(x: v128): v128 {
  return f32x4.mul(x, f32x4.add(f32x4.mul(f32x4.mul(x, x), constant(41)), constant(40)));
}

/** x sigmoid(x). */
// @ts-ignore: decorator
@inline export function silu4(x: v128): v128 {
  return weigh(x, sigmoid4(x));
}

/** x y, where y underflows to 0 before x overflows: infinity times 0 is 0 here. */
// @ts-ignore: decorator
@inline export function weigh(x: v128, y: v128): v128 {
  const zero = f32x4.eq(y, v128.splat<f32>(0));
  return v128.andnot(f32x4.mul(x, y), zero);
}
