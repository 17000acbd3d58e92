/**
 * Cutting a GEMM into tiles that fit the scratchpads.
 *
 * A tile is (copies, m, n, k) large; the k tiles of an (m, n) tile follow each other, so partial
 * sums never leave the accumulators. Around that, either m or n is the outer loop. An operand is
 * double-buffered (two tiles) or, if it fits, resident: loaded once and kept.
 *
 * The tilings that are tried depend on the layer and the array only; the scratchpads decide which
 * of them are allowed. So a bigger scratchpad allows a superset, and the best can only get better.
 */
import type { ArrayShape } from "../dataflow.ts";
import type { NpuConfig } from "../config.ts";
import { NUMBER_FORMATS } from "../config.ts";
import type { GemmWork } from "../layer_spec.ts";
import { mapWords } from "../layer_spec.ts";

/** How a GEMM is cut into tiles. */
export interface Tiling {
  /** Copies per tile. */
  copies: number;
  /** Size of a tile along m. */
  m: number;
  /** Size of a tile along n. */
  n: number;
  /** Size of a tile along k. */
  k: number;
  /** The slower of the two outer loops. */
  outer: "m" | "n";
  /** Whether the whole input is loaded once and kept. */
  ifmapResident: boolean;
  /** Whether all weights are loaded once and kept. */
  filterResident: boolean;
}

/** What stays on chip between layers: no traffic, but room. */
export interface OnChip {
  /** The layer's input is there already. */
  ifmap: boolean;
  /** The layer's output stays. */
  ofmap: boolean;
}

/** Smallest steps in which m and k can be cut: whole output rows, whole windows. */
function units({ gemm, window }: GemmWork): { m: number; k: number } {
  if (window === undefined) return { m: 1, k: 1 };
  return { m: window.outputW, k: gemm.k / window.channels };
}

/** Words of the ifmap operand for `m` rows and `k` of the k axis. */
export function ifmapWords(work: GemmWork, m: number, k: number): number {
  if (work.window === undefined) return m * k;
  const unit = units(work);
  return mapWords(work.window, Math.ceil(m / unit.m), Math.ceil(k / unit.k));
}

/** The finest cuts: a fold of the array, but not under 16, in whole output rows and windows. */
function leastCuts(
  work: GemmWork,
  { rows, cols }: ArrayShape,
): Record<"m" | "n" | "k", number> {
  const unit = units(work);
  return {
    m: Math.max(unit.m, work.window === undefined ? cols : 1, TILE_LEAST),
    n: Math.max(Math.min(rows, cols), TILE_LEAST),
    k: Math.max(rows, TILE_LEAST),
  };
}

/** Every tiling that is considered, allowed or not. */
export function* tilings(work: GemmWork, array: ArrayShape): Generator<Tiling> {
  const { gemm } = work;
  const unit = units(work);
  const least = leastCuts(work, array);
  for (const copies of cuts(work.copies, { unit: 1, least: 1 })) {
    for (const k of cuts(gemm.k, { unit: unit.k, least: least.k })) {
      for (const n of cuts(gemm.n, { unit: least.n, least: least.n })) {
        for (const m of cuts(gemm.m, { unit: unit.m, least: least.m })) {
          for (const outer of m < gemm.m && n < gemm.n ? OUTER : ONE_ORDER) {
            const shape = { copies, m, n, k, outer };
            yield { ...shape, ifmapResident: false, filterResident: false };
            if (copies < work.copies) continue;
            // Keeping an operand only helps where it would be loaded again.
            const again = { ifmap: n < gemm.n, filter: m < gemm.m };
            if (again.ifmap) {
              yield { ...shape, ifmapResident: true, filterResident: false };
            }
            if (again.filter) {
              yield { ...shape, ifmapResident: false, filterResident: true };
            }
            if (again.ifmap && again.filter) {
              yield { ...shape, ifmapResident: true, filterResident: true };
            }
          }
        }
      }
    }
  }
}

/** Tiles are not cut finer than this along any axis: requests would be shorter than a burst. */
const TILE_LEAST = 16;
const OUTER = ["n", "m"] as const;
const ONE_ORDER = ["n"] as const;

/** `size`, and its halves, quarters and so on rounded up to whole units, down to `least`. */
function cuts(
  size: number,
  { unit, least }: { unit: number; least: number },
): number[] {
  const found = [size];
  for (let parts = 2; size / parts >= least; parts *= 2) {
    const cut = Math.min(
      size,
      Math.ceil(Math.ceil(size / parts) / unit) * unit,
    );
    if (cut < found[found.length - 1]) found.push(cut);
  }
  // So that whatever fits at all is found.
  const finest = finestCut(size, { unit, least });
  if (finest < found[found.length - 1]) found.push(finest);
  return found;
}

