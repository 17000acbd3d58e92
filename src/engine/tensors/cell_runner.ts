/**
 * Executes tasks in linear memory: in a worker thread, or in the engine's own thread (paired runs).
 *
 * A task's tables lie one after the other (task_layout.ts). Rows of requests that are done when the task
 * starts are left out, or sent to scratch where the task is padded. A row that a kernel cannot compute is
 * marked failed in its slot, and its batch-mates are run again without it: steps never overwrite their
 * inputs, and bits do not depend on the batch. For the same reason a whole task may be run again after the
 * worker that had begun it died: it writes what it wrote.
 */
import type { RunPlain } from "../../graph/operator.ts";
import type { KernelExports } from "../../kernels/module/module.ts";
import type { CellProgram } from "../lowering/cell_program.ts";
import type { Compiled } from "./compiled.ts";
import {
  type CallMemory,
  compileCall,
  writeFixedTables,
} from "./compiled_calls.ts";
import type { Refusal } from "./plain_calls.ts";
import { TaskRows } from "./task_rows.ts";
import { type PaddingRows, TokenTables } from "./token_tables.ts";

/** Memory that one runner has to itself. */
export interface RunnerMemory extends PaddingRows {
  /** Scratch rows for what lies between operators. */
  readonly scratch: number;
  /** The programs' own tables, one after the other. */
  readonly tables: number;
  /** Tables of tokens for ragged programs (tokenTableBytes). */
  readonly tokens: number;
  /** A row that padding reads, as wide as the widest input; the same for all. */
  readonly zeros: number;
  /** A row that padding writes to; as wide as the widest output. */
  readonly sink: number;
  /** A cache that padding appends to and reads; as large as the largest. */
  readonly cacheSink: number;
}

/** What is executed. */
export interface RunnerTask {
  readonly program: number;
  /** Rows of every table of the task, padding included. */
  readonly rows: number;
  /** Address of the task's tables. */
  readonly tables: number;
  /** What becomes of rows whose request is done: computed into scratch, or left out. */
  readonly padsDone: boolean;
  /** Tokens that rows of a ragged program are padded to; 0: none. */
  readonly paddedLength: number;
}

/** A program ready to run. */
interface Loaded {
  readonly program: CellProgram;
  readonly calls: readonly Compiled[];
  readonly rows: TaskRows;
  /** Of a ragged program. */
  readonly tokens: TokenTables | undefined;
}

/** Rows at the front of tables: where the tables are, and bytes from one to the next. */
interface LiveRows {
  readonly tables: number;
  readonly stride: number;
  readonly live: number;
}

/** A row that could not be computed, -1: nobody knows which; and the call that could not, -1: it trapped. */
interface FailedCall {
  readonly row: number;
  readonly call: number;
}

export class CellRunner {
  readonly #addresses: Uint32Array;
  readonly #programs: readonly Loaded[];
  readonly #padding: PaddingRows;
  readonly #refusal: Refusal = { reason: "" };

