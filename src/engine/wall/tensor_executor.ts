import type { CellNode } from "../../graph/cell_graph.ts";
import { checkFeatures } from "../../kernels/module/features.ts";
import { checkedOptions } from "../../base/checked_options.ts";
import { msToNs } from "../../base/units.ts";
import { BellWatch } from "./bell_watch.ts";
import { wallNs } from "./clock.ts";
import { Crew } from "./crew.ts";
import type { CrewPlan } from "./crew_plan.ts";
import { doorbellOf, planCrews, SPIN_MS } from "./crew_plans.ts";
import { ClosedError, WorkerError } from "../core/errors.ts";
import type { Settlement } from "../core/executor.ts";
import { nextTurn } from "./next_turn.ts";
import { parallelism, readKernels } from "./runtime.ts";
import type { SlotRequest, SlotTask } from "../tensors/slot.ts";
import { SlotExecutor } from "../tensors/slot_executor.ts";
import type { TensorStore } from "../tensors/tensor_store.ts";
import {
  sharedBuild,
  TASK_BYTES,
  TENSOR_CHECKS,
  type TensorOptions,
} from "../tensors/tensor_options.ts";
import { kernelsOf, warmUp } from "./warm_up.ts";
import type { Completion, WallExecutor } from "./wall_executor.ts";
import { WorkerQueue } from "./worker_queue.ts";
import { ringDoorbell } from "./worker_ring.ts";

/** A worker: its queue, and the threads that execute it. */
interface StaffedWorker {
  readonly plan: CrewPlan;
  readonly queue: WorkerQueue;
  crew: Crew;
  /** Deaths since a task was last executed. */
  deaths: number;
  /** A fresh crew is on its way. */
  recovery: Promise<void> | undefined;
}

/** Deaths of a worker, with no task executed in between, after which the engine gives up. */
const DEATHS_MAX = 8;

/** Times that a task is begun: when the worker dies both times, its rows are rejected. */
const TASK_STARTS_MAX = 2;

/** Attempts to start a fresh crew. */
const CREW_STARTS_MAX = 2;

const PATIENCE_MS = 30_000;

/**
 * How long the engine looks for the end of a task, in `spinMs`: workers wait for the pause between two tasks, the
 * engine for a task.
 */
const LOOK_SPINS = 3;

/** Executes tasks on worker threads over one shared memory. Completions are fetched with `poll`. */
export class TensorExecutor extends SlotExecutor implements WallExecutor {
  readonly #workers: StaffedWorker[] = [];
  readonly #options: TensorOptions;
  readonly #patienceMs: number;
  readonly #doorbell: number;
  /** How long threads look for work before they go to sleep. */
  readonly spinMs: number;
  /** How often the worker died that had begun a task. */
  readonly #deaths = new WeakMap<SlotTask, number>();
  /** Tasks that are not begun again. */
  readonly #givenUp = new WeakSet<SlotTask>();
  #watch: BellWatch | undefined;
  #closed = false;
  #ended: Promise<void> | undefined;

