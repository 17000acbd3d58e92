/** What an engine's thread adds to the tasks of a worker. */
import { ascending, mean, percentile } from "../base/statistics.ts";
import type { CurvePoints } from "../base/curve.ts";
import { EngineCore } from "../engine/core/engine.ts";
import { wallNs } from "../engine/wall/clock.ts";
import { replay } from "../engine/wall/replay.ts";
import type { TensorExecutor } from "../engine/wall/tensor_executor.ts";
import { serial } from "../policy/baselines/serial.ts";
import { cellular } from "../policy/cellular_batching/cellular.ts";
import { atOnce } from "../workload/arrivals.ts";
import { workload } from "../workload/workload.ts";
import { requestsAtOnce } from "./batch_curve.ts";
import type { BuiltModel } from "./bench_models.ts";
import { submissions } from "./measure.ts";

/** Integer ns; between two tasks of one worker as points [rows of the second, ns]. */
export interface HostTime {
  /** The second was there before the first had ended. */
  readonly taskNs: CurvePoints;
  /** The second was decided on when the first had ended. */
  readonly turnNs: CurvePoints;
  /** Taking in a request. */
  readonly requestNs: number;
}

/** Rounds over all sizes that gaps are taken in: what else the machine does lasts longer than one size's turns. */
const ROUNDS = 5;
/** Share of the gaps that counts in a mean: the longest are of what else the machine does. */
const COUNTED = 0.9;
/** Tasks that are submitted together, so that most gaps are between two that were there. */
const TOGETHER = 8;

/**
 * Over full batches of each size, one of which follows the other: of tasks that were there the median, of turns of the
 * engine's thread, in which requests depart and others begin, the mean; of the rounds those in which they are least.
 * @param sizes ascending
 */
export async function hostTime(
  { model, inputs }: BuiltModel,
  executor: TensorExecutor,
  sizes: readonly number[],
  seed: number,
): Promise<HostTime> {
  const gaps = async (rows: number, together: number) => {
    const arrivals = workload({
      arrivals: atOnce(),
      inputs,
      requests: requestsAtOnce(rows, executor.workers),
      seed,
    });
    const gapsNs: number[] = [];
    const freeNs = new Map<number, number>();
    const engine = new EngineCore({
      models: [model],
      policy: cellular({
        batchSizeMax: rows,
        maxTasksToSubmit: together,
        tasksAhead: 0,
      }),
      executor,
      observer: {
        task(_, { worker, rows: own, startNs, endNs }) {
          const before = freeNs.get(worker);
          if (before !== undefined && own === rows) {
            gapsNs.push(Math.max(0, startNs - before));
          }
          freeNs.set(worker, endNs);
        },
      },
    });
    await replay(engine, executor, submissions(model, arrivals));
    return ascending(gapsNs);
  };
  const taking = async () => {
    const engine = new EngineCore({
      models: [model],
      policy: serial(),
      executor,
    });
    const arrivals = workload({
      arrivals: atOnce(),
      inputs,
      requests: Math.max(...sizes),
      seed,
    });
    const startNs = wallNs();
    for (const request of submissions(model, arrivals)) {
      engine.submit({ ...request, arrivalNs: startNs });
    }
    const tookNs = wallNs() - startNs;
    await replay(engine, executor, []);
    return Math.round(tookNs / arrivals.length);
  };
  // The first time is the slowest, and tells nothing.
  await taking();
  const taskNs = new Map<number, number>();
  const turnNs = new Map<number, number>();
  for (let round = 0; round < ROUNDS; round++) {
    for (const rows of sizes) {
      const queued = await gaps(rows, TOGETHER);
      const turns = await gaps(rows, 1);
      if (queued.length === 0 || turns.length === 0) continue;
      const counted = turns.slice(0, Math.ceil(COUNTED * turns.length));
      toLeast(taskNs, rows, percentile(queued, 0.5));
      toLeast(turnNs, rows, mean(counted));
    }
  }
  return {
    taskNs: [...taskNs],
    turnNs: [...turnNs],
    requestNs: Math.min(await taking(), await taking()),
  };
}

function toLeast(curve: Map<number, number>, rows: number, ns: number): void {
  curve.set(rows, Math.min(curve.get(rows) ?? Infinity, Math.round(ns)));
}
