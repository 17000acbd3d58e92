/** Entry point of a thread in every runtime: waits for its start message, then for work. */
import { runHelper } from "../../kernels/team/helper.ts";
import { parentChannel } from "./runtime.ts";
import type { ThreadStart } from "./threads.ts";
import { runWorker } from "./worker_loop.ts";

// No top-level await: bundlers make classic scripts of workers, too.
void parentChannel().then((channel) => {
  channel.onMessage((message) => {
    const start = message as ThreadStart;
    if (start.role === "worker") runWorker(start.worker);
    else runHelper(start.helper);
    channel.post("stopped");
    channel.close();
  });
  channel.post("ready");
});
