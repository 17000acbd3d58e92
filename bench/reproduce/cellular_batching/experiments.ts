import type { Experiment } from "../experiment.ts";
import { FIG_3 } from "./fig3.ts";
import { FIG_5 } from "./fig5.ts";
import { FIG_7 } from "./fig7.ts";
import { FIG_8 } from "./fig8.ts";
import { FIG_9 } from "./fig9.ts";
import { FIG_11 } from "./fig11.ts";
import { FIG_13 } from "./fig13.ts";
import { FIG_14 } from "./fig14.ts";
import { FIG_15 } from "./fig15.ts";
import { HIGHLIGHTS } from "./highlights.ts";
import { SETUP } from "./setup.ts";

/** The experiments that answer the cellular batching paper's claims. */
export const EXPERIMENTS: readonly Experiment[] = [
  SETUP,
  FIG_3,
  FIG_5,
  FIG_7,
  FIG_8,
  FIG_9,
  FIG_11,
  FIG_13,
  FIG_14,
  FIG_15,
  HIGHLIGHTS,
];
