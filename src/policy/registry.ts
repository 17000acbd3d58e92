import { aimd } from "./rivals/aimd.ts";
import { auto } from "./auto/auto.ts";
import { bucketed } from "./baselines/bucketed.ts";
import { cellular } from "./cellular_batching/cellular.ts";
import { deferred } from "./rivals/deferred.ts";
import { dvabatch } from "./dvabatch/dvabatch.ts";
import { earliestDeadline } from "./rivals/earliest_deadline.ts";
import { eEbird, eEbirdLimited } from "./e2bird/e_ebird.ts";
import { graph } from "./baselines/graph_batching.ts";
import { iteration } from "./rivals/iteration.ts";
import { late } from "./late_batching/late.ts";
import { lazy, oracle } from "./lazybatching/lazy.ts";
import { lengthSorted } from "./rivals/length_sorted.ts";
import { merged } from "./baselines/merged.ts";
import { nEbird, nEbirdLimited } from "./e2bird/n_ebird.ts";
import type { Policy } from "./policy.ts";
import { serial } from "./baselines/serial.ts";
import { shortestFirst } from "./rivals/shortest_first.ts";
import { tokenBudget } from "./rivals/token_budget.ts";

/** What is known of a registered policy: how it is made, and with which options it is tested. */
export interface PolicyEntry {
  /**
   * Makes a fresh policy: one serves one engine.
   * @throws TypeError or RangeError on an option that the policy does not have or cannot take
   */
  build(options?: Record<string, unknown>): Policy;
  /**
   * Every option that the policy has, with values that tests try in any combination; `undefined` is the
   * default. The bench gives `batchSizeMax` and `profile` to policies that have them.
   */
  readonly options: Readonly<Record<string, readonly unknown[]>>;
  /** The options that keep batches to so many rows, of a policy that says it otherwise than by `batchSizeMax`. */
  limited?(batchSizeMax: number): Record<string, unknown>;
}

const BATCH_SIZES = [1, 2, 3, 4, 5, 6];
const WINDOWS_NS = [0, 1500, 10_000];
const PROFILES = [undefined, { "*": [[1, 1000], [4, 1800]] }];
const SLOTS = [4, 5, 6, 7, 8, 9];

const TARGETS_NS = [
  0,
  20_000,
  1e12,
  { lstm: 5000, seq2seq: 1e9, recurrent: 20_000 },
];
const DEC_TIMESTEPS = [1, 2, 3, 4, 5, 6, 7, 8];

const LAZY: PolicyEntry["options"] = {
  profile: PROFILES,
  batchSizeMax: BATCH_SIZES,
  slaNs: TARGETS_NS,
  decTimesteps: DEC_TIMESTEPS,
  emptyTable: ["issue", "check"],
  elapsedTime: ["charge", "ignore"],
  negativeSlack: ["refuse", "ignore"],
  nestedPreemption: [true, false],
};

/**
 * Every policy by name: one entry adds one to the bench, the command line and the property tests.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { POLICIES } from "@shoal/core/simulate";
 *
 * const policy = POLICIES["cellular"].build({ batchSizeMax: 8 });
 * assert.equal(policy.name, "cellular");
 * ```
 */
export const POLICIES: Readonly<Record<string, PolicyEntry>> = {
  serial: {
    build: serial,
    options: {},
    // One request at a time whatever the limit.
    limited: () => ({}),
  },
  graph: {
    build: graph,
    options: {
      batchSizeMax: BATCH_SIZES,
      windowNs: WINDOWS_NS,
      dummyRows: [false, true],
    },
  },
  bucketed: {
    build: bucketed,
    options: { batchSizeMax: BATCH_SIZES, bucketWidth: [1, 2, 3, 4, 5] },
  },
  merged: {
    build: merged,
    options: { batchSizeMax: BATCH_SIZES },
  },
  cellular: {
    build: cellular,
    options: {
      batchSizeMax: BATCH_SIZES,
      batchSizeMin: [1, 2, 3],
      maxTasksToSubmit: [1, 2, 3, 4, 5, 6],
      tasksAhead: [undefined, 0, 1, 2],
      nonRecurrent: ["batch", "serialize"],
    },
  },
  late: {
    build: late,
    options: { batchSizeMax: BATCH_SIZES, pushAhead: [1, 2, 3, 4] },
  },
  lazy: { build: lazy, options: LAZY },
  oracle: { build: oracle, options: LAZY },
  dvabatch: {
    build: dvabatch,
    options: {
      profile: PROFILES,
      batchSizeMax: BATCH_SIZES,
      stages: [1, 2, 3, 6, "preferred"],
      policy: ["none", "I", "II", "III", "II+III"],
      // A function instead of a policy by name.
      schedule: [undefined],
      windowNs: [undefined, ...WINDOWS_NS],
      compWaitNs: ["profile", 0, 5000, 1e9],
      splitTolerance: [0, 0.4],
      splitManner: ["serial", "parallel"],
      pairs: [1, 2, 3, 4],
      lengthRatio: [undefined, 1.5],
    },
  },
  "n-ebird": {
    build: nEbird,
    options: {
      workers: [[1], [1, 2], [1, 1, 2, 4], [1, 1, 1]],
      maxInf: BATCH_SIZES,
      slots: SLOTS,
    },
    limited: nEbirdLimited,
  },
  "e-ebird": {
    build: eEbird,
    options: {
      configurations: [
        undefined,
        { 2: [0, 1], 4: [0, 0, 1] },
        { 3: [3], 6: [2, 2] },
      ],
      maxInf: BATCH_SIZES,
      slots: SLOTS,
      memState: ["pending", "unanswered"],
    },
    limited: eEbirdLimited,
  },
  "token-budget": {
    build: tokenBudget,
    options: { tokensMax: [1, 4, 9, 30], batchSizeMax: BATCH_SIZES },
  },
  "length-sorted": {
    build: lengthSorted,
    options: {
      profile: PROFILES,
      batchSizeMax: BATCH_SIZES,
      planMax: [1, 3, 1000],
      decTimesteps: DEC_TIMESTEPS,
    },
  },
  "shortest-first": {
    build: shortestFirst,
    options: {
      profile: PROFILES,
      batchSizeMax: BATCH_SIZES,
      aging: [0, 0.1, 2, Infinity],
      decTimesteps: DEC_TIMESTEPS,
    },
  },
  aimd: {
    build: aimd,
    options: {
      slaNs: TARGETS_NS,
      increase: [1, 3],
      backoff: [0, 0.5, 0.9, 1],
      windowNs: WINDOWS_NS,
      batchSizeMax: BATCH_SIZES,
    },
  },
  "earliest-deadline": {
    build: earliestDeadline,
    options: { slaNs: TARGETS_NS, batchSizeMax: BATCH_SIZES },
  },
  deferred: {
    build: deferred,
    options: {
      profile: PROFILES,
      slaNs: TARGETS_NS,
      batchSizeMax: BATCH_SIZES,
      decTimesteps: DEC_TIMESTEPS,
    },
  },
  iteration: {
    build: iteration,
    options: { batchSizeMax: BATCH_SIZES },
  },
  auto: {
    build: auto,
    options: {
      slaNs: [undefined, ...TARGETS_NS],
      profile: PROFILES,
      batchSizeMax: BATCH_SIZES,
    },
  },
};
