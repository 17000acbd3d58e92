import { assert } from "../../base/assert.ts";
import { cacheBytes } from "../../graph/cache.ts";
import type { Cell } from "../../graph/cell.ts";
import type { Model } from "../../graph/model.ts";
import { rowBytes } from "../../graph/row_layout.ts";
import { alignUp } from "../../graph/slot_plan.ts";
import {
  createMemory,
  PAGE_BYTES,
  PAGES_MAX,
} from "../../kernels/module/memory.ts";
import { instantiateKernels } from "../../kernels/module/module.ts";
import type { TensorData } from "../../tensor/tensor.ts";
import type { CellProgram } from "../lowering/cell_program.ts";
import { lowerCell } from "../lowering/lower_cell.ts";
import { tokenTableBytes } from "../lowering/task_layout.ts";
import type { RunnerMemory } from "./cell_runner.ts";

export interface MemoryOptions {
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

/** Weights, or other data that never change, and where they lie. */
interface Constant {
  readonly data: TensorData;
  readonly address: number;
}

/** What belongs to a worker. */
interface WorkerMemory {
  readonly runner: RunnerMemory;
  /** Address of its `workerBytes`. */
  readonly extra: number;
}

/** Where everything lies; see TensorStore. */
export interface MemoryPlan {
  readonly cells: readonly Cell[];
  /** By number of the cell. */
  readonly programs: readonly CellProgram[];
  readonly constants: readonly Constant[];
  /** A row of zeros, as wide as the widest input. */
  readonly zeros: number;
  readonly workers: readonly WorkerMemory[];
  readonly slots: number;
  readonly slotBytes: number;
  /** Bytes of the memory. */
  readonly bytes: number;
}

/** Lowers the models' cells and places all that they need, from the end of the kernels' own data on. */
export function planMemory(options: MemoryOptions): MemoryPlan {
  const { models, slotBytes = 64 * 2 ** 20, workerBytes = 0, bytesMin = 0 } =
    options;
  const cells = [...new Set(models.flatMap((model) => model.cells))];
  if (cells.length === 0) {
    throw new RangeError("An engine needs a model that has a cell, got none");
  }
  let top = staticEnd(options.kernels, options.shared);
  const take = (bytes: number): number => {
    const address = top;
    top = alignUp(top + bytes);
    return address;
  };
  const { programs, constants } = lowerAll(cells, take);
  const sizes = sizesOf(cells, programs);
  const zeros = take(sizes.row);
  const workers = Array.from({ length: options.workers }, () => ({
    runner: {
      zeros,
      sink: take(sizes.row),
      cacheSink: take(sizes.cache),
      scratch: take(sizes.scratch),
      tables: take(sizes.tables),
      tokens: take(sizes.tokens),
    },
    extra: take(workerBytes),
  }));
  const slots = take(slotBytes);
  if (Math.ceil(top / PAGE_BYTES) > PAGES_MAX) {
    throw new RangeError(
      `Weights, scratch and slots need ${top} bytes, more than the 4 GiB that WebAssembly addresses, less a page; ` +
        `give the engine fewer workers (now ${options.workers}), fewer slotBytes (now ${slotBytes}) or smaller models`,
    );
  }
  const bytes = Math.max(top, bytesMin);
  return {
    cells,
    programs,
    constants,
    zeros,
    workers,
    slots,
    slotBytes,
    bytes,
  };
}

/** Where the kernels' own data ends: a first instance, over a small memory, tells. */
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

/** Programs of all cells; data that several of them use are placed once. */
function lowerAll(
  cells: readonly Cell[],
  take: (bytes: number) => number,
): Pick<MemoryPlan, "programs" | "constants"> {
  const placed = new Map<TensorData, number>();
  const programs = cells.map((cell) =>
    lowerCell(cell, (data) => {
      let address = placed.get(data);
      if (address === undefined) {
        placed.set(data, address = take(data.byteLength));
      }
      return address;
    })
  );
  const constants = [...placed].map(([data, address]) => ({ data, address }));
  return { programs, constants };
}

/** Bytes that a worker needs: of its largest row, cache and scratch, and of all programs' tables. */
function sizesOf(cells: readonly Cell[], programs: readonly CellProgram[]) {
  const most = (sizes: readonly number[]) => Math.max(0, ...sizes);
  const ports = cells.flatMap(({ inputs, outputs }) => [...inputs, ...outputs]);
  const caches = cells.flatMap(({ caches }) => caches);
  return {
    row: alignUp(most(ports.map(rowBytes))),
    cache: most(
      caches.map((cache) => cacheBytes(cache, cache.positionsMax).all),
    ),
    scratch: most(programs.map(({ scratchBytes }) => scratchBytes)),
    tables: programs.reduce((sum, { tableBytes }) => sum + tableBytes, 0),
    tokens: most(
      programs.filter(({ ragged }) => ragged).map(tokenTableBytes),
    ),
  };
}
