import type { Experiment } from "../experiment.ts";

/** The experiments that answer the DVABatch paper's claims. */
export const EXPERIMENTS: readonly Experiment[] = [];
