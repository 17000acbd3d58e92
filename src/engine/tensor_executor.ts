import { assert } from "../base/assert.ts";
import type { CellNode } from "../graph/cell_graph.ts";
import type { Model, Result } from "../graph/model.ts";
import { alignUp } from "../graph/slot_plan.ts";
import { checkFeatures, type EngineProbe } from "../kernels/features.ts";
import {
  prepareTeam,
  teamBytes,
  type TeamPlace,
  type TeamPlan,
} from "../kernels/team/block.ts";
import { BLOCKS, type ScratchPlace } from "../kernels/scratch.ts";
import { type TeamWays, teamWays } from "../kernels/team/leader.ts";
import type { KernelName } from "../kernels/signature.ts";
import type { Task } from "../policy/launch.ts";
import type { ActiveRequest } from "./active_request.ts";
import { type CellProgram, ROWS_PER_CALL } from "./cell_program.ts";
import { fromAbsoluteMs } from "./clock.ts";
import { ClosedError } from "./errors.ts";
import type { Executor, Settlement } from "./executor.ts";
import { readKernels } from "./runtime.ts";
import { probeScratch } from "./scratch_probe.ts";
import { TaskArena } from "./task_arena.ts";
import { TensorStore } from "./tensor_store.ts";
import { PRACTICE_BYTES, warmUp } from "./warm_up.ts";
import type { WorkerStart } from "./worker_loop.ts";
import { startThreads, type Thread, type ThreadStart } from "./threads.ts";
import {
  ARENA_OFFSET,
  CONTROL,
  ENTRY,
  entryAddress,
  RING_ENTRIES,
  STOP_PROGRAM,
} from "./worker_ring.ts";

export interface TensorOptions {
  models: readonly Model[];
  /** Workers: each executes one task at a time; default 1. */
  workers?: number;
  /**
   * Threads of each worker, default 1. Calls that are worth it are cut among them, with the same bits:
   * for one large task at a time, where `workers` is for many small ones.
   */
  threadsPerWorker?: number;
  /** Let the engine compile the models' kernels well before the first request comes; default true. */
  warmUp?: boolean;
  /** When and how a worker's threads share calls. */
  team?: Partial<TeamWays>;
  /** Room for the requests in flight; default 64 MiB. */
  slotBytes?: number;
  /** Room per worker for the row tables of queued tasks; default 4 MiB. */
  taskBytes?: number;
  /** Kernel build over shared memory; default "shoal.shared". */
  build?: "shoal.shared" | "shoal.debug-shared" | "shoal.relaxed-shared";
  /**
   * How long threads look for work before they go to sleep, once they have none; default 0.05. Waking up
   * took 0.2 to 0.3 ms on a virtual machine, longer than many a task: where latency counts and every
   * thread has a core to itself, look for longer than the pauses between requests. Where threads share
   * cores, looking takes time from those that compute.
   */
  spinMs?: number;
  /** How to ask the runtime for its features; another one stands in for it in tests. */
  engine?: EngineProbe;
  /** A worker thread died: nothing it had will ever complete. */
  onFatal: (error: Error) => void;
}

/** A task as a worker completed it. */
export interface Completion {
  readonly task: Task;
  readonly startNs: number;
  readonly endNs: number;
}

interface WorkerState {
  readonly control: number;
  readonly arena: TaskArena;
  readonly inFlight: Task[];
  /** Tasks for which ring or arena have no room yet. */
  readonly backlog: Task[];
  submitted: number;
  completed: number;
}

/** Executes tasks on worker threads over one shared memory. Completions are fetched with `poll`. */
export class TensorExecutor implements Executor {
  readonly #store: TensorStore;
  readonly #workers: WorkerState[];
  readonly #threads: readonly Thread[];
  readonly #taskBytes: number;
  readonly #doorbell: number;
  #closed = false;

