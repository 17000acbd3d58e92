import type { Experiment } from "../experiment.ts";

/** The experiments that answer the Late Batching paper's claims. */
export const EXPERIMENTS: readonly Experiment[] = [];
