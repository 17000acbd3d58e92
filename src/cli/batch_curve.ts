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
import type { InputGenerator } from "../workload/input_generator.ts";
import { workload } from "../workload/workload.ts";
import { submissions } from "./measure.ts";
import { meanTextsNs, rowTokens } from "./row_tokens.ts";

/** Rows of batches that are measured. */
export const SIZES: readonly number[] = [1, 2, 4, 8, 16, 32, 64];
/** And of trees. */
export const MORE_SIZES: readonly number[] = [128, 256, 512];

/** Full batches of a size that a median is taken over, at least. */
const SAMPLES = 8;

/** Full batches of a cell that requests go through once in a round of `requestsAtOnce`. */
const LEAST_PER_ROUND = 2;

/**
 * Under whom batches are seen. The first fills those of the cell that most wait for; where cells take turns in every step
 * (decoders of many layers) it seldom does, and requests are taken through all of them together.
 */
const POLICIES = [cellular, merged];

/** Requests at once that full batches of a size are seen of: twice what the workers' batches hold, and one each. */
export function requestsAtOnce(size: number, workers: number): number {
  return workers * (2 * size + 1);
}

/**
 * Sizes of batches that a profile has: of models whose requests have several rows of a cell at once, as trees have, batches
 * of 64 requests have more than 64 rows.
 * @param hasRoom for so many requests at once
 */
export function profiledSizes(
  { shape }: Model,
  workers: number,
  hasRoom: (requests: number) => boolean,
): readonly number[] {
  if (shape !== "dag") return SIZES;
  return SIZES.concat(
    MORE_SIZES.filter((size) => hasRoom(requestsAtOnce(size, workers))),
  );
}

/** Sizes of batches that a curve has where there is room for so many requests at once. */
export function curveSizes(requests: number, workers: number): number[] {
  return SIZES.filter((size) => requestsAtOnce(size, workers) <= requests);
}

/**
 * Throughput of each cell of a model against the rows in its batch: the median time of full batches
 * while more requests are there than the workers' batches hold. Rounds go on until every cell has enough of them.
 * Assumption: rows of tokens take in proportion to them. Each size of a ragged cell is seen with other texts; times are
 * of mean ones.
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
  const meanTokens = rowTokens({ model, inputs }, seed)?.mean ?? 1;
  for (const size of sizes) {
    const timesNs = new Map<string, number[]>();
    const arrivals = workload({
      arrivals: atOnce(),
      inputs,
      requests: requestsAtOnce(size, executor.workers),
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
          task(_task, record) {
            const { cell, rows } = record;
            if (rows !== size) return;
            const times = timesNs.get(cell) ?? [];
            timesNs.set(cell, times);
            times.push(meanTextsNs(record, meanTokens));
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
 * Of curves that were measured several times, of each number of rows the fastest, in the order of their rows. What else a
 * machine does makes batches slower, never faster, for milliseconds or minutes: middle times differ from size to size by
 * a third on a shared one, the fastest of several by a few per cent.
 */
export function fastestOf(curves: readonly BatchCurve[]): BatchCurve[] {
  const byCell = new Map<string, Map<number, number>>();
  for (const { cell, points } of curves) {
    const byRows = byCell.get(cell) ?? new Map<number, number>();
    byCell.set(cell, byRows);
    for (const { rows, rowsPerS } of points) {
      byRows.set(rows, Math.max(rowsPerS, byRows.get(rows) ?? 0));
    }
  }
  return [...byCell].map(([cell, byRows]) => ({
    cell,
    points: [...byRows].sort(([a], [b]) => a - b)
      .map(([rows, rowsPerS]) => ({ rows, rowsPerS })),
  }));
}

/** Points [rows, ns] by cell, fastest of each. Cells that no full batch was seen of are left out. */
export function profileTable(curves: readonly BatchCurve[]): ProfileTable {
  const seen = fastestOf(curves).filter(({ points }) => points.length > 0);
  return Object.fromEntries(seen.map(({ cell, points }) => [
    cell,
    points.map(({ rows, rowsPerS }) =>
      [rows, Math.round(rows / rowsPerS * NS_PER_S)] as const
    ),
  ]));
}
