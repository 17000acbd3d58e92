import type { CellNode } from "../graph/cell_graph.ts";
import type { Model, Result } from "../graph/model.ts";
import type { Task } from "../policy/launch.ts";
import type { ActiveRequest } from "./active_request.ts";
import { CellRunner } from "./cell_runner.ts";
import type { Executor, Settlement } from "./executor.ts";
import { TensorStore } from "./tensor_store.ts";
import { virtualDevices } from "./virtual_devices.ts";
import type {
  VirtualDevices,
  VirtualWorkersOptions,
} from "./virtual_workers.ts";

export interface PairedOptions extends VirtualWorkersOptions {
  models: readonly Model[];
  /** Bytes of a kernel build over unshared memory. */
  kernels: BufferSource | WebAssembly.Module;
  /** Room for the requests in flight; default 64 MiB. */
  slotBytes?: number;
  /** Most bytes of one task's tables; default 1 MiB. */
  taskBytes?: number;
}

/** Real tensors on virtual time: deterministic runs with real values, in one thread. */
export class PairedExecutor implements Executor {
  readonly #store: TensorStore;
  readonly #runners: CellRunner[];
  readonly #devices: VirtualDevices;
  readonly #taskBytes: number;

  constructor(options: PairedOptions) {
    const workers = options.workers ?? 1;
    this.#taskBytes = options.taskBytes ?? 2 ** 20;
    this.#store = new TensorStore({
      ...options,
      shared: false,
      workers,
      workerBytes: this.#taskBytes,
    });
    this.#runners = Array.from(
      { length: workers },
      (_, id) =>
        new CellRunner(
          this.#store.kernels,
          this.#store.memory,
          this.#store.programs,
          this.#store.runnerMemory(id),
        ),
    );
    this.#devices = virtualDevices(
      options,
      (request) => this.#store.isVoid(request),
      (task) => this.#execute(task),
    );
  }

  get workers(): number {
    return this.#devices.count;
  }

  admit(request: ActiveRequest): void {
    this.#store.admit(request);
  }

  grew(request: ActiveRequest, node: CellNode): void {
    this.#store.grew(request, node);
  }

  push(task: Task): void {
    const bytes = this.#store.tableBytes(task);
    if (bytes > this.#taskBytes) {
      throw new RangeError(
        `A task of ${task.nodes.length} rows needs ${bytes} bytes of tables, taskBytes is ${this.#taskBytes}`,
      );
    }
    this.#devices.push(task);
  }

  settle(_task: Task, node: CellNode, request: ActiveRequest): Settlement {
    return this.#store.settle(node, request);
  }

  abandon(request: ActiveRequest): void {
    this.#store.abandon(request);
  }

  result(request: ActiveRequest): Result {
    return this.#store.result(request);
  }

  release(request: ActiveRequest): void {
    this.#store.release(request);
  }

  #execute(task: Task): void {
    const tables = this.#store.workerMemory(task.worker);
    this.#store.writeTables(task, tables);
    this.#runners[task.worker]!.run({
      program: this.#store.programId(task.cell),
      rows: task.nodes.length + task.padding,
      tables,
      padsDone: task.padsDone,
      paddedLength: task.paddedLength,
    });
  }
}
