/**
 * Closed-form level: cycles, efficiencies and scratchpad traffic of one GEMM on the array, memory
 * never stalling. In `causal` and `overlapped` mode equal to the register level
 * (test/npu/levels_test.ts); in `scalesim` mode equal to the tool's reports, its slips included.
 *
 * Partial sums (ws, is; the k axis folded): in `scalesim` mode they are written out once per row
 * fold and never read back; in `causal` mode they are added up in the ofmap scratchpad; in
 * `overlapped` mode they stay in accumulators below the array and only sums reach the scratchpad.
 */
import {
  type ArrayShape,
  type Dataflow,
  type FoldGrid,
  foldGrid,
  type Gemm,
} from "./dataflow.ts";
import { foldTiming, type Mode } from "./timing.ts";

/** Words moved between the array and its scratchpads. */
export interface ScratchpadTraffic {
  /** Words of the input. */
  ifmapReads: number;
  /** Words of the weights. */
  filterReads: number;
  /** Words of the output, partial sums included. */
  ofmapWrites: number;
  /** Partial sums read back from the ofmap scratchpad. */
  ofmapReads: number;
  /** Partial sums written to the accumulators below the array. */
  accumulatorWrites: number;
  /** Partial sums read back from the accumulators. */
  accumulatorReads: number;
}

export interface ComputeReport extends ScratchpadTraffic {
  /** As the mode reports it: `scalesim` gives the index of the last cycle, one less than the count. */
  totalCycles: number;
  /** Cycles counted, whatever the mode reports. */
  countedCycles: number;
  macs: number;
  folds: number;
  /** Share of processing elements that hold work, averaged over the folds, in percent. */
  mappingEfficiencyPct: number;
  /** Multiplications over (total cycles x processing elements), in percent. */
  overallUtilizationPct: number;
  /** Multiplications over (fold duration x processing elements), averaged over folds, in percent. */
  computeUtilizationPct: number;
}

export function closedForm(
  gemm: Gemm,
  array: ArrayShape,
  { dataflow, mode }: { dataflow: Dataflow; mode: Mode },
): ComputeReport {
  return reportOf(foldGrid(gemm, array, dataflow), mode);
}

/** The same from a laid-out GEMM. */
export function reportOf(grid: FoldGrid, mode: Mode): ComputeReport {
  const { sr, sc, t, folds, array } = grid;
  const timing = foldTiming(grid, mode);
  const countedCycles = timing.foldCycles + (folds - 1) * timing.periodCycles;
  const totalCycles = mode === "scalesim" ? countedCycles - 1 : countedCycles;
  const macs = sr * sc * t;
  const pes = array.rows * array.cols;
  // Deviation kept on purpose: for ws and is the tool adds the column skew twice.
  const utilizationCycles = mode === "scalesim" && grid.mapping.topResident
    ? timing.foldCycles + array.cols - 1
    : timing.periodCycles;
  return {
    totalCycles,
    countedCycles,
    macs,
    folds,
    mappingEfficiencyPct: 100 * sr * sc / (folds * pes),
    overallUtilizationPct: 100 * macs / (totalCycles * pes),
    computeUtilizationPct: 100 * macs / (folds * pes * utilizationCycles),
    ...scratchpadTraffic(grid, mode),
  };
}

function scratchpadTraffic(grid: FoldGrid, mode: Mode): ScratchpadTraffic {
  const { mapping, sr, sc, t, rowFolds, colFolds, folds, array } = grid;
  const leftReads = sr * t * colFolds;
  const topReads = mapping.topResident ? sr * sc : sc * t * rowFolds;
  const portWrites = mapping.topResident ? sc * t * rowFolds : sr * sc;
  const readBacks = mapping.topResident ? sc * t * (rowFolds - 1) : 0;
  const accumulates = mode === "overlapped" && mapping.topResident;
  // Deviation kept on purpose: the tool counts rows + cols idle os output slots of each fold as writes.
  const slip = mode === "scalesim" && !mapping.topResident
    ? folds * (array.rows + array.cols)
    : 0;
  return {
    ifmapReads: mapping.left === "ifmap" ? leftReads : topReads,
    filterReads: mapping.left === "filter" ? leftReads : topReads,
    ofmapWrites: accumulates ? portWrites - readBacks : portWrites + slip,
    ofmapReads: mode === "causal" ? readBacks : 0,
    accumulatorWrites: accumulates ? portWrites : 0,
    accumulatorReads: accumulates ? readBacks : 0,
  };
}
