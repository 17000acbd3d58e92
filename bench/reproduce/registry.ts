/** The papers' claims and experiments together. A paper's experiments are in the folder of its name. */
import { CLAIMS as CELLULAR_CLAIMS } from "./cellular_batching/claims.ts";
import { EXPERIMENTS as CELLULAR } from "./cellular_batching/experiments.ts";
import type { Claim } from "./claim.ts";
import { CLAIMS as DVA_CLAIMS } from "./dvabatch/claims.ts";
import { EXPERIMENTS as DVA } from "./dvabatch/experiments.ts";
import { CLAIMS as E2BIRD_CLAIMS } from "./e2bird/claims.ts";
import { EXPERIMENTS as E2BIRD } from "./e2bird/experiments.ts";
import type { Experiment } from "./experiment.ts";
import { CLAIMS as LATE_CLAIMS } from "./late_batching/claims.ts";
import { EXPERIMENTS as LATE } from "./late_batching/experiments.ts";
import { CLAIMS as LAZY_CLAIMS } from "./lazybatching/claims.ts";
import { EXPERIMENTS as LAZY } from "./lazybatching/experiments.ts";
import { EXPERIMENTS as MACHINE } from "./machine/experiments.ts";

export interface Paper {
  /** Its folder, and what its experiments' ids begin with. */
  readonly name: string;
  readonly title: string;
  readonly claims: readonly Claim[];
  readonly experiments: readonly Experiment[];
}

export const PAPERS: readonly Paper[] = [
  {
    name: "cellular_batching",
    title: "Cellular batching (BatchMaker)",
    claims: CELLULAR_CLAIMS,
    experiments: CELLULAR,
  },
  {
    name: "late_batching",
    title: "Late Batching",
    claims: LATE_CLAIMS,
    experiments: LATE,
  },
  {
    name: "lazybatching",
    title: "LazyBatching",
    claims: LAZY_CLAIMS,
    experiments: LAZY,
  },
  {
    name: "dvabatch",
    title: "DVABatch",
    claims: DVA_CLAIMS,
    experiments: DVA,
  },
  {
    name: "e2bird",
    title: "E2bird and Ebird",
    claims: E2BIRD_CLAIMS,
    experiments: E2BIRD,
  },
  {
    name: "machine",
    title: "On this machine's workers",
    claims: [],
    experiments: MACHINE,
  },
];
