/**
 * The one adapter for what runtimes do differently: worker threads and files. Deno, Bun and browsers
 * have Web Workers; Node has `node:worker_threads`.
 */

/** A worker thread as the engine sees it. */
export interface WorkerHandle {
  /** Whether the runtime tells when the thread has ended (WorkerListeners.onGone). */
  readonly tellsEnd: boolean;
  post(message: unknown): void;
  /** Ends the thread where the runtime can: one that sleeps in `Atomics.wait` has to be woken, too. */
  terminate(): void;
}

/** Who hears of a worker thread. */
export interface WorkerListeners {
  onMessage(message: unknown): void;
  /** Nobody caught what the thread threw: what it was doing is over, it may still live. */
  onError(error: Error): void;
  /** The thread has ended, in whatever way. Only where the runtime tells. */
  onGone(): void;
}

/** The engine as a worker thread sees it. */
export interface ParentChannel {
  post(message: unknown): void;
  onMessage(listener: (message: unknown) => void): void;
  close(): void;
}

/** The bundle that Node and browsers load has its worker beside it as JavaScript. */
function workerUrl(): URL {
  const extension = import.meta.url.endsWith(".ts")
    ? "worker_main.ts"
    : "worker.js";
  return new URL(extension, import.meta.url);
}

/**
 * Starts a worker thread. The listeners are there before anything else can happen: Deno drops messages
 * that nobody listens for, and does not wait for the next turn of the event loop to do so.
 */
export async function spawnWorker(
  listeners: WorkerListeners,
): Promise<WorkerHandle> {
  const url = workerUrl();
  if (typeof Worker === "function") return spawnWebWorker(url, listeners);
  const { Worker: NodeWorker } = await import("node:worker_threads");
  const worker = new NodeWorker(url);
  worker.on("message", listeners.onMessage);
  worker.on("error", (error) => listeners.onError(error as Error));
  worker.on("exit", listeners.onGone);
  return {
    tellsEnd: true,
    post: (message) => worker.postMessage(message),
    terminate: () => void worker.terminate(),
  };
}

function spawnWebWorker(
  url: URL,
  { onMessage, onError, onGone }: WorkerListeners,
): WorkerHandle {
  const name = `shoal-${crypto.randomUUID()}`;
  const worker = new Worker(url, { type: "module", name });
  let watched = false;
  worker.addEventListener("message", ({ data }) => {
    // With its first message the thread says that it holds its lock.
    if (!watched) whenReleased(name, onGone);
    watched = true;
    onMessage(data);
  });
  worker.addEventListener("error", (event) => {
    event.preventDefault();
    onError(new Error(`A worker thread failed: ${event.message}`));
  });
  // Bun says so.
  worker.addEventListener("close", onGone);
  return {
    tellsEnd: "Bun" in globalThis || navigator.locks !== undefined,
    post: (message) => worker.postMessage(message),
    terminate: () => worker.terminate(),
  };
}

/**
 * Web Workers end without a word; but a lock that a thread holds is released with it, however it ends,
 * and not before it has.
 */
function whenReleased(name: string, onGone: () => void): void {
  navigator.locks?.request(name, () => onGone()).catch(() => {
    // The page itself is going away.
  });
}

/** Resolves once this thread holds the lock that it keeps for as long as it lives. */
async function holdLock(name: string): Promise<void> {
  if (name === "" || !navigator.locks) return;
  await new Promise<void>((resolve) => {
    void navigator.locks.request(name, () => {
      resolve();
      return new Promise<never>(() => {});
    });
  });
}

export async function parentChannel(): Promise<ParentChannel> {
  // Deno and Bun offer node:worker_threads as well; the Web's own way is the same everywhere it exists.
  if (typeof Worker === "function") {
    const scope = globalThis as unknown as
      & Pick<Worker, "postMessage" | "addEventListener">
      & { close(): void; readonly name?: string };
    await holdLock(scope.name ?? "");
    return {
      post: (message) => scope.postMessage(message),
      onMessage: (listener) =>
        scope.addEventListener(
          "message",
          (event) => listener((event as MessageEvent).data),
        ),
      close: () => scope.close(),
    };
  }
  const { parentPort } = await import("node:worker_threads");
  if (parentPort === null) {
    throw new Error("worker_main is started by an engine, as a worker thread");
  }
  return {
    post: (message) => parentPort.postMessage(message),
    onMessage: (listener) => void parentPort.on("message", listener),
    close: () => parentPort.close(),
  };
}

/** Cores that the runtime may use; 1 where it does not say. */
export function parallelism(): number {
  return globalThis.navigator?.hardwareConcurrency ?? 1;
}

/** Builds of the kernels; see ARCHITECTURE.md, "Builds of One Source". */
export type KernelBuild =
  | "shoal"
  | "shoal.debug"
  | "shoal.shared"
  | "shoal.debug-shared"
  | "shoal.relaxed"
  | "shoal.relaxed-shared";

/**
 * Bytes of a kernel build, from the `build` folder that `deno task build` fills.
 * @throws Error saying how to make it when it is not there
 */
export async function readKernels(build: KernelBuild): Promise<BufferSource> {
  const beside = import.meta.url.endsWith(".ts") ? "../../../build/" : "./";
  return await readBinary(
    new URL(`${beside}${build}.wasm`, import.meta.url),
    `run "deno task build" first`,
  );
}

/** @throws Error naming the file, with `hint`, when it cannot be read */
export async function readBinary(
  url: URL,
  hint: string,
): Promise<Uint8Array<ArrayBuffer>> {
  try {
    if (url.protocol === "file:") {
      const { readFile } = await import("node:fs/promises");
      return new Uint8Array(await readFile(url));
    }
    const response = await fetch(url);
    if (!response.ok) {
      throw new Error(`${response.status} ${response.statusText}`);
    }
    return new Uint8Array(await response.arrayBuffer());
  } catch (cause) {
    throw new Error(
      `Cannot read ${url.pathname}: ${(cause as Error).message}; ${hint}`,
      { cause },
    );
  }
}
