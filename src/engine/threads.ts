import type { HelperStart } from "../kernels/team/helper.ts";
import { spawnWorker, type WorkerHandle } from "./runtime.ts";
import type { WorkerStart } from "./worker_loop.ts";

/** First message to a thread: what it is going to be. */
export type ThreadStart =
  | { readonly role: "worker"; readonly worker: WorkerStart }
  | { readonly role: "helper"; readonly helper: HelperStart };

export interface Thread {
  readonly handle: WorkerHandle;
  /** Resolves when it was told to stop and has, or has died. */
  readonly stopped: Promise<void>;
}

/** Starts one thread per message; all or none. */
export async function startThreads(
  starts: readonly ThreadStart[],
  onFatal: (error: Error) => void,
): Promise<Thread[]> {
  const handles: WorkerHandle[] = [];
  const threads = starts.map(async (start): Promise<Thread> => {
    let onReady = () => {};
    let onStopped = () => {};
    let onError = onFatal;
    const stopped = new Promise<void>((resolve) => onStopped = resolve);
    const ready = new Promise<void>((resolve, reject) => {
      onReady = resolve;
      onError = reject;
    });
    const handle = await spawnWorker({
      onMessage: (message) => message === "ready" ? onReady() : onStopped(),
      onError: (error) => onError(error),
    });
    handles.push(handle);
    await ready;
    onError = (error) => {
      onFatal(error);
      onStopped();
    };
    handle.post(start);
    return { handle, stopped };
  });
  try {
    return await Promise.all(threads);
  } catch (error) {
    await Promise.allSettled(threads);
    await Promise.all(handles.map((handle) => handle.terminate()));
    throw error;
  }
}
