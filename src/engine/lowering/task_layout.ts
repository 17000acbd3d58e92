/**
 * How the row tables of a task lie: the engine writes them into the worker's arena, the worker reads them.
 *
 *     | headers | nodes | each input | each output | each cache: keys, values, position, seen | last |
 *
 * Every table has as many u32 as the task has rows, padding included. `headers` are addresses of slots, 0
 * for rows of nobody; `nodes` numbers of nodes within their graphs; those of inputs and outputs addresses
 * of rows. The `last` is there where the cell is ragged (tokens of each row) or has a stop rule (number of
 * the growing step, from 1 on). A program counts its ports from the first input's table on; token tables
 * of a ragged program have those alone, and behind them those of its local caches.
 */
import { BYTES_PER_ELEMENT } from "../../tensor/tensor.ts";
import type { CellProgram } from "./cell_program.ts";

/** Tables of a task before those of the ports. */
export const TASK_TABLES = { header: 0, node: 1, ports: 2 } as const;

/**
 * Tables of a cache: addresses of its keys and of its values, the position that the row's token takes, and
 * the positions that it sees.
 */
export const CACHE_TABLES = {
  keys: 0,
  values: 1,
  position: 2,
  seen: 3,
} as const;
export const TABLES_PER_CACHE = 4;

/** Numbers of port tables. */
export interface PortLayout {
  /** That of the first output; inputs come before. */
  readonly firstOutput: number;
  /** That of the first cache's keys. */
  readonly firstCache: number;
  /** Of all ports: where local caches begin. */
  readonly count: number;
}

/** Numbers of a task's tables. */
export interface TaskLayout {
  readonly ports: PortLayout;
  /** That of lengths or steps; as many as there are where there is none. */
  readonly last: number;
  readonly count: number;
}

export function portLayout(
  { inputs, outputs, caches }: {
    inputs: number;
    outputs: number;
    caches: number;
  },
): PortLayout {
  const firstCache = inputs + outputs;
  return {
    firstOutput: inputs,
    firstCache,
    count: firstCache + TABLES_PER_CACHE * caches,
  };
}

/** Number of a cache's table among the port tables; local caches follow those of the ports. */
export function cacheTable(
  { firstCache }: PortLayout,
  cache: number,
  table: keyof typeof CACHE_TABLES,
): number {
  return firstCache + TABLES_PER_CACHE * cache + CACHE_TABLES[table];
}

export function taskLayout(
  { inputBytes, outputBytes, cachePositions, ragged, stop }: Pick<
    CellProgram,
    "inputBytes" | "outputBytes" | "cachePositions" | "ragged" | "stop"
  >,
): TaskLayout {
  const ports = portLayout({
    inputs: inputBytes.length,
    outputs: outputBytes.length,
    caches: cachePositions.length,
  });
  const last = TASK_TABLES.ports + ports.count;
  const count = ragged || stop !== undefined ? last + 1 : last;
  return { ports, last, count };
}

/** Bytes of the tables of a task of so many rows. */
export function taskTableBytes({ count }: TaskLayout, rows: number): number {
  return count * rows * BYTES_PER_ELEMENT;
}

/** Bytes of a ragged program's tables of tokens. */
export function tokenTableBytes(program: CellProgram): number {
  const { ports } = taskLayout(program);
  const tables = ports.count + TABLES_PER_CACHE * program.localCaches.length;
  return tables * program.rowsPerCall * BYTES_PER_ELEMENT;
}
