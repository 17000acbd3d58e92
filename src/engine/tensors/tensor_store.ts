/**
 * Everything that real runs keep in linear memory, and who owns it:
 *
 *     | kernels' constants | weights | zeros | per worker: sinks, scratch, tables, ring, tasks | slots |
 *
 * The host plans all of it once. A request's slot is written at its arrival and read at its departure.
 */
import { assert } from "../../base/assert.ts";
import { cacheBytes, type CacheUse } from "../../graph/cache.ts";
import type { Cell } from "../../graph/cell.ts";
import type { CellNode, Source } from "../../graph/cell_graph.ts";
import type { Model } from "../../graph/model.ts";
import type { Result } from "../../graph/result.ts";
import { alignUp, SlotPlan } from "../../graph/slot_plan.ts";
import { createMemory, PAGE_BYTES } from "../../kernels/module/memory.ts";
import {
  instantiateKernels,
  type KernelExports,
} from "../../kernels/module/module.ts";
import type { Task } from "../../policy/launch.ts";
import { BYTES_PER_ELEMENT, type TensorData } from "../../tensor/tensor.ts";
import type { ActiveRequest } from "../core/active_request.ts";
import {
  type CellProgram,
  TABLES_PER_CACHE,
  TASK_TABLES,
  taskTables,
} from "../lowering/cell_program.ts";
import type { RunnerMemory } from "./cell_runner.ts";
import { CellError } from "../core/errors.ts";
import type { Settlement } from "../core/executor.ts";
import { lowerCell } from "../lowering/lower_cell.ts";
import {
  abandonSlot,
  type Failure,
  failureOf,
  isVoid,
  openHeader,
  stepOutcome,
} from "./slot_header.ts";
import { resultOf } from "./result_of.ts";
import { SlotPool } from "./slot_pool.ts";
import { tokenTableBytes } from "./token_tables.ts";

/** WebAssembly's 32-bit address space. */
const PAGES_MAX = 65_536;

export interface TensorStoreOptions {
  models: readonly Model[];
  /** Bytes of a kernel build that imports its memory. */
  kernels: BufferSource | WebAssembly.Module;
  /** Whether the memory is shared between threads; must fit the build. */
  shared: boolean;
  workers: number;
  /** Room for the requests in flight; default 64 MiB. */
  slotBytes?: number;
  /** Bytes of memory at least; default 0. */
  bytesMin?: number;
  /** Room per worker for rings and the tables of queued tasks; default 0. */
  workerBytes?: number;
}

/** A request's piece of the slots' memory. */
export interface Slot {
  readonly address: number;
  readonly bytes: number;
  readonly plan: SlotPlan;
}

/** A request that has such a slot. */
export type SlotRequest = ActiveRequest<Slot>;
/** A task whose rows lie in such slots. */
export type SlotTask = Task<SlotRequest>;

export class TensorStore {
  readonly memory: WebAssembly.Memory;
  /** An instance of the kernels for the engine's own thread. */
  readonly kernels: KernelExports;
  readonly programs: readonly CellProgram[];
  readonly words: Int32Array;
  readonly doubles: Float64Array;
  readonly #addresses: Uint32Array;
  readonly #floats: Float32Array;
  readonly #programIds = new Map<Cell, number>();
  readonly #zeros: number;
  readonly #workers: { runner: RunnerMemory; extra: number }[];
  readonly #pool: SlotPool;

