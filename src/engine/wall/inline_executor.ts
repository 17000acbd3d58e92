import { checkedOptions } from "../../base/checked_options.ts";
import { alignUp } from "../../graph/slot_plan.ts";
import { checkFeatures } from "../../kernels/module/features.ts";
import { ClosedError } from "../core/errors.ts";
import { CellRunner } from "../tensors/cell_runner.ts";
import { runTask } from "../tensors/run_task.ts";
import {
  EXECUTOR_CHECKS,
  type SharedBuild,
  sharedBuild,
  TASK_BYTES,
  type TensorOptions,
} from "../tensors/tensor_options.ts";
import type { SlotRequest, SlotTask } from "../tensors/slot.ts";
import { SlotExecutor } from "../tensors/slot_executor.ts";
import { TensorStore } from "../tensors/tensor_store.ts";
import { wallNs } from "./clock.ts";
import { variantsFor } from "./kernel_variants.ts";
import { nextTurn } from "./next_turn.ts";
import { type KernelBuild, readKernels } from "./runtime.ts";
import { probeScratch } from "./scratch_probe.ts";
import type { Completion, WallExecutor } from "./wall_executor.ts";
import { kernelsOf, PRACTICE_BYTES, warmUp } from "./warm_up.ts";

/** The build that shares no memory, of the same kind. */
const PLAIN = {
  "shoal.shared": "shoal",
  "shoal.dot-shared": "shoal.dot",
  "shoal.debug-shared": "shoal.debug",
  "shoal.relaxed-shared": "shoal.relaxed",
} as const satisfies Record<SharedBuild, KernelBuild>;

/**
 * Executes tasks in the engine's own thread, over memory that is not shared: for hosts without threads.
 * Between two tasks the event loop has its turn; nothing interrupts one.
 */
export class InlineExecutor extends SlotExecutor implements WallExecutor {
  readonly workers = 1;
  readonly threads = 0;
  readonly #runner: CellRunner;
  readonly #onFatal: (error: Error) => void;
  /** Not executed yet, in order. */
  #queue: SlotTask[] = [];
  /** Executed and not fetched. */
  #completions: Completion[] = [];
  #bell = 0;
  #listener: (() => void) | undefined;
  #scheduled = false;
  #closed = false;

  /**
   * Packs the weights; takes what a TensorExecutor takes, and one thread of it.
   * @throws RangeError when memory does not suffice
   * @throws Error when the runtime has no SIMD
   */
  static async start(options: TensorOptions): Promise<InlineExecutor> {
    options = checkedOptions("InlineExecutor", options, EXECUTOR_CHECKS, [
      "models",
      "onFatal",
    ]);
    const { models, slotBytes, taskBytes = TASK_BYTES, onFatal } = options;
    checkFeatures(["simd"], options.engine);
    const kernels = await readKernels(PLAIN[sharedBuild(options)]);
    const variants = variantsFor(models);
    const scratch = probeScratch(kernels, { shared: false, variants });
    const store = new TensorStore({
      models,
      kernels,
      shared: false,
      workers: 1,
      workerBytes: alignUp(taskBytes) + scratch.bytes,
      ...(slotBytes !== undefined && { slotBytes }),
      bytesMin: PRACTICE_BYTES,
    });
    store.kernels.shoal_use_scratch(
      store.workerMemory(0) + alignUp(taskBytes),
      scratch.variants,
    );
    if (options.warmUp !== false) {
      await warmUp(kernels, {
        shared: false,
        memoryBytes: store.memory.buffer.byteLength,
        kernels: kernelsOf(store.programs),
      });
    }
    return new InlineExecutor(store, taskBytes, onFatal);
  }

  private constructor(
    store: TensorStore,
    taskBytes: number,
    onFatal: (error: Error) => void,
  ) {
    super(store, taskBytes);
    this.#onFatal = onFatal;
    this.#runner = new CellRunner(
      store.kernels,
      store.memory,
      store.programs,
      store.runnerMemory(0),
      store.plain,
    );
  }

  get bell(): number {
    return this.#bell;
  }

  onRing(seen: number, callback: () => void): void {
    if (this.#bell !== seen) queueMicrotask(callback);
    else this.#listener = callback;
  }

  /** The engine hears of everything before its thread sleeps. */
  linger(): void {}

  override admit(request: SlotRequest): void {
    if (this.#closed) throw new ClosedError("The engine is closed");
    super.admit(request);
  }

  protected enqueue(task: SlotTask): void {
    this.#queue.push(task);
    this.#schedule();
  }

  poll(): Completion[] {
    const completions = this.#completions;
    this.#completions = [];
    return completions;
  }

  close(): Promise<void> {
    this.#closed = true;
    this.#queue = [];
    return Promise.resolve();
  }

  #schedule(): void {
    if (this.#scheduled || this.#queue.length === 0) return;
    this.#scheduled = true;
    nextTurn(() => {
      this.#scheduled = false;
      this.#executeOne();
      this.#schedule();
    });
  }

  #executeOne(): void {
    const task = this.#queue.shift();
    if (task === undefined) return;
    const startNs = wallNs();
    try {
      runTask(this.store, this.#runner, task, this.store.workerMemory(0));
    } catch (error) {
      // Rows that cannot be computed are not among what is thrown.
      this.#queue = [];
      return this.#onFatal(error as Error);
    }
    this.#completions.push({ task, startNs, endNs: wallNs() });
    this.#bell++;
    const listener = this.#listener;
    this.#listener = undefined;
    listener?.();
  }
}
