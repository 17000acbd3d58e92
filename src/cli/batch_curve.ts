import { ascending, percentile } from "../base/statistics.ts";
import { NS_PER_S } from "../base/units.ts";
import { EngineCore } from "../engine/core/engine.ts";
import { replay } from "../engine/wall/replay.ts";
import type { TensorExecutor } from "../engine/wall/tensor_executor.ts";
import type { Model } from "../graph/model.ts";
import { merged } from "../policy/baselines/merged.ts";
import { cellular } from "../policy/cellular_batching/cellular.ts";
import type { ProfileTable } from "../policy/profile.ts";
import type { BatchCurve } from "../report/bench_result.ts";
import { atOnce } from "../workload/arrivals.ts";
import type { InputGenerator } from "../workload/inputs.ts";
import { workload } from "../workload/workload.ts";
import { submissions } from "./measure.ts";

/** Full batches of a size that a median is taken over, at least. */
const SAMPLES = 8;

/** Full batches of a cell that requests go through once in a round of `2 * size + 1` requests a worker. */
const LEAST_PER_ROUND = 2;

/**
 * Under whom batches are seen. The first fills those of the cell that most wait for; where cells take turns in every step
 * (decoders of many layers) it seldom does, and requests are taken through all of them together.
 */
const POLICIES = [cellular, merged];

/**
 * Throughput of each cell of a model against the rows in its batch: the median time of full batches
 * while more requests are there than the workers' batches hold. Rounds go on until every cell has enough of them.
 */
export async function batchCurves(
  model: Model,
  executor: TensorExecutor,
  inputs: InputGenerator,
  sizes: readonly number[],
  seed: number,
): Promise<BatchCurve[]> {
  const points = new Map(
    model.cells.map((
      { name },
    ) => [name, [] as { rows: number; rowsPerS: number }[]]),
  );
  for (const size of sizes) {
    const timesNs = new Map<string, number[]>();
    const arrivals = workload({
      arrivals: atOnce(),
      inputs,
      requests: executor.workers * (2 * size + 1),
      seed,
    });
    const isEnough = () =>
      model.cells.every(({ name }) =>
        (timesNs.get(name)?.length ?? 0) >= SAMPLES
      );
    for (const policyOf of POLICIES) {
      const engine = new EngineCore({
        models: [model],
        policy: policyOf({ batchSizeMax: size }),
        executor,
        observer: {
          task(_task, { cell, rows, startNs, endNs }) {
            if (rows !== size) return;
            const times = timesNs.get(cell) ?? [];
            timesNs.set(cell, times);
            times.push(endNs - startNs);
          },
        },
      });
      for (let round = 0; round < SAMPLES / LEAST_PER_ROUND; round++) {
        if (isEnough()) break;
        await replay(engine, executor, submissions(model, arrivals));
      }
    }
    for (const [cell, times] of timesNs) {
      if (times.length < SAMPLES) continue;
      const medianNs = percentile(ascending(times), 0.5);
      points.get(cell)!.push({
        rows: size,
        rowsPerS: size * NS_PER_S / medianNs,
      });
    }
  }
  return [...points].map(([cell, points]) => ({ cell, points }));
}

/**
 * Points [rows, ns] by cell, in the order of their rows; the middle one of several of so many rows. Cells that no full
 * batch was seen of are left out.
 */
export function profileTable(curves: readonly BatchCurve[]): ProfileTable {
  const times = new Map<string, Map<number, number[]>>();
  for (const { cell, points } of curves) {
    const byRows = times.get(cell) ?? new Map<number, number[]>();
    for (const { rows, rowsPerS } of points) {
      const ns = rows / rowsPerS * NS_PER_S;
      byRows.set(rows, [...byRows.get(rows) ?? [], ns]);
    }
    if (byRows.size > 0) times.set(cell, byRows);
  }
  return Object.fromEntries(
    [...times].map(([cell, byRows]) => [
      cell,
      [...byRows].sort(([a], [b]) => a - b).map(([rows, all]) =>
        [rows, Math.round(percentile(ascending(all), 0.5))] as const
      ),
    ]),
  );
}
