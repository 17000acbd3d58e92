/**
 * Iteration-level batching with a cap on rows: whenever a worker is idle, the oldest requests that are not running
 * take one iteration together. Who is done leaves at once, and who has come joins at the next iteration.
 * Source: Yu et al., "Orca: A Distributed Serving System for Transformer-Based Generative Models" (OSDI 2022),
 * sections 3.1 and 4.2, Algorithm 1 (`Select`: by arrival, at most max_bs); so do vLLM and its like.
 * An iteration is one pass over the model's cells in their order, of every request's nodes that can run by then: all of
 * a convolutional network or an encoder, one step of a decoder through all of its layers, one level of a tree.
 * Rows are selected by cell (Orca's selective batching): requests in their input part and in their output part share
 * those cells that they share.
 * Deviation: slots for growing requests are the engine's to give, not the policy's to reserve; a request that is
 * admitted has its memory.
 * Assumption: Orca serves one model; of several, the one whose oldest request waits goes first.
 */
import { Fifo } from "../../base/fifo.ts";
import type { CellGraph } from "../../graph/cell_graph.ts";
import {
  type Advance,
  advanceReady,
  finishPass,
  startOf,
  sweep,
} from "../common/frontier.ts";
import type { Launch } from "../launch.ts";
import { knownOptions, positiveInteger } from "../options.ts";
import { type EngineView, IDLE, type Policy } from "../policy.ts";
import type { Request } from "../request.ts";

/** Options of `iteration`. */
export interface IterationOptions {
  /** Most requests of an iteration (max_bs); default 64. */
  batchSizeMax?: number;
}

interface IterationRequest extends Request<Advance<IterationRequest>> {
  readonly graph: CellGraph<IterationRequest>;
}

/**
 * Iteration-level batching with a cap on rows: requests join and leave between iterations. Batches any model.
 * Source: Yu et al., "Orca" (OSDI 2022), Algorithm 1.
 * @throws TypeError or RangeError on an option that the policy does not have or cannot take
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { iteration } from "@shoal/core/simulate";
 *
 * const policy = iteration({ batchSizeMax: 32 });
 * assert.equal(policy.name, "iteration");
 * ```
 */
export function iteration(options: IterationOptions = {}): Policy {
  const name = "iteration";
  knownOptions(name, options, ["batchSizeMax"]);
  const { batchSizeMax = 64 } = options;
  positiveInteger(name, "batchSizeMax", batchSizeMax);
  /** In order of arrival, as ids ascend. */
  const pool = new Fifo<IterationRequest>();

  function select(): IterationRequest[] {
    const selected: IterationRequest[] = [];
    for (const request of pool) {
      if (selected.length === batchSizeMax) break;
      if (request.tag.underWay > 0 || request.tag.ready.length === 0) continue;
      if (selected.length > 0 && request.model !== selected[0].model) continue;
      selected.push(request);
    }
    return selected;
  }

  return {
    name,
    supports: () => undefined,
    enqueue(request: IterationRequest) {
      request.tag = startOf(request.graph);
      pool.push(request);
    },
    schedule(view: EngineView) {
      const worker = view.workers.find(({ queued }) => queued === 0);
      const selected = worker ? select() : [];
      if (selected.length === 0) return IDLE;
      const launch: Launch<IterationRequest> = {
        worker: worker!.id,
        steps: sweep(selected),
        release: "step",
        why: `one iteration of the ${selected.length} oldest`,
      };
      return { kind: "launch", launch };
    },
    submitted: ({ steps }: Launch<IterationRequest>) => advanceReady(steps),
    finished: ({ steps }: Launch<IterationRequest>) => finishPass(steps),
    ended: (request: IterationRequest) => void pool.delete(request),
  };
}
