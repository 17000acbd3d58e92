/** Weights that are drawn fast: a gigabyte of them is to be had in a second. */
import { Prng } from "../../src/base/prng.ts";
import { elementCount, tensor } from "../../src/tensor/tensor.ts";
import type { WeightSource } from "../../src/tensor/weights.ts";

/** A prime, so that no row of a weight is another one's. */
const PERIOD = 1_048_573;

/**
 * As `seededWeights`, uniform in `around` +-1/sqrt(fanIn); but all tensors repeat the same numbers, each from another
 * one on.
 */
export function repeatedWeights(seed: number): WeightSource {
  const prng = new Prng(seed);
  const drawn = Float32Array.from(
    { length: PERIOD },
    () => prng.float() * 2 - 1,
  );
  return (name, shape, fanIn, around = 0) => {
    const scale = 1 / Math.sqrt(fanIn);
    const data = new Float32Array(elementCount(shape));
    let at = new Prng(seed).fork(name).int(PERIOD);
    for (let i = 0; i < data.length; i++) {
      data[i] = around + drawn[at] * scale;
      if (++at === PERIOD) at = 0;
    }
    return tensor(shape, data);
  };
}
