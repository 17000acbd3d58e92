import type { Experiment } from "../experiment.ts";

/** The experiments that answer the LazyBatching paper's claims. */
export const EXPERIMENTS: readonly Experiment[] = [];
