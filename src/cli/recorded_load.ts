/** What a machine does while requests come: tasks beside what a profile says, and when its host stands still. */
import { onCurve } from "../base/curve.ts";
import { NS_PER_S } from "../base/units.ts";
import { EngineCore } from "../engine/core/engine.ts";
import { wallNs } from "../engine/wall/clock.ts";
import { replay } from "../engine/wall/replay.ts";
import type { TensorExecutor } from "../engine/wall/tensor_executor.ts";
import { type SeenTask, type Stretch, stretchOf } from "../plan/stretch.ts";
import { auto } from "../policy/auto/auto.ts";
import type { ProfileTable } from "../policy/profile.ts";
import type { TaskRecord } from "../policy/records.ts";
import { atOnce, poisson } from "../workload/arrivals.ts";
import { workload } from "../workload/workload.ts";
import type { BuiltModel } from "./bench_models.ts";
import { submissions } from "./measure.ts";
import { tokenShare } from "./row_tokens.ts";

/** Share of what the machine can do at most that comes. */
const LOAD = 0.7;
const SECONDS = 2.5;
const REQUESTS_LEAST = 20;
/** Requests of a piece. */
export const REQUESTS_MOST = 8000;
/**
 * What a host does between two looks at its workers, beside taking a request in.
 * Assumption: whatever is longer is a pause. Counting from 0.3 or from 1 ms gave the same carried rates, in steps of 10 %.
 */
const TURN_NS = 500_000;

/** Tasks of a run as they ended, and when the host heard of it. */
export type RecordedRun = readonly RecordedTask[];

/** No more than is needed: what is kept for longer is collected by the very threads that are watched. */
type RecordedTask =
  & Pick<TaskRecord, "worker" | "cell" | "startNs" | "endNs">
  & {
    readonly rows: number;
    /** What it takes, of what as many rows of mean texts do. */
    readonly share: number;
    readonly heardNs: number;
  };

/**
 * Some seconds, as one run or, where requests are large, more of them.
 * @param requests there is room for at once
 * @param meanTokens of the rows that the profile's times are of, where cells are ragged
 */
export async function recordedLoad(
  { model, inputs }: BuiltModel,
  executor: TensorExecutor,
  requests: number,
  seed: number,
  meanTokens = 1,
): Promise<RecordedRun[]> {
  const run = async (
    arrivals: ReturnType<typeof poisson>,
    count: number,
  ): Promise<{ tasks: RecordedRun; perS: number }> => {
    let lastNs = 0;
    const tasks: RecordedTask[] = [];
    const engine = new EngineCore({
      models: [model],
      policy: auto(),
      executor,
      isRemote: true,
      observer: {
        request: (_, { endNs }) => lastNs = endNs,
        task(_, record) {
          const { worker, cell, startNs, endNs, rows, padding } = record;
          tasks.push({
            ...{ worker, cell, startNs, endNs, rows: rows + padding },
            ...{ share: tokenShare(record, meanTokens), heardNs: wallNs() },
          });
        },
      },
    });
    const load = workload({ arrivals, inputs, requests: count, seed });
    const originNs = await replay(engine, executor, submissions(model, load));
    return { tasks, perS: count * NS_PER_S / (lastNs - originNs) };
  };
  const [min, max] = [REQUESTS_LEAST, REQUESTS_MOST];
  const most = Math.max(1, Math.min(max, requests));
  const { perS } = await run(atOnce(), Math.min(300, most));
  const runs: RecordedRun[] = [];
  let left = Math.round(Math.min(max, Math.max(min, LOAD * perS * SECONDS)));
  for (; left > 0; left -= most) {
    const arrivals = poisson({ ratePerS: LOAD * perS });
    runs.push((await run(arrivals, Math.min(most, left))).tasks);
  }
  return runs;
}

/** @param requestNs what the host takes for a request that comes */
export function stretchesOf(
  runs: readonly RecordedRun[],
  tablesNs: ProfileTable,
  workers: number,
  requestNs: number,
): Stretch[] {
  return runs.map((tasks) =>
    stretchOf(
      tasks.filter(({ rows }) => rows > 0).map((
        { worker, cell, rows, share, startNs, endNs, heardNs },
      ): SeenTask => {
        const points = tablesNs[cell];
        const isTold = points && rows <= points[points.length - 1][0];
        return {
          ...{ worker, startNs, endNs, heardNs },
          ...(isTold && { nominalNs: share * onCurve(points, rows) }),
        };
      }),
      workers,
      TURN_NS + requestNs,
    )
  );
}
