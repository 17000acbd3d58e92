import type { NodeOf, Request } from "../../../src/policy/request.ts";
import { IDLE, type Policy } from "../../../src/policy/policy.ts";
import { Fifo } from "../../../src/base/fifo.ts";

/**
 * The hand-made graph for identical requests: cell after cell, each for all requests of a batch at once.
 * Source: Cellular Batching, section 7.5 ("ideal"): a series of 31 cells for trees of 16 leaves.
 * @param batchSizeMax most requests per batch
 */
export function ideal(batchSizeMax: number): Policy {
  const waiting = new Fifo<Request>();
  return {
    name: "ideal",
    supports: () => undefined,
    enqueue: (request) => void waiting.push(request),
    schedule(view) {
      const worker = view.workers.find(({ queued }) => queued === 0);
      if (worker === undefined || waiting.size === 0) return IDLE;
      const batch: Request[] = [];
      while (batch.length < batchSizeMax && waiting.size > 0) {
        batch.push(waiting.shift()!);
      }
      const steps = batch[0].graph.nodes.map(({ cell }, i) => ({
        cell,
        nodes: batch.map((request): NodeOf<Request> => request.graph.nodes[i]),
      }));
      return {
        kind: "launch",
        launch: { worker: worker.id, steps, release: "end", why: "oldest" },
      };
    },
    ended: (request) => void waiting.delete(request),
  };
}
