/**
 * Executes tasks in linear memory: in a worker thread, or in the engine's own thread (paired runs).
 *
 * A task's tables lie one after the other, each `rows` u32: slot headers (0 for padding), node
 * numbers, then one table per input and output port. Rows of requests that are done when the task
 * starts are left out, or sent to scratch where the task is padded. A row that a kernel cannot compute
 * is marked failed in its slot, and its batch-mates are run again without it: steps never overwrite
 * their inputs, and bits do not depend on the batch.
 */
import { SLOT } from "../graph/slot_plan.ts";
import type { KernelExports } from "../kernels/module.ts";
import {
  type Argument,
  type Call,
  type CellProgram,
  ROWS_PER_CALL,
  type TableRef,
} from "./cell_program.ts";

/** Tables of a task before those of the ports. */
export const TASK_TABLES = { header: 0, node: 1, ports: 2 } as const;

/** Memory that one runner has to itself. */
export interface RunnerMemory {
  /** Scratch rows for what lies between operators. */
  readonly scratch: number;
  /** The programs' own tables, one after the other. */
  readonly tables: number;
  /** A row that padding writes to; as wide as the widest output. */
  readonly sink: number;
}

type Compiled = (rows: number, ports: number, stride: number) => number;

export class CellRunner {
  readonly #words: Int32Array;
  readonly #addresses: Uint32Array;
  readonly #programs: { program: CellProgram; calls: Compiled[] }[];
  readonly #sink: number;

  constructor(
    readonly kernels: KernelExports,
    memory: WebAssembly.Memory,
    programs: readonly CellProgram[],
    own: RunnerMemory,
  ) {
    this.#words = new Int32Array(memory.buffer);
    this.#addresses = new Uint32Array(memory.buffer);
    this.#sink = own.sink;
    let tables = own.tables;
    this.#programs = programs.map((program) => {
      for (const { table, base, stride } of program.fixedTables) {
        const first = typeof base === "number"
          ? base
          : own.scratch + base.scratch;
        for (let i = 0; i < ROWS_PER_CALL; i++) {
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
      };
    });
  }

  /**
   * @param rows rows of every table of the task, padding included
   * @param tables address of the task's tables
   * @param padsDone what becomes of rows whose request is done: computed into scratch, or left out
   */
  run(
    programId: number,
    rows: number,
    tables: number,
    padsDone: boolean,
  ): void {
    const { program, calls } = this.#programs[programId]!;
    const live = this.#voidDone(program, rows, tables, padsDone);
    for (let from = 0; from < live;) {
      const count = Math.min(ROWS_PER_CALL, live - from);
      this.#runRows(program, calls, tables + 4 * from, 4 * rows, count);
      from += count;
    }
    if (program.stop) {
      this.#takeSteps(program, program.stop, live, tables, rows);
    }
  }

  /** Takes rows of requests that are done out of the tables. @returns rows left at their front */
  #voidDone(
    program: CellProgram,
    rows: number,
    tables: number,
    padsDone: boolean,
  ): number {
    const words = this.#words;
    const headers = (tables >>> 2) + TASK_TABLES.header * rows;
    let voided = 0;
    let alive = 0;
    for (let i = 0; i < rows; i++) {
      const header = this.#addresses[headers + i]!;
      if (header === 0) continue;
      if (words[(header >>> 2) + SLOT.done] !== 0) voided++;
      else alive++;
    }
    if (voided === 0) return rows;
    if (alive === 0) return 0;
    let kept = 0;
    for (let i = 0; i < rows; i++) {
      const header = this.#addresses[headers + i]!;
      const isDone = header !== 0 && words[(header >>> 2) + SLOT.done] !== 0;
      if (isDone && !padsDone) continue;
      if (kept !== i) this.#swapRows(program, tables, rows, i, kept);
      if (isDone) this.#makePadding(program, tables, rows, kept);
      kept++;
    }
    return kept;
  }

  #swapRows(
    program: CellProgram,
    tables: number,
    stride: number,
    a: number,
    b: number,
  ): void {
    const count = TASK_TABLES.ports + program.inputs +
      program.outputWidths.length;
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
    this.#addresses[(tables >>> 2) + TASK_TABLES.header * stride + row] = 0;
    program.outputWidths.forEach((_, port) => {
      const table = (tables >>> 2) +
        (TASK_TABLES.ports + program.inputs + port) * stride;
      this.#addresses[table + row] = this.#sink;
    });
  }

  /** @param stride bytes from one table to the next */
  #runRows(
    program: CellProgram,
    calls: readonly Compiled[],
    tables: number,
    stride: number,
    rows: number,
  ): void {
    let left = rows;
    while (left > 0) {
      const failed = this.#tryRows(calls, tables, stride, left);
      if (failed === undefined) return;
      if (failed.row < 0 && left > 1) {
        // It trapped, and nobody knows on which row: each by itself.
        for (let i = 0; i < left; i++) {
          this.#runRows(program, calls, tables + 4 * i, stride, 1);
        }
        return;
      }
      const row = Math.max(0, failed.row);
      this.#markFailed(tables, stride, row, failed.call);
      left--;
      this.#swapRows(program, tables, stride >>> 2, row, left);
    }
  }

  /** @returns the row that failed (-1: unknown) and the call, or undefined when all went well */
  #tryRows(
    calls: readonly Compiled[],
    tables: number,
    stride: number,
    rows: number,
  ): { row: number; call: number } | undefined {
    const ports = tables + TASK_TABLES.ports * stride;
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
    const slot = header >>> 2;
    this.#words[slot + SLOT.failedCall] = call;
    this.#words[slot + SLOT.failed] = node + 1;
    this.#words[slot + SLOT.done] = 1;
  }

  /** Counts the growing step of every row, and ends requests that stop here. */
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
      (TASK_TABLES.ports + program.inputs + stop.port) * stride;
    for (let i = 0; i < rows; i++) {
      const header = this.#addresses[headers + i]!;
      if (header === 0) continue;
      const slot = header >>> 2;
      const limit = words[slot + SLOT.stepsLimit]!;
      if (limit === 0 || words[slot + SLOT.done] !== 0) continue;
      const steps = ++words[slot + SLOT.steps]!;
      const token = words[this.#addresses[outputs + i]! >>> 2]!;
      if (token === stop.token || steps >= limit) {
        words[slot + SLOT.done] = 1;
      }
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
