import type { HelperStart } from "../../kernels/team/helper.ts";
import { withinMs } from "./patience.ts";
import { spawnWorker, type WorkerHandle } from "./runtime.ts";
import type { WorkerStart } from "./worker_loop.ts";

/** First message to a thread: what it is going to be. */
export type ThreadStart = ThreadRole & {
  /** Its nice value; absent: that of whoever starts it. */
  readonly niceness?: number;
};

type ThreadRole =
  | { readonly role: "worker"; readonly worker: WorkerStart }
  | { readonly role: "helper"; readonly helper: HelperStart };

/** A thread that runs. */
export interface Thread {
  /**
   * Resolves once it will write nothing more to memory: it said that it has stopped, or is gone. Where the
   * runtime does not tell, also when it threw what nobody caught; and never when it was ended from outside.
   */
  readonly over: Promise<void>;
  terminate(): void;
}

export interface ThreadOptions {
  /** How long a thread may take to start, or to end. */
  readonly patienceMs: number;
  /** Called at most once per thread: it ended without having been told to. */
  readonly onDeath: (error: Error) => void;
}

/**
 * Starts one thread per message; all or none.
 * @throws Error when a thread fails, ends or is not ready within `patienceMs`
 */
export async function startThreads(
  starts: readonly ThreadStart[],
  options: ThreadOptions,
): Promise<Thread[]> {
  const threads = starts.map(() => new StartingThread(options.onDeath));
  try {
    await withinMs(
      Promise.all(threads.map((thread) => thread.spawn())),
      options.patienceMs,
      () =>
        new Error(
          `A worker thread did not start within ${options.patienceMs} ms (patienceMs)`,
        ),
    );
    // One that was ready may have died while others started.
    for (const thread of threads) thread.checkAlive();
  } catch (error) {
    // None has its start message yet: each is in its event loop, where it can be ended.
    for (const thread of threads) thread.terminate();
    throw error;
  }
  threads.forEach((thread, i) => thread.begin(starts[i]));
  return threads;
}

/**
 * Ends threads that were told to leave.
 * @returns whether all of them are certainly over; those that are not within `patienceMs` are ended by
 * force, which not every runtime can do at once, or tells
 */
export async function endThreads(
  threads: readonly Thread[],
  patienceMs: number,
): Promise<boolean> {
  try {
    await withinMs(
      Promise.all(threads.map(({ over }) => over)),
      patienceMs,
      () => new Error("late"),
    );
    return true;
  } catch {
    return false;
  } finally {
    for (const thread of threads) thread.terminate();
  }
}

/** A thread from its birth on. */
class StartingThread implements Thread {
  readonly over: Promise<void>;
  #isOver = false;
  #resolveOver = () => {};
  /** What it is told while nobody has begun to use it. */
  #onEarlyEnd: (error: Error) => void = () => {};
  #handle: WorkerHandle | undefined;
  /** What it threw and nobody caught. */
  #error: Error | undefined;
  #state: "starting" | "running" | "terminated" = "starting";

  constructor(readonly onDeath: (error: Error) => void) {
    this.over = new Promise((resolve) => this.#resolveOver = resolve);
  }

  /** Resolves when it says that it is ready. */
  async spawn(): Promise<void> {
    let onReady = () => {};
    const ready = new Promise<void>((resolve, reject) => {
      onReady = resolve;
      this.#onEarlyEnd = reject;
    });
    // Whoever gives up on a thread does not wait for it.
    ready.catch(() => {});
    this.#handle = spawnWorker({
      onMessage: (message) => {
        if (message === "ready") onReady();
        else this.#end();
      },
      onError: (error) => {
        this.#error ??= error;
        const knows = this.#handle?.tellsEnd && this.#state !== "starting";
        if (!knows) this.#end(error);
        this.#handle?.terminate();
      },
      onGone: () =>
        this.#end(
          this.#error ?? new Error("A worker thread ended unexpectedly"),
        ),
    });
    await ready;
  }

  /** @throws what it died of, if it did */
  checkAlive(): void {
    if (this.#isOver) throw this.#error;
  }

  begin(start: ThreadStart): void {
    this.#state = "running";
    this.#handle!.post(start);
  }

  terminate(): void {
    this.#state = "terminated";
    this.#handle?.terminate();
  }

  /** @param error undefined when it was told to stop and has */
  #end(error?: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#error ??= error;
    this.#resolveOver();
    if (error === undefined || this.#state === "terminated") return;
    if (this.#state === "starting") this.#onEarlyEnd(error);
    else this.onDeath(error);
  }
}
