/**
 * What a tile moves between the array and its scratchpads, counted from its folds: each carries the
 * words of its own rows, columns and time, edge folds fewer. Alike folds are counted together.
 *
 * Sums of a tile that is not the first along k are added to those of the tile before, so all its
 * partial sums are read back; of a first tile, those of the first row fold are not. In `causal` mode
 * partial sums are ofmap accesses; in `overlapped` mode accesses of the accumulators, and the ofmap
 * scratchpad gets a sum once it is complete. os tiles with all of k send complete sums there directly.
 */
import type { ScratchpadTraffic } from "../closed_form.ts";
import type { Program, TileFolds } from "./pipeline.ts";
import { cutOf } from "./tiling.ts";

export interface TileTraffic extends ScratchpadTraffic {
  /** Multiplications in the processing elements. */
  macs: number;
}

const NOTHING: TileTraffic = {
  ifmapReads: 0,
  filterReads: 0,
  ofmapWrites: 0,
  ofmapReads: 0,
  accumulatorWrites: 0,
  accumulatorReads: 0,
  macs: 0,
};

/** All traffic of a program's tiles. */
export function programTraffic(program: Program): TileTraffic {
  return sumTraffic(
    program.map((part) =>
      "body" in part
        ? scaled(programTraffic(part.body), part.rounds)
        : part.tile === undefined
        ? NOTHING
        : tileTraffic(part.tile)
    ),
  );
}

export function sumTraffic(parts: readonly TileTraffic[]): TileTraffic {
  const total = { ...NOTHING };
  for (const part of parts) {
    for (const key of keys) total[key] += part[key];
  }
  return total;
}

const keys = Object.keys(NOTHING) as (keyof TileTraffic)[];

function scaled(traffic: TileTraffic, times: number): TileTraffic {
  const result = { ...traffic };
  for (const key of keys) result[key] *= times;
  return result;
}

function tileTraffic(
  { grid, copies, mode, adds, completes }: TileFolds,
): TileTraffic {
  const { mapping, array, sr, sc, t } = grid;
  let [left, top, out, macs, sums] = [0, 0, 0, 0, 0];
  for (const { size: cols, count: colFolds } of alike(sc, array.cols)) {
    for (const { size: rows, count: rowFolds } of alike(sr, array.rows)) {
      const folds = copies * rowFolds * colFolds;
      left += folds * rows * t;
      top += folds * (mapping.topResident ? rows : t) * cols;
      out += folds * (mapping.topResident ? t : rows) * cols;
      macs += folds * rows * cols * t;
    }
    sums += copies * colFolds * cols * (mapping.topResident ? t : sr);
  }
  const readBacks = adds ? out : out - sums;
  const viaAccumulators = mode === "overlapped" &&
    (mapping.topResident || adds || !completes);
  return {
    ifmapReads: mapping.left === "ifmap" ? left : top,
    filterReads: mapping.left === "filter" ? left : top,
    ofmapWrites: viaAccumulators ? (completes ? sums : 0) : out,
    ofmapReads: viaAccumulators ? 0 : readBacks,
    accumulatorWrites: viaAccumulators ? out : 0,
    accumulatorReads: viaAccumulators ? readBacks : 0,
    macs,
  };
}

/** The folds along one side of the array: full ones, and an edge fold if there is one. */
function alike(
  extent: number,
  side: number,
): { size: number; count: number }[] {
  const { full, size, rest } = cutOf(extent, side);
  return [{ size, count: full }, { size: rest, count: rest > 0 ? 1 : 0 }];
}
