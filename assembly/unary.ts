// Functions of one operand along a row.
import { relu4 } from "./epilogue";
import { op } from "./op";
import {
  exp4, expBody, geluTanh4, geluTanhBody, sigmoid4, sigmoidBody, silu4, siluBody
} from "./exponentials";
import { erf4, gelu4, tanh4, tanhBody } from "./math";
import { get, put, row } from "./simd";

// Type tags: a generic function is compiled once per tag, and the tests below vanish.
export class Relu {}
export class Sigmoid {}
export class Tanh {}
export class Exp {}
export class Erf {}
export class Gelu {}
export class GeluTanh {}
export class Silu {}
export class Sqrt {}
export class Neg {}
export class Abs {}

// @ts-ignore: decorator
@inline function four<T>(x: v128): v128 {
  if (idof<T>() == idof<Relu>()) return relu4(x);
  if (idof<T>() == idof<Sigmoid>()) return sigmoid4(x);
  if (idof<T>() == idof<Tanh>()) return tanh4(x);
  if (idof<T>() == idof<Exp>()) return exp4(x);
  if (idof<T>() == idof<Erf>()) return erf4(x);
  if (idof<T>() == idof<Gelu>()) return gelu4(x);
  if (idof<T>() == idof<GeluTanh>()) return geluTanh4(x);
  if (idof<T>() == idof<Silu>()) return silu4(x);
  if (idof<T>() == idof<Sqrt>()) return f32x4.sqrt(x);
  if (idof<T>() == idof<Neg>()) return f32x4.neg(x);
  return f32x4.abs(x);
}

/** What a function has for several vectors at once; returns how many floats that were. */
// @ts-ignore: decorator
@inline function body<T>(n: i32, a: usize, out: usize): i32 {
  if (idof<T>() == idof<Tanh>()) {
    tanhBody(n, a, out, false);
    return n & -8;
  }
  if (idof<T>() == idof<Exp>()) expBody(n, a, out);
  else if (idof<T>() == idof<Sigmoid>()) sigmoidBody(n, a, out);
  else if (idof<T>() == idof<Silu>()) siluBody(n, a, out);
  else if (idof<T>() == idof<GeluTanh>()) geluTanhBody(n, a, out);
  else return 0;
  return n & -16;
}

/** A function of n floats at a, to out, which may be a. */
export function unaryRow<T>(n: i32, a: usize, out: usize): void {
  const end = a + (<usize>(n & -4) << 2);
  const done = <usize>body<T>(n, a, out) << 2;
  a += done;
  out += done;
  while (a < end) {
    v128.store(out, four<T>(v128.load(a)));
    a += 16;
    out += 16;
  }
  const left = n & 3;
  if (left) put(out, four<T>(get(a, left)), left);
}

/** A late activation of columns first..last - 1 of some rows in place. */
export function activateRows(
  activation: i32, rows: i32, table: usize, first: i32, last: i32
): void {
  for (let r = 0; r < rows; ++r, table += 4) {
    activateRow(activation, last - first, row(table, 0) + (<usize>first << 2));
  }
}

function activateRow(activation: i32, n: i32, at: usize): void {
  switch (activation) {
    case op.SIGMOID: return unaryRow<Sigmoid>(n, at, at);
    case op.TANH: return unaryRow<Tanh>(n, at, at);
    case op.GELU: return unaryRow<Gelu>(n, at, at);
    case op.GELU_TANH: return unaryRow<GeluTanh>(n, at, at);
    default: unaryRow<Silu>(n, at, at);
  }
}
