/**
 * Executes tasks in linear memory: in a worker thread, or in the engine's own thread (paired runs).
 *
 * A task's tables lie one after the other (taskTables). Rows of requests that are done when the task
 * starts are left out, or sent to scratch where the task is padded. A row that a kernel cannot compute is
 * marked failed in its slot, and its batch-mates are run again without it: steps never overwrite their
 * inputs, and bits do not depend on the batch. For the same reason a whole task may be run again after the
 * worker that had begun it died: it writes what it wrote.
 */
import type { KernelExports } from "../../kernels/module/module.ts";
import {
  type Argument,
  CACHE_TABLES,
  type Call,
  type CellProgram,
  portTables,
  type TableRef,
  TABLES_PER_CACHE,
  TASK_TABLES,
  taskTables,
} from "../lowering/cell_program.ts";
import { isVoid, reportFailure, takeStep } from "./slot_header.ts";
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

type Compiled = (rows: number, ports: number, stride: number) => number;

interface Loaded {
  readonly program: CellProgram;
  readonly calls: readonly Compiled[];
  /** Of a ragged program. */
  readonly tokens: TokenTables | undefined;
}

export class CellRunner {
  readonly #words: Int32Array;
  readonly #addresses: Uint32Array;
  readonly #programs: Loaded[];
  readonly #own: RunnerMemory;

