/**
 * E-Ebird: like N-Ebird, with the engine's workers chosen anew whenever the load changes, from
 * configurations that an offline phase has found best for each load.
 * Source: Cui et al., "E2bird" (IEEE TPDS), section 7.3, Algorithm 2; line numbers below are its. Its
 * lines 5-16 are Algorithm 1 (e2bird/elastic_engine.ts); the offline phase is e2bird/offline.ts.
 * MemState is "the total number of pending requests in the GPU resident memory pool" (section 7.3.3): those
 * that Table 3 calls N, ready and not in a batch; those in computation are CurInf. Assumption: the
 * configuration is that of the smallest TotalBS that holds them, or of the largest.
 * Assumption: "workers of size 1 and size 2 are kept by default": one of each belongs to every
 * configuration, so that whatever is left is drained.
 */
import { describe } from "../../base/describe.ts";
import { log2 } from "../../base/elementary/logarithm.ts";
import { elasticEngine } from "./elastic_engine.ts";
import { RES152_CONFIGURATIONS, withDefaults } from "./offline.ts";
import type { WorkerCounts } from "./idle_workers.ts";
import { knownOptions, positiveInteger } from "../options.ts";
import type { Policy } from "../policy.ts";

/**
 * Options of `eEbird`; names are the paper's.
 */
export interface EEbirdOptions {
  /**
   * EngineConfs: by TotalBS how many workers of sizes 1, 2, 4, ...; default: ResNet-152's (Table 4).
   */
  configurations?: Readonly<Record<number, readonly number[]>>;
  /** Inferences alive at once; default: the largest TotalBS. */
  maxInf?: number;
  /** Slots of the memory pool; default 4 maxInf. */
  slots?: number;
  /**
   * MemState, the load that a configuration is chosen for: "pending" (default) counts the requests that wait in the
   * memory pool (section 7.3.3); "unanswered" those in computation as well.
   */
  memState?: "pending" | "unanswered";
}

/**
 * E-Ebird: like `nEbird`, with the workers chosen anew whenever the load changes, from configurations that an offline
 * phase has found best for each load (`searchConfigurations`). For models of shape "chain".
 * Source: Cui et al., "E2bird" (IEEE TPDS), section 7.3, Algorithm 2.
 * @throws TypeError or RangeError on an option that the policy does not have or cannot take
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { eEbird } from "@shoal/core";
 *
 * // Up to 4 requests: four workers of size 1; up to 8: two of size 2 and one of size 4.
 * const policy = eEbird({ configurations: { 4: [4], 8: [0, 2, 1] } });
 * assert.equal(policy.name, "e-ebird");
 * ```
 */
export function eEbird(options: EEbirdOptions = {}): Policy {
  const name = "e-ebird";
  knownOptions(name, options, [
    "configurations",
    "maxInf",
    "slots",
    "memState",
  ]);
  const { configurations = RES152_CONFIGURATIONS, memState = "pending" } =
    options;
  if (typeof configurations !== "object" || configurations === null) {
    throw new TypeError(
      `"configurations" of policy "${name}" are worker counts by TotalBS, got ${
        describe(configurations)
      }`,
    );
  }
  const byLoad = Object.entries(configurations).map(([total, counts]) => ({
    totalBS: positiveInteger(name, "configurations", Number(total)),
    counts: checked(counts),
  })).sort((a, b) => a.totalBS - b.totalBS);
  if (byLoad.length === 0) {
    throw new RangeError(
      `"configurations" of policy "${name}" has a configuration for at least one TotalBS`,
    );
  }
  const largest = byLoad[byLoad.length - 1];
  const maxInf = positiveInteger(
    name,
    "maxInf",
    options.maxInf ?? largest.totalBS,
  );
  const slots = positiveInteger(name, "slots", options.slots ?? 4 * maxInf);
  if (memState !== "pending" && memState !== "unanswered") {
    throw new RangeError(
      `"memState" of policy "${name}" is "pending" or "unanswered", got ${
        describe(memState)
      }`,
    );
  }

  function checked(counts: WorkerCounts): WorkerCounts {
    if (
      !Array.isArray(counts) ||
      counts.some((count) => !Number.isInteger(count) || count < 0)
    ) {
      throw new RangeError(
        `A configuration of policy "${name}" counts workers of sizes 1, 2, 4, ..., got ${
          describe(counts)
        }`,
      );
    }
    return withDefaults(counts);
  }

  return elasticEngine({
    name,
    workers: byLoad[0].counts,
    maxInf,
    slots,
    // l. 2-4: MemState changed: CurConf from EngineConfs, Q according to CurConf.
    reconfigure: (memState) =>
      (byLoad.find(({ totalBS }) => totalBS >= memState) ?? largest).counts,
    countsAlive: memState === "unanswered",
  });
}

/**
 * Configurations of which no worker is larger than a limit.
 * Assumption: where workers share nothing, a mix is as good as its largest worker: one of half the load
 * and two of a quarter, as in Table 4's mix for 32.
 */
export function eEbirdLimited(
  batchSizeMax: number,
): Required<Pick<EEbirdOptions, "configurations" | "maxInf">> {
  const configurations: Record<number, number[]> = {};
  for (let total = 1; total <= batchSizeMax; total *= 2) {
    const counts = new Array<number>(log2(total) + 1).fill(0);
    if (total < 4) counts[counts.length - 1] = 1;
    else {
      counts[counts.length - 2] = 1;
      counts[counts.length - 3] = 2;
    }
    configurations[total] = counts;
  }
  return { configurations, maxInf: batchSizeMax };
}
