/**
 * Dynamic merging: collects a fixed set of requests, merges their graphs level by level, executes the
 * merged graph, returns all results when the run ends. Nodes of one cell at one level form one batch,
 * however many rows that is: the maximum counts requests.
 * Source: Cellular Batching, sections 2.3 and 7.5 (TensorFlow Fold, DyNet; at most 64 trees).
 * A level is the longest path from the inputs (Fold's depth-based batching).
 * Merging takes no time by itself: on the clock it takes this engine's, on virtual time what an executor's
 * `submitNs` charges for a launch. Not part of a launch: what the host takes is no decision.
 * Deviation: batches are of cells, as Fold's; DyNet's of single operators are not modelled.
 * Assumption: a growing decoder cannot be merged ahead of time; it follows step by step once the
 * static parts of all requests are executed, without padding.
 */
import type { Cell } from "../../graph/cell.ts";
import { growingCells } from "../../graph/growing_cells.ts";
import type { Launch, Step } from "../launch.ts";
import { ModelQueues, takeOldest } from "../common/model_queues.ts";
import { knownOptions, positiveInteger } from "../options.ts";
import {
  type Decision,
  type EngineView,
  IDLE,
  type Policy,
} from "../policy.ts";
import type { NodeOf, Request } from "../request.ts";

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
      return { kind: "launch", launch: merge(requests, worker!.id) };
    },
    ended: (request) => queues.ended(request),
  };
}

function merge(requests: readonly Request[], worker: number): Launch {
  const { model } = requests[0];
  const levels: Map<Cell, NodeOf<Request>[]>[] = [];
  for (const request of requests) {
    const levelOf: number[] = [];
    for (const node of request.graph.nodes) {
      let level = 0;
      for (const before of node.predecessors) {
        level = Math.max(level, levelOf[before.index] + 1);
      }
      levelOf.push(level);
      const cells = levels[level] ??= new Map();
      const nodes = cells.get(node.cell);
      if (nodes) nodes.push(node);
      else cells.set(node.cell, [node]);
    }
  }
  const steps: Step[] = levels.flatMap((cells) =>
    [...cells].map(([cell, nodes]) => ({ cell, nodes }))
  );
  const growing = growingCells(model.cells);
  return {
    worker,
    steps,
    ...(growing.length > 0 && { tail: { cells: growing, requests } }),
    release: "end",
    why:
      `the ${requests.length} oldest requests, merged into ${levels.length} levels`,
  };
}
