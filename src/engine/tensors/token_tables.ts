/**
 * Tables of tokens for ragged programs, made from a task's tables of rows: a row's tokens lie one after the
 * other. Kept in memory of the runner, one set per runner, refilled for every piece of a task.
 */
import { wholePanels } from "../../graph/cache.ts";
import { BYTES_PER_ELEMENT } from "../../tensor/tensor.ts";
import type { CellProgram } from "../lowering/cell_program.ts";
import {
  CACHE_TABLES,
  type PortLayout,
  TABLES_PER_CACHE,
  taskLayout,
} from "../lowering/task_layout.ts";

/** Where padding tokens read and write. */
export interface PaddingRows {
  readonly zeros: number;
  readonly sink: number;
  readonly cacheSink: number;
}

export class TokenTables {
  /** Bytes from one table to the next. */
  readonly stride: number;
  readonly #ports: PortLayout;
  /** Row of each token. */
  readonly #rowOf: Int32Array;

  /**
   * @param address of the tables
   * @param scratch address of the runner's scratch rows
   */
  constructor(
    readonly program: CellProgram,
    readonly words: Uint32Array,
    readonly address: number,
    readonly scratch: number,
  ) {
    this.stride = program.rowsPerCall * BYTES_PER_ELEMENT;
    this.#ports = taskLayout(program).ports;
    this.#rowOf = new Int32Array(program.rowsPerCall);
  }

  rowOf(token: number): number {
    return this.#rowOf[token];
  }

  /**
   * How many rows, from the first, are computed at once; their local caches must have room, too.
   * @param lengths address of the rows' lengths
   */
  fitting(lengths: number, rows: number): number {
    let positions = 0;
    for (let i = 0; i < rows; i++) {
      positions += wholePanels(this.words[(lengths >>> 2) + i]);
      if (positions > this.program.rowsPerCall) return i;
    }
    return rows;
  }

  /**
   * Tokens of rows.
   * @param ports address of the rows' first port table
   * @param stride bytes from one table of rows to the next
   * @returns the number of tokens
   */
  expand(ports: number, stride: number, rows: number): number {
    const { program, words } = this;
    const { inputBytes, outputBytes, cachePositions } = program;
    const { firstOutput, firstCache, count } = this.#ports;
    // They come behind the ports.
    const lengths = (ports + count * stride) >>> 2;
    let token = 0;
    let positions = 0;
    for (let row = 0; row < rows; row++) {
      const length = words[lengths + row];
      const entry = (table: number) =>
        words[((ports + table * stride) >>> 2) + row];
      this.#rowOf.fill(row, token, token + length);
      for (let i = 0; i < firstOutput; i++) {
        this.#step(i, token, length, entry(i), inputBytes[i]);
      }
      for (let i = 0; i < outputBytes.length; i++) {
        const table = firstOutput + i;
        this.#step(table, token, length, entry(table), outputBytes[i]);
      }
      for (let i = 0; i < cachePositions.length; i++) {
        const table = firstCache + TABLES_PER_CACHE * i;
        this.#cache(table, token, length, {
          keys: entry(table + CACHE_TABLES.keys),
          values: entry(table + CACHE_TABLES.values),
          position: entry(table + CACHE_TABLES.position),
          seen: entry(table + CACHE_TABLES.seen),
        });
      }
      this.#locals(token, length, positions);
      token += length;
      positions += wholePanels(length);
    }
    return token;
  }

  /**
   * Tokens of nobody, to be computed and timed only: as of rows of `length` tokens.
   * @returns the number of tokens, `most` or fewer
   */
  pad(most: number, length: number, to: PaddingRows): number {
    const { program } = this;
    const { outputBytes, cachePositions, rowsPerCall } = program;
    const { firstOutput, firstCache } = this.#ports;
    const tokens = Math.min(most, rowsPerCall);
    const rowLength = Math.min(length, rowsPerCall, ...cachePositions);
    for (let i = 0; i < firstOutput; i++) this.#step(i, 0, tokens, to.zeros, 0);
    for (let i = 0; i < outputBytes.length; i++) {
      this.#step(firstOutput + i, 0, tokens, to.sink, 0);
    }
    for (let token = 0; token < tokens; token += rowLength) {
      const count = Math.min(rowLength, tokens - token);
      const row = { keys: to.cacheSink, values: to.cacheSink, position: 0 };
      for (let i = 0; i < cachePositions.length; i++) {
        const table = firstCache + TABLES_PER_CACHE * i;
        this.#cache(table, token, count, { ...row, seen: rowLength });
      }
      this.#locals(token, count, 0);
    }
    return tokens;
  }

  /** Entries of a table: addresses of rows of so many bytes one after the other. */
  #step(
    table: number,
    token: number,
    count: number,
    address: number,
    bytes: number,
  ): void {
    const at = ((this.address + table * this.stride) >>> 2) + token;
    for (let t = 0; t < count; t++) this.words[at + t] = address + t * bytes;
  }

  #cache(
    table: number,
    token: number,
    count: number,
    row: Record<keyof typeof CACHE_TABLES, number>,
  ): void {
    const at = (which: keyof typeof CACHE_TABLES) =>
      ((this.address + (table + CACHE_TABLES[which]) * this.stride) >>> 2) +
      token;
    this.words.fill(row.keys, at("keys"), at("keys") + count);
    this.words.fill(row.values, at("values"), at("values") + count);
    this.words.fill(row.seen, at("seen"), at("seen") + count);
    const position = at("position");
    for (let t = 0; t < count; t++) this.words[position + t] = row.position + t;
  }

  /** @param positions those of the rows before, in whole panels */
  #locals(token: number, length: number, positions: number): void {
    const { localCaches } = this.program;
    for (let i = 0; i < localCaches.length; i++) {
      const { keys, values, keyWidth, valueWidth } = localCaches[i];
      const table = this.#ports.count + TABLES_PER_CACHE * i;
      this.#cache(table, token, length, {
        keys: this.scratch + keys + positions * keyWidth * BYTES_PER_ELEMENT,
        values: this.scratch + values +
          positions * valueWidth * BYTES_PER_ELEMENT,
        position: 0,
        seen: length,
      });
    }
  }
}
