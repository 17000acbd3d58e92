/**
 * Shortest job first with aging: whenever a worker is idle, the requests of one model with the least predicted time,
 * less a share of the time that they have waited, are executed as one batch.
 * Source: Du et al., "PrefillOnly" (SOSP 2025): shortest predicted completion time first, from which a multiple of the
 * time waited is taken so that long requests do not starve. There requests run one by one (`batchSizeMax: 1`).
 * Since the time waited grows alike for all, the order of two requests never changes: the key is predicted time plus
 * aging times arrival.
 */
import { BatchTime } from "../common/batch_time.ts";
import { KeyedQueues } from "../common/keyed_queues.ts";
import { mergedGraph } from "../common/merged_graph.ts";
import { knownOptions, nonNegative, positiveInteger } from "../options.ts";
import { type EngineView, IDLE, type Policy } from "../policy.ts";
import { type Profile, profileOf, type ProfileTable } from "../profile.ts";

/** Options of `shortestFirst`. */
export interface ShortestFirstOptions {
  /** What batches take: a function, or points [rows, ns] by cell. Default: it is found out. */
  profile?: Profile | ProfileTable;
  /** Most requests of a batch; default 64. */
  batchSizeMax?: number;
  /** Share of the time waited that is taken off the predicted time; 0: long requests may starve. Default 0.1. */
  aging?: number;
  /** Steps that a decoder is expected to take; default 32. */
  decTimesteps?: number;
}

/**
 * Shortest job first with aging, in batches of one model. Batches any model.
 * Source: Du et al., "PrefillOnly" (SOSP 2025).
 * @throws TypeError or RangeError on an option that the policy does not have or cannot take
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { shortestFirst } from "@shoal/core/simulate";
 *
 * const policy = shortestFirst({ batchSizeMax: 16, profile: { "*": [[1, 1e6], [16, 4e6]] } });
 * assert.equal(policy.name, "shortest-first");
 * ```
 */
export function shortestFirst(options: ShortestFirstOptions = {}): Policy {
  const name = "shortest-first";
  knownOptions(name, options, [
    "profile",
    "batchSizeMax",
    "aging",
    "decTimesteps",
  ]);
  const { batchSizeMax = 64, aging = 0.1, decTimesteps = 32 } = options;
  positiveInteger(name, "batchSizeMax", batchSizeMax);
  nonNegative(name, "aging", aging);
  positiveInteger(name, "decTimesteps", decTimesteps);
  const profile = options.profile && profileOf(name, options.profile);
  const time = new BatchTime({ profile, decTimesteps });
  const queues = new KeyedQueues();
  return {
    name,
    supports: () => undefined,
    enqueue(request) {
      const { execNs } = time.alone(request);
      // Infinite aging is first come, first served.
      const key = aging === Infinity
        ? request.arrivalNs
        : execNs + aging * request.arrivalNs;
      queues.enqueue(request, key);
    },
    schedule(view: EngineView) {
      const worker = view.workers.find(({ queued }) => queued === 0);
      const requests = worker ? queues.take(batchSizeMax) : [];
      if (requests.length === 0) return IDLE;
      const { execNs } = time.alone(requests[0]);
      const why = `${execNs} ns is the least, less ${aging} of the time waited`;
      const launch = mergedGraph({ worker: worker!.id, requests, why });
      return { kind: "launch", launch };
    },
    completed: (task, ranNs) => time.saw(task, ranNs),
    ended: (request) => queues.ended(request),
  };
}
