/** What `bench:kernels --curve` is asked for. */
import { describe } from "../../../src/base/describe.ts";
import { threadsMax } from "../../../src/cli/limits.ts";
import { integerOption, integersOption } from "../../../src/cli/options.ts";
import { UsageError } from "../../../src/cli/terminal.ts";
import { CURVE_KINDS, type CurveKind } from "./kinds.ts";

/** Rows of a batch by default: all small ones, then by halves and quarters. */
const ROWS = [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 48, 64];
/** Rows and results fit the bench's memory beside the weights. */
const ROWS_MAX = 512;
const QUICK_ROWS = [1, 2, 3, 4, 6, 8, 16, 32, 64];
/** Weights that lie in a second-level cache, a third-level one, and memory, on most machines. */
const WEIGHTS_KIB = [512, 8192, 32_768];
/** The memory of a bench holds them, rows and results. */
const WEIGHTS_KIB_MAX = 131_072;
const WEIGHTS_KIB_MIN = 16;
const KIB = 1024;

/** The options as they are given. */
export interface CurveValues {
  curve?: boolean;
  only?: string;
  size?: string;
  quick?: boolean;
  batches?: string;
  weights?: string;
  threads?: string;
}

/** What they ask for. */
export interface CurveOptions {
  kinds: readonly CurveKind[];
  rows: readonly number[];
  /** Bytes. */
  weights: readonly number[];
  threads: number;
}

/**
 * @returns undefined if no curve is asked for
 * @throws {UsageError} on a value that does not do, or options of one without the other
 */
export function curveOptions(values: CurveValues): CurveOptions | undefined {
  const { only = "", quick = false, batches, weights, threads } = values;
  if (!values.curve) {
    for (const [name, value] of Object.entries({ batches, weights, threads })) {
      if (value !== undefined) {
        throw new UsageError(`--${name} is about --curve, which is missing`);
      }
    }
    return undefined;
  }
  if (values.size) {
    throw new UsageError(
      "--size is for kernels of the registry; curves have --batches and --weights",
    );
  }
  const kinds = CURVE_KINDS.filter(({ name }) => name.includes(only));
  if (kinds.length === 0) {
    throw new UsageError(
      `No curve has ${describe(only)} in its name; there are ${
        [...new Set(CURVE_KINDS.map(({ name }) => name))].join(", ")
      }`,
    );
  }
  const sorted = (values: readonly number[]) =>
    [...new Set(values)].sort((a, b) => a - b);
  return {
    kinds,
    rows: batches === undefined
      ? quick ? QUICK_ROWS : ROWS
      : sorted(integersOption("batches", batches, { min: 1, max: ROWS_MAX })),
    weights: sorted(
      weights === undefined ? WEIGHTS_KIB : integersOption("weights", weights, {
        min: WEIGHTS_KIB_MIN,
        max: WEIGHTS_KIB_MAX,
      }),
    ).map((kib) => kib * KIB),
    threads: integerOption("threads", threads, 1, {
      min: 1,
      max: threadsMax(),
    }),
  };
}