  /** @param plain runs operators in plain TypeScript; needed where programs have any */
  constructor(
    kernels: KernelExports,
    memory: WebAssembly.Memory,
    programs: readonly CellProgram[],
    own: RunnerMemory,
    plain?: RunPlain,
  ) {
    const words = new Int32Array(memory.buffer);
    const addresses = new Uint32Array(memory.buffer);
    this.#addresses = addresses;
    this.#padding = own;
    let { tables } = own;
    this.#programs = programs.map((program): Loaded => {
      const memory: CallMemory = {
        addresses,
        tables,
        scratch: own.scratch,
        refusal: this.#refusal,
        ...(plain && { plain }),
      };
      tables += program.tableBytes;
      writeFixedTables(program, memory);
      return {
        program,
        calls: program.calls.map((call) => compileCall(call, kernels, memory)),
        rows: new TaskRows(program, { words, addresses }, own),
        tokens: program.ragged
          ? new TokenTables(program, addresses, own.tokens, own.scratch)
          : undefined,
      };
    });
  }

  /** @returns whether anything was computed: a task whose requests are all done is not */
  run(
    { program: id, rows, tables, padsDone, paddedLength }: RunnerTask,
  ): boolean {
    const loaded = this.#programs[id];
    const stride = 4 * rows;
    const live = loaded.rows.leaveOut(tables, rows, padsDone);
    const { tokens } = loaded;
    if (tokens) {
      this.#runTokens(loaded, tokens, { tables, stride, live }, paddedLength);
    } else this.#runPieces(loaded, { tables, stride, live });
    loaded.rows.takeSteps(tables, stride, live);
    return live > 0;
  }

  #runPieces(loaded: Loaded, { tables, stride, live }: LiveRows): void {
    const { rowsPerCall } = loaded.program;
    for (let from = 0; from < live;) {
      const count = Math.min(rowsPerCall, live - from);
      this.#runRows(loaded, tables + 4 * from, stride, count);
      from += count;
    }
  }

  /** Rows of whole requests at once, then the padding of all of them. */
  #runTokens(
    loaded: Loaded,
    tokens: TokenTables,
    rows: LiveRows,
    paddedLength: number,
  ): void {
    const { tables, stride } = rows;
    const lengths = loaded.rows.lengths(tables, stride);
    const { real, padding, longest } = this.#tellPadding(
      loaded.rows,
      rows,
      paddedLength,
    );
    for (let from = 0; from < real;) {
      const count = tokens.fitting(lengths + 4 * from, real - from);
      this.#runRows(loaded, tables + 4 * from, stride, count);
      from += count;
    }
    for (let left = padding; left > 0;) {
      const count = tokens.pad(left, longest, this.#padding);
      callAll(loaded.calls, count, tokens.address, tokens.stride);
      left -= count;
    }
  }

  /**
   * Moves rows of somebody to the front.
   * @returns how many these are, tokens of padding of all rows, and the length of the longest row
   */
  #tellPadding(
    rows: TaskRows,
    { tables, stride, live }: LiveRows,
    paddedLength: number,
  ): { real: number; padding: number; longest: number } {
    const lengths = rows.lengths(tables, stride) >>> 2;
    let real = 0;
    let padding = 0;
    let longest = paddedLength;
    for (let i = 0; i < live; i++) {
      const length = this.#addresses[lengths + i];
      longest = Math.max(longest, length);
      if (rows.isPadding(tables, i)) {
        padding += Math.max(length, paddedLength);
        continue;
      }
      padding += Math.max(0, paddedLength - length);
      if (i > real) rows.swap(tables, stride, i, real);
      real++;
    }
    return { real, padding, longest };
  }

  /** Runs rows until all are computed but those that cannot be, which are marked. */
  #runRows(
    loaded: Loaded,
    tables: number,
    stride: number,
    count: number,
  ): void {
    const { rows } = loaded;
    let left = count;
    while (left > 0) {
      const failed = this.#tryRows(loaded, tables, stride, left);
      if (failed === undefined) return;
      if (failed.row < 0 && left > 1) {
        // It trapped, and nobody knows on which row: each by itself.
        for (let i = 0; i < left; i++) {
          this.#runRows(loaded, tables + 4 * i, stride, 1);
        }
        return;
      }
      const row = Math.max(0, failed.row);
      const isPlain = loaded.program.calls[failed.call]?.call === "plain";
      rows.markFailed(tables, stride, row, {
        call: failed.call,
        ...(isPlain && { reason: this.#refusal.reason }),
      });
      left--;
      rows.swap(tables, stride, row, left);
    }
  }

  /** @returns what failed; undefined when all went well */
  #tryRows(
    { calls, rows, tokens }: Loaded,
    tables: number,
    stride: number,
    count: number,
  ): FailedCall | undefined {
    const ports = rows.ports(tables, stride);
    if (tokens === undefined) return callAll(calls, count, ports, stride);
    const all = tokens.expand(ports, stride, count);
    const failed = callAll(calls, all, tokens.address, tokens.stride);
    if (failed === undefined || failed.row < 0) return failed;
    return { ...failed, row: tokens.rowOf(failed.row) };
  }
}

/** Makes a program's calls, one after the other, until one fails. */
function callAll(
  calls: readonly Compiled[],
  rows: number,
  ports: number,
  stride: number,
): FailedCall | undefined {
  for (let i = 0; i < calls.length; i++) {
    try {
      const row = calls[i](rows, ports, stride);
      if (row >= 0) return { row, call: i };
    } catch (error) {
      if (!(error instanceof WebAssembly.RuntimeError)) throw error;
      return { row: -1, call: -1 };
    }
  }
  return undefined;
}
