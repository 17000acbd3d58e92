/** Element types a row may have. Weights are always f32. */
export type Dtype = "f32" | "i32";

/** Both element types take four bytes. */
export const BYTES_PER_ELEMENT = 4;

export type TensorData = Float32Array | Int32Array;

/** A dense row-major array. */
export interface Tensor<D extends TensorData = Float32Array> {
  readonly shape: readonly number[];
  readonly data: D;
}

export function elementCount(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}

/**
 * A tensor over existing data.
 * @throws RangeError when shape and number of elements disagree
 */
export function tensor<D extends TensorData>(
  shape: readonly number[],
  data: D,
): Tensor<D> {
  for (const size of shape) {
    if (!Number.isInteger(size) || size < 1) {
      throw new RangeError(
        `A tensor's sizes are positive integers, got [${shape.join(", ")}]`,
      );
    }
  }
  if (elementCount(shape) !== data.length) {
    throw new RangeError(
      `A tensor of shape [${shape.join(", ")}] has ${
        elementCount(shape)
      } elements, got ${data.length}`,
    );
  }
  return { shape, data };
}

/** Tensors of one axis, one after the other. */
export function concatenated(...parts: readonly Tensor[]): Tensor {
  const data = new Float32Array(
    parts.reduce((sum, part) => sum + part.data.length, 0),
  );
  let at = 0;
  for (const part of parts) {
    data.set(part.data, at);
    at += part.data.length;
  }
  return tensor([data.length], data);
}
