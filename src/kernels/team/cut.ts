/**
 * How a kernel's call falls apart into calls that can run at the same time and leave the same bits.
 * A call is its arguments; a part of it is arguments again, for the same kernel or for one that takes
 * a range.
 */
import type { KernelExports } from "../module/exports.ts";
import type { KernelName } from "../spec/signature.ts";

/** Most arguments any kernel takes. */
export const ARGUMENTS_MAX = 14;

/** Arguments of a call in their order; what lies beyond them is of no meaning. */
export type CallArguments = Float64Array;

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
  pieces(args: CallArguments, memory: PartMemory): number;
  /** Turns a call's arguments into those of a part. */
  narrow(args: CallArguments, part: Part, memory: PartMemory): void;
  /** The kernel that computes parts, where it is another one. */
  readonly kernel?: KernelName;
  /** Puts together what the parts (in order, some of no pieces) have left in `partials`. */
  join?(args: CallArguments, parts: readonly Part[], memory: PartMemory): void;
}

/** How the calls of one kernel are cut. */
export interface Splitting {
  readonly name: KernelName;
  /** The first that gives pieces enough is taken, else the one that gives most. */
  readonly cuts: readonly Cut[];
  /** How long a call takes on one thread; only the order of magnitude counts. */
  nanoseconds(args: CallArguments, memory: PartMemory): number;
}

/** Pieces for every thread with which work comes out even. */
const PIECES_PER_THREAD = 8;

/** The cut for a call; every thread of a team chooses the same. */
export function chooseCut(
  { cuts }: Splitting,
  args: CallArguments,
  memory: PartMemory,
): Cut {
  let best = cuts[0];
  let most = 0;
  for (let i = 0; i < cuts.length; i++) {
    const pieces = cuts[i].pieces(args, memory);
    if (pieces >= PIECES_PER_THREAD * memory.threads) return cuts[i];
    if (pieces > most) {
      most = pieces;
      best = cuts[i];
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
    words[at + i] = words[from + i] + bytes;
  }
  return to;
}