  /**
   * Starts the worker threads; resolves when all are ready.
   * @throws RangeError when memory does not suffice
   * @throws Error when the runtime lacks a feature, or a thread does not start; none is left then
   */
  static async start(options: TensorOptions): Promise<TensorExecutor> {
    options = checkedOptions("TensorExecutor", options, TENSOR_CHECKS, [
      "models",
      "onFatal",
    ]);
    checkFeatures(["simd", "threads"], options.engine);
    const kernels = await readKernels(sharedBuild(options));
    const { store, plans } = planCrews(options, kernels);
    const executor = new TensorExecutor(store, options);
    // Practice is over in the time that threads take to start.
    const ready = await Promise.allSettled([
      ...plans.map((plan, id) => executor.#hire(plan, id)),
      options.warmUp === false ? undefined : warmUp(kernels, {
        shared: true,
        memoryBytes: store.memory.buffer.byteLength,
        kernels: kernelsOf(store.programs),
      }),
    ]);
    const failed = ready.find(({ status }) => status === "rejected");
    if (failed !== undefined) {
      await executor.close();
      throw (failed as PromiseRejectedResult).reason;
    }
    return executor;
  }

  private constructor(store: TensorStore, options: TensorOptions) {
    super(store, options.taskBytes ?? TASK_BYTES);
    this.#options = options;
    this.#patienceMs = options.patienceMs ?? PATIENCE_MS;
    this.spinMs = options.spinMs ?? SPIN_MS;
    this.#doorbell = doorbellOf(store);
  }

  get workers(): number {
    return this.#workers.length;
  }

  get threads(): number {
    return this.#workers.reduce((sum, { plan }) => sum + plan.starts.length, 0);
  }

  get bell(): number {
    return Atomics.load(this.store.words, this.#doorbell >>> 2);
  }

  onRing(seen: number, callback: () => void): void {
    this.#watch ??= this.#startWatch();
    this.#watch.onRing(seen, callback);
  }

  linger(us: number): void {
    for (const { queue } of this.#workers) queue.linger(us, this.#doorbell);
  }

  /** Where workers have all cores, looking for their ends would take time from them. */
  #startWatch(): BellWatch {
    const lookMs = this.threads < parallelism() ? LOOK_SPINS * this.spinMs : 0;
    return new BellWatch(this.doorbell, msToNs(lookMs), {
      nowNs: wallNs,
      nextTurn,
    });
  }

  /** The word that workers advance with every completion, for who sleeps on it. */
  get doorbell(): { words: Int32Array; index: number } {
    return { words: this.store.words, index: this.#doorbell >>> 2 };
  }

  override admit(request: SlotRequest): void {
    if (this.#closed) throw new ClosedError("The engine is closed");
    super.admit(request);
  }

  protected enqueue(task: SlotTask): void {
    this.#workers[task.worker].queue.push(task);
  }

  override settle(
    task: SlotTask,
    node: CellNode,
    request: SlotRequest,
  ): Settlement {
    if (!this.#givenUp.has(task)) return super.settle(task, node, request);
    return new WorkerError(
      `Request ${request.id} was in a batch of cell "${task.cell.name}" whose worker died ${TASK_STARTS_MAX} times`,
    );
  }

  /** Tasks completed since the last call, in order of completion. */
  poll(): Completion[] {
    const completions: Completion[] = [];
    for (const worker of this.#workers) {
      for (const completion of worker.queue.poll()) {
        completions.push(completion);
        if (!this.#givenUp.has(completion.task)) worker.deaths = 0;
      }
    }
    if (this.#workers.length > 1) completions.sort((a, b) => a.endNs - b.endNs);
    return completions;
  }

  close(): Promise<void> {
    this.#closed = true;
    this.#ended ??= this.#end();
    return this.#ended;
  }

  async #end(): Promise<void> {
    await Promise.all(this.#workers.map(async (worker) => {
      await worker.recovery;
      await worker.crew.end();
    }));
    // Whoever listens would be kept for ever: not every worker rings for what it has done (linger).
    ringDoorbell(this.store.words, this.#doorbell);
  }

  /** Adds a worker with its crew. */
  async #hire(plan: CrewPlan, id: number): Promise<void> {
    const crew = await this.#startCrew(plan, id);
    this.#workers[id] = {
      plan,
      queue: new WorkerQueue(
        this.store,
        plan.control,
        this.#options.taskBytes ?? TASK_BYTES,
      ),
      crew,
      deaths: 0,
      recovery: undefined,
    };
  }

  #startCrew(plan: CrewPlan, id: number): Promise<Crew> {
    return Crew.start(plan, {
      patienceMs: this.#patienceMs,
      onDeath: (error) => this.#onDeath(id, error),
    });
  }

  #onDeath(id: number, error: Error): void {
    const worker = this.#workers[id];
    if (this.#closed || worker === undefined || worker.recovery) return;
    this.#options.onDeath?.(error);
    worker.recovery = this.#recover(worker, id, error).catch((error) => {
      if (!this.#closed) this.#options.onFatal(error as Error);
    }).finally(() => worker.recovery = undefined);
  }

  /**
   * Gives a worker a fresh crew, and the crew what the last one left undone.
   * @param error what the last one died of
   * @throws Error when nobody can take its place
   */
  async #recover(
    worker: StaffedWorker,
    id: number,
    error: Error,
  ): Promise<void> {
    const { queue, plan } = worker;
    queue.pause();
    if (!await worker.crew.end()) {
      throw new Error(
        `${error.message}; what is left of its worker did not end within ${this.#patienceMs} ms (patienceMs)`,
        { cause: error },
      );
    }
    if (this.#closed) return;
    this.#judge(worker, error);
    for (let start = 1;; start++) {
      try {
        worker.crew = await this.#startCrew(plan, id);
        break;
      } catch (again) {
        if (this.#closed) return;
        if (start === CREW_STARTS_MAX) throw again;
      }
    }
    queue.resume();
    // Nobody else may ever do: the engine sleeps until it hears of a completion.
    ringDoorbell(this.store.words, this.#doorbell);
  }

  /** Decides whether what a dead worker had begun is begun again. */
  #judge(worker: StaffedWorker, error: Error): void {
    const begun = worker.queue.takeBack();
    if (++worker.deaths === DEATHS_MAX) {
      throw new Error(
        `${error.message}; the worker has died ${DEATHS_MAX} times without executing a task`,
        { cause: error },
      );
    }
    if (begun === undefined) return;
    const deaths = (this.#deaths.get(begun) ?? 0) + 1;
    this.#deaths.set(begun, deaths);
    if (deaths < TASK_STARTS_MAX) return;
    this.#givenUp.add(begun);
    // What follows in the ring would read what was never computed.
    for (const { graph } of begun.nodes) {
      this.store.abandon(graph.owner);
    }
    worker.queue.giveUp();
  }
}
