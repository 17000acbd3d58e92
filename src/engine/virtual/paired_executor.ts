import { checkedOptions, type Checks } from "../../base/checked_options.ts";
import type { CellNode } from "../../graph/cell_graph.ts";
import type { Model, Result } from "../../graph/model.ts";
import { kernelSource } from "../../kernels/module/module.ts";
import type { Task } from "../../policy/launch.ts";
import type { ActiveRequest } from "../core/active_request.ts";
import { CellRunner } from "../tensors/cell_runner.ts";
import { checkModels } from "../core/check_models.ts";
import type { Executor, Settlement } from "../core/executor.ts";
import { roomBytes } from "../tensors/tensor_options.ts";
import { TensorStore } from "../tensors/tensor_store.ts";
import { virtualDevices } from "./virtual_devices.ts";
import {
  VIRTUAL_CHECKS,
  VIRTUAL_REQUIRED,
  type VirtualDevices,
  type VirtualWorkersOptions,
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

const PAIRED_CHECKS: Checks<PairedOptions> = {
  ...VIRTUAL_CHECKS,
  models: (_name, models) => checkModels(models),
  kernels: kernelSource,
  slotBytes: roomBytes,
  taskBytes: roomBytes,
};

/** Real tensors on virtual time: deterministic runs with real values, in one thread. */
export class PairedExecutor implements Executor {
  readonly #store: TensorStore;
  readonly #runners: CellRunner[];
  readonly #devices: VirtualDevices;
  readonly #taskBytes: number;

  /** @throws TypeError or RangeError on an option that is not one, or when memory does not suffice */
  constructor(options: PairedOptions) {
    options = checkedOptions("PairedExecutor", options, PAIRED_CHECKS, [
      ...VIRTUAL_REQUIRED,
      "models",
      "kernels",
    ]);
    const { models, kernels, slotBytes, workers = 1, taskBytes = 2 ** 20 } =
      options;
    this.#taskBytes = taskBytes;
    this.#store = new TensorStore({
      models,
      kernels,
      shared: false,
      workers,
      workerBytes: taskBytes,
      ...(slotBytes !== undefined && { slotBytes }),
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
