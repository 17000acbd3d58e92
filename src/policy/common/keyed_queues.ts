import type { Model } from "../../graph/model.ts";
import type { Request } from "../request.ts";

interface Waiting {
  readonly request: Request;
  readonly key: number;
}

/** Waiting requests by model, the one with the smallest key first, the older of equals. */
export class KeyedQueues {
  readonly #queues = new Map<Model, Waiting[]>();

  /** @param key stays as it is while the request waits */
  enqueue(request: Request, key: number): void {
    let queue = this.#queues.get(request.model);
    if (!queue) this.#queues.set(request.model, queue = []);
    let low = 0;
    let high = queue.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (queue[middle].key <= key) low = middle + 1;
      else high = middle;
    }
    const entry = { request, key };
    queue.splice(low, 0, entry);
    request.tag = entry;
  }

  /** Takes the first of the model whose first goes before those of all others, `most` at the most. */
  take(most: number): Request[] {
    let best: Waiting[] | undefined;
    for (const queue of this.#queues.values()) {
      if (queue.length === 0) continue;
      if (best === undefined || isBefore(queue[0], best[0])) best = queue;
    }
    const taken = best?.splice(0, most).map(({ request }) => request) ?? [];
    for (const request of taken) request.tag = undefined;
    return taken;
  }

  /** Forgets a request that ended while it waited; others are not here. */
  ended(request: Request): void {
    const queue = this.#queues.get(request.model);
    const index = queue?.indexOf(request.tag as Waiting) ?? -1;
    if (index >= 0) queue!.splice(index, 1);
  }
}

function isBefore(a: Waiting, b: Waiting): boolean {
  return a.key === b.key ? a.request.id < b.request.id : a.key < b.key;
}
