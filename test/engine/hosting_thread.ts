/** A thread that has an engine, and says by which names its threads go once they have nothing more to do. */
import { lstm, ServingEngine } from "../../src/mod.ts";

const names: string[] = [];
const { Worker: Original } = globalThis;
globalThis.Worker = class extends Original {
  constructor(url: string | URL, options?: WorkerOptions) {
    super(url, options);
    names.push(options!.name!);
  }
};
const model = lstm({ hidden: 4, vocabulary: 5 });
const engine = await ServingEngine.create({
  models: [model],
  workers: 2,
  threadsPerWorker: 2,
  warmUp: false,
});
await engine.run(model, { tokens: [1, 2] });
(globalThis as unknown as Pick<Worker, "postMessage">).postMessage(names);
