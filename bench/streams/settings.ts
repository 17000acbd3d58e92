/** What bench:streams is asked for. */
import {
  integerOption,
  integersOption,
  namesOption,
  seedOption,
} from "../../src/cli/options.ts";
import { threadsMax } from "../../src/cli/limits.ts";
import { UsageError } from "../../src/cli/terminal.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import type { StreamFiles } from "./models.ts";

/** The options as they are given. */
export interface StreamValues {
  dtln?: string[];
  silero?: string;
  model?: string;
  policy?: string;
  workers?: string;
  batch?: string;
  seed?: string;
  int8?: boolean;
  quick?: boolean;
  simulated?: string;
  soak?: string;
  out?: string;
}

/** What they ask for. */
export interface StreamSettings {
  files: StreamFiles;
  /** Names of models; undefined: all. */
  models: string | undefined;
  policies: string[];
  /** Threads that compute besides the engine's own; 0: that one does. */
  workers: number[];
  batchSizeMax: number;
  /** Of a trial. */
  seconds: number;
  /** Of the trial that what was found has to survive. */
  confirmSeconds: number;
  /** Streams on virtual time; none: no such load. */
  simulated: readonly number[];
  seed: number;
  /** Minutes at eight tenths of what is carried, by the first policy on the first number of workers; 0: none. */
  soakMinutes: number;
  /** Where the report goes; undefined: nowhere. */
  out: string | undefined;
}

const SECONDS = 2;
const QUICK_SECONDS = 0.5;
/** The trial that decides is so many times as long. */
const CONFIRM = 10;
const SIMULATED = [100, 1000, 10_000, 100_000];
const QUICK_SIMULATED = [100, 10_000];
const SIMULATED_MAX = 1_000_000;
const BATCH_MAX = 1024;
const MINUTES_MAX = 24 * 60;

/** @throws {UsageError} on a value that does not do */
export function streamSettings(values: StreamValues): StreamSettings {
  const { dtln, silero, quick = false } = values;
  if (dtln !== undefined && dtln.length !== 2) {
    throw new UsageError(
      `--dtln is given twice, for model_1.onnx and model_2.onnx, got ${dtln.length}`,
    );
  }
  return {
    files: {
      int8: values.int8 ?? false,
      ...(dtln && { dtln: [dtln[0], dtln[1]] as const }),
      ...(silero !== undefined && { silero }),
    },
    models: values.model,
    policies: namesOption(
      "policy",
      values.policy ?? "cellular",
      Object.keys(POLICIES),
    ),
    workers: values.workers === undefined
      ? [0, 1]
      : integersOption("workers", values.workers, {
        min: 0,
        max: threadsMax(),
      }),
    batchSizeMax: integerOption("batch", values.batch, 64, {
      min: 1,
      max: BATCH_MAX,
    }),
    seconds: quick ? QUICK_SECONDS : SECONDS,
    confirmSeconds: CONFIRM * (quick ? QUICK_SECONDS : SECONDS),
    simulated: simulatedLoads(values.simulated, quick),
    soakMinutes: integerOption("soak", values.soak, 0, { max: MINUTES_MAX }),
    seed: seedOption(values.seed),
    out: values.out,
  };
}

function simulatedLoads(
  given: string | undefined,
  quick: boolean,
): readonly number[] {
  if (given === undefined) return quick ? QUICK_SIMULATED : SIMULATED;
  return integersOption("simulated", given, { min: 0, max: SIMULATED_MAX })
    .filter((streams) => streams > 0);
}
