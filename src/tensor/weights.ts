import { Prng } from "../base/prng.ts";
import { describe, describeShape, listed, shorten } from "../base/describe.ts";
import {
  checkWeight,
  elementCount,
  isShape,
  type Tensor,
  tensor,
} from "./tensor.ts";

/**
 * Where a model gets its parameters from: asked once per tensor, when the model is made, by name and shape. What it
 * returns has that shape and finite elements; the model keeps it, so that it must not change any more.
 * @param name as the model's docstring lists it
 * @param shape sizes that the model needs
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
 * A model's source of weights, of which every tensor is checked: a source may be anybody's function.
 * @throws TypeError when it is no function. What it returns throws TypeError or RangeError naming model and
 * tensor unless it is floats, of the shape asked for and finite
 */
export function checkedWeights(
  model: string,
  source: WeightSource,
): WeightSource {
  if (typeof source !== "function") {
    throw new TypeError(
      `"weights" of model "${model}" is a function from name and shape to a tensor ` +
        `(see namedWeights and seededWeights), got ${describe(source)}`,
    );
  }
  return (name, shape, fanIn, around) => {
    const given: unknown = source(name, shape, fanIn, around);
    const what = `Tensor "${name}" of model "${model}"`;
    checkWeight(what, given);
    if (!isShape(given.shape, shape)) {
      throw new RangeError(
        `${what} has shape ${describeShape(given.shape)}, the model needs ${
          describeShape(shape)
        }`,
      );
    }
    checkFinite(name, given, model);
    return given;
  };
}

/**
 * Weights uniform in `around` ±1/sqrt(fanIn), each tensor from its own stream of the seed, so that
 * a tensor's values depend on the seed and its name alone. For tests, measurements and simulations; models take
 * `seededWeights(1)` unless told.
 * @param seed a safe integer
 * @throws RangeError when the seed is no integer
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { seededWeights } from "@shoal/core/simulate";
 *
 * const { data } = seededWeights(7)("head.W", [2, 4], 4);
 * assert.deepEqual(data, seededWeights(7)("head.W", [2, 4], 4).data);
 * assert(data.every((weight) => Math.abs(weight) <= 1 / Math.sqrt(4)));
 * ```
 */
export function seededWeights(seed: number): WeightSource {
  if (!Number.isSafeInteger(seed)) {
    throw new RangeError(
      `The seed of seededWeights() is an integer, got ${describe(seed)}`,
    );
  }
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
 * Weights from named tensors, for instance of a `.safetensors` file (`readSafetensors`).
 * @param tensors by the names that the model asks for; a model's docstring lists them
 * @param label what to call them in messages, such as the file's name
 * @throws TypeError when they are no map. The source throws RangeError when a tensor is missing, has another
 * shape, or holds a NaN or an infinity
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { lstm, namedWeights, tensor } from "@shoal/core";
 *
 * const [hidden, vocabulary] = [2, 3];
 * const zeros = (...shape: number[]) =>
 *   tensor(shape, new Float32Array(shape.reduce((a, b) => a * b)));
 * const weights = namedWeights(
 *   new Map([
 *     ["embedding", zeros(vocabulary, hidden)],
 *     ["lstm.W", zeros(4 * hidden, hidden)],
 *     ["lstm.R", zeros(4 * hidden, hidden)],
 *     ["lstm.Wb", zeros(4 * hidden)],
 *   ]),
 *   "small.safetensors",
 * );
 * assert.throws(
 *   () => lstm({ hidden, vocabulary, weights }),
 *   /small.safetensors has no tensor "lstm.Rb"/,
 * );
 * ```
 */
export function namedWeights(
  tensors: ReadonlyMap<string, Tensor>,
  label: string,
): WeightSource {
  if (typeof tensors?.get !== "function") {
    throw new TypeError(
      `namedWeights() takes a Map of tensors by name, got ${describe(tensors)}`,
    );
  }
  if (typeof label !== "string") {
    throw new TypeError(
      `The label of namedWeights() is a text, got ${describe(label)}`,
    );
  }
  const file = shorten(label, LABEL_SHOWN);
  return (name, shape) => {
    const found: unknown = tensors.get(name);
    if (found === undefined) {
      throw new RangeError(
        `${file} has no tensor "${name}"; it has ${listed(tensors.keys())}`,
      );
    }
    const what = `Tensor "${name}" of ${file}`;
    checkWeight(what, found);
    if (!isShape(found.shape, shape)) {
      throw new RangeError(
        `${what} has shape ${describeShape(found.shape)}, the model needs ${
          describeShape(shape)
        }`,
      );
    }
    checkFinite(name, found);
    return found;
  };
}

/** Characters of a file's name that a message repeats. */
const LABEL_SHOWN = 100;

/** @throws RangeError when a weight is NaN or infinite: it would spread to every request */
export function checkFinite(
  name: string,
  { data }: Tensor,
  model?: string,
): void {
  // A plain loop: findIndex takes seconds over the weights of a large network.
  for (let i = 0; i < data.length; i++) {
    const value = data[i];
    if (value - value === 0) continue;
    throw new RangeError(
      `Tensor "${name}"${
        model === undefined ? "" : ` of model "${model}"`
      } holds ${value} at element ${i}; weights must be finite`,
    );
  }
}
