import type { CellProgram } from "../lowering/cell_program.ts";
import {
  CACHE_TABLES,
  TABLES_PER_CACHE,
  TASK_TABLES,
  type TaskLayout,
  taskLayout,
} from "../lowering/task_layout.ts";
import { isVoid, reportFailure, takeStep } from "./slot_header.ts";
import type { PaddingRows } from "./token_tables.ts";

/**
 * The rows of a program's tasks, by their tables: which are void, which failed, which were the last step.
 * A worker moves rows within the tables, so that those to be computed stand in front.
 *
 * Wherever there are `tables` and a `stride`, they are the address of a row's entry in the first table, and
 * the bytes from one table to the next.
 */
export class TaskRows {
  readonly #program: CellProgram;
  readonly #layout: TaskLayout;
  readonly #words: Int32Array;
  readonly #addresses: Uint32Array;
  readonly #padding: PaddingRows;

  /** @param memory linear memory, as words that may be read with Atomics and as addresses */
  constructor(
    program: CellProgram,
    memory: { readonly words: Int32Array; readonly addresses: Uint32Array },
    padding: PaddingRows,
  ) {
    this.#program = program;
    this.#layout = taskLayout(program);
    this.#words = memory.words;
    this.#addresses = memory.addresses;
    this.#padding = padding;
  }

  /** Address of the first port's table. */
  ports(tables: number, stride: number): number {
    return tables + TASK_TABLES.ports * stride;
  }

  /** Address of the table of lengths. */
  lengths(tables: number, stride: number): number {
    return tables + this.#layout.last * stride;
  }

  /** Whether row `row` is of nobody. */
  isPadding(tables: number, row: number): boolean {
    return this.#addresses[(tables >>> 2) + row] === 0;
  }

  swap(tables: number, stride: number, a: number, b: number): void {
    const { count } = this.#layout;
    for (let t = 0; t < count; t++) {
      const table = (tables + t * stride) >>> 2;
      const moved = this.#addresses[table + a];
      this.#addresses[table + a] = this.#addresses[table + b];
      this.#addresses[table + b] = moved;
    }
  }

  /**
   * Takes rows of requests that are over out of the tables. Looks at each request once: it may be abandoned
   * at any time.
   * @param padsDone whether they become padding instead
   * @returns rows left at the tables' front
   */
  leaveOut(tables: number, rows: number, padsDone: boolean): number {
    const stride = 4 * rows;
    const headers = (tables + TASK_TABLES.header * stride) >>> 2;
    let kept = 0;
    let alive = 0;
    let voided = 0;
    for (let i = 0; i < rows; i++) {
      const header = this.#addresses[headers + i];
      const over = header !== 0 && isVoid(this.#words, header);
      if (over) voided++;
      else if (header !== 0) alive++;
      if (over && !padsDone) continue;
      if (kept !== i) this.swap(tables, stride, i, kept);
      if (over) this.#makePadding(tables, stride, kept);
      kept++;
    }
    // Padding fills up a batch that serves somebody.
    return voided > 0 && alive === 0 ? 0 : kept;
  }

  #makePadding(tables: number, stride: number, row: number): void {
    const { outputBytes, cachePositions } = this.#program;
    const { firstOutput, firstCache } = this.#layout.ports;
    const { sink, cacheSink } = this.#padding;
    const ports = this.ports(tables, stride);
    const at = (port: number) => ((ports + port * stride) >>> 2) + row;
    this.#addresses[(tables >>> 2) + row] = 0;
    for (let i = 0; i < outputBytes.length; i++) {
      this.#addresses[at(firstOutput + i)] = sink;
    }
    for (let i = 0; i < cachePositions.length; i++) {
      const table = firstCache + TABLES_PER_CACHE * i;
      this.#addresses[at(table + CACHE_TABLES.keys)] = cacheSink;
      this.#addresses[at(table + CACHE_TABLES.values)] = cacheSink;
    }
  }

  /**
   * Row `row` could not be computed by call number `call`, -1: by one that trapped.
   * @param reason what an operator in plain TypeScript says
   */
  markFailed(
    tables: number,
    stride: number,
    row: number,
    { call, reason }: { call: number; reason?: string | undefined },
  ): void {
    const header = this.#addresses[(tables >>> 2) + row];
    if (header === 0) return;
    const nodes = (tables + TASK_TABLES.node * stride) >>> 2;
    const node = this.#addresses[nodes + row];
    reportFailure(this.#words, header, { node, call }, reason);
  }

  /** Ends requests whose growing step, one of the first `live` rows, stops here. */
  takeSteps(tables: number, stride: number, live: number): void {
    const { stop } = this.#program;
    if (stop === undefined) return;
    const { ports: { firstOutput }, last } = this.#layout;
    const headers = tables >>> 2;
    const outputs =
      (this.ports(tables, stride) + (firstOutput + stop.port) * stride) >>> 2;
    const steps = (tables + last * stride) >>> 2;
    for (let i = 0; i < live; i++) {
      const header = this.#addresses[headers + i];
      if (header === 0) continue;
      takeStep(this.#words, header, {
        step: this.#addresses[steps + i],
        token: this.#words[this.#addresses[outputs + i] >>> 2],
        stopToken: stop.token,
      });
    }
  }
}