function finestCut(
  size: number,
  { unit, least }: { unit: number; least: number },
): number {
  return Math.min(size, Math.max(1, Math.floor(least / unit)) * unit);
}

export interface Room {
  activationBytes: number;
  weightBytes: number;
  accumulatorBytes: number;
}

/** On-chip bytes a tiling takes. */
export function roomOf(
  work: GemmWork,
  tiling: Tiling,
  { config, onChip }: { config: NpuConfig; onChip: OnChip },
): Room {
  const { gemm } = work;
  const { operandBytes, sumBytes } = NUMBER_FORMATS[config.format];
  const whole = {
    ifmap: work.copies * ifmapWords(work, gemm.m, gemm.k),
    filter: work.copies * gemm.k * gemm.n,
    ofmap: work.copies * gemm.m * gemm.n,
  };
  const tile = {
    ifmap: tiling.copies * ifmapWords(work, tiling.m, tiling.k),
    filter: tiling.copies * tiling.k * tiling.n,
    ofmap: tiling.copies * tiling.m * tiling.n,
  };
  const ifmap = tiling.ifmapResident || onChip.ifmap
    ? whole.ifmap
    : Math.min(whole.ifmap, 2 * tile.ifmap);
  const filter = tiling.filterResident
    ? whole.filter
    : Math.min(whole.filter, 2 * tile.filter);
  const ofmap = onChip.ofmap
    ? whole.ofmap
    : Math.min(whole.ofmap, 2 * tile.ofmap);
  return {
    activationBytes: operandBytes *
      (ifmap + ofmap + (work.filterIsActivation ? filter : 0)),
    weightBytes: operandBytes * (work.filterIsActivation ? 0 : filter),
    // The vector unit passes over a tile's sums while the next tile's are added up.
    accumulatorBytes: sumBytes * Math.min(whole.ofmap, 2 * tile.ofmap),
  };
}

/** On-chip bytes of the smallest tiling: a machine with less of any of them is refused. */
export function leastRoom(
  work: GemmWork,
  { config, onChip }: { config: NpuConfig; onChip: OnChip },
): Room {
  const { gemm } = work;
  const unit = units(work);
  const least = leastCuts(work, config.array);
  const smallest: Tiling = {
    copies: 1,
    m: finestCut(gemm.m, { unit: unit.m, least: least.m }),
    n: finestCut(gemm.n, { unit: least.n, least: least.n }),
    k: finestCut(gemm.k, { unit: unit.k, least: least.k }),
    outer: "n",
    ifmapResident: false,
    filterResident: false,
  };
  return roomOf(work, smallest, { config, onChip });
}

export function fits(room: Room, config: NpuConfig): boolean {
  return room.activationBytes <= config.activationBytes &&
    room.weightBytes <= config.weightBytes &&
    room.accumulatorBytes <= config.accumulatorBytes;
}

/** An axis cut into tiles: `full` of `size`, and one of `rest` (0 if there is none). */
export interface Cut {
  full: number;
  size: number;
  rest: number;
}

export function cutOf(extent: number, size: number): Cut {
  const full = Math.floor(extent / size);
  return { full, size, rest: extent - full * size };
}

/** Which of a tile's operands are loaded: they change with their own loop and with k. */
export function loadsOf(
  tiling: Tiling,
  { work, outerFirst, innerFirst }: {
    work: GemmWork;
    outerFirst: boolean;
    innerFirst: boolean;
  },
): { ifmap: boolean; filter: boolean } {
  const { gemm } = work;
  const outerIsM = tiling.outer === "m";
  const inner = outerIsM ? "n" : "m";
  const kCut = tiling.k < gemm.k;
  const innerCut = tiling[inner] < gemm[inner];
  const outerKept = outerIsM ? tiling.ifmapResident : tiling.filterResident;
  const innerKept = outerIsM ? tiling.filterResident : tiling.ifmapResident;
  const loadOuter = innerFirst || (kCut && !outerKept);
  const loadInner = outerFirst || (!innerKept && (innerCut || kCut));
  return outerIsM
    ? { ifmap: loadOuter, filter: loadInner }
    : { ifmap: loadInner, filter: loadOuter };
}