  /** @throws RangeError when weights and slots do not fit the 4 GiB that WebAssembly addresses */
  constructor(options: TensorStoreOptions) {
    const { models, workers, slotBytes = 64 * 2 ** 20, workerBytes = 0 } =
      options;
    const cells = [...new Set(models.flatMap((model) => model.cells))];
    if (cells.length === 0) {
      throw new RangeError("An engine needs a model that has a cell, got none");
    }
    const constants: { data: TensorData; address: number }[] = [];
    const placed = new Map<TensorData, number>();

    // Where the kernels' own data ends is known only once they are instantiated; they export it, and
    // a first instance over a small memory tells.
    let top = staticEnd(options.kernels, options.shared);
    const take = (bytes: number): number => {
      const address = top;
      top = alignUp(top + bytes);
      return address;
    };
    this.programs = cells.map((cell, id) => {
      this.#programIds.set(cell, id);
      return lowerCell(cell, (data) => {
        let address = placed.get(data);
        if (address === undefined) {
          placed.set(data, address = take(data.byteLength));
          constants.push({ data, address });
        }
        return address;
      });
    });
    const widths = cells.flatMap(({ inputs, outputs }) =>
      [...inputs, ...outputs].map(({ width }) => width)
    );
    const widest = alignUp(Math.max(...widths) * BYTES_PER_ELEMENT);
    this.#zeros = take(widest);
    const scratchBytes = Math.max(
      0,
      ...this.programs.map((program) => program.scratchBytes),
    );
    const tableBytes = this.programs.reduce(
      (sum, program) => sum + program.tableBytes,
      0,
    );
    const tokenBytes = Math.max(
      0,
      ...this.programs.filter(({ ragged }) => ragged).map(tokenTableBytes),
    );
    const cacheSinkBytes = Math.max(
      0,
      ...cells.flatMap(({ caches }) =>
        caches.map((cache) => cacheBytes(cache, cache.positionsMax).all)
      ),
    );
    this.#workers = Array.from({ length: workers }, () => ({
      runner: {
        zeros: this.#zeros,
        sink: take(widest),
        cacheSink: take(cacheSinkBytes),
        scratch: take(scratchBytes),
        tables: take(tableBytes),
        tokens: take(tokenBytes),
      },
      extra: take(workerBytes),
    }));
    const slots = take(slotBytes);

    const pages = Math.ceil(top / PAGE_BYTES);
    if (pages > PAGES_MAX) {
      throw new RangeError(
        `Weights, scratch and slots need ${top} bytes, more than the 4 GiB that WebAssembly addresses; ` +
          `give the engine fewer slotBytes (now ${slotBytes}) or smaller models`,
      );
    }
    this.memory = createMemory({
      bytes: Math.max(top, options.bytesMin ?? 0),
      shared: options.shared,
    });
    this.kernels = instantiateKernels(options.kernels, { memory: this.memory });
    this.words = new Int32Array(this.memory.buffer);
    this.doubles = new Float64Array(this.memory.buffer);
    this.#addresses = new Uint32Array(this.memory.buffer);
    this.#floats = new Float32Array(this.memory.buffer);
    for (const { data, address } of constants) {
      this.#write(data, address);
    }
    this.#pool = new SlotPool(slots, slots + slotBytes);
  }

  runnerMemory(worker: number): RunnerMemory {
    return this.#workers[worker]!.runner;
  }

  /** Address of the `workerBytes` that belong to a worker's rings and tasks. */
  workerMemory(worker: number): number {
    return this.#workers[worker]!.extra;
  }

  programId(cell: Cell): number {
    return this.#programIds.get(cell)!;
  }

  /** Plans the request's slot and writes its inputs. */
  admit(request: SlotRequest): void {
    const plan = new SlotPlan(request.graph);
    const slot: Slot = { ...this.#pool.allocate(plan.bytes), plan };
    request.slot = slot;
    const { closed } = request.graph;
    openHeader(this.words, slot.address, closed ? 0 : request.stepsLimit);
    for (const { data, offset } of request.graph.inputs) {
      this.#write(data, slot.address + offset);
    }
  }

  #write(data: TensorData, address: number): void {
    const memory = data instanceof Int32Array ? this.words : this.#floats;
    memory.set(data, address >>> 2);
  }

  grew(request: SlotRequest, node: CellNode): void {
    request.slot.plan.place(node);
  }

  /** Whether rows of the request that start now are void. */
  isVoid(request: SlotRequest): boolean {
    return isVoid(this.words, request.slot.address);
  }

  /** See Executor.settle. A slot's header only ever moves on, so tasks may settle long after they ran. */
  settle(node: CellNode, request: SlotRequest): Settlement {
    const { address } = request.slot;
    const failure = failureOf(this.words, address);
    if (failure !== undefined) return this.#failed(request, failure);
    if (!node.cell.stop || request.graph.stepsMax === 0) return "done";
    return stepOutcome(this.words, address, node.step + 1);
  }

  /** The failure may be of another task's row: one ends the request, whichever is settled first. */
  #failed(request: SlotRequest, { node, call }: Failure): CellError {
    const { cell } = request.graph.nodes[node]!;
    const program = this.programs[this.programId(cell)]!;
    const failed = program.calls[call];
    const what = failed?.call === "kernel"
      ? `${failed.kernel} met an id outside its table`
      : "a kernel trapped";
    return new CellError(
      `Cell "${cell.name}" failed on node ${node} of request ${request.id}: ${what}`,
    );
  }

  abandon(request: SlotRequest): void {
    abandonSlot(this.words, request.slot.address);
  }

  result(request: SlotRequest): Result {
    const slot = request.slot;
    return resultOf(request.graph, slot.address, {
      i32: this.words,
      f32: this.#floats,
    });
  }

  release(request: SlotRequest): void {
    this.#pool.release(request.takeSlot());
  }

  /** Bytes of a task's tables. */
  tableBytes({ cell, nodes, padding }: Task): number {
    const program = this.programs[this.programId(cell)]!;
    return taskTables(program) * (nodes.length + padding) * BYTES_PER_ELEMENT;
  }

  /** Writes the addresses of all rows of a task; see CellRunner for the layout. */
  writeTables(task: SlotTask, address: number): void {
    const { cell, nodes, padding } = task;
    const addresses = this.#addresses;
    const rows = nodes.length + padding;
    const headers = (address >>> 2) + TASK_TABLES.header * rows;
    const numbers = (address >>> 2) + TASK_TABLES.node * rows;
    const ports = (address >>> 2) + TASK_TABLES.ports * rows;
    const ragged = cell.tokensMax !== undefined;
    const grows = cell.stop !== undefined;
    for (let i = 0; i < nodes.length; i++) {
      const node = nodes[i]!;
      const slot = node.graph.owner.slot.address;
      addresses[headers + i] = slot;
      addresses[numbers + i] = node.index;
      let table = ports + i;
      const { inputs, offsets, caches } = node;
      for (let p = 0; p < inputs.length; p++, table += rows) {
        addresses[table] = this.#sourceAddress(inputs[p]!, slot);
      }
      for (let p = 0; p < offsets.length; p++, table += rows) {
        addresses[table] = slot + offsets[p]!;
      }
      for (let c = 0; c < caches.length; c++) {
        const { cache, position, seen } = caches[c]!;
        const keys = slot + cache.offset;
        const values = keys + cacheBytes(cache, cache.positions).keys;
        table = this.#writeCache(table, rows, { keys, values, position, seen });
      }
      if (ragged) addresses[table] = node.length;
      else if (grows) addresses[table] = node.step + 1;
    }
    if (padding > 0) this.#writePadding(task, ports, headers);
  }

  /** @returns where the row's next table has its entry */
  #writeCache(
    table: number,
    rows: number,
    { keys, values, position, seen }: {
      keys: number;
      values: number;
      position: number;
      seen: number;
    },
  ): number {
    this.#addresses[table] = keys;
    this.#addresses[table + rows] = values;
    this.#addresses[table + 2 * rows] = position;
    this.#addresses[table + 3 * rows] = seen;
    return table + TABLES_PER_CACHE * rows;
  }

  /** Rows of nobody: as long, and looking back as far, as the longest of the task. */
  #writePadding(task: SlotTask, ports: number, headers: number): void {
    const { cell, nodes, padding } = task;
    const addresses = this.#addresses;
    const rows = nodes.length + padding;
    const { sink, cacheSink } = this.#workers[task.worker]!.runner;
    const length = nodes.reduce((most, node) => Math.max(most, node.length), 1);
    const uses = cell.caches.map((_, c) =>
      nodes.reduce(
        (most: Pick<CacheUse, "position" | "seen">, { caches }) =>
          caches[c]!.seen > most.seen ? caches[c]! : most,
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
      if (cell.tokensMax !== undefined) addresses[table] = length;
    }
  }

  #sourceAddress(source: Source, slot: number): number {
    switch (source.kind) {
      case "node": {
        const { node, port, token = 0 } = source;
        return slot + node.offsets[port]! +
          token * node.cell.outputs[port]!.width * BYTES_PER_ELEMENT;
      }
      case "input":
        return slot + source.data.offset +
          source.index * source.width * BYTES_PER_ELEMENT;
      case "zeros":
        return this.#zeros;
    }
  }
}

function staticEnd(
  kernels: BufferSource | WebAssembly.Module,
  shared: boolean,
): number {
  const probe = instantiateKernels(kernels, {
    memory: createMemory({ bytes: 4 * PAGE_BYTES, shared }),
  });
  const end = probe.shoal_static_end() >>> 0;
  assert(end % 16 === 0, "the kernels' data end at a multiple of 16");
  return end;
}
