/**
 * How much a command takes on: the one place of its limits. They are far beyond what the papers or their
 * networks need, and low enough that a mistyped zero is refused before it takes the memory or the day.
 * Limits of a workload's own options are beside their checks (src/workload).
 */
import { elementCount } from "../tensor/tensor.ts";
import type { WeightSource } from "../tensor/weights.ts";
import { parallelism } from "../engine/wall/runtime.ts";
import { UsageError } from "./terminal.ts";

/** Text that a command reads: a configuration, a profile, a topology. */
export const TEXT_BYTES_MAX = 64 * 2 ** 20;

/** Objects and lists in one another in a JSON file. */
export const NESTING_MAX = 32;

/** Time in a configuration: eleven days. Sums of it stay integers. */
export const DURATION_NS_MAX = 1e15;

/** Devices of a simulation. */
export const VIRTUAL_WORKERS_MAX = 1024;

/** Policies of one simulation; each runs the whole workload. */
export const POLICIES_MAX = 100;

/** Cell nodes of a simulation's requests: all of them may be waiting at once, at about 700 bytes with the log. */
export const NODES_MAX = 2_000_000;

/** Input tokens of a simulation's requests, which are made before it starts. */
export const TOKENS_MAX = 50_000_000;

/** Requests per point of `shoal bench`: two minutes at the rate that it aims at. */
export const BENCH_REQUESTS_MAX = 100_000;

/** Requests per second that a point is asked for. */
export const RATE_PER_S_MAX = 10_000_000;

/** Requests of one run of `shoal load`: their books take 50 bytes each. */
export const LOAD_REQUESTS_MAX = 20_000_000;

/** Connections of `shoal load`: as many as a port's clients on one address. */
export const CONNECTIONS_MAX = 28_000;

/** Requests that `shoal quantize` compares. */
export const REQUESTS_COMPARED_MAX = 100_000;

/** Rows of a batch that is measured. */
export const BATCH_MAX = 4096;

/** Hidden size of a model that is measured; `WEIGHT_BYTES_MAX` may say less. */
export const HIDDEN_MAX = 8192;

/** Weights of a model that is measured; they are held twice while they are packed. GNMT of the paper's size has 1.05 GiB. */
export const WEIGHT_BYTES_MAX = 5 * 2 ** 28;

/** Elements of one tensor of a model that is only simulated. */
export const SIMULATED_ELEMENTS_MAX = 2 ** 27;

/** Tensors of a model: layers times what a layer has. */
export const TENSORS_MAX = 10_000;

/** Rows and columns of an array of processing elements. */
export const ARRAY_MAX = 65_536;

/** Tokens of a row, batches and sizes of what `shoal npu` computes on paper. */
export const NPU_SIZE_MAX = 1_000_000;

/** Layers of a topology, each channel of a depthwise one counted. */
export const LAYERS_MAX = 20_000;

/** Word accesses that SCALE-Sim's reports follow one by one: a minute or two. */
export const WALKED_WORDS_MAX = 2e10;

/** Words of an operand of such a layer. */
export const OPERAND_WORDS_MAX = 2 ** 28;

/** Sizes of a GEMM and an array whose every register is drawn. */
export const DRAWN_MAX = 1024;

/** Loads of `shoal ebird`: 27,338 combinations of workers at 128, twenty-five times as many at 256. */
export const LOAD_MAX = 128;

/** Loads in one search. */
export const LOADS_MAX = 64;

/** Repetitions that a benchmark is asked for. */
export const ROUNDS_MAX = 10_000;

/** Sizes of models by option; others are `MODEL_SIZE_MAX`. */
const MODEL_SIZES_MAX: Readonly<Record<string, number>> = {
  hidden: HIDDEN_MAX,
  tokensMax: 8192,
  extraSteps: 8192,
  layers: 1000,
  blocks: 1000,
  arity: 64,
  depth: 16,
  size: 4096,
  channels: 4096,
};
const MODEL_SIZE_MAX = 1_000_000;

/** Worker threads: each has a heap of its own, and more than cores gain nothing. */
export function threadsMax(): number {
  return Math.min(256, Math.max(16, 4 * parallelism()));
}

/**
 * Options of a model, before any of its sizes is believed.
 * @throws RangeError naming the option and its limit
 */
export function checkModelSizes(
  model: string,
  options: Readonly<Record<string, unknown>>,
): void {
  for (const [option, value] of Object.entries(options)) {
    const most = Object.hasOwn(MODEL_SIZES_MAX, option)
      ? MODEL_SIZES_MAX[option]
      : MODEL_SIZE_MAX;
    const numbers = Array.isArray(value) ? value : [value];
    for (const number of numbers) {
      if (typeof number === "number" && number > most) {
        throw new RangeError(
          `"${option}" of model "${model}" is at most ${most} here, got ${number}`,
        );
      }
    }
  }
}

/**
 * Numbers of options that may be times, wherever they are.
 * @throws RangeError naming what they are of and the one that is beyond DURATION_NS_MAX
 */
export function checkDurations(value: unknown, what: string): void {
  if (typeof value === "number" && Math.abs(value) > DURATION_NS_MAX) {
    throw new RangeError(
      `Numbers of ${what} are at most ${DURATION_NS_MAX}, got ${value}`,
    );
  }
  if (typeof value !== "object" || value === null) return;
  for (const inner of Object.values(value)) checkDurations(inner, what);
}

/**
 * Weights of a model of bounded size: asked for before they are made.
 * @param elementsMax of all tensors, or of each one where only shapes count
 * @throws UsageError on the tensor that is too much
 */
export function boundedWeights(
  weights: WeightSource,
  { elementsMax, each }: { elementsMax: number; each: boolean },
): WeightSource {
  let tensors = 0;
  let elements = 0;
  return (name, shape, fanIn, around) => {
    const count = elementCount(shape);
    elements = each ? count : elements + count;
    if (!(elements <= elementsMax)) {
      throw new UsageError(
        `${each ? "" : "The weights up to "}tensor "${name}" [${
          shape.join(", ")
        }] ${
          each ? "has" : "have"
        } ${elements} elements, ${elementsMax} is the most; make the model smaller`,
      );
    }
    if (++tensors > TENSORS_MAX) {
      throw new UsageError(
        `The model has more than ${TENSORS_MAX} tensors; give it fewer layers`,
      );
    }
    return weights(name, shape, fanIn, around);
  };
}
