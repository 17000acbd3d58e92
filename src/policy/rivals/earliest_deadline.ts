/**
 * Earliest deadline first: whenever a worker is idle, the requests of one model whose deadlines are nearest are
 * executed as one batch.
 * Source: Liu, Layland, "Scheduling Algorithms for Multiprogramming in a Hard-Real-Time Environment" (J. ACM 20(1),
 * 1973), section 7 (deadline driven scheduling), over batches; not preemptive, as batches are not.
 */
import { KeyedQueues } from "../common/keyed_queues.ts";
import { mergedGraph } from "../common/merged_graph.ts";
import { type SlaNs, targetOf } from "../common/target.ts";
import { knownOptions, positiveInteger } from "../options.ts";
import { type EngineView, IDLE, type Policy } from "../policy.ts";

/** Options of `earliestDeadline`. */
export interface EarliestDeadlineOptions {
  /** Latency that requests without a deadline of their own may have, in all or by model name; default 100 ms. */
  slaNs?: SlaNs;
  /** Most requests of a batch; default 64. */
  batchSizeMax?: number;
}

/**
 * Earliest deadline first, in batches of one model. Batches any model.
 * Source: Liu, Layland, J. ACM 20(1), 1973, section 7.
 * @throws TypeError or RangeError on an option that the policy does not have or cannot take
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { earliestDeadline } from "@shoal/core/simulate";
 *
 * const policy = earliestDeadline({ slaNs: { chat: 50e6, search: 10e6 } });
 * assert.equal(policy.name, "earliest-deadline");
 * ```
 */
export function earliestDeadline(
  options: EarliestDeadlineOptions = {},
): Policy {
  const name = "earliest-deadline";
  knownOptions(name, options, ["slaNs", "batchSizeMax"]);
  const { batchSizeMax = 64 } = options;
  positiveInteger(name, "batchSizeMax", batchSizeMax);
  const targetNsOf = targetOf(name, options.slaNs);
  const queues = new KeyedQueues();
  return {
    name,
    supports: () => undefined,
    enqueue(request) {
      queues.enqueue(request, request.arrivalNs + targetNsOf(request));
    },
    schedule(view: EngineView) {
      const worker = view.workers.find(({ queued }) => queued === 0);
      const requests = worker ? queues.take(batchSizeMax) : [];
      if (requests.length === 0) return IDLE;
      const why = `request ${requests[0].id} has the earliest deadline`;
      const launch = mergedGraph({ worker: worker!.id, requests, why });
      return { kind: "launch", launch };
    },
    ended: (request) => queues.ended(request),
  };
}
