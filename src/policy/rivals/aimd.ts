/**
 * Batches whose largest size is found by additive increase and multiplicative decrease: a batch within the target lets
 * the next be larger by a fixed amount, one beyond it makes the next smaller by a tenth.
 * Source: Crankshaw et al., "Clipper: A Low-Latency Online Prediction Serving System" (NSDI 2017), sections 4.3.1
 * (AIMD, backoff of 10 %) and 4.3.2 (delayed batching: a timeout for company, off by default). Padded, as its containers
 * take a batch whole. A queue and a size for each model.
 * Assumption: only a batch that was as large as it might have been says that larger ones would do.
 */
import type { Model } from "../../graph/model.ts";
import { lockstep, paddingObstacle } from "../common/lockstep.ts";
import { ModelQueues, takeOldest } from "../common/model_queues.ts";
import { modelTarget, type SlaNs } from "../common/target.ts";
import type { Launch } from "../launch.ts";
import { knownOptions, nonNegative, positiveInteger } from "../options.ts";
import {
  type Decision,
  type EngineView,
  IDLE,
  type Policy,
} from "../policy.ts";

/** Options of `aimd`. */
export interface AimdOptions {
  /** Latency objective, in all or by model name; what a batch takes is held against it. Default 100 ms. */
  slaNs?: SlaNs;
  /** Rows that a batch within the objective adds; default 1. */
  increase?: number;
  /** What remains of the size after one beyond it, in [0, 1]; default 0.9. */
  backoff?: number;
  /** Time the oldest request waits for company (section 4.3.2); default 0. */
  windowNs?: number;
  /** No size grows beyond it; default 512. */
  batchSizeMax?: number;
}

interface Running {
  readonly model: Model;
  readonly startNs: number;
  /** The target of its tightest request. */
  readonly targetNs: number;
  readonly isFull: boolean;
  isOver: boolean;
}

/**
 * Batches whose largest size is found by additive increase and multiplicative decrease, for each model. For models of
 * shape "chain".
 * Source: Crankshaw et al., "Clipper" (NSDI 2017), section 4.3.
 * @throws TypeError or RangeError on an option that the policy does not have or cannot take
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { aimd } from "@shoal/core/simulate";
 *
 * const policy = aimd({ slaNs: 20e6 });
 * assert.equal(policy.name, "aimd");
 * ```
 */
export function aimd(options: AimdOptions = {}): Policy {
  const name = "aimd";
  knownOptions(name, options, [
    "slaNs",
    "increase",
    "backoff",
    "windowNs",
    "batchSizeMax",
  ]);
  const { increase = 1, backoff = 0.9, windowNs = 0, batchSizeMax = 512 } =
    options;
  positiveInteger(name, "increase", increase);
  if (nonNegative(name, "backoff", backoff) > 1) {
    throw new RangeError(
      `"backoff" of policy "${name}" is at most 1, got ${backoff}`,
    );
  }
  nonNegative(name, "windowNs", windowNs);
  positiveInteger(name, "batchSizeMax", batchSizeMax);
  const objectiveNsOf = modelTarget(name, options.slaNs);
  const queues = new ModelQueues();
  const sizes = new Map<Model, number>();
  const running = new Map<Launch, Running>();

  /** What batches that ended since the last decision took. */
  function learn(nowNs: number): void {
    for (const [launch, batch] of running) {
      if (!batch.isOver) continue;
      running.delete(launch);
      const { model, startNs, targetNs, isFull } = batch;
      const size = sizes.get(model) ?? 1;
      if (nowNs - startNs > targetNs) {
        sizes.set(model, Math.max(1, Math.floor(size * backoff)));
      } else if (isFull) {
        sizes.set(model, Math.min(batchSizeMax, size + increase));
      }
    }
  }

  return {
    name,
    supports: paddingObstacle,
    enqueue: (request) => queues.enqueue(request),
    schedule(view: EngineView): Decision {
      learn(view.nowNs);
      const worker = view.workers.find(({ queued }) => queued === 0);
      if (worker === undefined) return IDLE;
      let untilNs = Infinity;
      for (const queue of queues.byAge()) {
        const { model, arrivalNs } = queue.first!;
        const size = sizes.get(model) ?? 1;
        const dueNs = arrivalNs + windowNs;
        if (queue.size < size && view.nowNs < dueNs) {
          untilNs = Math.min(untilNs, dueNs);
          continue;
        }
        const requests = takeOldest(queue, size);
        const launch = lockstep({
          worker: worker.id,
          requests,
          why: `${requests.length} of the ${size} that are tried now`,
        });
        running.set(launch, {
          model,
          startNs: view.nowNs,
          // Deadlines for starting say nothing of what a batch may take.
          targetNs: requests.reduce(
            (least, { arrivalNs, finishNs }) =>
              Math.min(least, finishNs - arrivalNs),
            objectiveNsOf(model),
          ),
          isFull: requests.length === size,
          isOver: false,
        });
        return { kind: "launch", launch };
      }
      if (untilNs === Infinity) return IDLE;
      return { kind: "wait", untilNs, why: "the batching window is open" };
    },
    finished(launch) {
      const batch = running.get(launch);
      if (batch) batch.isOver = true;
    },
    ended: (request) => queues.ended(request),
  };
}
