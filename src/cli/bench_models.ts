/** The models of `shoal bench` and `shoal profile`, as large as they are made there. */
import type { Model } from "../graph/model.ts";
import { MODELS, type SizeClass } from "../models/registry.ts";
import type { LengthsSpec } from "../workload/lengths.ts";
import { seededWeights, shapesOnly } from "../tensor/weights.ts";
import type { InputGenerator } from "../workload/input_generator.ts";
import { inputGenerator } from "../workload/inputs.ts";
import { boundedWeights, checkModelSizes, WEIGHT_BYTES_MAX } from "./limits.ts";
import { UsageError } from "./terminal.ts";

/** What is compared unless asked for more: the recurrent models of Cellular Batching. */
export const DEFAULT_MODELS: readonly string[] = [
  "lstm",
  "seq2seq",
  "treelstm",
];

export interface BuiltModel {
  readonly model: Model;
  readonly sizes: Record<string, string | number>;
  /** Of a model of the registry. */
  readonly options?: Readonly<Record<string, unknown>>;
  readonly inputs: InputGenerator;
  /** Requests of which the largest stands for all; 0: they are small. */
  readonly samples: number;
}

/** Utterances that stand for all; images are of one size. */
const UTTERANCES = 32;

/**
 * @param name of a model of the registry
 * @param seed of the weights
 * @param overrides options of the model that a caller sets
 * @throws UsageError on an option that the model cannot take, or that makes it too large
 */
export function buildModel(
  name: string,
  size: SizeClass,
  seed: number,
  overrides: Readonly<Record<string, unknown>> = {},
): BuiltModel {
  const options = { ...MODELS[name].sizes[size], ...overrides };
  return callersMistake(() => built(name, options, seed));
}

/**
 * The same without values.
 * @throws UsageError as `buildModel`
 */
export function sizedModel(
  name: string,
  size: SizeClass,
  overrides: Readonly<Record<string, unknown>>,
): Model {
  const options = { ...MODELS[name].sizes[size], ...overrides };
  return callersMistake(() => shapedModel(name, options));
}

/** What options that a model cannot take make it throw, as a mistake of the caller's. */
function callersMistake<T>(make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof RangeError || error instanceof TypeError)) {
      throw error;
    }
    throw new UsageError(error.message);
  }
}

function built(
  name: string,
  options: Readonly<Record<string, unknown>>,
  seed: number,
): BuiltModel {
  // Sizes alone first, so that nobody waits for the weights of a model that is refused.
  shapedModel(name, options);
  const model = MODELS[name].build({
    ...options,
    weights: seededWeights(seed),
  });
  const sizes = Object.fromEntries(
    Object.entries(options).map(([key, value]) => [
      key,
      typeof value === "number" ? value : `${value ?? "none"}`,
    ]),
  );
  return {
    model,
    sizes,
    options,
    inputs: inputsOf(name, options, model),
    samples: model.image ? 1 : model.frameSize === undefined ? 0 : UTTERANCES,
  };
}

/** A model of the registry without values. */
export function shapedModel(
  name: string,
  options: Readonly<Record<string, unknown>>,
): Model {
  checkModelSizes(name, options);
  const bounds = { elementsMax: WEIGHT_BYTES_MAX / 4, each: false };
  return MODELS[name].build({
    ...options,
    weights: boundedWeights(shapesOnly(), bounds),
  });
}

/** What requests to a model of the registry bring. */
export function inputsOf(
  name: string,
  options: Readonly<Record<string, unknown>>,
  { image, frameSize }: Model,
  given?: LengthsSpec,
): InputGenerator {
  const { input, lengths } = MODELS[name];
  const own = given ?? lengths;
  const vocabulary = options["vocabulary"] ?? options["sourceVocabulary"];
  return inputGenerator({
    kind: input,
    ...(typeof vocabulary === "number" && { vocabulary }),
    image,
    frameSize,
    ...(own !== undefined && { lengths: own }),
  });
}
