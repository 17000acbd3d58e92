/**
 * Layers between a text's pooled row and its embedding (`Dense` of sentence-transformers). They are computed where texts
 * are embedded: sums in f64, in order, rounded once, so that a row has the same bits in every batch and in every engine.
 */
import {
  type Check,
  checkedOptions,
  type Checks,
  oneOf,
} from "../base/checked_options.ts";
import { describe, describeShape, shorten } from "../base/describe.ts";
import { knownOptions } from "../base/options.ts";
import { readSafetensors } from "../tensor/safetensors.ts";
import { checkWeight, type Tensor } from "../tensor/tensor.ts";
import { checkFinite, namedWeights } from "../tensor/weights.ts";
import { TextFileError } from "./errors.ts";
import { parsed } from "./parsed.ts";

/** What becomes of the sums of a layer. */
export type DenseActivation = "none" | "relu" | "tanh";

/** row = activation(weight row + bias). */
export interface DenseLayer {
  /** Of shape [outputs, inputs], as PyTorch has it. */
  readonly weight: Tensor;
  /** Of shape [outputs]; default: none is added. */
  readonly bias?: Tensor;
  /** Default "none". */
  readonly activation?: DenseActivation;
}

/** A layer's folder, such as `2_Dense`. */
export interface DenseFiles {
  /** `config.json`: text, bytes, or what JSON.parse makes of it. */
  readonly config: unknown;
  /** `model.safetensors`. */
  readonly weights: Uint8Array | ArrayBufferLike;
}

const FILES = ["config", "weights"] satisfies (keyof DenseFiles)[];

/** The activations that are known, by the names that files give them. */
const ACTIVATIONS: Readonly<Record<string, DenseActivation>> = {
  "torch.nn.modules.linear.Identity": "none",
  "torch.nn.modules.activation.ReLU": "relu",
  "torch.nn.modules.activation.Tanh": "tanh",
};

/** Where files say what a layer reads and writes: a text's row, before and behind. */
const ROW = "sentence_embedding";

const LAYER_CHECKS: Checks<DenseLayer> = {
  weight: weightOf(2),
  bias: weightOf(1),
  activation: oneOf(Object.values(ACTIVATIONS)),
};

/**
 * Reads a layer of sentence-transformers, for `TextModelOptions.dense`.
 * @param files its weights are `linear.weight`, [out_features, in_features], and, unless `bias` is false, `linear.bias`,
 * [out_features]; floats of 16, 32 or 64 bits, computed with as f32
 * @param label what to call the folder in messages
 * @throws TypeError on a file that it has no name for
 * @throws TextFileError when the configuration is none, or says what is not known: another activation than Tanh (which
 * counts where it names none), Identity and ReLU, a residual, or rows of tokens
 * @throws RangeError or TypeError when the weights are none, or of other shapes
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { readDense } from "@shoal/core/text";
 *
 * const config = { in_features: 2, out_features: 1, bias: false, activation_function: "torch.nn.modules.linear.Identity" };
 * // Usually the bytes of 2_Dense/model.safetensors: a tensor [1, 2] of f32.
 * const header = new TextEncoder().encode(
 *   JSON.stringify({ "linear.weight": { dtype: "F32", shape: [1, 2], data_offsets: [0, 8] } }),
 * );
 * const weights = new Uint8Array(8 + header.length + 8);
 * new DataView(weights.buffer).setBigUint64(0, BigInt(header.length), true);
 * weights.set(header, 8);
 * weights.set(new Uint8Array(Float32Array.of(0.5, -1).buffer), 8 + header.length);
 *
 * const { weight, activation } = readDense({ config, weights });
 * assert.deepEqual([weight.shape, [...weight.data], activation], [[1, 2], [0.5, -1], "none"]);
 * ```
 */
