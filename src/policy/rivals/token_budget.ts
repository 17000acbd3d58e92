/**
 * First come, first served by a budget of tokens: whenever a worker is idle, the oldest requests whose tokens together
 * keep within the budget are executed as one batch, without padding. No timer, no sorting, no deadline.
 * Source: Text Embeddings Inference (Hugging Face), its queue's `next_batch`; `max_batch_tokens` 16,384 by default. Its
 * back ends without padding count the sum of the tokens, as here.
 * Assumption: it serves one model; of several, the one whose oldest request waits longest goes first. Graphs that are
 * trees have no tokens: their nodes are counted.
 */
import { inputLength } from "../common/lockstep.ts";
import { mergedGraph } from "../common/merged_graph.ts";
import { ModelQueues, takeOldest } from "../common/model_queues.ts";
import { knownOptions, positiveInteger } from "../options.ts";
import { type EngineView, IDLE, type Policy } from "../policy.ts";
import type { Request } from "../request.ts";

/** Options of `tokenBudget`. */
export interface TokenBudgetOptions {
  /** Most tokens of a batch; a longer request goes alone. Default 16,384. */
  tokensMax?: number;
  /** Most requests of a batch; default 512. */
  batchSizeMax?: number;
}

/**
 * First come, first served by a budget of tokens, without padding, timer or deadline. Batches any model.
 * Source: Text Embeddings Inference (Hugging Face), its queue.
 * @throws TypeError or RangeError on an option that the policy does not have or cannot take
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { tokenBudget } from "@shoal/core/simulate";
 *
 * const policy = tokenBudget({ tokensMax: 4096 });
 * assert.equal(policy.name, "token-budget");
 * ```
 */
export function tokenBudget(options: TokenBudgetOptions = {}): Policy {
  const name = "token-budget";
  knownOptions(name, options, ["tokensMax", "batchSizeMax"]);
  const { tokensMax = 16_384, batchSizeMax = 512 } = options;
  positiveInteger(name, "tokensMax", tokensMax);
  positiveInteger(name, "batchSizeMax", batchSizeMax);
  const queues = new ModelQueues();
  return {
    name,
    supports: () => undefined,
    enqueue: (request) => queues.enqueue(request),
    schedule(view: EngineView) {
      const worker = view.workers.find(({ queued }) => queued === 0);
      const [queue] = worker ? queues.byAge() : [];
      if (queue === undefined) return IDLE;
      let tokens = 0;
      let count = 0;
      for (const request of queue) {
        if (count === batchSizeMax) break;
        const more = tokensOf(request);
        if (count > 0 && tokens + more > tokensMax) break;
        tokens += more;
        count++;
      }
      const requests = takeOldest(queue, count);
      const why = `${tokens} of ${tokensMax} tokens, first come first served`;
      const launch = mergedGraph({ worker: worker!.id, requests, why });
      return { kind: "launch", launch };
    },
    ended: (request) => queues.ended(request),
  };
}

function tokensOf(request: Request): number {
  return request.model.shape === "dag"
    ? request.graph.nodes.length
    : Math.max(1, inputLength(request));
}
