import { requireCompiler, supports } from "../../kernels/module/features.ts";
import type { TensorOptions } from "../tensors/tensor_options.ts";
import { InlineExecutor } from "./inline_executor.ts";
import { hasWorkers, mayHaveThreads } from "./runtime.ts";
import { TensorExecutor } from "./tensor_executor.ts";
import type { WallExecutor } from "./wall_executor.ts";

/**
 * The executor that these options ask for: `workers: 0` for the calling thread. Where threads cannot be had
 * and nobody asked for several, that is the default.
 * @throws RangeError when more threads are asked for than there can be
 * @throws Error where the host does not let WebAssembly be compiled
 */
export function startExecutor(options: TensorOptions): Promise<WallExecutor> {
  requireCompiler();
  const { workers, threadsPerWorker = 1, engine } = options;
  if (workers === 0) {
    if (threadsPerWorker === 1) return InlineExecutor.start(options);
    throw new RangeError(
      `"threadsPerWorker" is 1 where "workers" is 0: the engine's own thread has no helpers; got ${threadsPerWorker}`,
    );
  }
  if (hasThreads(engine)) return TensorExecutor.start(options);
  if ((workers ?? 1) * threadsPerWorker === 1) {
    return InlineExecutor.start(options);
  }
  throw new RangeError(
    `There is one thread here, got workers: ${
      workers ?? 1
    }, threadsPerWorker: ${threadsPerWorker}. ${obstacle(engine)}; ` +
      "or leave both options out",
  );
}

/** Whether workers can be started, and heard of without blocking. */
function hasThreads(engine: TensorOptions["engine"]): boolean {
  return supports("threads", engine) && hasWorkers() &&
    typeof Atomics.waitAsync === "function";
}

/** Why there are no threads, and what would help. */
function obstacle(engine: TensorOptions["engine"]): string {
  if (!supports("threads", engine)) {
    return "Threads need memory that they share. In a page that is where crossOriginIsolated is true: " +
      `serve it with the headers "Cross-Origin-Opener-Policy: same-origin" and ` +
      `"Cross-Origin-Embedder-Policy: require-corp"`;
  }
  if (!mayHaveThreads()) {
    return "Node's permission model keeps threads back: allow them with --allow-worker";
  }
  return hasWorkers()
    ? "Workers are heard of by Atomics.waitAsync, which this runtime does not have yet: take a newer one"
    : "A service worker, or what else has neither the Web's workers nor Node's, starts none: " +
      "let a page or a worker of its own have the engine";
}
