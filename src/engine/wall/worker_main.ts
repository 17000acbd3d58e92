/** Entry point of a thread in every runtime: waits for its start message, then for work. */
import { runHelper } from "../../kernels/team/helper.ts";
import { needsPlain } from "../tensors/plain_calls.ts";
import { beNice } from "./niceness.ts";
import { parentChannel } from "./runtime.ts";
import type { ThreadStart } from "./threads.ts";
import { runWorker, type WorkerStart } from "./worker_loop.ts";

/** With operators in plain TypeScript, which are not even loaded where no model has any. */
function runWithPlain(start: WorkerStart, isOver: () => void): void {
  import("../../plain/registry.ts").then(({ runPlain }) => {
    runWorker(start, runPlain);
    isOver();
  }).catch((error) =>
    // Browsers do not tell a worker's parent of a promise that nobody caught.
    queueMicrotask(() => {
      throw error;
    })
  );
}

// No top-level await: bundlers make classic scripts of workers, too.
void parentChannel().then((channel) => {
  const isOver = () => {
    channel.post("stopped");
    channel.close();
  };
  channel.onMessage((message) => {
    const start = message as ThreadStart;
    beNice(start.niceness ?? 0);
    if (start.role === "worker" && needsPlain(start.worker.programs)) {
      return runWithPlain(start.worker, isOver);
    }
    if (start.role === "worker") runWorker(start.worker);
    else runHelper(start.helper);
    isOver();
  });
  channel.post("ready");
});
