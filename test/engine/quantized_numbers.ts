/** Random operands of int8 operators. */
import type { Prng } from "../../src/base/prng.ts";
import type { QuantizedTensor } from "../../src/tensor/quantized.ts";
import { elementCount, type Tensor, tensor } from "../../src/tensor/tensor.ts";

/** Numbers below 2 either way; exact where they are written down. */
export function floats(random: Prng, ...shape: number[]): Tensor {
  const data = new Float32Array(elementCount(shape));
  return tensor(shape, data.map(() => 4 * random.float() - 2));
}

/** Bytes of either type, with scales and zero points for all or for each row. */
export function bytes(random: Prng, ...shape: number[]): QuantizedTensor {
  const unsigned = random.int(2) === 1;
  const scales = random.int(2) === 1 ? shape[0] : 1;
  const least = unsigned ? 0 : -128;
  const data = new (unsigned ? Uint8Array : Int8Array)(elementCount(shape));
  const zero = random.int(3) === 0
    ? undefined
    : Array.from({ length: scales }, () => least + random.int(256));
  return {
    shape,
    data: data.map(() => least + random.int(256)),
    scale: new Float32Array(scales).map(() => 0.01 + random.float() / 50),
    ...(zero && { zero }),
  };
}
