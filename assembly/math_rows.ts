// exp, sigmoid, tanh and what is made of them along rows: two vectors a turn, and the
// constants in locals, which V8 keeps in registers as far as there are any. A turn of one
// vector with its constants' loads fills half of what the processor can look ahead.
import {
  constant, expWith, geluSlope, one, sigmoidWith, tanhWith, weigh
} from "./math";

// Type tags of the functions that are made of a sigmoid.
export class Sigmoid {}
export class Silu {}
export class GeluTanh {}

/** e^a of the first n & -8 floats. */
export function expBody(n: i32, a: usize, out: usize): void {
  const low = constant(11), high = constant(10), log2e = constant(0), shifter = constant(1);
  const ln2High = constant(2), ln2Low = constant(3);
  const q4 = constant(4), q3 = constant(5), q2 = constant(6), q1 = constant(7), q0 = constant(8);
  const unit = one();
  for (const end = a + (<usize>(n & -8) << 2); a < end; a += 32, out += 32) {
    const x = v128.load(a), y = v128.load(a, 16);
    const first = expWith(x, low, high, log2e, shifter, ln2High, ln2Low, q4, q3, q2, q1, q0, unit);
    const second = expWith(y, low, high, log2e, shifter, ln2High, ln2Low, q4, q3, q2, q1, q0, unit);
    v128.store(out, first);
    v128.store(out, second, 16);
  }
}

/** sigmoid(a), a sigmoid(a), or gelu by tanh, of the first n & -8 floats. */
export function sigmoidBody<T>(n: i32, a: usize, out: usize): void {
  const low = constant(11), high = constant(22), log2e = constant(0), shifter = constant(1);
  const ln2High = constant(2), ln2Low = constant(3);
  const q4 = constant(4), q3 = constant(5), q2 = constant(6), q1 = constant(7), q0 = constant(8);
  const unit = one();
  for (const end = a + (<usize>(n & -8) << 2); a < end; a += 32, out += 32) {
    const x = v128.load(a), y = v128.load(a, 16);
    let first = idof<T>() == idof<GeluTanh>() ? geluSlope(x) : x;
    let second = idof<T>() == idof<GeluTanh>() ? geluSlope(y) : y;
    first = sigmoidWith(first, low, high, log2e, shifter, ln2High, ln2Low, q4, q3, q2, q1, q0, unit);
    second = sigmoidWith(second, low, high, log2e, shifter, ln2High, ln2Low, q4, q3, q2, q1, q0, unit);
    v128.store(out, idof<T>() == idof<Sigmoid>() ? first : weigh(x, first));
    v128.store(out, idof<T>() == idof<Sigmoid>() ? second : weigh(y, second), 16);
  }
}

/** tanh(a) of the first n & -8 floats. */
export function tanhBody(n: i32, a: usize, out: usize): void {
  const low = constant(13), high = constant(12);
  const a3 = constant(17), a2 = constant(16), a1 = constant(15), a0 = constant(14);
  const d3 = constant(21), d2 = constant(20), d1 = constant(19), d0 = constant(18);
  const unit = one();
  for (const end = a + (<usize>(n & -8) << 2); a < end; a += 32, out += 32) {
    const x = v128.load(a), y = v128.load(a, 16);
    const first = tanhWith(x, low, high, a3, a2, a1, a0, d3, d2, d1, d0, unit);
    const second = tanhWith(y, low, high, a3, a2, a1, a0, d3, d2, d1, d0, unit);
    v128.store(out, first);
    v128.store(out, second, 16);
  }
}
