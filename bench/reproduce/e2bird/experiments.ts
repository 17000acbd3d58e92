import type { Experiment } from "../experiment.ts";
import { DECISIONS } from "./decisions.ts";
import { EQ_1 } from "./eq1.ts";
import { EQ_5 } from "./eq5.ts";
import { FIG_10 } from "./fig10.ts";
import { FIG_12 } from "./fig12.ts";
import { FIG_13 } from "./fig13.ts";
import { FIG_14 } from "./fig14.ts";
import { FIG_17 } from "./fig17.ts";
import { FIG_2 } from "./fig2.ts";
import { FIG_7 } from "./fig7.ts";
import { FIG_7_COPIES } from "./fig7_copies.ts";
import { FIG_9 } from "./fig9.ts";
import { TABLE_1_AND_5 } from "./table1.ts";

/** The experiments that answer the E2bird paper's claims. */
export const EXPERIMENTS: readonly Experiment[] = [
  TABLE_1_AND_5,
  FIG_2,
  EQ_1,
  FIG_7_COPIES,
  FIG_7,
  FIG_9,
  EQ_5,
  FIG_10,
  DECISIONS,
  FIG_12,
  FIG_13,
  FIG_14,
  FIG_17,
];
