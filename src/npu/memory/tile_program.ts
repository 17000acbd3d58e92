/**
 * The loops of a tiling as a program for the pipeline: copies, the outer of m and n, the inner, k.
 * Loops keep rounds that are alike together, so that the pipeline can skip through them.
 */
import { type NpuConfig, NUMBER_FORMATS } from "../config.ts";
import { gridOf, MAPPINGS } from "../dataflow.ts";
import type { GemmWork } from "../layer_spec.ts";
import { foldTiming } from "../timing.ts";
import type { DramTiming } from "./dram.ts";
import type { Program, Step } from "./pipeline.ts";
import {
  type Cut,
  cutOf,
  ifmapWords,
  loadsOf,
  type OnChip,
  type Tiling,
} from "./tiling.ts";

export interface TileContext {
  work: GemmWork;
  config: NpuConfig;
  dram: DramTiming;
  onChip: OnChip;
  /** Ticks of the vector unit for all results of the GEMM. */
  vectorTicks: number;
}

export function tileProgram(tiling: Tiling, context: TileContext): Program {
  const { work } = context;
  const { gemm } = work;
  const { outer } = tiling;
  const inner = outer === "n" ? "m" : "n";
  return grouped(
    cutOf(work.copies, tiling.copies),
    (copies) =>
      grouped(
        cutOf(gemm[outer], tiling[outer]),
        (outerSize, outerFirst) =>
          grouped(
            cutOf(gemm[inner], tiling[inner]),
            (innerSize, innerFirst) => {
              const loads = loadsOf(tiling, { work, outerFirst, innerFirst });
              const [m, n] = outer === "m"
                ? [outerSize, innerSize]
                : [innerSize, outerSize];
              return grouped(
                cutOf(gemm.k, tiling.k),
                (k, isFirst, completes) => [
                  step(
                    { copies, m, n, k, loads, adds: !isFirst, completes },
                    context,
                  ),
                ],
              );
            },
          ),
      ),
  );
}

/** The first tile, the alike ones between, the last. */
function grouped(
  { full, size, rest }: Cut,
  body: (size: number, isFirst: boolean, isLast: boolean) => Program,
): Program {
  const tiles = full + (rest > 0 ? 1 : 0);
  if (tiles === 1) return body(rest > 0 ? rest : size, true, true);
  return [
    ...body(size, true, false),
    ...(tiles > 2
      ? [{ rounds: tiles - 2, body: body(size, false, false) }]
      : []),
    ...body(rest > 0 ? rest : size, false, true),
  ];
}

export interface TileShape {
  copies: number;
  m: number;
  n: number;
  k: number;
  loads: { ifmap: boolean; filter: boolean };
  /** Not the first tile along k, and the last. */
  adds: boolean;
  completes: boolean;
}

export function step(tile: TileShape, context: TileContext): Step {
  const { work, config, dram, onChip, vectorTicks } = context;
  const { operandBytes } = NUMBER_FORMATS[config.format];
  const { copies, m, n, k } = tile;
  const grid = gridOf({ m, n, k }, config.array, MAPPINGS[config.dataflow]);
  const timing = foldTiming(grid, config.mode);
  const folds = copies * grid.folds;
  // The preload of an overlapped tile is on the pipeline, which lets it run beside the tile before.
  const preloadCycles = config.mode === "overlapped" ? timing.preloadCycles : 0;
  const results = tile.completes ? copies * m * n : 0;
  const allResults = work.copies * work.gemm.m * work.gemm.n;
  return {
    ifmapBytes: tile.loads.ifmap && !onChip.ifmap
      ? copies * ifmapWords(work, m, k) * operandBytes
      : 0,
    filterBytes: tile.loads.filter ? copies * k * n * operandBytes : 0,
    ofmapBytes: onChip.ofmap ? 0 : results * operandBytes,
    occupancyTicks: folds * timing.periodCycles * dram.ticksPerCycle,
    durationTicks:
      ((folds - 1) * timing.periodCycles + timing.foldCycles - preloadCycles) *
      dram.ticksPerCycle,
    firstSumsTicks: (timing.firstSumsCycles - preloadCycles) *
      dram.ticksPerCycle,
    vectorTicks: Math.ceil(vectorTicks * results / allResults),
    completes: tile.completes,
    tile: {
      grid,
      copies,
      mode: config.mode,
      adds: tile.adds,
      completes: tile.completes,
    },
  };
}
