import type { Experiment } from "../experiment.ts";
import { dvabatchStages } from "./dvabatch_stages.ts";
import { lazyTransformer } from "./lazy_transformer.ts";
import { SERVING } from "./serving.ts";
import { stepTime } from "./step_time.ts";
import { workerMixes } from "./worker_mixes.ts";

/**
 * What the papers measured on hardware that is not ours, on this machine's worker threads and at a size that fits. Beside
 * the modelled devices on which claims are judged; answers none.
 */
export const EXPERIMENTS: readonly Experiment[] = [
  stepTime,
  ...SERVING,
  lazyTransformer,
  dvabatchStages,
  workerMixes,
];
