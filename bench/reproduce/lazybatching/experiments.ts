import type { Experiment } from "../experiment.ts";
import { batchSizeMax } from "./batch_size_max.ts";
import { cellularNetworks } from "./cellular_networks.ts";
import { colocated } from "./colocated.ts";
import { decTimestepsSweep } from "./dec_timesteps.ts";
import { decisions } from "./decisions.ts";
import { defaults } from "./defaults.ts";
import { fig10 } from "./fig10.ts";
import { fig11 } from "./fig11.ts";
import { fig12 } from "./fig12.ts";
import { fig14 } from "./fig14.ts";
import { fig15 } from "./fig15.ts";
import { fig16 } from "./fig16.ts";
import { fig17 } from "./fig17.ts";
import { fig3 } from "./fig3.ts";
import { fig4 } from "./fig4.ts";
import { fig5 } from "./fig5.ts";
import { fig6 } from "./fig6.ts";
import { fig7 } from "./fig7.ts";
import { fig8 } from "./fig8.ts";
import { overall } from "./overall.ts";
import { setup } from "./setup.ts";

/**
 * The experiments that answer the LazyBatching paper's claims. Several run at once: those that share points stand
 * apart, so that the later one finds them computed.
 */
export const EXPERIMENTS: readonly Experiment[] = [
  fig12,
  fig16,
  fig17,
  colocated,
  fig5,
  fig3,
  fig4,
  fig6,
  fig7,
  fig8,
  fig10,
  fig11,
  setup,
  decisions,
  cellularNetworks,
  fig15,
  decTimestepsSweep,
  defaults,
  batchSizeMax,
  fig14,
  overall,
];
