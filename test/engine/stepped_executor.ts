/**
 * Workers that execute when a test says so, in its own thread: queues, rings, arenas and what is executed are
 * those of worker threads, so that an order which threads meet once in a million runs is one more seed here.
 */
import { alignUp } from "../../src/graph/slot_plan.ts";
import type { Model } from "../../src/graph/model.ts";
import { CellRunner } from "../../src/engine/tensors/cell_runner.ts";
import type { SlotTask } from "../../src/engine/tensors/slot.ts";
import { SlotExecutor } from "../../src/engine/tensors/slot_executor.ts";
import { TensorStore } from "../../src/engine/tensors/tensor_store.ts";
import type { Completion } from "../../src/engine/wall/wall_executor.ts";
import { runEntry } from "../../src/engine/wall/worker_loop.ts";
import { runPlain } from "../../src/plain/registry.ts";
import { WorkerQueue } from "../../src/engine/wall/worker_queue.ts";
import {
  ARENA_OFFSET,
  CONTROL,
  entryAddress,
  openControl,
  reportDone,
  ringDoorbell,
} from "../../src/engine/wall/worker_ring.ts";
import { kernels } from "./harness.ts";

export interface SteppedOptions {
  readonly models: readonly Model[];
  readonly workers: number;
  /** Bytes of each worker's arena, a multiple of 16. */
  readonly taskBytes: number;
}

interface SteppedWorker {
  readonly control: number;
  readonly doorbell: number;
  readonly queue: WorkerQueue;
  readonly runner: CellRunner;
  /** Tasks that the crew there is has executed. */
  done: number;
}

export class SteppedExecutor extends SlotExecutor {
  readonly #workers: readonly SteppedWorker[];

  constructor({ models, workers, taskBytes }: SteppedOptions) {
    const store = new TensorStore({
      models,
      kernels,
      shared: false,
      workers,
      workerBytes: alignUp(ARENA_OFFSET) + taskBytes,
      slotBytes: 2 ** 20,
    });
    super(store, taskBytes);
    const doorbell = store.workerMemory(0) + 4 * CONTROL.doorbell;
    this.#workers = Array.from({ length: workers }, (_, id) => {
      const control = store.workerMemory(id);
      return {
        control,
        doorbell,
        queue: new WorkerQueue(store, control, taskBytes),
        runner: new CellRunner(
          store.kernels,
          store.memory,
          store.programs,
          store.runnerMemory(id),
          runPlain,
        ),
        done: 0,
      };
    });
  }

  get workers(): number {
    return this.#workers.length;
  }

  protected enqueue(task: SlotTask): void {
    this.#workers[task.worker].queue.push(task);
  }

  /**
   * A worker executes its next task, if there is one.
   * @param dies whether it ends before it can say so
   */
  step(id: number, dies = false): void {
    const { words } = this.store;
    const worker = this.#workers[id];
    const at = worker.control >>> 2;
    if (Atomics.load(words, at + CONTROL.submitted) === worker.done) return;
    const entry = entryAddress(worker.control, worker.done);
    const quiet = runEntry(worker.runner, this.store, entry);
    if (dies) this.#replace(worker);
    else reportDone(words, worker, worker.done++, quiet);
  }

  /** Its crew is gone; a fresh one begins with what was left undone. */
  #replace(worker: SteppedWorker): void {
    worker.queue.pause();
    worker.queue.takeBack();
    openControl(this.store.words, worker.control);
    worker.done = 0;
    worker.queue.resume();
    ringDoorbell(this.store.words, worker.doorbell);
  }

  /** Changes with everything that an engine has to wake up for. */
  get bell(): number {
    const { words } = this.store;
    return Atomics.load(words, this.#workers[0].doorbell >>> 2);
  }

  /** Tasks completed since the last call. */
  poll(): Completion[] {
    return this.#workers.flatMap(({ queue }) => queue.poll());
  }
}
