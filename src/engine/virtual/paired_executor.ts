import { checkedOptions, type Checks } from "../../base/checked_options.ts";
import type { CellNode } from "../../graph/cell_graph.ts";
import type { Model } from "../../graph/model.ts";
import type { Result } from "../../graph/result.ts";
import { kernelSource } from "../../kernels/module/module.ts";
import { CellRunner } from "../tensors/cell_runner.ts";
import { checkModels } from "../core/check_models.ts";
import type { Executor, Settlement } from "../core/executor.ts";
import { checkTables, runTask } from "../tensors/run_task.ts";
import { roomBytes } from "../tensors/tensor_options.ts";
import {
  type Slot,
  type SlotRequest,
  type SlotTask,
  TensorStore,
} from "../tensors/tensor_store.ts";
import { virtualDevices } from "./virtual_devices.ts";
import {
  VIRTUAL_CHECKS,
  VIRTUAL_REQUIRED,
  type VirtualDevices,
  type VirtualWorkersOptions,
} from "./virtual_workers.ts";

/** Options of `PairedExecutor`. */
export interface PairedOptions extends VirtualWorkersOptions {
  /** The engine's models, whose weights it packs. */
  models: readonly Model[];
  /** A kernel build over unshared memory: its bytes (`readKernels("shoal")` of `@shoal/core/kernels`) or its module. */
  kernels: BufferSource | WebAssembly.Module;
  /** Bytes for the requests in flight; default 64 MiB. */
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

/**
 * Real tensors on virtual time: deterministic runs with real values, in one thread. Tasks are computed when their time
 * is over.
 *
 * @example A request's result is the same bits, alone or in a batch
 * ```ts
 * import assert from "node:assert/strict";
 * import { cellular, lstm } from "@shoal/core";
 * import { readKernels } from "@shoal/core/kernels";
 * import {
 *   constantCost,
 *   driveVirtual,
 *   EngineCore,
 *   PairedExecutor,
 *   Timeline,
 * } from "@shoal/core/simulate";
 *
 * const model = lstm({ hidden: 4, vocabulary: 10, head: "classifier" });
 * const kernels = await readKernels("shoal");
 *
 * function run(...inputs: { tokens: number[] }[]): unknown[] {
 *   const timeline = new Timeline();
 *   const executor = new PairedExecutor({
 *     timeline,
 *     models: [model],
 *     kernels,
 *     cost: constantCost(1000),
 *     onCompleted: (task, startNs, endNs) => engine.completed(task, startNs, endNs),
 *   });
 *   const engine = new EngineCore({ models: [model], policy: cellular(), executor });
 *   const results: unknown[] = [];
 *   driveVirtual(
 *     engine,
 *     timeline,
 *     inputs.map((input, i) => ({
 *       model,
 *       input,
 *       arrivalNs: 0,
 *       onEnd: ({ result }) => results[i] = result,
 *     })),
 *   );
 *   return results;
 * }
 *
 * const [alone] = run({ tokens: [3, 1, 4] });
 * const [batched] = run({ tokens: [3, 1, 4] }, { tokens: [1, 5, 9, 2] });
 * assert.deepEqual(batched, alone);
 * ```
 */
export class PairedExecutor implements Executor {
  readonly #store: TensorStore;
  readonly #runners: CellRunner[];
  readonly #devices: VirtualDevices<Slot>;
  readonly #taskBytes: number;

  /**
   * Instantiates the kernels over a memory of its own and packs the models' weights into it.
   * @throws TypeError or RangeError on an option that is not one, or when memory does not suffice
   */
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

  /** How many workers there are. */
  get workers(): number {
    return this.#devices.count;
  }

  /**
   * Plans a request's slot and writes its inputs.
   * @throws RangeError when there is never room for it, QueueFullError when there is none now
   * @internal
   */
  admit(request: SlotRequest): void {
    this.#store.admit(request);
  }

  /** Gives a node that a graph grew by its place in the slot. */
  grew(request: SlotRequest, node: CellNode): void {
    this.#store.grew(request, node);
  }

  /**
   * Queues a task on its worker.
   * @throws RangeError when its tables are larger than `taskBytes`
   * @internal
   */
  push(task: SlotTask): void {
    checkTables(this.#store, task, this.#taskBytes);
    this.#devices.push(task);
  }

  /** What became of a row. */
  settle(_task: SlotTask, node: CellNode, request: SlotRequest): Settlement {
    return this.#store.settle(node, request);
  }

  /** Rows of the request that have not started are not computed. */
  abandon(request: SlotRequest): void {
    this.#store.abandon(request);
  }

  /** Copies the rows of the request's results out of its slot. */
  result(request: SlotRequest): Result {
    return this.#store.result(request);
  }

  /** Frees the request's slot. */
  release(request: SlotRequest): void {
    this.#store.release(request);
  }

  #execute(task: SlotTask): void {
    runTask(
      this.#store,
      this.#runners[task.worker],
      task,
      this.#store.workerMemory(task.worker),
    );
  }
}
