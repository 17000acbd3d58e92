import type { Experiment } from "../experiment.ts";

/** The experiments that answer the E2bird paper's claims. */
export const EXPERIMENTS: readonly Experiment[] = [];
