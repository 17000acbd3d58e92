/** How tasks differ from the medians of a profile while requests come. */
import { onCurve } from "../base/curve.ts";
import { NS_PER_S } from "../base/units.ts";
import { EngineCore } from "../engine/core/engine.ts";
import { replay } from "../engine/wall/replay.ts";
import type { TensorExecutor } from "../engine/wall/tensor_executor.ts";
import { type Spread, spreadOf } from "../plan/spread.ts";
import { auto } from "../policy/auto/auto.ts";
import type { ProfileTable } from "../policy/profile.ts";
import { atOnce, poisson } from "../workload/arrivals.ts";
import { workload } from "../workload/workload.ts";
import type { BuiltModel } from "./bench_models.ts";
import { submissions } from "./measure.ts";

/** Share of what the machine can do at most that comes. */
const LOAD = 0.7;
const SECONDS = 4;
const REQUESTS = { min: 20, max: 8000 };

/**
 * @param requests there is room for at once
 * @returns as the table says, when nothing of what ran is in it
 */
export async function loadSpread(
  { model, inputs }: BuiltModel,
  executor: TensorExecutor,
  tablesNs: ProfileTable,
  requests: number,
  seed: number,
): Promise<Spread> {
  const factors: number[] = [];
  let isCounting = false;
  const run = async (
    arrivals: ReturnType<typeof poisson>,
    count: number,
  ): Promise<number> => {
    let lastNs = 0;
    const engine = new EngineCore({
      models: [model],
      policy: auto(),
      executor,
      isRemote: true,
      observer: {
        request: (_, { endNs }) => lastNs = endNs,
        task(_, { cell, rows, tokens, startNs, endNs }) {
          const points = tablesNs[cell];
          // What rows of tokens take hangs on how many there are.
          if (!isCounting || !points || tokens || rows === 0) return;
          if (rows > points[points.length - 1][0]) return;
          factors.push((endNs - startNs) / onCurve(points, rows));
        },
      },
    });
    const load = workload({ arrivals, inputs, requests: count, seed });
    const originNs = await replay(engine, executor, submissions(model, load));
    return count * NS_PER_S / (lastNs - originNs);
  };
  const { min, max } = REQUESTS;
  const most = Math.max(1, Math.min(max, requests));
  const peakPerS = await run(atOnce(), Math.min(300, most));
  isCounting = true;
  const count = Math.round(LOAD * peakPerS * SECONDS);
  // The slowest hundredth decides, so enough of them are seen, in as many runs as the room asks for.
  let left = Math.min(max, Math.max(min, count));
  for (; left > 0; left -= most) {
    await run(poisson({ ratePerS: LOAD * peakPerS }), Math.min(most, left));
  }
  return factors.length === 0 ? [[1, 1]] : spreadOf(factors);
}
