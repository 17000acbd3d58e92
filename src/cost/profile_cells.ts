/**
 * A model's cells timed over batch sizes on any device that has costs.
 * Source of the idea: LazyBatching, section IV-C (node-level latency lookup table).
 */
import {
  checkedOptions,
  type Checks,
  listOf,
  ofType,
  withMethods,
} from "../base/checked_options.ts";
import type { Cell } from "../graph/cell.ts";
import { positiveInteger } from "../npu/checks.ts";
import { BATCH_SIZES, type LatencyProfile } from "../npu/profile.ts";
import type { CostModel } from "./cost_model.ts";
import { typicalProfile } from "./typical_profile.ts";

/** Options of `profileCells`. */
export interface CellProfileOptions {
  /** Name of the machine, for the profile. */
  machine: string;
  /** Name of the model, for the profile. */
  model: string;
  /** Positive integers; default: 1 to 64. */
  batchSizes?: readonly number[];
  /**
   * Of every row: tokens of ragged cells, and positions that caches hold; fewer where a cell takes fewer.
   * Default 32.
   */
  tokens?: number;
}

const PROFILE_CHECKS: Checks<CellProfileOptions> = {
  machine: ofType("string"),
  model: ofType("string"),
  batchSizes(name, sizes) {
    listOf((_name, size) => positiveInteger(size as number, "batch size"))(
      name,
      sizes,
    );
    if ((sizes as readonly number[]).length === 0) {
      throw new RangeError(`${name} must not be empty`);
    }
  },
  tokens: (name, tokens) => positiveInteger(tokens as number, name),
};

const checkCost = withMethods("a cost model", ["latencyNs"]);
const checkCells = listOf(ofType("object"));

/**
 * A model's cells timed over batch sizes on any device that has costs: a row per cell of the profile. Policies take
 * it as `profileTable(profile)`, files as `saveProfile(profile)` (`@shoal/core/npu`).
 * Source of the idea: LazyBatching, section IV-C (node-level latency lookup table).
 * @param cells cells of a model
 * @throws TypeError on an argument that is not one
 * @throws RangeError when a batch size or `tokens` is not a positive integer, or two cells share a name
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { lazy, lstm } from "@shoal/core";
 * import { profileTable } from "@shoal/core/npu";
 * import { LSTM_STEP_V100, profileCells, TableCost } from "@shoal/core/simulate";
 *
 * const { name, cells } = lstm({ hidden: 4, vocabulary: 10 });
 * const profile = profileCells(new TableCost({ lstm_step: LSTM_STEP_V100 }), cells, {
 *   machine: "V100",
 *   model: name,
 *   batchSizes: [64, 512],
 * });
 * assert.deepEqual(profile.latencyNs, [[185_000, 784_000]]);
 * lazy({ profile: profileTable(profile) });
 * ```
 */
export function profileCells(
  cost: CostModel,
  cells: readonly Cell[],
  options: CellProfileOptions,
): LatencyProfile {
  checkCost("cost", cost);
  checkCells("cells", cells);
  const { machine, model, batchSizes = BATCH_SIZES, tokens = 32 } =
    checkedOptions("profileCells()", options, PROFILE_CHECKS, [
      "machine",
      "model",
    ]);
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
