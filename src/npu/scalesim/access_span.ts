/**
 * In which cycles the scratchpads are accessed first and last (without stalls), as the tool's
 * DETAILED_ACCESS_REPORT gives them: a read is reported HIT_LATENCY_CYCLES after the cycle that asks
 * for it, a write in its own cycle. Ports that wait, and windows off the map's edge, access nothing.
 */
import type { FoldGrid, Operand } from "../dataflow.ts";
import type { FoldTiming } from "../timing.ts";
import { addressMatrix, NO_ADDRESS, overhangs } from "./addresses.ts";
import { busyCycles, Demand } from "./demand.ts";
import type { ScaleSimLayer } from "./layer.ts";

export const HIT_LATENCY_CYCLES = 1;

export interface AccessSpan {
  /** Cycles from the start of the layer. */
  first: number;
  last: number;
}

export function accessSpan(
  layer: ScaleSimLayer,
  operand: Operand,
  { grid, timing }: { grid: FoldGrid; timing: FoldTiming },
): AccessSpan {
  const { rowFolds, colFolds } = grid;
  const lastFold = { rowFold: rowFolds - 1, colFold: colFolds - 1 };
  const fold = (at: { rowFold: number; colFold: number }) =>
    busyCycles(operand, { grid, timing, ...at });
  const latency = operand === "ofmap" ? 0 : HIT_LATENCY_CYCLES;
  // The first window begins on the map, so the first busy port carries an address.
  const first = fold({ rowFold: 0, colFold: 0 }).first;
  const { geometry } = layer;
  const last = operand === "ifmap" && geometry !== undefined &&
      overhangs(geometry)
    ? lastOnMap(layer, { grid, timing })
    : (grid.folds - 1) * timing.foldCycles + fold(lastFold).last;
  return { first: first + latency, last: last + latency };
}

/** The last cycle in which an ifmap port carries a word that is on the map. */
function lastOnMap(
  layer: ScaleSimLayer,
  { grid, timing }: { grid: FoldGrid; timing: FoldTiming },
): number {
  const addresses = addressMatrix(layer, "ifmap");
  const demand = new Demand("ifmap", { grid, timing, addresses });
  for (let fold = grid.folds - 1; fold >= 0; fold--) {
    const colFold = Math.floor(fold / grid.rowFolds);
    const rowFold = fold - colFold * grid.rowFolds;
    const busy = busyCycles("ifmap", { grid, timing, rowFold, colFold });
    for (let cycle = busy.last; cycle >= busy.first; cycle--) {
      const count = demand.line(cycle, rowFold, colFold);
      const words = demand.words.subarray(0, count);
      if (words.some((word) => word !== NO_ADDRESS)) {
        return fold * timing.foldCycles + cycle;
      }
    }
  }
  throw new Error(`${layer.name}: no window touches its input`);
}
