/**
 * The one adapter for what runtimes do differently: worker threads and files. Deno, Bun and browsers
 * have Web Workers; Node has `node:worker_threads`.
 */

/** A worker thread as the engine sees it. */
export interface WorkerHandle {
  post(message: unknown): void;
  terminate(): void | Promise<unknown>;
}

/** Who hears of a worker thread. */
export interface WorkerListeners {
  onMessage(message: unknown): void;
  onError(error: Error): void;
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
  { onMessage, onError }: WorkerListeners,
): Promise<WorkerHandle> {
  const url = workerUrl();
  if (typeof Worker === "function") {
    const worker = new Worker(url, { type: "module" });
    worker.addEventListener("message", ({ data }) => onMessage(data));
    worker.addEventListener("error", (event) => {
      event.preventDefault();
      onError(new Error(`A worker thread failed: ${event.message}`));
    });
    return {
      post: (message) => worker.postMessage(message),
      terminate: () => worker.terminate(),
    };
  }
  const { Worker: NodeWorker } = await import("node:worker_threads");
  const worker = new NodeWorker(url);
  worker.on("message", onMessage);
  worker.on("error", (error) => onError(error as Error));
  return {
    post: (message) => worker.postMessage(message),
    terminate: () => worker.terminate(),
  };
}

export async function parentChannel(): Promise<ParentChannel> {
  // Deno and Bun offer node:worker_threads as well; the Web's own way is the same everywhere it exists.
  if (typeof Worker === "function") {
    const scope = globalThis as unknown as
      & Pick<Worker, "postMessage" | "addEventListener">
      & { close(): void };
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
  const beside = import.meta.url.endsWith(".ts") ? "../../build/" : "./";
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
