import type { Experiment } from "../experiment.ts";

/** The experiments that answer the cellular batching paper's claims. */
export const EXPERIMENTS: readonly Experiment[] = [];
