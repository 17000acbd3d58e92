import { knownOptions } from "../../base/options.ts";
import {
  anything,
  type Check,
  type Checks,
  integer,
  nonNegative,
  ofType,
  oneOf,
  positive,
} from "../../base/checked_options.ts";
import { checkModels } from "../core/check_models.ts";
import type { Model } from "../../graph/model.ts";
import {
  type EngineProbe,
  hasExactDots,
} from "../../kernels/module/features.ts";
import { TEAM_WAYS, type TeamWays } from "../../kernels/team/leader.ts";

/** How tensors are computed: models, threads, memory. */
export interface ExecutionOptions {
  /** Models that requests may ask for; their weights are packed once. */
  models: readonly Model[];
  /**
   * Workers: each executes one task at a time; default 1. With 0 a serving engine executes tasks in the thread
   * that it lives in, one between two turns of the event loop.
   */
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
  /** Room for the requests in flight, and for the streams that are open and not parked; default 64 MiB. */
  slotBytes?: number;
  /** Room per worker for the row tables of queued tasks; default 4 MiB. */
  taskBytes?: number;
  /**
   * Kernel build over shared memory; default "shoal.dot-shared", or "shoal.shared" in engines without relaxed SIMD:
   * the same bits. Without workers: its like that shares none.
   */
  build?:
    | "shoal.shared"
    | "shoal.dot-shared"
    | "shoal.debug-shared"
    | "shoal.relaxed-shared";
  /**
   * How long threads look for work before they go to sleep, once they have none; default 0.05. Waking up
   * took 0.2 to 0.3 ms on a virtual machine, longer than many a task: where latency counts and every
   * thread has a core to itself, look for longer than the pauses between requests. Where threads share
   * cores, looking takes time from those that compute. The engine's own thread looks for the end of a task for three
   * times as long, between turns of its event loop, if there are more cores than workers' threads and the task before
   * had ended by then.
   */
  spinMs?: number;
  /**
   * Nice value of the worker threads, 0 to 19; default 0. The larger, the sooner the event loop's thread has a core when
   * there are more threads than cores: for servers. On Linux only, and in Deno with `--allow-sys=setPriority`; nothing
   * changes elsewhere.
   */
  niceness?: number;
  /** How to ask the runtime for its features; another one stands in for it in tests. */
  engine?: EngineProbe;
  /** How long a thread may take to start, or to end after its task; default 30,000. */
  patienceMs?: number;
}

/** What an executor takes, and whom it tells. */
export interface TensorOptions extends ExecutionOptions {
  /**
   * A worker thread died. What it ran is run again on a fresh one, with the same bits; the rows of a task
   * whose worker dies twice end with a WorkerError.
   */
  onDeath?: (error: Error) => void;
  /** Dead threads could not be replaced: nothing that was submitted will ever complete. */
  onFatal: (error: Error) => void;
}

/** A build of the kernels over shared memory. */
export type SharedBuild = NonNullable<ExecutionOptions["build"]>;

const SHARED_BUILDS: readonly SharedBuild[] = [
  "shoal.shared",
  "shoal.dot-shared",
  "shoal.debug-shared",
  "shoal.relaxed-shared",
];

/** The build that an executor runs: the one it was asked for, or the best that gives the same bits everywhere. */
export function sharedBuild({ build, engine }: ExecutionOptions): SharedBuild {
  if (build !== undefined) return build;
  return hasExactDots(engine) ? "shoal.dot-shared" : "shoal.shared";
}

/** Default of `taskBytes`. */
export const TASK_BYTES = 4 * 2 ** 20;

/** More cannot be told apart from a mistake. */
const WORKERS_MAX = 1024;
const THREADS_MAX = 256;
/** Bytes in WebAssembly's 32-bit addresses. */
export const roomBytes: Check = integer(1, 2 ** 32);

/** Of the options that a serving engine has as well. */
export const SERVED_CHECKS: Checks<ExecutionOptions> = {
  models: (_name, models) => checkModels(models),
  workers: integer(0, WORKERS_MAX),
  threadsPerWorker: integer(1, THREADS_MAX),
  warmUp: ofType("boolean"),
  team: (name, ways) => knownOptions(`"${name}"`, ways, TEAM_WAYS),
  slotBytes: roomBytes,
  taskBytes: roomBytes,
  build: oneOf(SHARED_BUILDS),
  spinMs: nonNegative,
  niceness: integer(0, 19),
  engine: anything,
  patienceMs: positive,
};

/** Of an executor that may do without workers. */
export const EXECUTOR_CHECKS: Checks<TensorOptions> = {
  ...SERVED_CHECKS,
  onDeath: ofType("function"),
  onFatal: ofType("function"),
};

export const TENSOR_CHECKS: Checks<TensorOptions> = {
  ...EXECUTOR_CHECKS,
  workers: integer(1, WORKERS_MAX),
};
