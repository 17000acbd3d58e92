/**
 * How a kernel's call falls apart into calls that can run at the same time and leave the same bits.
 * A call is its arguments; a part of it is arguments again, for the same kernel or for one that takes
 * a range. No kernel carries anything from one row, column or image line to the next, so every cut is
 * free of rounding; where to cut is all that is decided here.
 */
import type { KernelExports } from "../module/exports.ts";

/** Most arguments any kernel takes. */
export const ARGUMENTS_MAX = 12;

/** Arguments of a kernel in their order; what lies beyond them is of no meaning. */
export type Arguments = Float64Array;

/** Name of an export. */
export type KernelName = keyof KernelExports;

/** Bytes of a 4-byte element, or of a row's address. */
export const WORD = 4;

/** Some of a call's pieces, one after the other. */
export interface Part {
  /** Counts the parts of a call. */
  readonly index: number;
  readonly from: number;
  /** One more than the last piece. */
  readonly to: number;
}

/** What a thread of a team has for rewriting arguments. */
export interface PartMemory {
  readonly kernels: KernelExports;
  readonly words: Uint32Array;
  readonly floats: Float32Array;
  readonly threads: number;
  /** Longest row table of which there is room for changed copies. */
  readonly rowsMax: number;
  /** This thread's working memory for kernels that ask for some, and its size. */
  readonly scratch: number;
  readonly scratchBytes: number;
  /** Address of `words` words of this thread's own, free again after the part. */
  take(words: number): number;
  /** Address of PARTIAL_WORDS words a row that a part leaves for `join`. */
  partials(part: number): number;
}

/** Words of a row in a part's partial results. */
export const PARTIAL_WORDS = 3;

/** A way to cut a kernel's calls. */
export interface Cut {
  /** Pieces that a call may be cut into; 1: it stays whole. The arguments alone decide. */
  pieces(args: Arguments, memory: PartMemory): number;
  /** Turns a call's arguments into those of a part. */
  narrow(args: Arguments, part: Part, memory: PartMemory): void;
  /** The kernel that computes parts, where it is another one. */
  readonly kernel?: KernelName;
  /** Puts together what the parts (in order, some of no pieces) have left in `partials`. */
  join?(args: Arguments, parts: readonly Part[], memory: PartMemory): void;
}

/** How the calls of one kernel are cut. */
export interface Splitting {
  /** The first that gives pieces enough is taken, else the one that gives most. */
  readonly cuts: readonly Cut[];
  /** How long a call takes on one thread; only the order of magnitude counts. */
  nanoseconds(args: Arguments, memory: PartMemory): number;
}

/** Pieces for every thread with which work comes out even. */
const PIECES_PER_THREAD = 8;

/** The cut for a call; every thread of a team chooses the same. */
export function chooseCut(
  { cuts }: Splitting,
  args: Arguments,
  memory: PartMemory,
): Cut {
  let best = cuts[0]!;
  let most = 0;
  for (let i = 0; i < cuts.length; i++) {
    const pieces = cuts[i]!.pieces(args, memory);
    if (pieces >= PIECES_PER_THREAD * memory.threads) return cuts[i]!;
    if (pieces > most) {
      most = pieces;
      best = cuts[i]!;
    }
  }
  return best;
}

/** A copy of a row table in which every row starts `bytes` later; 0 stays 0. */
export function shifted(
  table: number,
  rows: number,
  bytes: number,
  memory: PartMemory,
): number {
  if (table === 0 || bytes === 0) return table;
  const { words } = memory;
  const to = memory.take(rows);
  for (let i = 0, from = table >>> 2, at = to >>> 2; i < rows; i++) {
    words[at + i] = words[from + i]! + bytes;
  }
  return to;
}

/** Working memory of a kernel: position of the argument, and the bytes that a call needs. */
export interface ScratchArgument {
  readonly at: number;
  bytes(args: Arguments, memory: PartMemory): number;
}

/** Where a cut by rows finds what. Numbers are positions of arguments. */
export interface RowsOptions {
  /** Row tables, and arrays of 4 bytes a row. */
  readonly tables: readonly number[];
  /** Rows that should stay together; default 1. */
  readonly grain?: number;
  readonly scratch?: ScratchArgument;
}

/** Cuts the batch: argument 0 counts its rows. */
export function byRows({ tables, grain = 1, scratch }: RowsOptions): Cut {
  return {
    pieces: (args, memory) =>
      fits(scratch, args, memory) ? Math.ceil(args[0]! / grain) : 1,
    narrow(args, { from, to }, memory) {
      const first = from * grain;
      args[0] = Math.min(args[0]!, to * grain) - first;
      for (let i = 0; i < tables.length; i++) {
        const at = tables[i]!;
        if (args[at] !== 0) args[at] = args[at]! + WORD * first;
      }
      if (scratch) args[scratch.at] = memory.scratch;
    },
  };
}

/** Whether a thread's working memory is enough for a call. */
export function fits(
  scratch: ScratchArgument | undefined,
  args: Arguments,
  memory: PartMemory,
): boolean {
  return scratch === undefined ||
    scratch.bytes(args, memory) <= memory.scratchBytes;
}

/** Where a cut by columns finds what. Numbers are positions of arguments. */
export interface ColumnsOptions {
  /** Counts the columns. */
  readonly n: number;
  /** Tables of rows that a part enters at its first column. */
  readonly tables: readonly number[];
  /** Columns that should stay together, a multiple of 8. */
  readonly grain: number;
  /** Packed weights, 8 columns in so many bytes. */
  readonly weights?: {
    readonly at: number;
    panelBytes(args: Arguments): number;
  };
}

/** Cuts every row: a part computes some columns of all rows. */
export function byColumns(
  { n, tables, grain, weights }: ColumnsOptions,
): Cut {
  return {
    pieces: (args, { rowsMax }) =>
      args[0]! > rowsMax ? 1 : Math.ceil(args[n]! / grain),
    narrow(args, { from, to }, memory) {
      const first = from * grain;
      if (weights) {
        args[weights.at] = args[weights.at]! +
          first / 8 * weights.panelBytes(args);
      }
      args[n] = Math.min(args[n]!, to * grain) - first;
      for (let i = 0; i < tables.length; i++) {
        const at = tables[i]!;
        args[at] = shifted(args[at]!, args[0]!, WORD * first, memory);
      }
    },
  };
}
