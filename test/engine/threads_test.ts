/** Threads that end while others start. */
import assert from "node:assert/strict";
import {
  startThreads,
  type ThreadStart,
} from "../../src/engine/wall/threads.ts";

/** A thread that a test plays: it is ready when the test says so, and gone when its lock is released. */
class PlayedWorker extends EventTarget {
  static all: PlayedWorker[] = [];
  readonly posted: unknown[] = [];
  ended = false;
  release = () => {};
  readonly #locked: Promise<void>;

  constructor(_url: URL, { name }: WorkerOptions) {
    super();
    PlayedWorker.all.push(this);
    this.#locked = new Promise((locked) => {
      void navigator.locks.request(name!, () => {
        locked();
        return new Promise<void>((resolve) => this.release = resolve);
      });
    });
  }

  async ready(): Promise<void> {
    await this.#locked;
    this.dispatchEvent(new MessageEvent("message", { data: "ready" }));
  }

  postMessage(message: unknown): void {
    this.posted.push(message);
  }

  terminate(): void {
    this.ended = true;
    this.release();
  }
}

const turn = () => new Promise((resolve) => setTimeout(resolve, 0));

/** Starts two threads, of which `body` plays. */
async function withTwo(
  body: (
    threads: [PlayedWorker, PlayedWorker],
    starting: ReturnType<typeof startThreads>,
  ) => Promise<void>,
  patienceMs = 600_000,
): Promise<void> {
  const { Worker: Original } = globalThis;
  PlayedWorker.all = [];
  Object.assign(globalThis, { Worker: PlayedWorker });
  try {
    const start = { role: "helper" } as unknown as ThreadStart;
    const starting = startThreads([start, start], {
      patienceMs,
      onDeath: (error) => {
        throw error;
      },
    });
    starting.catch(() => {});
    await turn();
    const [one, other] = PlayedWorker.all;
    await body([one, other], starting);
    for (const thread of PlayedWorker.all) thread.release();
  } finally {
    Object.assign(globalThis, { Worker: Original });
  }
}

Deno.test("threads are started when all are ready, and told what to be only then", () =>
  withTwo(async ([one, other], starting) => {
    await one.ready();
    await turn();
    assert.deepEqual([one.posted.length, other.posted.length], [0, 0]);
    await other.ready();
    const threads = await starting;
    assert.deepEqual([one.posted.length, other.posted.length], [1, 1]);
    for (const thread of threads) thread.terminate();
    await Promise.all(threads.map(({ over }) => over));
  }));

Deno.test("a thread that was ready and dies while others start fails the start", () =>
  withTwo(async ([one, other], starting) => {
    await one.ready();
    one.release();
    for (let i = 0; i < 20; i++) await turn();
    await other.ready();
    await assert.rejects(starting, /A worker thread ended unexpectedly/);
    assert(one.ended && other.ended);
    assert.equal(other.posted.length, 0);
  }));

Deno.test("a thread that is never ready fails the start, and all are ended", () =>
  withTwo(async ([one, other], starting) => {
    await one.ready();
    await assert.rejects(starting, /did not start within 20 ms/);
    assert(one.ended && other.ended);
  }, 20));
