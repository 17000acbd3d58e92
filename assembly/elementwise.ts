// Elementwise kernels over rows of n floats, under their ONNX operators' names. An
// output row may be its input row; otherwise rows must not overlap. A row table may
// name the same row many times (broadcast) or point into the middle of rows (slices).
import { checkLeast, checkRows } from "./checks";
import { get, put, row } from "./simd";
import {
  Abs, Erf, Exp, Gelu, GeluTanh, Neg, Relu, Sigmoid, Silu, Sqrt, Tanh, unaryRow
} from "./unary";

// Type tags, as in unary.ts.
class Add {}
class Sub {}
class Mul {}
class Div {}
class Magnitude {}
class Max {}
class Min {}

// @ts-ignore: decorator
@inline function two<T>(a: v128, b: v128): v128 {
  if (idof<T>() == idof<Add>()) return f32x4.add(a, b);
  if (idof<T>() == idof<Sub>()) return f32x4.sub(a, b);
  if (idof<T>() == idof<Mul>()) return f32x4.mul(a, b);
  if (idof<T>() == idof<Max>()) return f32x4.max(a, b);
  if (idof<T>() == idof<Min>()) return f32x4.min(a, b);
  if (idof<T>() == idof<Magnitude>()) return f32x4.sqrt(f32x4.add(f32x4.mul(a, a), f32x4.mul(b, b)));
  return f32x4.div(a, b);
}

function binaryRow<T>(n: i32, a: usize, b: usize, out: usize): void {
  const end = a + (<usize>(n & -4) << 2);
  while (a < end) {
    v128.store(out, two<T>(v128.load(a), v128.load(b)));
    a += 16;
    b += 16;
    out += 16;
  }
  const left = n & 3;
  if (left) put(out, two<T>(get(a, left), get(b, left)), left);
}

// @ts-ignore: decorator
@inline function unary<T>(m: i32, n: i32, aRows: usize, outRows: usize): void {
  check(m, n, aRows, aRows, outRows);
  for (let at: usize = 0, end = <usize>m << 2; at < end; at += 4) {
    unaryRow<T>(n, row(aRows, at), row(outRows, at));
  }
}

// @ts-ignore: decorator
@inline function binary<T>(m: i32, n: i32, aRows: usize, bRows: usize, outRows: usize): void {
  check(m, n, aRows, bRows, outRows);
  for (let at: usize = 0, end = <usize>m << 2; at < end; at += 4) {
    binaryRow<T>(n, row(aRows, at), row(bRows, at), row(outRows, at));
  }
}

// @ts-ignore: decorator
@inline function check(m: i32, n: i32, aRows: usize, bRows: usize, outRows: usize): void {
  if (!ASC_NO_ASSERT) {
    const bytes = <usize>n << 2;
    checkLeast(n, 1);
    checkRows(aRows, m, bytes);
    checkRows(bRows, m, bytes);
    checkRows(outRows, m, bytes);
  }
}

/** out = max(a, 0). */
export function relu_f32(m: i32, n: i32, aRows: usize, outRows: usize): void {
  unary<Relu>(m, n, aRows, outRows);
}
/** out = 1 / (1 + e^-a), 2 ulp. */
export function sigmoid_f32(m: i32, n: i32, aRows: usize, outRows: usize): void {
  unary<Sigmoid>(m, n, aRows, outRows);
}
/** out = tanh(a), 5 ulp. */
export function tanh_f32(m: i32, n: i32, aRows: usize, outRows: usize): void {
  unary<Tanh>(m, n, aRows, outRows);
}
/** out = e^a, 1 ulp. */
export function exp_f32(m: i32, n: i32, aRows: usize, outRows: usize): void {
  unary<Exp>(m, n, aRows, outRows);
}
/** out = erf(a), 3 ulp. */
export function erf_f32(m: i32, n: i32, aRows: usize, outRows: usize): void {
  unary<Erf>(m, n, aRows, outRows);
}
/** out = a (1 + erf(a / sqrt 2)) / 2, within 2^-22 |a|. */
export function gelu_f32(m: i32, n: i32, aRows: usize, outRows: usize): void {
  unary<Gelu>(m, n, aRows, outRows);
}
/** out = a sigmoid(2 sqrt(2 / pi) (a + 0.044715 a^3)), within 2^-21 |a|. */
export function gelu_tanh_f32(m: i32, n: i32, aRows: usize, outRows: usize): void {
  unary<GeluTanh>(m, n, aRows, outRows);
}
/** out = a sigmoid(a), within 2^-22 |a|. */
export function silu_f32(m: i32, n: i32, aRows: usize, outRows: usize): void {
  unary<Silu>(m, n, aRows, outRows);
}
/** out = sqrt(a), correctly rounded. */
export function sqrt_f32(m: i32, n: i32, aRows: usize, outRows: usize): void {
  unary<Sqrt>(m, n, aRows, outRows);
}
/** out = -a. */
export function neg_f32(m: i32, n: i32, aRows: usize, outRows: usize): void {
  unary<Neg>(m, n, aRows, outRows);
}
/** out = |a|. */
export function abs_f32(m: i32, n: i32, aRows: usize, outRows: usize): void {
  unary<Abs>(m, n, aRows, outRows);
}
/** out = a + b. */
export function add_f32(m: i32, n: i32, aRows: usize, bRows: usize, outRows: usize): void {
  binary<Add>(m, n, aRows, bRows, outRows);
}
/** out = a - b. */
export function sub_f32(m: i32, n: i32, aRows: usize, bRows: usize, outRows: usize): void {
  binary<Sub>(m, n, aRows, bRows, outRows);
}
/** out = a * b. */
export function mul_f32(m: i32, n: i32, aRows: usize, bRows: usize, outRows: usize): void {
  binary<Mul>(m, n, aRows, bRows, outRows);
}
/** out = a / b. */
export function div_f32(m: i32, n: i32, aRows: usize, bRows: usize, outRows: usize): void {
  binary<Div>(m, n, aRows, bRows, outRows);
}
/** out = sqrt(a * a + b * b): of complex numbers, a the real parts and b the imaginary ones. */
export function magnitude_f32(m: i32, n: i32, aRows: usize, bRows: usize, outRows: usize): void {
  binary<Magnitude>(m, n, aRows, bRows, outRows);
}
/** out = max(a, b); NaN if either is. */
export function max_f32(m: i32, n: i32, aRows: usize, bRows: usize, outRows: usize): void {
  binary<Max>(m, n, aRows, bRows, outRows);
}
/** out = min(a, b); NaN if either is. */
export function min_f32(m: i32, n: i32, aRows: usize, bRows: usize, outRows: usize): void {
  binary<Min>(m, n, aRows, bRows, outRows);
}
