/** Numbers as rows of f32 hold them. */

/** Whether single precision holds it as a number. */
export function isFloat32(value: number): boolean {
  return Number.isFinite(Math.fround(value));
}

/** Whether it is above 0 there, too. */
export function isPositiveFloat32(value: number): boolean {
  return Math.fround(value) > 0 && isFloat32(value);
}
