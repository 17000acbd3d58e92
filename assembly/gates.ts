// Gates of cells whose sums lie in the rows of results: along one row after the other, several vectors
// at a time. One vector after the other, as a tile's sums end, leaves most of the processor idle.
import { writes } from "./job";
import { tanh4, tanhBody } from "./math";
import { op } from "./op";
import { sweepPacked } from "./pieces";
import { get, put, row } from "./simd";
import { Sigmoid, unaryRow } from "./unary";

/** Sums of units first.. of one of `gates` gates, in ceil(hidden / 8) panels each, to outRows. */
export function gate(m: i32, hidden: i32, first: i32, units: i32, w: usize, gates: i32, outRows: usize): void {
  writes(units, op.NONE, outRows, 0, 0);
  sweepPacked(m, first >> 3, (units + 7) >> 3, (hidden + 7) >> 3, w, gates);
}

/** a = sigmoid(a) * tanh(b). */
export function opened(m: i32, n: i32, aRows: usize, bRows: usize): void {
  for (let at: usize = 0, end = <usize>m << 2; at < end; at += 4) {
    const a = row(aRows, at);
    unaryRow<Sigmoid>(n, a, a);
    timesTanh(n, row(bRows, at), a);
  }
}

/** c += sigmoid(f) * old; f is overwritten. */
export function remembered(m: i32, n: i32, fRows: usize, oldRows: usize, cRows: usize): void {
  for (let at: usize = 0, end = <usize>m << 2; at < end; at += 4) {
    let f = row(fRows, at);
    let old = row(oldRows, at);
    let c = row(cRows, at);
    unaryRow<Sigmoid>(n, f, f);
    for (let left = n; left > 0; left -= 4, f += 16, old += 16, c += 16) {
      put(c, f32x4.add(f32x4.mul(get(f, left), get(old, left)), get(c, left)), left);
    }
  }
}

/** out *= tanh(a). */
function timesTanh(n: i32, a: usize, out: usize): void {
  tanhBody(n, a, out, true);
  const done = <usize>(n & -8) << 2;
  a += done;
  out += done;
  for (let left = n & 7; left > 0; left -= 4, a += 16, out += 16) {
    put(out, f32x4.mul(get(out, left), tanh4(get(a, left))), left);
  }
}
