import { Prng } from "../base/prng.ts";
import { elementCount, type Tensor, tensor } from "./tensor.ts";

/**
 * Where a model gets its parameters from: asked once per tensor, by name and shape.
 * @param fanIn number of inputs summed into one output; scales seeded weights
 * @param around what seeded weights lie around; default 0
 */
export type WeightSource = (
  name: string,
  shape: readonly number[],
  fanIn: number,
  around?: number,
) => Tensor;

/**
 * Weights uniform in `around` ±1/sqrt(fanIn), each tensor from its own stream of the seed, so that
 * a tensor's values depend on the seed and its name alone.
 */
export function seededWeights(seed: number): WeightSource {
  return (name, shape, fanIn, around = 0) => {
    const random = new Prng(seed).fork(name);
    const scale = 1 / Math.sqrt(fanIn);
    const data = new Float32Array(elementCount(shape));
    for (let i = 0; i < data.length; i++) {
      data[i] = around + (2 * random.float() - 1) * scale;
    }
    return tensor(shape, data);
  };
}

/**
 * Weights of which only the shapes count, as in simulations and for costs: all zero, in memory that all
 * share, so that the largest networks take the room of their largest tensor.
 */
export function shapesOnly(): WeightSource {
  let zeros = new Float32Array(0);
  return (_name, shape) => {
    const count = elementCount(shape);
    if (count > zeros.length) zeros = new Float32Array(count);
    return tensor(shape, zeros.subarray(0, count));
  };
}

/**
 * Weights from named tensors, for instance of a `.safetensors` file.
 * @throws RangeError when a tensor is missing, has another shape, or holds a NaN or an infinity
 */
export function namedWeights(
  tensors: ReadonlyMap<string, Tensor>,
  label: string,
): WeightSource {
  return (name, shape) => {
    const found = tensors.get(name);
    if (found === undefined) {
      throw new RangeError(
        `${label} has no tensor "${name}"; it has ${
          [...tensors.keys()].join(", ")
        }`,
      );
    }
    if (
      found.shape.length !== shape.length ||
      found.shape.some((size, i) => size !== shape[i])
    ) {
      throw new RangeError(
        `Tensor "${name}" of ${label} has shape [${
          found.shape.join(", ")
        }], the model needs [${shape.join(", ")}]`,
      );
    }
    checkFinite(name, found);
    return found;
  };
}

/** @throws RangeError when a weight is NaN or infinite: it would spread to every request */
export function checkFinite(name: string, { data }: Tensor): void {
  // A plain loop: findIndex takes seconds over the weights of a large network.
  for (let i = 0; i < data.length; i++) {
    const value = data[i]!;
    if (value - value === 0) continue;
    throw new RangeError(
      `Tensor "${name}" holds ${value} at element ${i}; weights must be finite`,
    );
  }
}
