/**
 * A model's cells timed over batch sizes on any device that has costs.
 * Source of the idea: LazyBatching, section IV-C (node-level latency lookup table).
 */
import type { Cell } from "../graph/cell.ts";
import { positiveInteger } from "../npu/checks.ts";
import { BATCH_SIZES, type LatencyProfile } from "../npu/profile.ts";
import type { CostModel } from "./cost_model.ts";
import { typicalProfile } from "./typical_profile.ts";

export interface CellProfileOptions {
  machine: string;
  model: string;
  /** Default: 1 to 64. */
  batchSizes?: readonly number[];
  /**
   * Of every row: tokens of ragged cells, and positions that caches hold; fewer where a cell takes fewer.
   * Default 32.
   */
  tokens?: number;
}

/**
 * A row per cell of the profile.
 * @throws RangeError when a batch size or `tokens` is not a positive integer, or two cells share a name
 */
export function profileCells(
  cost: CostModel,
  cells: readonly Cell[],
  { machine, model, batchSizes = BATCH_SIZES, tokens = 32 }: CellProfileOptions,
): LatencyProfile {
  batchSizes.forEach((batch) => positiveInteger(batch, "batch size"));
  positiveInteger(tokens, "tokens");
  const nodes = cells.map(({ name }) => name);
  const twice = nodes.find((name, i) => nodes.indexOf(name) < i);
  if (twice !== undefined) {
    throw new RangeError(
      `${model} has two cells "${twice}": a profile tells them apart by name`,
    );
  }
  const latencyNs = typicalProfile(cost, { tokens });
  return {
    machine,
    model,
    batchSizes: [...batchSizes],
    nodes,
    latencyNs: cells.map((cell) =>
      batchSizes.map((batch) => latencyNs(cell, batch))
    ),
  };
}
