/**
 * A cell compiled to kernel calls: plain data, so that it can be sent to a worker once at start-up.
 * Rows are addressed through tables of u32 addresses. A task brings one table per port of the cell;
 * a worker keeps tables and rows for what lies between the operators.
 */
import type { PlainAttributes } from "../../plain/operator.ts";
import type { PlainTensor, PlainType } from "../../tensor/plain_tensor.ts";
import type { KernelExports } from "../../kernels/module/module.ts";

/**
 * Rows a worker computes at once at most; larger tasks go in pieces, which changes no bit. A ragged program takes as
 * many tokens, or the most that one request may have.
 */
export const ROWS_PER_CALL = 256;

/** A program whose scratch rows would take more than this computes fewer rows at once: images are large. */
export const SCRATCH_ROWS_BYTES = 16 * 2 ** 20;

/** So much of scratch rows stays in a second-level cache from one call to the next. */
export const CACHED_ROWS_BYTES = 2 ** 20;

/**
 * A row table: one the task brings (a port), or one of the worker's own. Ports are the cell's inputs, its
 * outputs, then the tables of every cache port; in a ragged program those of its local caches follow.
 */
export type TableRef =
  | { readonly port: number }
  /** Byte offset within the program's tables. */
  | { readonly own: number };

/** An argument of a kernel: a constant, the number of rows, a row table, or scratch memory. */
export type Argument =
  | number
  | "rows"
  /** So many times the number of rows. */
  | { readonly rowsTimes: number }
  | TableRef
  /** Byte offset within the worker's scratch rows. */
  | { readonly scratch: number };

/** A call of a kernel. */
export interface KernelCall<Arg = Argument> {
  readonly call: "kernel";
  readonly kernel: keyof KernelExports;
  readonly args: readonly Arg[];
  /** The kernel returns -1, or the first row that it cannot compute, of which every row of the task has so many. */
  readonly reports?: number;
}

/** Where a table has its entries for the turn that a call is in: turn i's begin with number i x `step`. */
export interface Entries {
  readonly entries: TableRef;
  readonly step: number;
}

/** The word at so many bytes in the row that a table has for the turn: a header's scale or zero point. */
export interface WordOf {
  readonly word: "f32" | "i32";
  readonly of: TableRef;
  readonly at: number;
}

/** Rows that a plain operator sees as tensors. */
export interface PlainRows {
  readonly type: PlainType;
  readonly dims: readonly number[];
  readonly rows: TableRef;
  /** Elements of a row. */
  readonly count: number;
}

/** An operator in plain TypeScript, run for one row after the other; a row that it refuses cannot be computed. */
export interface PlainCall {
  readonly call: "plain";
  readonly name: string;
  /** What its file calls it. */
  readonly node?: string;
  readonly opset: number;
  readonly attributes: PlainAttributes;
  /** Names by which its graphs read the last inputs. */
  readonly captured?: readonly string[];
  /** In order; constants as they are, undefined for one that is left out. */
  readonly inputs: readonly (PlainRows | PlainTensor | undefined)[];
  readonly outputs: readonly PlainRows[];
}

/** An argument of a call that is made in turns. */
export type TurnArgument = Argument | Entries | WordOf;

export type Call =
  | KernelCall
  | PlainCall
  /** `calls`, one after the other, `turns` times for each row: what takes the rows of one request at a time. */
  | {
    readonly call: "each";
    readonly turns: number;
    readonly calls: readonly KernelCall<TurnArgument>[];
  }
  /** to[i] = from[i] + bytes: a slice of every row. */
  | {
    readonly call: "offset";
    readonly from: TableRef;
    readonly to: TableRef;
    readonly bytes: number;
    /** Entries for each row. */
    readonly count: number;
  }
  /** to[count i + j] = from[i] + j bytes: the parts of every row, or of each of the `of` entries that it has. */
  | {
    readonly call: "spread";
    readonly of: number;
    readonly from: TableRef;
    readonly to: TableRef;
    readonly count: number;
    readonly bytes: number;
  }
  /** Writes the tables' addresses one after the other: an array of operands. */
  | {
    readonly call: "list";
    readonly tables: readonly TableRef[];
    readonly to: TableRef;
  };

/** A table that never changes: row i at `base + i * stride`. */
export interface FixedTable {
  readonly table: number;
  /** Address of row 0: in the worker's scratch rows, or absolute. */
  readonly base: { readonly scratch: number } | number;
  readonly stride: number;
}

/** A cache that lives in scratch rows while a ragged program runs. */
export interface LocalCache {
  readonly keyWidth: number;
  readonly valueWidth: number;
  /** Byte offsets within the worker's scratch rows. */
  readonly keys: number;
  readonly values: number;
}

export interface CellProgram {
  readonly name: string;
  /** Bytes of a row of each input and output. */
  readonly inputBytes: readonly number[];
  readonly outputBytes: readonly number[];
  /** Most positions of each cache port. */
  readonly cachePositions: readonly number[];
  readonly localCaches: readonly LocalCache[];
  /** Whether its rows are so many tokens as the task's last table says. */
  readonly ragged: boolean;
  /** Rows, or tokens, that are computed at once, and that scratch has room for. */
  readonly rowsPerCall: number;
  readonly calls: readonly Call[];
  readonly fixedTables: readonly FixedTable[];
  /** Bytes of the program's own tables. */
  readonly tableBytes: number;
  /** Bytes of scratch rows; programs of one worker share them. */
  readonly scratchBytes: number;
  /** Growth stops when i32 output `port` equals `token` (-1: never), or at the slot's limit. */
  readonly stop?: { readonly port: number; readonly token: number };
}
