/**
 * N-Ebird: a fixed set of workers of sizes 2^n; whenever the waiting requests fill an idle one exactly,
 * it is launched, the largest first, with at most MaxInf inferences alive.
 * Source: Cui et al., "E2bird: Enhanced Elastic Batch for Improving Responsiveness and Throughput of Deep
 * Learning Services" (IEEE TPDS), section 7.2, Algorithm 1 (its loop is in e2bird/elastic_engine.ts).
 * Nothing is waited for: a single request fills a worker of size 1.
 */
import { describe } from "../../base/describe.ts";
import { elasticEngine } from "./elastic_engine.ts";
import { totalBatchSize, workerCounts } from "./idle_workers.ts";
import { knownOptions, positiveInteger } from "../options.ts";
import type { Policy } from "../policy.ts";

/**
 * Options of `nEbird`.
 */
export interface NEbirdOptions {
  /** Sizes of the engine's workers, one of them 1; default 1, 1, 2, 4, 8, 16 (section 7.2.1). */
  workers?: readonly number[];
  /** MaxBS: inferences alive at once; default: the sum of the workers' sizes. */
  maxInf?: number;
  /** Slots of the memory pool; default 4 maxInf (section 5.1: "several times"). */
  slots?: number;
}

/**
 * N-Ebird: a fixed set of workers of sizes 2^n per model; whenever the waiting requests fill an idle one exactly, it is
 * launched, the largest first, so that nothing is waited for and nothing padded to a batch size. For models of shape
 * "chain". The device needs as many workers as the set has for all of them to run at once.
 * Source: Cui et al., "E2bird: Enhanced Elastic Batch for Improving Responsiveness and Throughput of Deep Learning
 * Services" (IEEE TPDS), section 7.2, Algorithm 1.
 * @throws TypeError or RangeError on an option that the policy does not have or cannot take
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { nEbird } from "@shoal/core";
 *
 * const policy = nEbird({ workers: [1, 2, 4, 8] }); // at most 15 inferences alive
 * assert.equal(policy.name, "n-ebird");
 * assert.throws(() => nEbird({ workers: [2, 4] }), /a worker of size 1/);
 * ```
 */
export function nEbird(options: NEbirdOptions = {}): Policy {
  const name = "n-ebird";
  knownOptions(name, options, ["workers", "maxInf", "slots"]);
  const { workers = [1, 1, 2, 4, 8, 16] } = options;
  if (!Array.isArray(workers)) {
    throw new TypeError(
      `"workers" of policy "${name}" lists sizes, got ${describe(workers)}`,
    );
  }
  const counts = workerCounts(name, workers);
  if (!counts[0]) {
    throw new RangeError(
      `"workers" of policy "${name}" has a worker of size 1, which drains what is left; got ${
        describe(workers)
      }`,
    );
  }
  const maxInf = positiveInteger(
    name,
    "maxInf",
    options.maxInf ?? totalBatchSize(counts),
  );
  const slots = positiveInteger(name, "slots", options.slots ?? 4 * maxInf);
  return elasticEngine({ name, workers: counts, maxInf, slots });
}

/** A batch of at most so many rows: workers of sizes 1, 1, 2, 4, ... up to it (section 7.2.1). */
export function nEbirdLimited(
  batchSizeMax: number,
): Required<Pick<NEbirdOptions, "workers" | "maxInf">> {
  const workers = [1];
  for (let size = 1; 2 * size <= batchSizeMax; size *= 2) workers.push(size);
  return { workers, maxInf: batchSizeMax };
}
