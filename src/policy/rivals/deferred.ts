/**
 * Deferred batches: a batch starts neither as soon as a worker is idle nor when a fixed window is over, but when
 * waiting for one more request would make it miss the deadline of its most urgent one. With t(b) for what b requests
 * take and d for their earliest deadline, a candidate of b requests may start in [d - t(b + 1), d - t(b)].
 * Source: Chen et al., "Symphony: Optimized DNN Model Serving using Deferred Batch Scheduling" (arXiv:2308.07470), the
 * schedulable window; of several models within their windows, the one whose window closes first, or whose request is the
 * older one.
 * Deviation: what can no longer meet its deadline is dropped there; here it is executed once nobody of its model who
 * waits could be in time and no candidate is in its window, the oldest first, since requests are refused by their own
 * deadlines only. As long as there are others who can be in time, it waits.
 * Assumption: a request to a model without a target is not waited for; a batch of the greatest size starts at once.
 */
import { insertInOrder } from "../../base/insert_in_order.ts";
import type { Model } from "../../graph/model.ts";
import { BatchTime } from "../common/batch_time.ts";
import { lockstep, paddingObstacle } from "../common/lockstep.ts";
import { modelTarget, type SlaNs } from "../common/target.ts";
import { knownOptions, positiveInteger } from "../options.ts";
import {
  type Decision,
  type EngineView,
  IDLE,
  type Policy,
} from "../policy.ts";
import { type Profile, profileOf, type ProfileTable } from "../profile.ts";
import type { Request } from "../request.ts";

/** Options of `deferred`. */
export interface DeferredOptions {
  /** What batches take: a function, or points [rows, ns] by cell. Default: it is found out. */
  profile?: Profile | ProfileTable;
  /**
   * Latency that requests may have, in all or by model name, less if their own deadlines are sooner. Default: none, so
   * that nobody waits.
   */
  slaNs?: SlaNs;
  /** Most requests of a batch; default 64. */
  batchSizeMax?: number;
  /** Steps that a decoder is expected to take; default 32. */
  decTimesteps?: number;
}

interface Waiting {
  readonly request: Request;
  /** When it has to be done. */
  readonly dueNs: number;
}

/** A batch that could be made of what waits for a model. */
interface Candidate {
  readonly requests: Request[];
  /** The window's ends. */
  readonly fromNs: number;
  readonly latestNs: number;
  /** Why it starts once its window is open. */
  readonly why: string;
}

/**
 * Batches that start when waiting for one more request would make them late. For models of shape "chain".
 * Source: Chen et al., "Symphony" (arXiv:2308.07470).
 * @throws TypeError or RangeError on an option that the policy does not have or cannot take
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { deferred } from "@shoal/core/simulate";
 *
 * const policy = deferred({ slaNs: 20e6, profile: { "*": [[1, 1e6], [16, 4e6]] } });
 * assert.equal(policy.name, "deferred");
 * ```
 */
