/** Entry point of a worker thread in every runtime: waits for its start message, then for tasks. */
import { parentChannel } from "./runtime.ts";
import { runWorker, type WorkerStart } from "./worker_loop.ts";

const channel = await parentChannel();
channel.onMessage((message) => {
  runWorker(message as WorkerStart);
  channel.post("stopped");
  channel.close();
});
channel.post("ready");