  /** Starts the worker threads; resolves when all are ready. */
  static async start(options: TensorOptions): Promise<TensorExecutor> {
    const {
      models,
      workers = 1,
      threadsPerWorker = 1,
      slotBytes,
      taskBytes = 4 * 2 ** 20,
      build = "shoal.shared",
      spinMs = 0.05,
    } = options;
    for (
      const [name, count] of Object.entries({ workers, threadsPerWorker })
    ) {
      if (!Number.isInteger(count) || count < 1) {
        throw new RangeError(`"${name}" is a positive integer, got ${count}`);
      }
    }
    if (!(spinMs >= 0)) {
      throw new RangeError(`"spinMs" is at least 0, got ${spinMs}`);
    }
    checkFeatures(["simd", "threads"], options.engine);
    const ways = teamWays(options.team);
    const kernels = await readKernels(build);
    // No operator of cells is lowered to int8 kernels.
    const scratch = probeScratch(kernels, { shared: true, variants: BLOCKS });
    const threadBytes = alignUp(ARENA_OFFSET) + taskBytes +
      teamBytesPerWorker(threadsPerWorker);
    const store = new TensorStore({
      models,
      kernels,
      shared: true,
      workers,
      workerBytes: alignUp(threadBytes) + threadsPerWorker * scratch.bytes,
      ...(slotBytes !== undefined && { slotBytes }),
      bytesMin: PRACTICE_BYTES,
    });
    const doorbell = store.workerMemory(0) + 4 * CONTROL.doorbell;
    const starts = Array.from({ length: workers }, (_, id) => {
      const control = store.workerMemory(id);
      const scratchOf = (thread: number): ScratchPlace => ({
        address: control + alignUp(threadBytes) + thread * scratch.bytes,
        variants: scratch.variants,
      });
      return threadsOf(
        {
          memory: store.memory,
          kernels,
          programs: store.programs,
          own: store.runnerMemory(id),
          control,
          doorbell,
          spinMs,
          scratch: scratchOf(0),
        },
        threadsPerWorker,
        ways,
        control + alignUp(ARENA_OFFSET) + taskBytes,
        scratchOf,
      );
    });
    // Practice is over in the time that threads take to start.
    const [started, warmed] = await Promise.allSettled([
      startThreads(starts.flat(), options.onFatal),
      options.warmUp === false ? undefined : warmUp(kernels, {
        shared: true,
        memoryBytes: store.memory.buffer.byteLength,
        kernels: kernelsOf(store.programs),
      }),
    ]);
    if (started.status === "rejected") throw started.reason;
    const threads = started.value;
    if (warmed.status === "rejected") {
      await Promise.all(threads.map(({ handle }) => handle.terminate()));
      throw warmed.reason;
    }
    const states = Array.from({ length: workers }, (_, id): WorkerState => {
      const control = store.workerMemory(id);
      return {
        control,
        arena: new TaskArena(control + alignUp(ARENA_OFFSET), taskBytes),
        inFlight: [],
        backlog: [],
        submitted: 0,
        completed: 0,
      };
    });
    return new TensorExecutor(
      store,
      states,
      threads,
      taskBytes,
      doorbell,
      spinMs,
    );
  }

  private constructor(
    store: TensorStore,
    workers: WorkerState[],
    threads: readonly Thread[],
    taskBytes: number,
    doorbell: number,
    readonly spinMs: number,
  ) {
    this.#store = store;
    this.#workers = workers;
    this.#threads = threads;
    this.#taskBytes = taskBytes;
    this.#doorbell = doorbell;
  }

  get workers(): number {
    return this.#workers.length;
  }

