// What happens to a finished row of sums. A microkernel hands over the 8 columns of
// one panel while they are in registers: ReLU, residual and the store to the output row happen
// here. Activations beyond ReLU, and most gates of cells, go along the finished rows once more,
// several vectors at a time (lateActivation(), gates.ts).
import { geluTanh4, sigmoid4, silu4 } from "./exponentials";
import { code, floor, n, p0, p1, p2 } from "./job";
import { gelu4, tanh4 } from "./math";
import { op } from "./op";
import { get, put, row } from "./simd";

/** Whether the panel at column col is stored whole as it is, or with ReLU or a residual: keep() is all then. */
// @ts-ignore: decorator
@inline export function isStored(col: i32): bool {
  return (code & ~op.RESIDUAL) <= op.RELU && n - col >= 8;
}

/** Stores sums of one row to d, none below the floor that the job's activation is. */
// @ts-ignore: decorator
@inline export function keep(d: usize, lo: v128, hi: v128): void {
  v128.store(d, f32x4.pmax(lo, floor));
  v128.store(d, f32x4.pmax(hi, floor), 16);
}

/**
 * Ends columns col.. of one row by the job's code; lo and hi hold 4 sums each. Its row tables p0, p1, p2
 * are read at byte offset `at`; columns from n on are padding and left alone. For
 * ARGMAX p2 is not a row table but the array of running maxima, one f32 per row. Tiles do the same for all
 * their rows at once (src/cli/generate/tiles.ts).
 */
// @ts-ignore: decorator
@inline export function finish(lo: v128, hi: v128, at: usize, col: i32): void {
  if (!isStored(col)) return complete(lo, hi, at, col);
  const offset = <usize>col << 2;
  if (code & op.RESIDUAL) {
    const residual = row(p1, at) + offset;
    lo = f32x4.add(lo, v128.load(residual));
    hi = f32x4.add(hi, v128.load(residual, 16));
  }
  keep(row(p0, at) + offset, lo, hi);
}

/** finish() of any code and number of columns. */
export function complete(lo: v128, hi: v128, at: usize, col: i32): void {
  if (code == op.ARGMAX && p1 == 0) {
    // Sums that are all less than the greatest so far, as nearly all.
    const best = v128.load_splat<f32>(p2 + at);
    if (!v128.any_true(v128.or(f32x4.ge(lo, best), f32x4.ge(hi, best)))) return;
  }
  const left = n - col;
  if (left <= 0) return;
  const offset = <usize>col << 2;
  const d = row(p0, at) + offset;
  if (code & op.RESIDUAL) {
    const residual = row(p1, at) + offset;
    lo = f32x4.add(lo, get(residual, left));
    hi = f32x4.add(hi, get(residual + 16, left - 4));
  }
  switch (code & ~op.RESIDUAL) {
    case op.RELU: {
      lo = relu4(lo);
      hi = relu4(hi);
      break;
    }
    case op.SCALE: {
      lo = f32x4.mul(lo, get(d, left));
      hi = f32x4.mul(hi, get(d + 16, left - 4));
      break;
    }
    case op.BLEND: {
      const h = row(p1, at) + offset;
      lo = blend(lo, get(d, left), get(h, left));
      hi = blend(hi, get(d + 16, left - 4), get(h + 16, left - 4));
      break;
    }
    case op.ARGMAX: {
      if (p1) {
        const logits = row(p1, at) + offset;
        put(logits, lo, left);
        put(logits + 16, hi, left - 4);
      }
      track(lo, hi, col, left, row(p0, at), p2 + at);
      return;
    }
  }
  put(d, lo, left);
  put(d + 16, hi, left - 4);
}

/** Applies an activation to four numbers. */
export function activate(code: i32, x: v128): v128 {
  switch (code) {
    case op.NONE: return x;
    case op.RELU: return relu4(x);
    case op.SIGMOID: return sigmoid4(x);
    case op.TANH: return tanh4(x);
    case op.GELU: return gelu4(x);
    case op.GELU_TANH: return geluTanh4(x);
    default: return silu4(x);
  }
}

/** max(x, 0); -0 and NaN are kept. */
// @ts-ignore: decorator
@inline export function relu4(x: v128): v128 {
  return f32x4.pmax(x, v128.splat<f32>(0));
}

// @ts-ignore: decorator
@inline function blend(gate: v128, candidate: v128, h: v128): v128 {
  const z = sigmoid4(gate);
  return f32x4.add(f32x4.mul(f32x4.sub(v128.splat<f32>(1), z), candidate), f32x4.mul(z, h));
}

/**
 * Keeps the greatest sum so far and its column; NaN never wins. The lowest column wins ties: columns come in any
 * order.
 */
function track(lo: v128, hi: v128, col: i32, left: i32, id: usize, best: usize): void {
  const bound = v128.load_splat<f32>(best);
  let some = i32x4.bitmask(f32x4.ge(lo, bound)) | (i32x4.bitmask(f32x4.ge(hi, bound)) << 4);
  if (left < 8) some &= (1 << left) - 1;
  if (!some) return;
  let max = load<f32>(best);
  while (some) {
    const lane = ctz(some);
    some &= some - 1;
    const value = laneOf(lo, hi, lane);
    if (value > max || (value == max && col + lane < load<i32>(id))) {
      max = value;
      store<i32>(id, col + lane);
    }
  }
  store<f32>(best, max);
}

function laneOf(lo: v128, hi: v128, lane: i32): f32 {
  const half = lane < 4 ? lo : hi;
  switch (lane & 3) {
    case 0: return f32x4.extract_lane(half, 0);
    case 1: return f32x4.extract_lane(half, 1);
    case 2: return f32x4.extract_lane(half, 2);
    default: return f32x4.extract_lane(half, 3);
  }
}
