/** The systems of section 7, as they are compared on every data set. */
import { BEST_BATCH, OVERHEAD_US } from "./device.ts";
import type { System } from "./load.ts";

const LSTM = { model: "lstm", data: "europarl" } as const;

export const SYSTEMS = {
  batchMaker: {
    ...LSTM,
    policy: "cellular",
    batchSizeMax: BEST_BATCH.encoder,
    overheadUs: OVERHEAD_US,
  },
  /** TensorFlow and MXNet: one line, as nothing of what sets them apart is printed. */
  baseline: {
    ...LSTM,
    policy: "bucketed",
    batchSizeMax: BEST_BATCH.encoder,
    bucketWidth: 10,
  },
  gpusMax: 4,
} as const satisfies Record<string, System | number>;

/** What every experiment on the modelled GPU rests on. */
export const CONDITIONS =
  "Modelled V100: an LSTM step of hidden size 1024 takes 185 us up to 64 rows and 784 us at 512, linear between, in " +
  "proportion beyond; tasks of BatchMaker's take 65 us more. TensorFlow and MXNet are one baseline (padding with " +
  "buckets) without that overhead. Poisson arrivals for a second per point, two at the last rate, " +
  "which is beyond the capacity (0.3 of it with --quick), at least 1000 requests; the first fifth warms up. ";

export const LENGTHS_CONDITIONS =
  "Lengths of the sample of Europarl v7 (English side, mean 26.5, cut at 80 by its publisher).";
