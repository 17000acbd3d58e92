/** The runs of one model: sizing, peaks, points under load. */
import { writeFileSync } from "node:fs";
import { parallelism } from "../engine/runtime.ts";
import { TensorExecutor } from "../engine/tensor_executor.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { Policy } from "../policy/policy.ts";
import type { ProfileTable } from "../policy/profile.ts";
import { POLICIES } from "../policy/registry.ts";
import type { BenchPoint } from "../report/bench_result.ts";
import { perfettoTrace } from "../report/perfetto.ts";
import { TraceRecorder } from "../report/trace_recorder.ts";
import { atOnce, poisson } from "../workload/arrivals.ts";
import { workload } from "../workload/workload.ts";
import type { BuiltModel } from "./bench_models.ts";
import type { BenchSettings } from "./bench_settings.ts";
import { measure } from "./measure.ts";
import { policyOptions } from "./policy_options.ts";
import { progress } from "./terminal.ts";

/** Starts workers for a model, and ends them whatever happens. */
export async function withExecutor<T>(
  { model }: BuiltModel,
  workers: number,
  use: (executor: TensorExecutor) => Promise<T>,
): Promise<T> {
  const executor = await TensorExecutor.start({
    models: [model],
    workers,
    slotBytes: 2 ** 28,
    // Every thread has a core: nobody sleeps during a run, as BatchMaker polls its signal variable.
    ...(workers < parallelism() && { spinMs: 100 }),
    onFatal: (error) => {
      throw error;
    },
  });
  try {
    return await use(executor);
  } finally {
    await executor.close();
  }
}

export class BenchRun {
  /** What policies that decide by time are given. */
  profile: ProfileTable | undefined = undefined;

  constructor(
    readonly built: BuiltModel,
    readonly executor: TensorExecutor,
    readonly settings: BenchSettings,
  ) {}

  /** Lets the engine optimise every kernel at every batch size before anything is timed. */
  async warmUp(): Promise<void> {
    await this.#atOnce("serial", 20);
    await this.#atOnce("cellular", 100);
  }

  /** Requests per second when all are there from the start. */
  async peak(policy: string): Promise<number> {
    const { throughputPerS } = await this.#atOnce(
      policy,
      this.settings.requests,
    );
    return throughputPerS;
  }

  async point(
    policy: string,
    loadName: string,
    offeredPerS: number,
  ): Promise<BenchPoint> {
    const { seed, requests, out } = this.settings;
    const { model, inputs } = this.built;
    const recorder = new TraceRecorder();
    const metrics = await measure({
      model,
      policy: this.#policy(policy),
      executor: this.executor,
      arrivals: workload({
        arrivals: poisson({ ratePerS: offeredPerS }),
        inputs,
        requests,
        seed,
      }),
      observer: recorder,
    });
    const name = `${model.name}-${policy}-${loadName}`;
    writeFileSync(
      `${out}/${name}.trace.json`,
      perfettoTrace([{ name, recorder }]),
    );
    progress(
      `${model.name}: ${policy} at ${loadName} load, ${
        offeredPerS.toFixed(0)
      }/s: p90 ${(metrics.latency.p90Ns / 1e6).toFixed(1)} ms`,
    );
    return { policy, loadName, offeredPerS, metrics };
  }

  /** How a policy is set up. */
  options(policy: string): Record<string, unknown> {
    return policyOptions(policy, {
      batchSizeMax: this.settings.batchSizeMax,
      ...(this.profile && { profile: this.profile }),
    });
  }

  #atOnce(policy: string, requests: number): Promise<Metrics> {
    const { model, inputs } = this.built;
    return measure({
      model,
      policy: this.#policy(policy),
      executor: this.executor,
      arrivals: workload({
        arrivals: atOnce(),
        inputs,
        requests,
        seed: this.settings.seed,
      }),
    });
  }

  #policy(name: string): Policy {
    return POLICIES[name]!.build(this.options(name));
  }
}
