import type { Experiment } from "../experiment.ts";
import { FIG_1 } from "./fig1.ts";
import { FIXED_LENGTH } from "./fixed.ts";
import { WMT15 } from "./wmt15.ts";

/** The experiments that answer the Late Batching paper's claims. */
export const EXPERIMENTS: readonly Experiment[] = [FIG_1, WMT15, FIXED_LENGTH];
