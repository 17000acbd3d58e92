import { checkedOptions, type Checks } from "../../base/checked_options.ts";
import type { Model } from "../../graph/model.ts";
import { kernelSource } from "../../kernels/module/module.ts";
import { CellRunner } from "../tensors/cell_runner.ts";
import { checkModels } from "../core/check_models.ts";
import { runTask } from "../tensors/run_task.ts";
import { roomBytes } from "../tensors/tensor_options.ts";
import type { Slot, SlotTask } from "../tensors/slot.ts";
import { SlotExecutor } from "../tensors/slot_executor.ts";
import { TensorStore } from "../tensors/tensor_store.ts";
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

/** Most bytes of one task's tables, where nobody says. */
const TASK_BYTES = 2 ** 20;

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
export class PairedExecutor extends SlotExecutor {
  readonly #runners: readonly CellRunner[];
  readonly #devices: VirtualDevices<Slot>;

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
    const { models, kernels, slotBytes, workers = 1 } = options;
    const { taskBytes = TASK_BYTES } = options;
    const store = new TensorStore({
      models,
      kernels,
      shared: false,
      workers,
      workerBytes: taskBytes,
      ...(slotBytes !== undefined && { slotBytes }),
    });
    super(store, taskBytes);
    this.#runners = Array.from(
      { length: workers },
      (_, id) =>
        new CellRunner(
          store.kernels,
          store.memory,
          store.programs,
          store.runnerMemory(id),
          store.plain,
        ),
    );
    this.#devices = virtualDevices(
      options,
      (request) => store.isVoid(request),
      (task) => this.#execute(task),
    );
  }

  /** How many workers there are. */
  get workers(): number {
    return this.#devices.count;
  }

  /** @internal */
  protected enqueue(task: SlotTask): void {
    this.#devices.push(task);
  }

  #execute(task: SlotTask): void {
    const { store } = this;
    const tables = store.workerMemory(task.worker);
    runTask(store, this.#runners[task.worker], task, tables);
  }
}