  /** The word that workers advance with every completion; to be read before `poll` and slept on after it. */
  get doorbell(): { words: Int32Array; index: number } {
    return { words: this.#store.words, index: this.#doorbell >>> 2 };
  }

  admit(request: ActiveRequest): void {
    if (this.#closed) throw new ClosedError("The engine is closed");
    this.#store.admit(request);
  }

  grew(request: ActiveRequest, node: CellNode): void {
    this.#store.grew(request, node);
  }

  push(task: Task): void {
    const worker = this.#workers[task.worker]!;
    const bytes = this.#store.tableBytes(task);
    if (bytes > this.#taskBytes) {
      throw new RangeError(
        `A task of ${
          task.nodes.length + task.padding
        } rows needs ${bytes} bytes of tables; give the engine more taskBytes (now ${this.#taskBytes})`,
      );
    }
    if (worker.backlog.length > 0 || !this.#tryPush(worker, task)) {
      worker.backlog.push(task);
    }
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

  /** Tasks completed since the last call, in order of completion. */
  poll(): Completion[] {
    const completions: Completion[] = [];
    for (const worker of this.#workers) {
      const completed = Atomics.load(
        this.#store.words,
        (worker.control >>> 2) + CONTROL.completed,
      );
      while ((worker.completed | 0) !== completed) {
        const entry = entryAddress(worker.control, worker.completed);
        worker.completed++;
        worker.arena.giveBack();
        const doubles = this.#store.doubles;
        completions.push({
          task: worker.inFlight.shift()!,
          startNs: fromAbsoluteMs(doubles[(entry >>> 3) + ENTRY.startMs / 2]!),
          endNs: fromAbsoluteMs(doubles[(entry >>> 3) + ENTRY.endMs / 2]!),
        });
      }
      while (
        worker.backlog.length > 0 && this.#tryPush(worker, worker.backlog[0]!)
      ) worker.backlog.shift();
    }
    if (this.#workers.length > 1) completions.sort((a, b) => a.endNs - b.endNs);
    return completions;
  }

  /** Lets the workers finish what they have, then ends them. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    for (const worker of this.#workers) {
      assert(
        worker.inFlight.length === 0,
        "workers are idle when they are stopped",
      );
      const entry = entryAddress(worker.control, worker.submitted);
      this.#store.words[(entry >>> 2) + ENTRY.program] = STOP_PROGRAM;
      this.#announce(worker);
    }
    await Promise.all(this.#threads.map(async ({ handle, stopped }) => {
      await stopped;
      await handle.terminate();
    }));
  }

  /** Ends the workers at once, whatever they are doing. */
  async terminate(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#threads.map(({ handle }) => handle.terminate()));
  }

  #tryPush(worker: WorkerState, task: Task): boolean {
    if (worker.inFlight.length === RING_ENTRIES) return false;
    const tables = worker.arena.take(alignUp(this.#store.tableBytes(task)));
    if (tables === undefined) return false;
    this.#store.writeTables(task, tables);
    const { words } = this.#store;
    const entry = entryAddress(worker.control, worker.submitted) >>> 2;
    words[entry + ENTRY.program] = this.#store.programId(task.cell);
    words[entry + ENTRY.rows] = task.nodes.length + task.padding;
    words[entry + ENTRY.tables] = tables;
    words[entry + ENTRY.padsDone] = task.padsDone ? 1 : 0;
    words[entry + ENTRY.paddedLength] = task.paddedLength;
    worker.inFlight.push(task);
    this.#announce(worker);
    return true;
  }

  #announce(worker: WorkerState): void {
    const submitted = (worker.control >>> 2) + CONTROL.submitted;
    worker.submitted++;
    Atomics.store(this.#store.words, submitted, worker.submitted | 0);
    Atomics.notify(this.#store.words, submitted);
  }
}

const LINE_BYTES = 64;

/** Enough for usual convolutions, and attention over 8192 positions; calls that need more stay on one thread. */
const TEAM_SCRATCH_BYTES = 131_072;

function teamPlan(threads: number): TeamPlan {
  return {
    threads,
    rowsMax: ROWS_PER_CALL,
    scratchBytes: TEAM_SCRATCH_BYTES,
  };
}

/** Bytes of a worker's team, whose block starts at a cache line. */
function teamBytesPerWorker(threads: number): number {
  return threads === 1 ? 0 : LINE_BYTES + teamBytes(teamPlan(threads));
}

/** The threads of one worker: itself and its helpers. */
function threadsOf(
  worker: WorkerStart,
  threads: number,
  ways: TeamWays,
  free: number,
  scratchOf: (thread: number) => ScratchPlace,
): ThreadStart[] {
  if (threads === 1) return [{ role: "worker", worker }];
  const { memory, kernels } = worker;
  const address = Math.ceil(free / LINE_BYTES) * LINE_BYTES;
  const place: TeamPlace = { ...teamPlan(threads), address };
  prepareTeam(memory, place);
  return [
    { role: "worker", worker: { ...worker, team: { place, ways } } },
    ...Array.from({ length: threads - 1 }, (_, i): ThreadStart => ({
      role: "helper",
      helper: {
        memory,
        kernels,
        place,
        thread: i + 1,
        ways,
        scratch: scratchOf(i + 1),
      },
    })),
  ];
}

/** Kernels that programs call. */
function kernelsOf(programs: readonly CellProgram[]): Set<KernelName> {
  return new Set(
    programs.flatMap(({ calls }) =>
      calls.flatMap((call) =>
        call.call === "kernel" ? [call.kernel as KernelName] : []
      )
    ),
  );
}
