/**
 * Padding with buckets: bucket i holds requests of input length in (i*width, (i+1)*width]; a batch
 * takes requests of one bucket and is padded to the bucket's edge, but to no more tokens than a row
 * can have; buckets take turns round robin;
 * a partly filled batch starts as soon as a worker is idle and it is its bucket's turn.
 * Source: Cellular Batching, section 7.1 (MXNet and TensorFlow: width 10, maximum batch 512, no timeout).
 * Assumption: what takes fewer steps than the input is long, as the upper layers of a pyramid do, is padded in proportion.
 */
import { Fifo } from "../../base/fifo.ts";
import { growingCells } from "../../graph/growing_cells.ts";
import type { Model } from "../../graph/model.ts";
import { inputLength, lockstep, paddingObstacle } from "../common/lockstep.ts";
import { takeOldest } from "../common/model_queues.ts";
import { knownOptions, positiveInteger } from "../options.ts";
import {
  type Decision,
  type EngineView,
  IDLE,
  type Policy,
} from "../policy.ts";
import type { Request } from "../request.ts";

/**
 * Options of `bucketed`.
 */
export interface BucketedOptions {
  /** Lengths per bucket; default 10. */
  bucketWidth?: number;
  /** Most requests per batch; default 64. */
  batchSizeMax?: number;
}

interface Bucket {
  /** Steps its batches are padded to. */
  readonly edge: number;
  readonly requests: Fifo<Request>;
}

/**
 * Padding with buckets: requests whose input length falls into one bucket share a batch, padded to the bucket's edge;
 * buckets take turns, and a partly filled batch starts as soon as a worker is idle and it is its bucket's turn. For
 * models of shape "chain".
 * Source: Cellular Batching, section 7.1 (MXNet and TensorFlow).
 * @throws TypeError or RangeError on an option that the policy does not have or cannot take
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { bucketed, lstm } from "@shoal/core";
 *
 * const policy = bucketed({ bucketWidth: 10, batchSizeMax: 64 }); // 1-10, 11-20, ... tokens
 * assert.equal(policy.supports(lstm({ hidden: 4, vocabulary: 10 })), undefined);
 * ```
 */
export function bucketed(options: BucketedOptions = {}): Policy {
  knownOptions("bucketed", options, ["bucketWidth", "batchSizeMax"]);
  const width = positiveInteger(
    "bucketed",
    "bucketWidth",
    options.bucketWidth ?? 10,
  );
  const batchSizeMax = positiveInteger(
    "bucketed",
    "batchSizeMax",
    options.batchSizeMax ?? 64,
  );
  /** In round-robin order: by order of creation, over all models. */
  const buckets: Bucket[] = [];
  const byModel = new Map<Model, Map<number, Bucket>>();
  let turn = 0;

  function bucketOf(request: Request): Bucket {
    let edges = byModel.get(request.model);
    if (!edges) byModel.set(request.model, edges = new Map());
    const most = Math.max(1, Math.ceil(inputLength(request) / width)) * width;
    const edge = Math.min(most, lengthMax(request.model));
    let bucket = edges.get(edge);
    if (!bucket) {
      edges.set(edge, bucket = { edge, requests: new Fifo() });
      buckets.push(bucket);
    }
    return bucket;
  }

  return {
    name: "bucketed",
    supports: paddingObstacle,
    enqueue(request) {
      const bucket = bucketOf(request);
      request.tag = bucket.requests;
      bucket.requests.push(request);
    },
    schedule(view: EngineView): Decision {
      const worker = view.workers.find(({ queued }) => queued === 0);
      if (worker === undefined) return IDLE;
      for (let i = 0; i < buckets.length; i++) {
        const bucket = buckets[(turn + i) % buckets.length];
        if (bucket.requests.size === 0) continue;
        turn = (turn + i + 1) % buckets.length;
        const requests = takeOldest(bucket.requests, batchSizeMax);
        const longest = requests.reduce(
          (most, request) => Math.max(most, inputLength(request)),
          0,
        );
        const why = `it is the turn of the bucket up to ${bucket.edge}`;
        return {
          kind: "launch",
          launch: lockstep({
            worker: worker.id,
            requests,
            padTo: (steps) =>
              Math.floor(bucket.edge * steps / Math.max(steps, longest)),
            why,
          }),
        };
      }
      return IDLE;
    },
    ended(request) {
      if (request.tag instanceof Fifo) request.tag.delete(request);
    },
  };
}

/** The longest input that a model takes, as far as its cells say. */
function lengthMax({ cells }: Model): number {
  const growing = growingCells(cells);
  const limits = cells.map((cell) =>
    cell.tokensMax ?? (cell.recurrent && !growing.includes(cell) ? Infinity : 0)
  );
  return Math.max(...limits) || Infinity;
}
