/** Entry point of a thread in every runtime: waits for its start message, then for work. */
import { runHelper, type Sleep } from "../../kernels/team/helper.ts";
import { needsPlain } from "../tensors/plain_calls.ts";
import { beNice } from "./niceness.ts";
import { parentChannel, REST_MS } from "./runtime.ts";
import type { ThreadStart } from "./threads.ts";
import { runWorker, type WorkerStart } from "./worker_loop.ts";

/** With operators in plain TypeScript, which are not even loaded where no model has any. */
async function work(start: WorkerStart): Promise<void> {
  const plain = needsPlain(start.programs)
    ? (await import("../../plain/registry.ts")).runPlain
    : undefined;
  await attend(runWorker(start, plain, REST_MS));
}

/** Runs a loop to its end; what it gives away is slept in the event loop. */
async function attend(loop: Generator<Sleep, void>): Promise<void> {
  for (const { words, index, value } of loop) {
    await Atomics.waitAsync(words, index, value).value;
  }
}

// No top-level await: bundlers make classic scripts of workers, too.
void parentChannel().then((channel) => {
  channel.onMessage((message) => {
    const start = message as ThreadStart;
    beNice(start.niceness ?? 0);
    const over = start.role === "worker"
      ? work(start.worker)
      : attend(runHelper(start.helper, REST_MS));
    over.then(() => {
      channel.post("stopped");
      channel.close();
    }).catch((error) =>
      // Browsers do not tell a worker's parent of a promise that nobody caught.
      queueMicrotask(() => {
        throw error;
      })
    );
  });
  channel.post("ready");
});
