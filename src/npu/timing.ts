/**
 * When things happen inside one fold, in the three accounting modes.
 *
 *     preload   cycles before the first word enters on the left (ws, is: one row of the resident
 *               operand per cycle; os: none)
 *     skew      rows + cols - 2: the far corner works that much later than the near one
 *     drain     cycles to shift the results of the last fold out of the bottom edge (os: rows - 1)
 *
 * Modes:
 *  - `scalesim`: SCALE-Sim v2/v3's accounting. Folds one after another; no drain for os, so its os
 *    outputs are reported before the lower half of the array has computed them.
 *  - `causal`: folds one after another, every fold as long as the register-level array needs.
 *  - `overlapped`: fold f+1 starts max(time, rows) cycles after fold f. Its resident operand is
 *    shifted into shadow registers while f streams and is taken over as f+1's first words pass
 *    (ws, is); its sums start in free accumulators while f's are shifted out (os). The chain of
 *    registers is `rows` long, so a fold cannot follow in fewer than `rows` cycles.
 *    Source of the idea: Jouppi et al., "In-Datacenter Performance Analysis of a Tensor Processing
 *    Unit", ISCA 2017, section 2 (weight FIFO, double-buffered weights); the control that moves
 *    with the data is the one of US patent 9,805,304 (Ross, "Prefetching Weights for Use in a Neural Network Processor"),
 *    one of those LazyBatching names as the basis of its own model.
 */
import type { FoldGrid } from "./dataflow.ts";

export const MODES = ["scalesim", "causal", "overlapped"] as const;
export type Mode = typeof MODES[number];

export interface FoldTiming {
  preloadCycles: number;
  drainCycles: number;
  /** From the start of a fold until the first sum of every column has left the array. */
  firstSumsCycles: number;
  /** Cycles of one fold by itself. */
  foldCycles: number;
  /** Cycles from the start of a fold to the start of the next. */
  periodCycles: number;
}

export function foldTiming(grid: FoldGrid, mode: Mode): FoldTiming {
  const { rows, cols } = grid.array;
  const preloadCycles = grid.mapping.topResident ? rows : 0;
  const drainCycles = grid.mapping.topResident || mode === "scalesim"
    ? 0
    : rows - 1;
  const foldCycles = preloadCycles + grid.t + rows + cols - 2 + drainCycles;
  const periodCycles = mode === "overlapped"
    ? Math.max(grid.t, rows)
    : foldCycles;
  const firstSumsCycles = preloadCycles + rows + cols - 2 +
    (grid.mapping.topResident ? 0 : grid.t - 1);
  return {
    preloadCycles,
    drainCycles,
    firstSumsCycles,
    foldCycles,
    periodCycles,
  };
}
