/** max(x, 0). */
export function relu(x: number): number {
  return x > 0 ? x : 0;
}

/** 1 / (1 + e^-x) without overflow in between. */
export function sigmoid(x: number): number {
  const z = Math.exp(-Math.abs(x));
  return (x < 0 ? z : 1) / (1 + z);
}
