/**
 * The one adapter for what runtimes do differently: worker threads and files. Deno, Bun and browsers
 * have Web Workers; Node has `node:worker_threads`.
 */
import { shorten } from "../../base/describe.ts";
import { nodeModule } from "../../base/node_module.ts";
import { shareMemory } from "../../kernels/module/fixed_memory.ts";

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

/**
 * Builds of the kernels (ARCHITECTURE.md, "Builds of One Source"): each over a memory of one thread's, which is a
 * file, and over a shared one, which is the same file with another import.
 */
export type KernelBuild =
  | "shoal"
  | "shoal.debug"
  | "shoal.dot"
  | "shoal.relaxed"
  | "shoal.shared"
  | "shoal.debug-shared"
  | "shoal.dot-shared"
  | "shoal.relaxed-shared";

/** Builds that are files. */
type KernelFile = Extract<
  KernelBuild,
  "shoal" | "shoal.debug" | "shoal.dot" | "shoal.relaxed"
>;

/**
 * The files that are not imported, each written as bundlers look for them: `new URL` of a literal and
 * `import.meta.url`. In the package they lie side by side: src/cli/package/bundle.ts puts those paths in here. Each is
 * returned by a statement: what is but the value of an arrow function escapes who copies a server's files
 * (@vercel/nft, for Nitro and Vercel).
 */
const KERNELS: Readonly<Record<KernelFile, () => URL>> = {
  "shoal"() {
    return new URL("../../../build/shoal.wasm", import.meta.url);
  },
  "shoal.debug"() {
    return new URL("../../../build/shoal.debug.wasm", import.meta.url);
  },
  "shoal.dot"() {
    return new URL("../../../build/shoal.dot.wasm", import.meta.url);
  },
  "shoal.relaxed"() {
    return new URL("../../../build/shoal.relaxed.wasm", import.meta.url);
  },
};

/** The files of builds over shared memory. */
const SHARED: Readonly<Partial<Record<KernelBuild, KernelFile>>> = {
  "shoal.shared": "shoal",
  "shoal.debug-shared": "shoal.debug",
  "shoal.dot-shared": "shoal.dot",
  "shoal.relaxed-shared": "shoal.relaxed",
};

function webWorker(name: string): Worker {
  return new Worker(new URL("./worker_main.ts", import.meta.url), {
    type: "module",
    name,
  });
}

/** For Node, and for messages. Bundlers for servers see no worker in Node's own, but a file that has to come along. */
function workerUrl(): URL {
  return new URL("./worker_main.ts", import.meta.url);
}

/** Why a file of ours may not be where it belongs. */
function wayOut(): string {
  return import.meta.url?.endsWith(".ts")
    ? `run "deno task build" first`
    : "worker.js and the .wasm files of @shoal/core belong beside the code that loads them; " +
      `some bundlers want to be told (README, "Bundlers")`;
}

/** Whether the runtime has worker threads at all: service workers have none, however their page is served. */
export function hasWorkers(): boolean {
  return typeof Worker === "function" ||
    nodeModule("node:worker_threads") !== undefined && mayHaveThreads();
}

/** Whether Node's permission model, where it is switched on, lets this process start threads. */
export function mayHaveThreads(): boolean {
  const { permission } = (nodeModule("node:process") ?? {}) as {
    permission?: { has(scope: string): boolean };
  };
  return permission?.has("worker") ?? true;
}

/** Threads of Node's, where there are none of the Web's. */
function nodeThreads(): typeof import("node:worker_threads") {
  const threads = nodeModule("node:worker_threads");
  if (threads !== undefined) return threads;
  throw new Error(
    "This runtime has no worker threads, neither the Web's nor Node's: " +
      "serve in this thread (workers: 0)",
  );
}

/** A thread inherits the options of `node`, and cannot start with the one that says what `node -e` is given. */
function threadOptions(): { readonly execArgv?: string[] } {
  const given = nodeModule("node:process")?.execArgv ?? [];
  return given.some((option) => option.startsWith("--input-type"))
    ? { execArgv: [] }
    : {};
}

/**
 * Starts a worker thread. The listeners are there before anything else can happen: Deno drops messages
 * that nobody listens for, and does not wait for the next turn of the event loop to do so.
 */
export function spawnWorker(listeners: WorkerListeners): WorkerHandle {
  if (typeof Worker === "function") return spawnWebWorker(listeners);
  const { Worker: NodeWorker } = nodeThreads();
  const worker = new NodeWorker(workerUrl(), threadOptions());
  let started = false;
  worker.on("message", (message) => {
    started = true;
    listeners.onMessage(message);
  });
  worker.on("error", (error) => {
    const cause = error as Error;
    listeners.onError(started ? cause : notStarted(cause.message, { cause }));
  });
  worker.on("exit", listeners.onGone);
  return {
    tellsEnd: true,
    post: (message) => worker.postMessage(message),
    terminate: () => void worker.terminate(),
  };
}

