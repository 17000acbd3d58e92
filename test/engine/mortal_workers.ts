/** Worker threads that die when a test wants them to: the test's side of mortal_worker.ts. */
import { type Death, DEATHS, FUSE, FUSE_WORDS } from "./fuse.ts";

/** What a thread is like from its start. */
export interface Birth {
  /** Dies at so many accesses after its start, or, if stillborn, before it is ready. */
  dies?: { death: Death; accesses: number; which?: "writes" };
  /** It is never ready. */
  stillborn?: boolean;
  /** Dies while it loads the kernels, once it was ready and has been told what to be. */
  unloaded?: Death;
}

/** A thread of an engine, on record. */
export class MortalWorker {
  /** The engine has ended it. */
  ended = false;
  /** What the engine's first message says that it is to be. */
  role: string | undefined;
  readonly fuse = new Int32Array(new SharedArrayBuffer(4 * FUSE_WORDS));

  /** @param name that the engine gave it */
  constructor(readonly name: string | undefined) {}

  /** Lets it die at its n-th access to shared memory from now, or at its n-th write. */
  light(death: Death, accesses: number, which?: "writes"): void {
    Atomics.store(this.fuse, FUSE.writesOnly, which === "writes" ? 1 : 0);
    Atomics.store(this.fuse, FUSE.death, DEATHS.indexOf(death));
    Atomics.store(this.fuse, FUSE.left, accesses);
  }

  /** Takes that back. */
  spare(): void {
    Atomics.store(this.fuse, FUSE.left, 0);
  }

  /** Accesses to shared memory so far. */
  get accesses(): number {
    return Atomics.load(this.fuse, FUSE.accesses);
  }

  /** Its fuse has burnt out. */
  get dead(): boolean {
    return Atomics.load(this.fuse, FUSE.burnt) === 1;
  }
}

/**
 * Runs `body` with mortal threads instead of worker threads.
 * @param birth asked for every thread, in the order in which they are made
 */
export async function withMortalWorkers(
  body: (workers: readonly MortalWorker[]) => Promise<void>,
  birth: (index: number) => Birth = () => ({}),
): Promise<void> {
  const { Worker: Original } = globalThis;
  const records: MortalWorker[] = [];
  /** Threads that run; whoever keeps one that does not keeps all memory of its engine. */
  const running = new Set<Worker>();
  globalThis.Worker = class extends Original {
    readonly #record: MortalWorker;

    constructor(_url: string | URL, options?: WorkerOptions) {
      super(new URL("mortal_worker.ts", import.meta.url), options);
      const record = this.#record = new MortalWorker(options?.name);
      const { dies, stillborn, unloaded } = birth(records.length);
      if (dies) record.light(dies.death, dies.accesses, dies.which);
      if (stillborn) Atomics.store(record.fuse, FUSE.stillborn, 1);
      if (unloaded) {
        record.light(unloaded, 0);
        Atomics.store(record.fuse, FUSE.unloaded, 1);
      }
      super.postMessage(record.fuse);
      records.push(record);
      running.add(this);
    }

    override postMessage(message: unknown, ...rest: unknown[]): void {
      this.#record.role ??= (message as { role?: string }).role;
      super.postMessage(message, ...rest as []);
    }

    override terminate(): void {
      this.#record.ended = true;
      running.delete(this);
      super.terminate();
    }
  };
  try {
    await body(records);
  } finally {
    globalThis.Worker = Original;
    for (const worker of running) worker.terminate();
  }
}
