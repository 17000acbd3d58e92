/** The models of `shoal bench` and `shoal profile`, and how large they are made. */
import type { Model } from "../graph/model.ts";
import { MODELS } from "../models/registry.ts";
import { seededWeights, shapesOnly } from "../tensor/weights.ts";
import { type InputGenerator, inputGenerator } from "../workload/inputs.ts";
import type { LengthsSpec } from "../workload/lengths.ts";
import { boundedWeights, checkModelSizes, WEIGHT_BYTES_MAX } from "./limits.ts";
import { UsageError } from "./terminal.ts";

export interface BenchModel {
  readonly name: string;
  /** Sizes by option name, for a hidden size. */
  options(hidden: number): Record<string, number | string | null>;
  /** Hidden size of `--full`: the paper's (Cellular Batching, section 7.1). */
  readonly fullHidden: number;
  /** Vocabulary of `--full` (section 7.4). */
  readonly fullVocabulary?: number;
  /** Further sizes of `--full`. */
  readonly full?: Readonly<Record<string, number | string>>;
  /** Where lengths come from; default: the workload's. */
  readonly lengths?: LengthsSpec;
}

/**
 * Small vocabularies keep the share of the projection as in the paper: decoding is 75 % of the compute
 * (section 7.4), that is hidden * vocabulary = 16 * hidden^2 multiply-adds beside the decoder's step.
 * Image networks keep all their layers; an eighth of the hidden size is the channels they begin with.
 */
export const BENCH_MODELS: readonly BenchModel[] = [
  {
    name: "lstm",
    options: (hidden) => ({ hidden, vocabulary: 2000 }),
    fullHidden: 1024,
    fullVocabulary: 30_000,
  },
  {
    name: "seq2seq",
    // Decoding ends where the workload says: trained weights would stop there by themselves.
    options: (hidden) => ({ hidden, sourceVocabulary: 16 * hidden, eos: null }),
    fullHidden: 1024,
    fullVocabulary: 30_000,
  },
  {
    name: "gnmt",
    options: (hidden) => ({
      ...{ layers: 3, hidden, sourceVocabulary: 16 * hidden, eos: null },
    }),
    fullHidden: 1024,
    fullVocabulary: 32_000,
    full: { layers: 8 },
  },
  {
    name: "transformer",
    options: (hidden) => ({
      ...{ layers: 2, hidden, heads: 4, vocabulary: 16 * hidden, eos: null },
    }),
    fullHidden: 512,
    fullVocabulary: 37_000,
    full: { layers: 6, heads: 8 },
  },
  {
    name: "bert",
    options: (hidden) => ({ layers: 2, hidden, heads: 4, vocabulary: 2000 }),
    fullHidden: 768,
    fullVocabulary: 30_522,
    full: { layers: 12, heads: 12 },
    lengths: "glue.rte",
  },
  {
    name: "treelstm",
    options: (hidden) => ({ hidden, vocabulary: 2000 }),
    fullHidden: 1024,
    fullVocabulary: 30_000,
  },
  {
    name: "resnet50",
    options: (hidden) => ({ size: 32, width: channels(hidden), classes: 100 }),
    fullHidden: 512,
    full: { size: 224, classes: 1000 },
  },
  {
    name: "unet",
    options: (hidden) => ({
      ...{ size: 32, base: channels(hidden), padding: "same" },
    }),
    fullHidden: 512,
    full: { size: 572, padding: "valid" },
  },
];

function channels(hidden: number): number {
  return Math.max(1, Math.round(hidden / 8));
}

/** What is compared unless asked for more: the recurrent models of Cellular Batching. */
export const DEFAULT_MODELS: readonly string[] = [
  "lstm",
  "seq2seq",
  "treelstm",
];

export interface BuiltModel {
  readonly model: Model;
  readonly sizes: Record<string, string | number>;
  readonly inputs: InputGenerator;
}

/**
 * @param overrides options of the model that a caller sets
 * @throws UsageError on an option that the model cannot take, or that makes it too large
 */
export function buildModel(
  bench: BenchModel,
  hidden: number,
  full: boolean,
  seed: number,
  overrides: Readonly<Record<string, unknown>> = {},
): BuiltModel {
  const options: Record<string, unknown> = bench.options(hidden);
  if (full) {
    for (const key of Object.keys(options)) {
      if (/vocabulary/i.test(key)) options[key] = bench.fullVocabulary;
    }
    Object.assign(options, bench.full);
  }
  Object.assign(options, overrides);
  try {
    return built(bench, options, seed);
  } catch (error) {
    if (!(error instanceof RangeError || error instanceof TypeError)) {
      throw error;
    }
    throw new UsageError(error.message);
  }
}

function built(
  bench: BenchModel,
  options: Readonly<Record<string, unknown>>,
  seed: number,
): BuiltModel {
  const entry = MODELS[bench.name]!;
  const vocabulary = options["vocabulary"] ?? options["sourceVocabulary"];
  checkModelSizes(bench.name, options);
  const bounds = { elementsMax: WEIGHT_BYTES_MAX / 4, each: false };
  // Sizes alone first, so that nobody waits for the weights of a model that is refused.
  entry.build({ ...options, weights: boundedWeights(shapesOnly(), bounds) });
  const model = entry.build({ ...options, weights: seededWeights(seed) });
  const sizes = Object.fromEntries(
    Object.entries(options).map(([key, value]) => [
      key,
      typeof value === "number" ? value : `${value ?? "none"}`,
    ]),
  );
  return {
    model,
    sizes,
    inputs: inputGenerator({
      kind: entry.input,
      ...(typeof vocabulary === "number" && { vocabulary }),
      image: model.image,
      ...(bench.lengths !== undefined && { lengths: bench.lengths }),
    }),
  };
}