function spawnWebWorker(
  { onMessage, onError, onGone }: WorkerListeners,
): WorkerHandle {
  const name = `shoal-${crypto.randomUUID()}`;
  const worker = startWebWorker(name);
  let watched = false;
  worker.addEventListener("message", ({ data }) => {
    // With its first message the thread says that it holds its lock.
    if (!watched) whenReleased(name, onGone);
    watched = true;
    onMessage(data);
  });
  worker.addEventListener("error", (event) => {
    event.preventDefault();
    if (watched) {
      return onError(new Error(`A worker thread failed: ${event.message}`));
    }
    onError(notStarted(event.message));
  });
  // Bun says so.
  worker.addEventListener("close", onGone);
  return {
    tellsEnd: "Bun" in globalThis || navigator.locks !== undefined,
    post: (message) => worker.postMessage(message),
    terminate: () => worker.terminate(),
  };
}

/** @throws Error where a page may not have it: browsers throw for another origin, or what is no TrustedScriptURL */
function startWebWorker(name: string): Worker {
  try {
    return webWorker(name);
  } catch (cause) {
    throw notStarted((cause as Error).message, { cause });
  }
}

/** @param why what the runtime says; of a script that is not loaded browsers say nothing */
function notStarted(why: string, options?: ErrorOptions): Error {
  const url = workerUrl();
  const pages = url.protocol === "file:"
    ? ""
    : "; a page starts threads from its own origin alone, where its policy (worker-src) allows it, and " +
      "where the script itself is sent with Cross-Origin-Embedder-Policy, as the page is: " +
      "else ask for none (workers: 0)";
  return new Error(
    `A worker thread failed to start from ${nameOf(url, url.href)}: ${
      why || "it cannot be loaded"
    }; ${wayOut()}${pages}`,
    options,
  );
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

/**
 * How long a thread sleeps where nobody can end it, before it sleeps in its event loop. Deno ends a thread there alone:
 * the workers of an engine whose own thread was terminated would sleep for ever, and keep its memory.
 */
export const REST_MS = "Deno" in globalThis ? 1000 : Infinity;

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
  const { parentPort } = nodeThreads();
  if (parentPort === null) {
    throw new Error("worker_main is started by an engine, as a worker thread");
  }
  return {
    post: (message) => parentPort.postMessage(message),
    onMessage: (listener) => void parentPort.on("message", listener),
    close: () => parentPort.close(),
  };
}

/** Cores that the runtime may use; 1 where it does not say. Node has `navigator` from 21 on. */
export function parallelism(): number {
  return globalThis.navigator?.hardwareConcurrency ??
    nodeModule("node:os")?.availableParallelism() ?? 1;
}

/** Name and version of the runtime, for reports. */
export function runtimeName(): string {
  return globalThis.navigator?.userAgent ??
    `Node.js/${nodeModule("node:process")?.versions.node}`;
}

/**
 * Bytes of a kernel build.
 * @throws Error saying where it belongs when it is not there
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import {
 *   createMemory,
 *   instantiateKernels,
 *   readKernels,
 * } from "@shoal/core/kernels";
 *
 * const build = await readKernels("shoal");
 * const kernels = instantiateKernels(build, { memory: createMemory({ bytes: 1 << 16 }) });
 * assert(kernels.shoal_static_end() > 0);
 * ```
 */
export async function readKernels(build: KernelBuild): Promise<BufferSource> {
  const plain = SHARED[build];
  const url = kernelsUrl(plain ?? build as KernelFile);
  const bytes = await readBinary(url, wayOut());
  // Some servers answer with a page of theirs where there is no file.
  if (MAGIC.every((byte, i) => bytes[i] === byte)) {
    return plain === undefined ? bytes : shareMemory(bytes);
  }
  throw new Error(
    `Cannot use ${nameOf(url)}: it is no WebAssembly module; ${wayOut()}`,
  );
}

/** @throws Error where code no longer knows where it is from, as in bundles that are no ES modules, or has no place */
function kernelsUrl(file: KernelFile): URL {
  try {
    return KERNELS[file]();
  } catch (cause) {
    const from = `${import.meta.url}`;
    const cure = /^(blob|data):/.test(from)
      ? "nothing lies beside code that comes from a blob: or data: URL, as workers do that bundlers inline: " +
        "load it from a file of its own"
      : `bundles of @shoal/core are to be ES modules (format "esm")`;
    throw new Error(
      `Cannot tell where ${file}.wasm is: import.meta.url is ${
        shorten(from)
      } here; ${cure}; ${wayOut()}`,
      { cause },
    );
  }
}

/** A file as messages name it; of one that a bundler has put into the code (data:) there may be hundreds of KB. */
function nameOf(url: URL, name = url.pathname): string {
  return url.protocol === "data:" ? shorten(url.href) : name;
}

/** How WebAssembly modules begin. */
const MAGIC = [0x00, 0x61, 0x73, 0x6d];

/** @throws Error naming the file, with `hint`, when it cannot be read */
export async function readBinary(
  url: URL,
  hint: string,
): Promise<Uint8Array<ArrayBuffer>> {
  const files = nodeModule("node:fs/promises");
  try {
    if (url.protocol === "file:" && files) {
      return new Uint8Array(await files.readFile(url));
    }
    const response = await fetch(url);
    if (!response.ok) {
      throw new Error(`${response.status} ${response.statusText}`);
    }
    return new Uint8Array(await response.arrayBuffer());
  } catch (cause) {
    throw new Error(
      `Cannot read ${nameOf(url)}: ${(cause as Error).message}; ${hint}`,
      { cause },
    );
  }
}
