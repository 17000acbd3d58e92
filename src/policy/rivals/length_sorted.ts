/**
 * Length-sorted batches: whenever a worker is idle and nothing is planned, all waiting requests of a model are sorted by
 * length and cut into batches such that the sum of the batches' padded times is least; the batches are then
 * executed one after the other.
 * Source: Fang et al., "TurboTransformers: An Efficient GPU Serving System For Transformer Models" (PPoPP 2021), the
 * sequence-length-aware batch scheduler (dynamic programming over the sorted list), started as its hungry strategy does.
 * Assumption: what was planned is executed before what came later, shortest batch first.
 */
import { BatchTime } from "../common/batch_time.ts";
import { inputLength, lockstep, paddingObstacle } from "../common/lockstep.ts";
import { ModelQueues, takeOldest } from "../common/model_queues.ts";
import { knownOptions, positiveInteger } from "../options.ts";
import { type EngineView, IDLE, type Policy } from "../policy.ts";
import { type Profile, profileOf, type ProfileTable } from "../profile.ts";
import type { Request } from "../request.ts";

/** Options of `lengthSorted`. */
export interface LengthSortedOptions {
  /** What batches take: a function, or points [rows, ns] by cell. Default: it is found out. */
  profile?: Profile | ProfileTable;
  /** Most requests of a batch; default 64. */
  batchSizeMax?: number;
  /** Most requests that are planned at once, the oldest; default 1024. */
  planMax?: number;
  /** Steps that a decoder is expected to take; default 32. */
  decTimesteps?: number;
}

/**
 * Batches of neighbours in length, cut so that the sum of their padded times is least. For models of shape "chain".
 * Source: Fang et al., "TurboTransformers" (PPoPP 2021), batch scheduler.
 * @throws TypeError or RangeError on an option that the policy does not have or cannot take
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { lengthSorted } from "@shoal/core/simulate";
 *
 * const policy = lengthSorted({ profile: { "*": [[1, 1e6], [16, 4e6]] } });
 * assert.equal(policy.name, "length-sorted");
 * ```
 */
export function lengthSorted(options: LengthSortedOptions = {}): Policy {
  const name = "length-sorted";
  knownOptions(name, options, [
    "profile",
    "batchSizeMax",
    "planMax",
    "decTimesteps",
  ]);
  const { batchSizeMax = 64, planMax = 1024, decTimesteps = 32 } = options;
  positiveInteger(name, "batchSizeMax", batchSizeMax);
  positiveInteger(name, "planMax", planMax);
  positiveInteger(name, "decTimesteps", decTimesteps);
  const profile = options.profile && profileOf(name, options.profile);
  const time = new BatchTime({ profile, decTimesteps });
  const queues = new ModelQueues();
  /** Batches that are to be executed, in order; some of their requests may have ended. */
  let planned: Request[][] = [];

  /** The cuts of the sorted list with the least sum of times. */
  function plan(sorted: readonly Request[]): Request[][] {
    /** Least time of the first i requests, and where their last batch begins. */
    const leastNs = [0];
    const from = [0];
    /** Times of a batch by its rows, of which the longest is as the last request. */
    let batchNs: number[] = [];
    for (let end = 1; end <= sorted.length; end++) {
      leastNs[end] = Infinity;
      // The longest of the batch stands last: the others are padded to it.
      const longest = sorted[end - 1];
      const batch = time.batch().add(longest);
      // Neighbours in length are mostly alike, and an estimate goes over all cells of the model.
      if (end === 1 || !time.isAlike(sorted[end - 2], longest)) batchNs = [];
      for (let rows = 1; rows <= Math.min(end, batchSizeMax); rows++) {
        const ns = leastNs[end - rows] + (batchNs[rows] ??= batch.ns(rows));
        // Of equals the larger batch.
        if (ns <= leastNs[end]) {
          leastNs[end] = ns;
          from[end] = end - rows;
        }
      }
    }
    const batches: Request[][] = [];
    for (let end = sorted.length; end > 0; end = from[end]) {
      batches.push(sorted.slice(from[end], end));
    }
    return batches.reverse();
  }

  return {
    name,
    supports: paddingObstacle,
    enqueue: (request) => queues.enqueue(request),
    schedule(view: EngineView) {
      const worker = view.workers.find(({ queued }) => queued === 0);
      if (worker === undefined) return IDLE;
      if (planned.length === 0) {
        const [queue] = queues.byAge();
        if (queue === undefined) return IDLE;
        const waiting = takeOldest(queue, planMax)
          .map((request) => ({ request, length: inputLength(request) }))
          .sort((a, b) => a.length - b.length || a.request.id - b.request.id);
        planned = plan(waiting.map(({ request }) => request));
        for (const batch of planned) {
          for (const request of batch) request.tag = batch;
        }
      }
      const requests = planned.shift()!;
      for (const request of requests) request.tag = undefined;
      const why = `of lengths ${inputLength(requests[0])} to ${
        inputLength(requests[requests.length - 1])
      }, before ${planned.length} more that are planned`;
      const launch = lockstep({ worker: worker.id, requests, why });
      return { kind: "launch", launch };
    },
    completed: (task, ranNs) => time.saw(task, ranNs),
    ended(request) {
      queues.ended(request);
      const batch = planned.find((batch) => batch === request.tag);
      if (batch === undefined) return;
      batch.splice(batch.indexOf(request), 1);
      if (batch.length === 0) planned.splice(planned.indexOf(batch), 1);
    },
  };
}
