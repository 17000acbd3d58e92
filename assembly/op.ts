// What becomes of finished sums: the codes of the epilogue.

export namespace op {
  // Activations: the numbers are part of the ABI.
  // p0 = act(sum)
  export const NONE = 0;
  export const RELU = 1;
  export const SIGMOID = 2;
  export const TANH = 3;
  export const GELU = 16;
  export const GELU_TANH = 17;
  export const SILU = 18;
  /** Added to an activation: p0 = act(sum + p1). */
  export const RESIDUAL = 32;
  // A cell's gates that end where they are summed; the others go along rows (gates.ts).
  export const SCALE = 8; // p0 = sum * p0
  export const BLEND = 10; // p0 = (1 - z) * p0 + z * p1, z = sigmoid(sum)
  export const ARGMAX = 11; // *p0 = column of the greatest sum; p1 = sums if p1 != 0
}

/** Whether `act` is one of the activations a caller may ask for. */
export function isActivation(act: i32): bool {
  return (act >= op.NONE && act <= op.TANH) || (act >= op.GELU && act <= op.SILU);
}

/**
 * The activation of code that costs more than going over the row once more, several vectors
 * at a time (unary.ts); 0 if there is none.
 */
// @ts-ignore: decorator
@inline export function lateActivation(code: i32): i32 {
  const activation = code & ~op.RESIDUAL;
  return activation == op.SIGMOID || activation == op.TANH || activation >= op.GELU ? activation : 0;
}
