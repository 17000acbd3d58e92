import type { Experiment } from "../experiment.ts";
import { fig14 } from "./fig14.ts";
import { fig15 } from "./fig15.ts";
import { fig17 } from "./fig17.ts";
import { fig18 } from "./fig18.ts";
import { fig19 } from "./fig19.ts";
import { fig20 } from "./fig20.ts";
import { fig21 } from "./fig21.ts";
import { fig3 } from "./fig3.ts";
import { fig4 } from "./fig4.ts";
import { fig5 } from "./fig5.ts";
import { fig6 } from "./fig6.ts";
import { policies } from "./policies.ts";
import { setup } from "./setup.ts";

/** What answers the DVABatch paper's claims. */
export const EXPERIMENTS: readonly Experiment[] = [
  fig3,
  fig4,
  fig5,
  fig6,
  policies,
  setup,
  fig14,
  fig15,
  fig18,
  fig19,
  fig20,
  fig17,
  fig21,
];
