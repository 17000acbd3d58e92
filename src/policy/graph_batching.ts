/**
 * Graph batching: collects requests for a time window or until the batch is full, pads them to the
 * longest, executes the whole graph, returns all results when the run ends.
 * Source: LazyBatching, section III-A (GraphB(N)); Cellular Batching, section 2.3; with a window of 0
 * a batch starts whenever a worker is idle, as Cellular Batching, section 7.1 configures its baselines.
 * State: one queue per model. Requests of different models never share a batch; the model whose
 * oldest request waits longest goes first.
 */
import type { Model } from "../graph/model.ts";
import { lockstep, paddingObstacle } from "./lockstep.ts";
import { knownOptions, nonNegative, positiveInteger } from "./options.ts";
import { type Decision, type EngineView, IDLE, type Policy } from "./policy.ts";
import type { Request } from "./request.ts";

export interface GraphOptions {
  /** Time the oldest request waits for company, unless the batch is full; default 0. */
  windowNs?: number;
  /** Most requests per batch; default 64. */
  batchSizeMax?: number;
}

export function graph(options: GraphOptions = {}): Policy {
  knownOptions("graph", options, ["windowNs", "batchSizeMax"]);
  const windowNs = nonNegative("graph", "windowNs", options.windowNs ?? 0);
  const batchSizeMax = positiveInteger(
    "graph",
    "batchSizeMax",
    options.batchSizeMax ?? 64,
  );
  const queues = new Map<Model, Set<Request>>();

  return {
    name: "graph",
    supports: paddingObstacle,
    enqueue(request) {
      let queue = queues.get(request.model);
      if (!queue) queues.set(request.model, queue = new Set());
      queue.add(request);
    },
    schedule(view: EngineView): Decision {
      const worker = view.workers.find(({ queued }) => queued === 0);
      if (worker === undefined) return IDLE;
      let untilNs = Infinity;
      for (const queue of byAge(queues.values())) {
        const dueNs = first(queue).arrivalNs + windowNs;
        if (queue.size < batchSizeMax && view.nowNs < dueNs) {
          untilNs = Math.min(untilNs, dueNs);
          continue;
        }
        const requests = take(queue, batchSizeMax);
        const why = requests.length === batchSizeMax
          ? "the batch is full"
          : "the window is over";
        return {
          kind: "launch",
          launch: lockstep({ worker: worker.id, requests, why }),
        };
      }
      return untilNs === Infinity ? IDLE : { kind: "wait", untilNs };
    },
    ended: (request) => void queues.get(request.model)?.delete(request),
  };
}

function first(queue: ReadonlySet<Request>): Request {
  return queue.values().next().value!;
}

/** Non-empty queues, the one with the oldest request first. */
function byAge(queues: Iterable<Set<Request>>): Set<Request>[] {
  return [...queues].filter((queue) => queue.size > 0).sort((a, b) =>
    first(a).id - first(b).id
  );
}

function take(queue: Set<Request>, most: number): Request[] {
  const taken: Request[] = [];
  for (const request of queue) {
    if (taken.length === most) break;
    queue.delete(request);
    taken.push(request);
  }
  return taken;
}
