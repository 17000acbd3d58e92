/**
 * Graph batching: collects requests for a time window or until the batch is full, pads them to the
 * longest, executes the whole graph, returns all results when the run ends.
 * Source: LazyBatching, section III-A (GraphB(N)); Cellular Batching, section 2.3; with a window of 0
 * a batch starts whenever a worker is idle, as Cellular Batching, section 7.1 configures its baselines.
 * State: one queue per model. Requests of different models never share a batch; the model whose
 * oldest request waits longest goes first.
 */
import { lockstep, paddingObstacle } from "../common/lockstep.ts";
import { ModelQueues, takeOldest } from "../common/model_queues.ts";
import {
  flag,
  knownOptions,
  nonNegative,
  positiveInteger,
} from "../options.ts";
import {
  type Decision,
  type EngineView,
  IDLE,
  type Policy,
} from "../policy.ts";

/**
 * Options of `graph`.
 */
export interface GraphOptions {
  /** Time the oldest request waits for company, unless the batch is full; default 0. */
  windowNs?: number;
  /** Most requests per batch; default 64. */
  batchSizeMax?: number;
  /**
   * Fills every batch up to the maximum with rows of nobody, computed and timed (E2bird, section 3.2,
   * "Static"); default false.
   */
  dummyRows?: boolean;
}

/**
 * Graph batching: collects requests of one model for a time window or until the batch is full, pads them to the
 * longest, executes the whole graph, returns all results when the run ends. For models of shape "chain".
 * Source: LazyBatching, section III-A (GraphB(N)); Cellular Batching, section 2.3.
 * @throws TypeError or RangeError on an option that the policy does not have or cannot take
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { graph, treeLstm } from "@shoal/core";
 *
 * const policy = graph({ windowNs: 5e6, batchSizeMax: 32 }); // up to 5 ms for company
 * const trees = treeLstm({ hidden: 4, vocabulary: 10 });
 * assert.notEqual(policy.supports(trees), undefined); // padding cannot make trees alike
 * ```
 */
export function graph(options: GraphOptions = {}): Policy {
  knownOptions("graph", options, ["windowNs", "batchSizeMax", "dummyRows"]);
  const dummyRows = flag("graph", "dummyRows", options.dummyRows ?? false);
  const windowNs = nonNegative("graph", "windowNs", options.windowNs ?? 0);
  const batchSizeMax = positiveInteger(
    "graph",
    "batchSizeMax",
    options.batchSizeMax ?? 64,
  );
  const queues = new ModelQueues();

  return {
    name: "graph",
    supports: paddingObstacle,
    enqueue: (request) => queues.enqueue(request),
    schedule(view: EngineView): Decision {
      const worker = view.workers.find(({ queued }) => queued === 0);
      if (worker === undefined) return IDLE;
      let untilNs = Infinity;
      for (const queue of queues.byAge()) {
        const dueNs = queue.first!.arrivalNs + windowNs;
        if (queue.size < batchSizeMax && view.nowNs < dueNs) {
          untilNs = Math.min(untilNs, dueNs);
          continue;
        }
        const requests = takeOldest(queue, batchSizeMax);
        const why = requests.length === batchSizeMax
          ? "the batch is full"
          : "the window is over";
        const launch = lockstep({ worker: worker.id, requests, why });
        return {
          kind: "launch",
          launch: dummyRows ? { ...launch, paddedRows: batchSizeMax } : launch,
        };
      }
      if (untilNs === Infinity) return IDLE;
      return { kind: "wait", untilNs, why: "the batching window is open" };
    },
    ended: (request) => queues.ended(request),
  };
}