export function deferred(options: DeferredOptions = {}): Policy {
  const name = "deferred";
  knownOptions(name, options, [
    "profile",
    "slaNs",
    "batchSizeMax",
    "decTimesteps",
  ]);
  const { batchSizeMax = 64, decTimesteps = 32 } = options;
  positiveInteger(name, "batchSizeMax", batchSizeMax);
  positiveInteger(name, "decTimesteps", decTimesteps);
  const profile = options.profile && profileOf(name, options.profile);
  const time = new BatchTime({ profile, decTimesteps });
  const targetNsOf = modelTarget(name, options.slaNs ?? Infinity);
  /** By model, the earliest deadline first. */
  const queues = new Map<Model, Waiting[]>();
  /** When the window opens that is waited for; Infinity when none is. */
  let openNs = Infinity;

  /** The largest batch of the most urgent requests that meets its deadline if it starts now. */
  function candidate(
    queue: readonly Waiting[],
    nowNs: number,
  ): Candidate | undefined {
    // Those before `first` are lost: not even alone would they be in time.
    const first = queue.findIndex(({ request, dueNs }) =>
      nowNs + time.alone(request).execNs <= dueNs
    );
    if (first < 0) return undefined;
    const { dueNs } = queue[first];
    const requests: Request[] = [];
    const batch = time.batch();
    let batchNs = 0;
    let oneMoreNs = 0;
    for (let i = first; i < queue.length; i++) {
      const rows = requests.length + 1;
      oneMoreNs = batch.add(queue[i].request).ns(rows);
      // The first is in time by what was known when it came; costs that were learned since may say otherwise.
      const isLate = rows > 1 && nowNs + oneMoreNs > dueNs;
      if (rows > batchSizeMax || isLate) break;
      requests.push(queue[i].request);
      batchNs = oneMoreNs;
      // Whoever comes next is taken to be no longer than these.
      oneMoreNs = batch.ns(rows + 1);
    }
    const isFull = requests.length === batchSizeMax;
    const isOpen = isFull || dueNs === Infinity;
    return {
      requests,
      fromNs: isOpen ? -Infinity : dueNs - oneMoreNs,
      latestNs: dueNs - batchNs,
      why: isFull
        ? "the batch is full"
        : isOpen
        ? "nobody is waited for without a target"
        : "one more would make it miss its earliest deadline",
    };
  }

  function start(
    requests: readonly Request[],
    worker: number,
    why: string,
  ): Decision {
    for (const request of requests) take(request);
    return { kind: "launch", launch: lockstep({ worker, requests, why }) };
  }

  function take(request: Request): void {
    const queue = queues.get(request.model);
    const index = queue?.findIndex((waiting) => waiting.request === request) ??
      -1;
    if (index >= 0) queue!.splice(index, 1);
  }

  return {
    name,
    supports: paddingObstacle,
    enqueue(request) {
      let queue = queues.get(request.model);
      if (!queue) queues.set(request.model, queue = []);
      const targetNs = targetNsOf(request.model);
      // A request's own deadlines may be far away, and are no reason to wait.
      const dueNs = targetNs === Infinity ? Infinity : Math.min(
        request.arrivalNs + targetNs,
        request.deadlineNs,
        request.finishNs,
      );
      insertInOrder(queue, { request, dueNs }, (a, b) => a.dueNs - b.dueNs);
    },
    schedule({ nowNs, workers }: EngineView): Decision {
      const worker = workers.find(({ queued }) => queued === 0);
      if (worker === undefined) return IDLE;
      // Timers are late and times are rounded: whom it waited for would be lost by that alone.
      const asOfNs = Math.min(nowNs, openNs);
      openNs = Infinity;
      let best: Candidate | undefined;
      let untilNs = Infinity;
      let lost: Request[] = [];
      for (const queue of queues.values()) {
        if (queue.length === 0) continue;
        const found = candidate(queue, asOfNs);
        if (found === undefined) {
          const oldest = queue.slice(0, batchSizeMax);
          if (lost.length === 0 || oldest[0].request.id < lost[0].id) {
            lost = oldest.map(({ request }) => request);
          }
        } else if (found.fromNs > nowNs) {
          untilNs = Math.min(untilNs, found.fromNs);
        } else if (best === undefined || closesBefore(found, best)) {
          best = found;
        }
      }
      if (best) return start(best.requests, worker.id, best.why);
      if (lost.length > 0) {
        return start(lost, worker.id, "too late for their deadlines already");
      }
      if (untilNs === Infinity) return IDLE;
      openNs = untilNs;
      return {
        kind: "wait",
        untilNs: Math.ceil(untilNs),
        why: "one more would still be in time",
      };
    },
    completed: (task, ranNs) => time.saw(task, ranNs),
    ended: take,
  };
}

function closesBefore(a: Candidate, b: Candidate): boolean {
  return a.latestNs === b.latestNs
    ? a.requests[0].id < b.requests[0].id
    : a.latestNs < b.latestNs;
}
