import { Fifo } from "../../base/fifo.ts";
import type { Model } from "../../graph/model.ts";
import type { Request } from "../request.ts";

/** Waiting requests by model, first in first out. A waiting request's tag is its queue. */
export class ModelQueues {
  readonly #queues = new Map<Model, Fifo<Request>>();

  enqueue(request: Request): void {
    let queue = this.#queues.get(request.model);
    if (!queue) this.#queues.set(request.model, queue = new Fifo());
    request.tag = queue;
    queue.push(request);
  }

  /** Queues in which somebody waits, the one with the oldest request first. */
  byAge(): Fifo<Request>[] {
    return [...this.#queues.values()].filter(({ size }) => size > 0)
      .sort((a, b) => a.first!.id - b.first!.id);
  }

  /** Forgets a request that ended while it waited; others are not here. */
  ended(request: Request): void {
    if (request.tag instanceof Fifo) request.tag.delete(request);
  }
}

/** Takes the oldest requests of a queue, `most` at the most. */
export function takeOldest(queue: Fifo<Request>, most: number): Request[] {
  const taken: Request[] = [];
  while (taken.length < most && queue.size > 0) {
    const request = queue.shift()!;
    request.tag = undefined;
    taken.push(request);
  }
  return taken;
}
