/**
 * What SCALE-Sim reports for a layer, to the digit, with its two kinds of memory:
 *  - "CALC" (`calcReport`): memory never stalls, the traffic is counted;
 *  - "USER" (`userReport`): fixed words per cycle, stalls counted by v2's rules.
 *
 * For comparison with the tool only. Its cycle totals are the index of the last cycle, its os
 * outputs are not causal, and its stalls bound real hardware in neither direction; the project's
 * own memory model is `memory/`.
 */
import {
  type ArrayShape,
  type Dataflow,
  foldGrid,
  type Operand,
} from "../dataflow.ts";
import { type ComputeReport, reportOf } from "../closed_form.ts";
import { foldTiming } from "../timing.ts";
import {
  type BufferSizes,
  type CalcMemory,
  calcMemory,
} from "./calc_memory.ts";
import { type AccessSpan, accessSpan } from "./access_span.ts";
import type { ScaleSimLayer } from "./layer.ts";
import { type UserMemory, userMemory } from "./user_memory.ts";

export interface ScaleSimMachine {
  array: ArrayShape;
  dataflow: Dataflow;
  buffers: BufferSizes;
}

export interface CalcReport extends ComputeReport, CalcMemory {
  /** Cycles of the first and last scratchpad access per operand. */
  sramCycles: Record<Operand, AccessSpan>;
  /** Version 3's column: with the filling of the read buffers before and the last drain after. */
  totalCyclesInclPrefetch: number;
}

export interface UserReport extends ComputeReport, UserMemory {}

export function calcReport(
  layer: ScaleSimLayer,
  machine: ScaleSimMachine,
): CalcReport {
  const grid = foldGrid(layer.gemm, machine.array, machine.dataflow);
  const timing = foldTiming(grid, "scalesim");
  const memory = calcMemory(layer, { grid, timing, buffers: machine.buffers });
  return {
    ...reportOf(grid, "scalesim"),
    ...memory,
    sramCycles: {
      ifmap: accessSpan(layer, "ifmap", { grid, timing }),
      filter: accessSpan(layer, "filter", { grid, timing }),
      ofmap: accessSpan(layer, "ofmap", { grid, timing }),
    },
    totalCyclesInclPrefetch: memory.dramOfmapEndCycle + memory.prefillCycles,
  };
}

/** `bandwidthWords` words per cycle on each of the three DRAM ports. */
export function userReport(
  layer: ScaleSimLayer,
  machine: ScaleSimMachine,
  { bandwidthWords }: { bandwidthWords: number },
): UserReport {
  const grid = foldGrid(layer.gemm, machine.array, machine.dataflow);
  const timing = foldTiming(grid, "scalesim");
  const compute = reportOf(grid, "scalesim");
  const memory = userMemory(layer, {
    grid,
    timing,
    buffers: machine.buffers,
    bandwidthWords,
  });
  const pes = machine.array.rows * machine.array.cols;
  return {
    ...compute,
    ...memory,
    overallUtilizationPct: 100 * compute.macs / (memory.totalCycles * pes),
  };
}