export function readDense(files: DenseFiles, label = "2_Dense"): DenseLayer {
  knownOptions("readDense()", files, FILES, "file");
  const name = `${label}/config.json`;
  const config = parsed(name, files.config);
  const size = (key: string): number => {
    const value = config[key];
    if (Number.isSafeInteger(value) && Number(value) >= 1) return Number(value);
    throw new TextFileError(
      `${name}: "${key}" is a positive integer, got ${describe(value)}`,
    );
  };
  const [inputs, outputs] = [size("in_features"), size("out_features")];
  const {
    bias = true,
    activation_function: activation = "torch.nn.modules.activation.Tanh",
    module_input_name: input = ROW,
    module_output_name: output,
    use_residual: residual = false,
  } = config;
  if (typeof bias !== "boolean") {
    throw new TextFileError(
      `${name}: "bias" is true or false, got ${describe(bias)}`,
    );
  }
  if (
    typeof activation !== "string" || !Object.hasOwn(ACTIVATIONS, activation)
  ) {
    throw new TextFileError(
      `${name}: "activation_function" is one of ${
        Object.keys(ACTIVATIONS).join(", ")
      }, got ${describe(activation)}`,
    );
  }
  if (input !== ROW || (output ?? ROW) !== ROW || residual !== false) {
    throw new TextFileError(
      `${name}: a layer makes a text's row ("${ROW}") of it, and adds none to it ("use_residual"); got ${
        describe({ input, output, residual })
      }`,
    );
  }
  const weightsName = `${label}/model.safetensors`;
  const source = namedWeights(
    readSafetensors(files.weights, weightsName),
    weightsName,
  );
  return {
    weight: source("linear.weight", [outputs, inputs], inputs),
    ...(bias && { bias: source("linear.bias", [outputs], inputs) }),
    activation: ACTIVATIONS[activation],
  };
}

/** A layer that can be computed. */
export const isDense: Check = (name, value) => {
  const { weight, bias } = checkedOptions(
    `"${name}"`,
    value as DenseLayer,
    LAYER_CHECKS,
    ["weight"],
  );
  if (bias === undefined || bias.shape[0] === weight.shape[0]) return;
  throw new RangeError(
    `"${name}" has a weight of shape ${
      describeShape(weight.shape)
    }, its bias has ${describeShape(bias.shape)}`,
  );
};

/** @throws TextFileError when a layer takes rows of another width than it gets, the first one those of the model */
export function checkWidths(
  layers: readonly DenseLayer[],
  model: string,
  width: number,
): void {
  let from = `model "${shorten(model)}"`;
  layers.forEach(({ weight: { shape: [outputs, inputs] } }, i) => {
    if (inputs !== width) {
      throw new TextFileError(
        `Layer ${i} of "dense" takes rows of ${inputs}, ${from} makes rows of ${width}`,
      );
    }
    width = outputs;
    from = `layer ${i}`;
  });
}

/** A row through a layer. */
export function denseRow(
  row: Float32Array,
  { weight, bias, activation = "none" }: DenseLayer,
): Float32Array {
  const { data, shape: [outputs, inputs] } = weight;
  const made = new Float32Array(outputs);
  for (let to = 0, at = 0; to < outputs; to++) {
    let sum = 0;
    for (let from = 0; from < inputs; from++) sum += data[at++] * row[from];
    sum += bias?.data[to] ?? 0;
    made[to] = activation === "none"
      ? sum
      : activation === "relu"
      ? Math.max(0, sum)
      : tanh(sum);
  }
  return made;
}

/** Beyond it the hyperbolic tangent is 1 in f64, too. */
const TANH_IS_ONE = 20;

/**
 * By operations that IEEE 754 rounds: engines' own have other bits. Lambert's continued fraction, to its end in f64 for
 * up to 1/2; beyond that tanh 2x = 2 tanh x / (1 + tanh² x).
 */
function tanh(x: number): number {
  let half = Math.min(Math.max(x, -TANH_IS_ONE), TANH_IS_ONE);
  let doublings = 0;
  for (; Math.abs(half) > 0.5; doublings++) half /= 2;
  let fraction = 15;
  for (let odd = 13; odd > 0; odd -= 2) fraction = odd + half * half / fraction;
  let y = half / fraction;
  for (; doublings > 0; doublings--) y = 2 * y / (1 + y * y);
  return y;
}

/** A tensor of so many axes, all of it finite. */
function weightOf(axes: number): Check {
  return (name, value) => {
    checkWeight(`"${name}"`, value);
    if (value.shape.length !== axes) {
      throw new RangeError(
        `"${name}" is a tensor of ${axes} axes, got shape ${
          describeShape(value.shape)
        }`,
      );
    }
    checkFinite(name, value);
  };
}
