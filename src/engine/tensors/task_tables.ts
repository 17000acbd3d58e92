import { cacheBytes, type CacheUse } from "../../graph/cache.ts";
import type { Cell } from "../../graph/cell.ts";
import type { Source } from "../../graph/cell_graph.ts";
import { rowBytes } from "../../graph/row_layout.ts";
import {
  TABLES_PER_CACHE,
  TASK_TABLES,
  type TaskLayout,
  taskLayout,
  taskTableBytes,
} from "../lowering/task_layout.ts";
import type { MemoryPlan } from "./memory_plan.ts";
import type { SlotTask } from "./slot.ts";

/** One row's entries in the tables of a cache. */
type CacheEntries = Pick<CacheUse, "position" | "seen"> & {
  readonly keys: number;
  readonly values: number;
};

/** Writes the tables of tasks, as task_layout.ts says. */
export class TaskTables {
  readonly #layouts: ReadonlyMap<Cell, TaskLayout>;
  readonly #workers: MemoryPlan["workers"];
  readonly #zeros: number;
  readonly #addresses: Uint32Array;

  /** @param addresses linear memory */
  constructor(
    { cells, programs, workers, zeros }: MemoryPlan,
    addresses: Uint32Array,
  ) {
    this.#layouts = new Map(
      cells.map((cell, id) => [cell, taskLayout(programs[id])]),
    );
    this.#workers = workers;
    this.#zeros = zeros;
    this.#addresses = addresses;
  }

  /** Bytes of a task's tables. */
  bytes({ cell, nodes, padding }: SlotTask): number {
    return taskTableBytes(this.#layoutOf(cell), nodes.length + padding);
  }

  #layoutOf(cell: Cell): TaskLayout {
    return this.#layouts.get(cell) as TaskLayout;
  }

  /** Writes the entries of all rows of a task. */
  write(task: SlotTask, address: number): void {
    const { cell, nodes, padding } = task;
    const addresses = this.#addresses;
    const rows = nodes.length + padding;
    const headers = (address >>> 2) + TASK_TABLES.header * rows;
    const numbers = (address >>> 2) + TASK_TABLES.node * rows;
    const ports = (address >>> 2) + TASK_TABLES.ports * rows;
    const last = (address >>> 2) + this.#layoutOf(cell).last * rows;
    const ragged = cell.tokensMax !== undefined;
    const grows = cell.stop !== undefined;
    for (let i = 0; i < nodes.length; i++) {
      const node = nodes[i];
      const slot = node.graph.owner.slot.address;
      addresses[headers + i] = slot;
      addresses[numbers + i] = node.index;
      let table = ports + i;
      const { inputs, offsets, caches } = node;
      for (let p = 0; p < inputs.length; p++, table += rows) {
        addresses[table] = this.#sourceAddress(inputs[p], slot);
      }
      for (let p = 0; p < offsets.length; p++, table += rows) {
        addresses[table] = slot + offsets[p];
      }
      for (let c = 0; c < caches.length; c++) {
        const { cache, position, seen } = caches[c];
        const keys = slot + cache.offset;
        const values = keys + cacheBytes(cache, cache.positions).keys;
        table = this.#writeCache(table, rows, { keys, values, position, seen });
      }
      if (ragged) addresses[last + i] = node.length;
      else if (grows) addresses[last + i] = node.step + 1;
    }
    if (padding > 0) this.#writePadding(task, address);
  }

  /** @returns where the row's next table has its entry */
  #writeCache(
    table: number,
    rows: number,
    { keys, values, position, seen }: CacheEntries,
  ): number {
    this.#addresses[table] = keys;
    this.#addresses[table + rows] = values;
    this.#addresses[table + 2 * rows] = position;
    this.#addresses[table + 3 * rows] = seen;
    return table + TABLES_PER_CACHE * rows;
  }

  /** Rows of nobody: as long, and looking back as far, as the longest of the task. */
  #writePadding(task: SlotTask, address: number): void {
    const { cell, nodes, padding } = task;
    const addresses = this.#addresses;
    const rows = nodes.length + padding;
    const headers = (address >>> 2) + TASK_TABLES.header * rows;
    const ports = (address >>> 2) + TASK_TABLES.ports * rows;
    const last = (address >>> 2) + this.#layoutOf(cell).last * rows;
    const { sink, cacheSink } = this.#workers[task.worker].runner;
    const length = nodes.reduce((most, node) => Math.max(most, node.length), 1);
    const uses = cell.caches.map((_, c) =>
      nodes.reduce(
        (most: Pick<CacheUse, "position" | "seen">, { caches }) =>
          caches[c].seen > most.seen ? caches[c] : most,
        { position: 0, seen: 1 },
      )
    );
    for (let i = nodes.length; i < rows; i++) {
      addresses[headers + i] = 0;
      let table = ports + i;
      for (let p = 0; p < cell.inputs.length; p++, table += rows) {
        addresses[table] = this.#zeros;
      }
      for (let p = 0; p < cell.outputs.length; p++, table += rows) {
        addresses[table] = sink;
      }
      for (const { position, seen } of uses) {
        const at = { keys: cacheSink, values: cacheSink, position, seen };
        table = this.#writeCache(table, rows, at);
      }
      if (cell.tokensMax !== undefined) addresses[last + i] = length;
    }
  }

  #sourceAddress(source: Source, slot: number): number {
    switch (source.kind) {
      case "node": {
        const { node, port, token = 0 } = source;
        return slot + node.offsets[port] +
          token * rowBytes(node.cell.outputs[port]);
      }
      case "input":
        return source.index === 0
          ? slot + source.data.offset
          : slot + source.data.offset +
            source.index * source.width * source.data.data.BYTES_PER_ELEMENT;
      case "zeros":
        return this.#zeros;
    }
  }
}
