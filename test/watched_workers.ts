export type WatchedWorker = Worker & { ended: boolean };

/** Runs `body` with every Worker that is made in it on record. */
export async function withWatchedWorkers(
  body: (workers: readonly WatchedWorker[]) => Promise<void>,
): Promise<void> {
  const { Worker: Original } = globalThis;
  const workers: WatchedWorker[] = [];
  globalThis.Worker = class extends Original {
    ended = false;

    constructor(url: string | URL, options?: WorkerOptions) {
      super(url, options);
      workers.push(this);
    }

    override terminate(): void {
      this.ended = true;
      super.terminate();
    }
  };
  try {
    await body(workers);
  } finally {
    globalThis.Worker = Original;
  }
}
