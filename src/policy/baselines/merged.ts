/**
 * Dynamic merging: collects a fixed set of requests, merges their graphs level by level, executes the
 * merged graph, returns all results when the run ends. Nodes of one cell at one level form one batch,
 * however many rows that is: the maximum counts requests.
 * Source: Cellular Batching, sections 2.3 and 7.5 (TensorFlow Fold, DyNet; at most 64 trees).
 * Merging takes no time by itself: on the clock it takes this engine's, on virtual time what an executor's
 * `submitNs` charges for a launch. Not part of a launch: what the host takes is no decision.
 * Deviation: batches are of cells, as Fold's; DyNet's of single operators are not modelled.
 */
import { mergedGraph } from "../common/merged_graph.ts";
import { ModelQueues, takeOldest } from "../common/model_queues.ts";
import { knownOptions, positiveInteger } from "../options.ts";
import {
  type Decision,
  type EngineView,
  IDLE,
  type Policy,
} from "../policy.ts";

/**
 * Options of `merged`.
 */
export interface MergedOptions {
  /** Most requests per merged graph; default 64. */
  batchSizeMax?: number;
}

/**
 * Dynamic merging: collects a fixed set of requests of one model, merges their graphs level by level, executes the
 * merged graph, returns all results when the run ends. Batches any model, trees too.
 * Source: Cellular Batching, sections 2.3 and 7.5 (TensorFlow Fold, DyNet).
 * @throws TypeError or RangeError on an option that the policy does not have or cannot take
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { merged, treeLstm } from "@shoal/core";
 *
 * const policy = merged({ batchSizeMax: 32 });
 * assert.equal(policy.supports(treeLstm({ hidden: 4, vocabulary: 10 })), undefined);
 * ```
 */
export function merged(options: MergedOptions = {}): Policy {
  knownOptions("merged", options, ["batchSizeMax"]);
  const batchSizeMax = positiveInteger(
    "merged",
    "batchSizeMax",
    options.batchSizeMax ?? 64,
  );
  const queues = new ModelQueues();
  return {
    name: "merged",
    supports: () => undefined,
    enqueue: (request) => queues.enqueue(request),
    schedule(view: EngineView): Decision {
      const worker = view.workers.find(({ queued }) => queued === 0);
      const [oldest] = worker ? queues.byAge() : [];
      if (oldest === undefined) return IDLE;
      const requests = takeOldest(oldest, batchSizeMax);
      const why = `the ${requests.length} oldest requests, merged`;
      const launch = mergedGraph({ worker: worker!.id, requests, why });
      return { kind: "launch", launch };
    },
    ended: (request) => queues.ended(request),
  };
}