  constructor(
    readonly kernels: KernelExports,
    memory: WebAssembly.Memory,
    programs: readonly CellProgram[],
    own: RunnerMemory,
  ) {
    this.#words = new Int32Array(memory.buffer);
    this.#addresses = new Uint32Array(memory.buffer);
    this.#own = own;
    let tables = own.tables;
    this.#programs = programs.map((program) => {
      for (const { table, base, stride } of program.fixedTables) {
        const first = typeof base === "number"
          ? base
          : own.scratch + base.scratch;
        for (let i = 0; i < program.rowsPerCall; i++) {
          this.#addresses[((tables + table) >>> 2) + i] = first + i * stride;
        }
      }
      const base = tables;
      tables += program.tableBytes;
      return {
        program,
        calls: program.calls.map((call) =>
          this.#compile(call, base, own.scratch)
        ),
        tokens: program.ragged
          ? new TokenTables(program, this.#addresses, own.tokens, own.scratch)
          : undefined,
      };
    });
  }

  run({ program: id, rows, tables, padsDone, paddedLength }: RunnerTask): void {
    const loaded = this.#programs[id]!;
    const { program, tokens } = loaded;
    const live = this.#leaveOut(program, rows, tables, padsDone);
    const stride = 4 * rows;
    if (tokens) {
      this.#runTokens(loaded, tokens, { tables, stride, live, paddedLength });
    } else {
      for (let from = 0; from < live;) {
        const count = Math.min(program.rowsPerCall, live - from);
        this.#runRows(loaded, tables + 4 * from, stride, count);
        from += count;
      }
    }
    if (program.stop) {
      this.#takeSteps(program, program.stop, live, tables, rows);
    }
  }

  /** Rows of whole requests at once, then the padding of all of them. */
  #runTokens(
    loaded: Loaded,
    tokens: TokenTables,
    { tables, stride, live, paddedLength }: {
      tables: number;
      stride: number;
      live: number;
      paddedLength: number;
    },
  ): void {
    const { program, calls } = loaded;
    const lengths = tables +
      (TASK_TABLES.ports + portTables(program)) * stride;
    let real = 0;
    let padding = 0;
    let longest = paddedLength;
    for (let i = 0; i < live; i++) {
      const length = this.#addresses[(lengths >>> 2) + i]!;
      longest = Math.max(longest, length);
      if (this.#addresses[(tables >>> 2) + i] === 0) {
        padding += Math.max(length, paddedLength);
        continue;
      }
      padding += Math.max(0, paddedLength - length);
      if (i > real) this.#swapRows(program, tables, stride >>> 2, i, real);
      real++;
    }
    for (let from = 0; from < real;) {
      const count = tokens.fitting(lengths + 4 * from, real - from);
      this.#runRows(loaded, tables + 4 * from, stride, count);
      from += count;
    }
    while (padding > 0) {
      const count = tokens.pad(padding, longest, this.#own);
      this.#call(calls, count, tokens.address, tokens.stride);
      padding -= count;
    }
  }

  /**
   * Takes rows of requests that are over out of the tables. Looks at each request once: it may be abandoned
   * at any time.
   * @returns rows left at the tables' front
   */
  #leaveOut(
    program: CellProgram,
    rows: number,
    tables: number,
    padsDone: boolean,
  ): number {
    const words = this.#words;
    const headers = (tables >>> 2) + TASK_TABLES.header * rows;
    let kept = 0;
    let alive = 0;
    let voided = 0;
    for (let i = 0; i < rows; i++) {
      const header = this.#addresses[headers + i]!;
      const over = header !== 0 && isVoid(words, header);
      if (over) voided++;
      else if (header !== 0) alive++;
      if (over && !padsDone) continue;
      if (kept !== i) this.#swapRows(program, tables, rows, i, kept);
      if (over) this.#makePadding(program, tables, rows, kept);
      kept++;
    }
    // Padding fills up a batch that serves somebody.
    return voided > 0 && alive === 0 ? 0 : kept;
  }

  #swapRows(
    program: CellProgram,
    tables: number,
    stride: number,
    a: number,
    b: number,
  ): void {
    const count = taskTables(program);
    for (let t = 0; t < count; t++) {
      const table = (tables >>> 2) + t * stride;
      const moved = this.#addresses[table + a]!;
      this.#addresses[table + a] = this.#addresses[table + b]!;
      this.#addresses[table + b] = moved;
    }
  }

  #makePadding(
    program: CellProgram,
    tables: number,
    stride: number,
    row: number,
  ): void {
    const { inputWidths, outputWidths, cachePositions } = program;
    const { sink, cacheSink } = this.#own;
    const at = (table: number) => (tables >>> 2) + table * stride + row;
    this.#addresses[at(TASK_TABLES.header)] = 0;
    let table = TASK_TABLES.ports + inputWidths.length;
    for (let i = 0; i < outputWidths.length; i++) {
      this.#addresses[at(table++)] = sink;
    }
    for (let i = 0; i < cachePositions.length; i++) {
      this.#addresses[at(table + CACHE_TABLES.keys)] = cacheSink;
      this.#addresses[at(table + CACHE_TABLES.values)] = cacheSink;
      table += TABLES_PER_CACHE;
    }
  }

  /** @param stride bytes from one table to the next */
  #runRows(
    loaded: Loaded,
    tables: number,
    stride: number,
    rows: number,
  ): void {
    let left = rows;
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
      this.#markFailed(tables, stride, row, failed.call);
      left--;
      this.#swapRows(loaded.program, tables, stride >>> 2, row, left);
    }
  }

  /** @returns the row that failed (-1: unknown) and the call, or undefined when all went well */
  #tryRows(
    { calls, tokens }: Loaded,
    tables: number,
    stride: number,
    rows: number,
  ): { row: number; call: number } | undefined {
    const ports = tables + TASK_TABLES.ports * stride;
    if (tokens === undefined) return this.#call(calls, rows, ports, stride);
    const count = tokens.expand(ports, stride, rows);
    const failed = this.#call(calls, count, tokens.address, tokens.stride);
    if (failed === undefined || failed.row < 0) return failed;
    return { ...failed, row: tokens.rowOf(failed.row) };
  }

  #call(
    calls: readonly Compiled[],
    rows: number,
    ports: number,
    stride: number,
  ): { row: number; call: number } | undefined {
    for (let i = 0; i < calls.length; i++) {
      try {
        const row = calls[i]!(rows, ports, stride);
        if (row >= 0) return { row, call: i };
      } catch (error) {
        if (!(error instanceof WebAssembly.RuntimeError)) throw error;
        return { row: -1, call: -1 };
      }
    }
    return undefined;
  }

  #markFailed(tables: number, stride: number, row: number, call: number): void {
    const header = this.#addresses[(tables >>> 2) + row]!;
    if (header === 0) return;
    const node = this
      .#addresses[((tables + TASK_TABLES.node * stride) >>> 2) + row]!;
    reportFailure(this.#words, header, { node, call });
  }

  /** Ends requests whose growing step stops here. */
  #takeSteps(
    program: CellProgram,
    stop: { port: number; token: number },
    rows: number,
    tables: number,
    stride: number,
  ): void {
    const words = this.#words;
    const headers = tables >>> 2;
    const outputs = headers +
      (TASK_TABLES.ports + program.inputWidths.length + stop.port) * stride;
    const steps = headers + (taskTables(program) - 1) * stride;
    for (let i = 0; i < rows; i++) {
      const header = this.#addresses[headers + i]!;
      if (header === 0) continue;
      takeStep(words, header, {
        step: this.#addresses[steps + i]!,
        token: words[this.#addresses[outputs + i]! >>> 2]!,
        stopToken: stop.token,
      });
    }
  }

  #compile(call: Call, tables: number, scratch: number): Compiled {
    switch (call.call) {
      case "kernel":
        return this.#compileKernel(call, tables, scratch);
      case "offset": {
        const from = this.#resolve(call.from, tables, scratch);
        const to = this.#resolve(call.to, tables, scratch);
        return (rows, ports, stride) => {
          const source = from(rows, ports, stride) >>> 2;
          const target = to(rows, ports, stride) >>> 2;
          for (let i = 0; i < rows; i++) {
            this.#addresses[target + i] = this.#addresses[source + i]! +
              call.bytes;
          }
          return -1;
        };
      }
      case "list": {
        const sources = call.tables.map((table) =>
          this.#resolve(table, tables, scratch)
        );
        const to = this.#resolve(call.to, tables, scratch);
        return (rows, ports, stride) => {
          const target = to(rows, ports, stride) >>> 2;
          sources.forEach((source, i) =>
            this.#addresses[target + i] = source(rows, ports, stride)
          );
          return -1;
        };
      }
    }
  }

  #compileKernel(
    call: Call & { call: "kernel" },
    tables: number,
    scratch: number,
  ): Compiled {
    const kernel = this.kernels[call.kernel] as (
      ...args: number[]
    ) => number | void;
    const resolvers = call.args.map((argument) =>
      this.#resolve(argument, tables, scratch)
    );
    const args = new Array<number>(resolvers.length);
    return (rows, ports, stride) => {
      for (let i = 0; i < resolvers.length; i++) {
        args[i] = resolvers[i]!(rows, ports, stride);
      }
      const result = kernel(...args);
      return call.reports ? result as number : -1;
    };
  }

  #resolve(
    argument: Argument | TableRef,
    tables: number,
    scratch: number,
  ): Compiled {
    if (typeof argument === "number") return () => argument;
    if (argument === "rows") return (rows) => rows;
    if ("scratch" in argument) return () => scratch + argument.scratch;
    if ("own" in argument) return () => tables + argument.own;
    return (_rows, ports, stride) => ports + argument.port * stride;
  }
}
