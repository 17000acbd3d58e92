/**
 * A lower bound of a tiling's time, in a few multiplications: no schedule is faster than
 *  - the first loads, the array's work without a stall, and the last write-back, one after another;
 *  - all loads, and then the last tile's way through array, vector unit and port;
 *  - all traffic at full rate.
 */
import { gridOf, MAPPINGS } from "../dataflow.ts";
import { NUMBER_FORMATS } from "../config.ts";
import { foldTiming } from "../timing.ts";
import { step, type TileContext } from "./tile_program.ts";
import { type Cut, cutOf, ifmapWords, loadsOf, type Tiling } from "./tiling.ts";

export function lowerBound(tiling: Tiling, context: TileContext): number {
  const { work, config, dram, onChip } = context;
  const { gemm } = work;
  const cut = {
    copies: cutOf(work.copies, tiling.copies),
    m: cutOf(gemm.m, tiling.m),
    n: cutOf(gemm.n, tiling.n),
    k: cutOf(gemm.k, tiling.k),
  };
  const outerCut = cut[tiling.outer];
  const innerCut = cut[tiling.outer === "m" ? "n" : "m"];
  const lastLoads = loadsOf(tiling, {
    work,
    outerFirst: count(outerCut) === 1,
    innerFirst: count(innerCut) === 1,
  });
  const first = step({
    copies: firstSize(cut.copies),
    m: firstSize(cut.m),
    n: firstSize(cut.n),
    k: firstSize(cut.k),
    loads: { ifmap: true, filter: true },
    adds: false,
    completes: false,
  }, context);
  const last = step({
    copies: lastSize(cut.copies),
    m: lastSize(cut.m),
    n: lastSize(cut.n),
    k: lastSize(cut.k),
    loads: lastLoads,
    adds: count(cut.k) > 1,
    completes: true,
  }, context);

  const mapping = MAPPINGS[config.dataflow];
  const shadowed = config.mode === "overlapped" && mapping.topResident;
  const preload = shadowed ? config.array.rows * dram.ticksPerCycle : 0;
  const filterReady = dram.transferTicks(first.filterBytes) + dram.latencyTicks;
  const ifmapReady = filterReady + dram.transferTicks(first.ifmapBytes);
  const head = Math.max(
    filterReady + (mapping.top === "filter" ? preload : 0),
    ifmapReady + (mapping.top === "ifmap" ? preload : 0),
  );
  const array = occupancyCycles(cut, context) * dram.ticksPerCycle +
    last.durationTicks -
    last.occupancyTicks;
  const tail = last.vectorTicks + dram.transferTicks(last.ofmapBytes);

  const { operandBytes } = NUMBER_FORMATS[config.format];
  const ifmapTimes = tiling.ifmapResident ? 1 : times("m", { tiling, cut });
  const filterTimes = tiling.filterResident ? 1 : times("n", { tiling, cut });
  const loadBytes = work.copies * operandBytes *
    ((onChip.ifmap ? 0 : ifmapWords(work, gemm.m, gemm.k) * ifmapTimes) +
      gemm.k * gemm.n * filterTimes);
  const storeBytes = onChip.ofmap
    ? 0
    : work.copies * gemm.m * gemm.n * operandBytes;
  const loads = dram.transferTicks(loadBytes);
  const lastNeedsLoad = last.ifmapBytes + last.filterBytes > 0;
  return Math.max(
    head + array + tail,
    lastNeedsLoad ? loads + dram.latencyTicks + last.durationTicks + tail : 0,
    dram.transferTicks(loadBytes + storeBytes),
  );
}

/** How often the operand that varies with `axis` and k is loaded in whole. */
function times(
  axis: "m" | "n",
  { tiling, cut }: { tiling: Tiling; cut: Record<"m" | "n" | "k", Cut> },
): number {
  const others = count(cut[axis === "m" ? "n" : "m"]);
  if (count(cut.k) > 1) return others;
  return tiling.outer === axis || count(cut[axis]) === 1 ? 1 : others;
}

/** Cycles all tiles keep the array, exactly: a product over the axes. */
function occupancyCycles(
  cut: Record<"m" | "n" | "k", Cut>,
  { work, config }: TileContext,
): number {
  const mapping = MAPPINGS[config.dataflow];
  const { rows, cols } = config.array;
  const grid = gridOf(work.gemm, config.array, mapping);
  const period = (t: number) =>
    foldTiming({ ...grid, t }, config.mode).periodCycles;
  return work.copies *
    overTiles(cut[mapping.rows], (size) => Math.ceil(size / rows)) *
    overTiles(cut[mapping.cols], (size) => Math.ceil(size / cols)) *
    overTiles(cut[mapping.time], period);
}

function overTiles(
  { full, size, rest }: Cut,
  value: (size: number) => number,
): number {
  return (full > 0 ? full * value(size) : 0) + (rest > 0 ? value(rest) : 0);
}

function count({ full, rest }: Cut): number {
  return full + (rest > 0 ? 1 : 0);
}

function firstSize({ full, size, rest }: Cut): number {
  return full > 0 ? size : rest;
}

function lastSize({ full, size, rest }: Cut): number {
  return rest > 0 ? rest : firstSize({ full, size, rest });
}
