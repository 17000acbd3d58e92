/** The systems of section 3 on a modelled GTX Titan X. */
import type { Context } from "../experiment.ts";
import { OVERHEAD_US } from "../cellular_batching/device.ts";
import { FOLD_MERGE_SHARE } from "../cellular_batching/fig14.ts";
import {
  type Line,
  measureLine,
  type System,
} from "../cellular_batching/load.ts";

const DEVICE = { model: "lstm", device: "Titan X", batchSizeMax: 512 } as const;

export const LATE = {
  ...DEVICE,
  data: "europarl",
  policy: "late",
  submitUs: OVERHEAD_US,
} as const satisfies System;

export const MXNET = {
  ...DEVICE,
  data: "europarl",
  policy: "bucketed",
  bucketWidth: 10,
} as const satisfies System;

export const FOLD = {
  ...DEVICE,
  data: "europarl",
  policy: "merged",
  mergeShare: FOLD_MERGE_SHARE,
} as const satisfies System;

export const FIXED = "fixed 20";

const RATES = {
  all: [250, 500, 1000, 2000, 3000, 4000, 5000, 6000, 10_000],
  quick: [250, 1000, 3000, 10_000],
};

export const CONDITIONS =
  "Modelled GTX Titan X (24 SMs at 1.075 GHz, 336.5 GB/s; tiles, share of the peak and kernels as on the Titan RTX of " +
  "E2bird), LSTM steps of hidden size 1024, which the paper does not say. At most 512 per batch and buckets of width 10, " +
  "as in the authors' next paper; two blocks on the device; the driver takes 65 us per block, its scheduling and " +
  "gathering there. Fold merges for twice as long as it computes. Poisson arrivals for a second per point, two at the last " +
  "rate (0.3 of it with --quick), at least 1000 requests; the first fifth warms up. Lengths of the sample of Europarl v7 " +
  "(English, mean 26.5, at most 80), or 20. ";

export function rates(context: Context): readonly number[] {
  return context.quick ? RATES.quick : RATES.all;
}

/** Late batching, MXNet and Fold on one data set. */
export async function lines(
  context: Context,
  data: "europarl" | typeof FIXED,
  device: "Titan X" | "Titan X, linear" = "Titan X",
): Promise<[late: Line, mxnet: Line, fold: Line]> {
  // Sentences of one length are one bucket of that length.
  const bucketWidth = data === FIXED ? 20 : MXNET.bucketWidth;
  const at = rates(context);
  return [
    await measureLine(context, "late batching", { ...LATE, data, device }, at),
    await measureLine(
      context,
      "MXNet (padding with buckets)",
      { ...MXNET, data, device, bucketWidth },
      at,
    ),
    await measureLine(context, "TensorFlow Fold (merging)", {
      ...FOLD,
      data,
      device,
    }, at),
  ];
}
