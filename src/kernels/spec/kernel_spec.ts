/** The description of one kernel: what it takes, how its calls are cut, how long they take. */
import { groupPanels, PANEL_COLUMNS } from "../pack/panels.ts";
import type { KernelName, Parameter, Sizes } from "./signature.ts";

/**
 * A way to cut a call into calls that run at the same time and leave the same bits. No kernel carries
 * anything from one row, column or image line to the next, so where to cut is all there is to say;
 * which arguments change, and how, follows from the parameters (team/).
 */
export type CutSpec =
  | RowsCut
  | SizeCut
  | UnitsCut
  | LinesCut
  | PixelsCut;

/** Between rows of the batch. */
export interface RowsCut {
  by: "rows";
  /** Rows that should stay together. */
  grain: number;
}

/** Within every row, along a size that is the leading dimension of some operands. */
export interface SizeCut {
  by: "size";
  size: string;
  /** How many of it should stay together; for the columns of packed weights whole groups of panels. */
  grain: number | ((sizes: Sizes) => number);
  /** Each row's greatest element and its place are found part by part: names of the results. */
  best?: { greatest: string; index: string };
}

/** By hidden units, computed by a kernel that takes a range of them: parameters `first` and `units`. */
export interface UnitsCut {
  by: "units";
  kernel: KernelName;
  /** Arguments of that kernel that start out as ones of another name. */
  from: Readonly<Record<string, string>>;
}

/** By lines of the result of a kernel that takes an image shape. */
export interface LinesCut {
  by: "lines";
  /** Output pixels that should stay together, as they share what is read of the weights. */
  pixels: number;
  /** Whether further down the result is less far up the padding (forward), or more (transposed). */
  direction: "forward" | "transposed";
}

/** By pixels, where each sees the input pixel at its own place alone. */
export interface PixelsCut {
  by: "pixels";
  /** Output pixels that should stay together. */
  pixels: number;
}

/** What every kernel's description says. */
interface Described {
  /** Arguments in the export's order. */
  readonly parameters: readonly Parameter[];
  /** What no parameter can say alone: a complaint about the sizes, or undefined. */
  readonly relation?: (sizes: Sizes) => string | undefined;
  /** Sizes to practise with, where the usual ones (host/practice_call.ts) do not fit. */
  readonly practice?: Sizes;
}

/** A kernel that several threads may share. */
export interface CutKernel extends Described {
  /** The first that gives pieces enough is taken, else the one that gives most. */
  readonly cuts: readonly CutSpec[];
  /** How long a call takes on one thread; only the order of magnitude counts. */
  readonly nanoseconds: (sizes: Sizes) => number;
}

/** A kernel that is over before another thread could have begun, or computes a part already. */
export interface WholeKernel extends Described {
  readonly cuts: "whole";
}

/** All there is to know of a kernel besides what it computes. */
export type KernelSpec = CutKernel | WholeKernel;

/** Kernels of one family: what is not the name of an export does not compile. */
export type FamilySpecs = Partial<Readonly<Record<KernelName, KernelSpec>>>;

// Rates of the order of what docs/kernels.md shows.
export const FLOPS_PER_NS = 40;
/** Of int8, with VNNI. */
export const Q8_OPS_PER_NS = 150;
export const BYTES_PER_NS = 10;
/** Elements of an activation or a softmax. */
export const ELEMENTS_PER_NS = 0.5;

/** Rows that a tile's height divides well, whichever tile it is. */
export const TILE_ROWS = 10;
/** Columns of a group of panels that meets rows together. */
export const GROUP_COLUMNS = 32;

/** Columns of packed weights with sums of `k` that should, or have to, stay together. */
export function packedColumns(k: number): number {
  return Math.max(GROUP_COLUMNS, PANEL_COLUMNS * groupPanels(k));
}

/** Between rows. */
export function byRows(grain = 1): RowsCut {
  return { by: "rows", grain };
}

/** Along a size. */
export function along(
  size: string,
  grain: SizeCut["grain"],
  best?: SizeCut["best"],
): SizeCut {
  return { by: "size", size, grain, ...(best && { best }) };
}

/** By hidden units. */
export function byUnits(
  kernel: KernelName,
  from: UnitsCut["from"] = {},
): UnitsCut {
  return { by: "units", kernel, from };
}
