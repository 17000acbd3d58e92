/** Runs requests of one model to the end, in one thread on virtual time, and hands out their results. */
import { EngineCore } from "../src/engine/core/engine.ts";
import { PairedExecutor } from "../src/engine/virtual/paired_executor.ts";
import { readKernels } from "../src/engine/wall/runtime.ts";
import { Timeline } from "../src/engine/virtual/timeline.ts";
import { driveVirtual } from "../src/engine/virtual/virtual_driver.ts";
import type { Model } from "../src/graph/model.ts";
import type { Result } from "../src/graph/result.ts";
import type { Policy } from "../src/policy/policy.ts";
import { serial } from "../src/policy/baselines/serial.ts";

const release = await WebAssembly.compile(await readKernels("shoal"));

export interface RunOptions {
  /** Default: serial. */
  policy?: Policy;
  workers?: number;
  /** Time between two arrivals; a row of any cell takes 100 ns and a batch 1000 ns more. Default 0. */
  gapNs?: number;
  slotBytes?: number;
  /** A build over unshared memory; default: "shoal". */
  kernels?: WebAssembly.Module;
}

/**
 * @returns what became of each input, in their order
 */
export function endings<Input>(
  model: Model<Input>,
  inputs: readonly Input[],
  options: RunOptions = {},
): (Result | Error)[] {
  const { policy = serial(), gapNs = 0, workers = 1, slotBytes = 2 ** 23 } =
    options;
  const { kernels = release } = options;
  const timeline = new Timeline();
  const executor = new PairedExecutor({
    timeline,
    models: [model],
    kernels,
    workers,
    slotBytes,
    cost: { latencyNs: (_cell, rows) => 1000 + 100 * rows },
    onCompleted: (task, startNs, endNs) =>
      engine.completed(task, startNs, endNs),
  });
  const engine = new EngineCore({ models: [model], policy, executor });
  const ended: (Result | Error)[] = [];
  driveVirtual(
    engine,
    timeline,
    inputs.map((input, i) => ({
      model,
      input,
      arrivalNs: i * gapNs,
      onEnd: ({ result, error }) => ended[i] = error ?? result!,
    })),
  );
  return ended;
}

/**
 * @returns results in the order of the inputs
 * @throws Error of the first request that failed
 */
export function runRequests<Input>(
  model: Model<Input>,
  inputs: readonly Input[],
  options: RunOptions = {},
): Result[] {
  return endings(model, inputs, options).map((ended) => {
    if (ended instanceof Error) throw ended;
    return ended;
  });
}
