import { EngineCore } from "../engine/core/engine.ts";
import type { Submission } from "../engine/core/engine_options.ts";
import { replay } from "../engine/wall/replay.ts";
import type { TensorExecutor } from "../engine/wall/tensor_executor.ts";
import type { Model } from "../graph/model.ts";
import { Collector } from "../metrics/collector.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { summarize } from "../metrics/summarize.ts";
import { tee } from "../metrics/tee.ts";
import type { Policy } from "../policy/policy.ts";
import type { Observer } from "../policy/records.ts";
import type { Arrival } from "../workload/workload.ts";

export interface MeasureOptions {
  model: Model;
  policy: Policy;
  executor: TensorExecutor;
  arrivals: readonly Arrival[];
  observer?: Observer;
  /** What views say of workers (EngineView.isRemote); default false, as papers' workers are idle when they ask. */
  isRemote?: boolean;
}

/** One run of one policy over one workload on the wall clock. */
export async function measure(options: MeasureOptions): Promise<Metrics> {
  const { model, policy, executor, arrivals, observer, isRemote } = options;
  const collector = new Collector();
  const engine = new EngineCore({
    models: [model],
    policy,
    executor,
    observer: observer ? tee(collector, observer) : collector,
    ...(isRemote !== undefined && { isRemote }),
  });
  await replay(engine, executor, submissions(model, arrivals));
  return summarize(collector, { workers: executor.workers });
}

/** A workload's arrivals as an engine takes them. */
export function submissions(
  model: Model,
  arrivals: readonly Arrival[],
): Submission[] {
  return arrivals.map(({ atNs, input, stepsFixed }) => ({
    model,
    input,
    arrivalNs: atNs,
    // Who waits for room is not there, as what is measured has it.
    whenFull: "refuse" as const,
    ...(stepsFixed !== undefined && { stepsFixed }),
  }));
}
