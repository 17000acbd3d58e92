/** The V100 of the evaluation, from what the paper prints of it, and what stands between it and the policies. */
import { NS_PER_US } from "../../../src/base/units.ts";
import { type CurvePoints, onCurve } from "../../../src/base/curve.ts";
import { LSTM_STEP_V100 } from "../../../src/cost/published.ts";
import type { CostModel } from "../../../src/cost/cost_model.ts";
import { TableCost } from "../../../src/cost/table_cost.ts";

/** Batch sizes with the best throughput (sections 2.2 and 7.4). */
export const BEST_BATCH = { encoder: 512, decoder: 256 };

/** Decoding's share of the computation (section 7.4). */
export const DECODE_SHARE = 0.75;

/**
 * Scheduling and gathering, per task of BatchMaker's: 250 us a step of 64 rows instead of 185 (section 7.3).
 * Assumption: as much for any cell and any number of rows; the baselines, which run whole graphs, have none of it.
 */
export const OVERHEAD_US = 250 - 185;

/**
 * Assumption: decoder steps take three times the encoder's up to their best batch, as with decoding at 75 % of the
 * computation and sentences as long as their translations, and are in proportion to the rows beyond.
 */
const DECODER: CurvePoints = [64, BEST_BATCH.decoder].map((rows) =>
  [
    rows,
    DECODE_SHARE / (1 - DECODE_SHARE) * onCurve(LSTM_STEP_V100, rows),
  ] as const
);

/**
 * Assumption: tree cells take the LSTM step's time in proportion to their products: [h] x [h, 3h] for a leaf and
 * [2h] x [2h, 5h] for an internal node, [2h] x [2h, 4h] for the step. The paper prints none.
 */
const PRODUCTS = { tree_leaf: 3 / 8, tree_node: 10 / 8 };

export interface DeviceOptions {
  /** On top of every task, us; default 0. */
  overheadUs?: number;
  /** Factor on every cell's time; default 1. */
  slower?: number;
}

/** Costs of LSTM, Seq2Seq and TreeLSTM cells on the modelled V100. */
export function v100(
  { overheadUs = 0, slower = 1 }: DeviceOptions = {},
): CostModel {
  const overheadNs = overheadUs * NS_PER_US;
  const scaled = (points: CurvePoints, factor: number): CurvePoints =>
    points.map(([rows, ns]) => [rows, factor * slower * ns]);
  const cost = new TableCost({
    lstm_step: scaled(LSTM_STEP_V100, 1),
    encoder: scaled(LSTM_STEP_V100, 1),
    decoder: scaled(DECODER, 1),
    tree_leaf: scaled(LSTM_STEP_V100, PRODUCTS.tree_leaf),
    tree_node: scaled(LSTM_STEP_V100, PRODUCTS.tree_node),
  });
  return {
    latencyNs: (cell, rows) => cost.latencyNs(cell, rows) + overheadNs,
  };
}
