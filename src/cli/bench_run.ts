/** The runs of one model: sizing, peaks, points under load. */
import { Prng } from "../base/prng.ts";
import { parallelism } from "../engine/wall/runtime.ts";
import { TensorExecutor } from "../engine/wall/tensor_executor.ts";
import { CellGraph } from "../graph/cell_graph.ts";
import { SlotPlan } from "../graph/slot_plan.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { Policy } from "../policy/policy.ts";
import type { Observer } from "../policy/records.ts";
import type { ProfileTable } from "../policy/profile.ts";
import { POLICIES } from "../policy/registry.ts";
import type { BenchPoint } from "../report/bench_result.ts";
import { perfettoTrace } from "../report/perfetto.ts";
import { TraceRecorder } from "../report/trace_recorder.ts";
import { atOnce, poisson } from "../workload/arrivals.ts";
import { workload } from "../workload/workload.ts";
import type { BuiltModel } from "./bench_models.ts";
import type { BenchSettings } from "./bench_settings.ts";
import { writeText } from "./files.ts";
import { measure } from "./measure.ts";
import { policyOptions } from "./policy_options.ts";
import { progress } from "./terminal.ts";

/** Room for the requests in flight. */
const SLOT_BYTES = 2 ** 28;
/** Room for requests of image networks at their full sizes, of which one may take 200 MiB. */
const SLOT_BYTES_MAX = 3 * 2 ** 30;

/** Requests before anything is timed. */
const PRACTICE = 100;

/** Slots for `requests` requests at once, as far as memory goes, and how many there are room for. */
export function slotsFor(
  { model, inputs, samples }: BuiltModel,
  requests: number,
): { slotBytes: number; requests: number } {
  if (samples === 0) return { slotBytes: SLOT_BYTES, requests };
  const prng = new Prng(1);
  let bytes = 0;
  for (let i = 0; i < samples; i++) {
    const graph = new CellGraph(model);
    model.unfold(inputs.next(prng).input, graph);
    bytes = Math.max(bytes, new SlotPlan(graph).bytes);
  }
  // The pool's classes of sizes are up to an eighth apart.
  const each = 1.125 * bytes;
  const slotBytes = Math.min(
    SLOT_BYTES_MAX,
    Math.max(SLOT_BYTES, Math.ceil(requests * each)),
  );
  return {
    slotBytes,
    requests: Math.min(requests, Math.floor(slotBytes / each)),
  };
}

/** Starts workers for a model, and ends them whatever happens. */
export async function withExecutor<T>(
  built: BuiltModel,
  sizes: { workers: number; requests: number },
  use: (executor: TensorExecutor) => Promise<T>,
): Promise<T> {
  const executor = await startExecutor(built, sizes);
  try {
    return await use(executor);
  } finally {
    await executor.close();
  }
}

/** Starts workers for a model: whoever has them ends them. */
export async function startExecutor(
  built: BuiltModel,
  { workers, requests }: { workers: number; requests: number },
): Promise<TensorExecutor> {
  return await TensorExecutor.start({
    models: [built.model],
    workers,
    slotBytes: slotsFor(built, requests).slotBytes,
    // Every thread has a core: nobody sleeps during a run, as BatchMaker polls its signal variable.
    ...(workers < parallelism() && { spinMs: 100 }),
    onFatal: (error) => {
      throw error;
    },
  });
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
    const { requests } = this.settings;
    await this.#atOnce("serial", Math.min(20, requests));
    await this.#atOnce("cellular", Math.min(PRACTICE, requests));
  }

  /** Requests per second when all are there from the start. */
  async peak(policy: string): Promise<number> {
    const { requests } = this.settings;
    // A policy's own code is optimised, too, before it is timed.
    await this.#atOnce(policy, Math.min(PRACTICE, requests));
    const { throughputPerS } = await this.#atOnce(policy, requests);
    return throughputPerS;
  }

  /** The same of several policies, by name. */
  async peaks(policies: readonly string[]): Promise<Record<string, number>> {
    const rounds = await this.#inTurns(policies, (policy) => this.peak(policy));
    return Object.fromEntries(policies.map((policy) => {
      const perS = middle(rounds[policy], (perS) => perS);
      progress(
        `${this.built.model.name}: peak of ${policy} ${perS.toFixed(0)}/s`,
      );
      return [policy, perS];
    }));
  }

  /** Every policy at one load. */
  async points(
    policies: readonly string[],
    loadName: string,
    offeredPerS: number,
  ): Promise<BenchPoint[]> {
    const { seed, requests } = this.settings;
    const { model, inputs } = this.built;
    const arrivals = workload({
      arrivals: poisson({ ratePerS: offeredPerS }),
      inputs,
      requests,
      seed,
    });
    const run = (policy: string, observer: Observer) =>
      measure({
        model,
        policy: this.#policy(policy),
        executor: this.executor,
        arrivals,
        observer,
        isRemote: true,
      });
    const rounds = await this.#inTurns(policies, async (policy, round) => {
      // What a policy does under this load is optimised before it is timed; under others it may do something else.
      if (round === 0) await run(policy, new TraceRecorder());
      const recorder = new TraceRecorder();
      const metrics = await run(policy, recorder);
      progress(
        `${model.name}: ${policy} at ${loadName} load, ${
          offeredPerS.toFixed(0)
        }/s: p90 ${(metrics.latency.p90Ns / 1e6).toFixed(1)} ms`,
      );
      return { metrics, recorder };
    });
    return policies.map((policy) => {
      const runs = rounds[policy];
      const p90Ns = ({ metrics }: { metrics: Metrics }) =>
        metrics.latency.p90Ns;
      const { metrics, recorder } = middle(runs, p90Ns);
      return {
        ...{ policy, loadName, offeredPerS, metrics },
        ...(runs.length > 1 && { p90OfRoundsNs: runs.map(p90Ns) }),
        trace: this.#trace(policy, loadName, recorder),
      };
    });
  }

  /** Results of every round, by policy; none is always the first, or behind the same one. */
  async #inTurns<T>(
    policies: readonly string[],
    run: (policy: string, round: number) => Promise<T>,
  ): Promise<Record<string, T[]>> {
    const results: Record<string, T[]> = Object.fromEntries(
      policies.map((policy) => [policy, []]),
    );
    for (let round = 0; round < this.settings.rounds; round++) {
      const at = round % policies.length;
      const turned = [...policies.slice(at), ...policies.slice(0, at)];
      for (const policy of round % 2 === 0 ? turned : turned.reverse()) {
        results[policy].push(await run(policy, round));
      }
    }
    return results;
  }

  #trace(
    policy: string,
    loadName: string,
    recorder: TraceRecorder,
  ): BenchPoint["trace"] {
    const { requests, out } = this.settings;
    const name = `${this.built.model.name}-${policy}-${loadName}`;
    const file = `${name.replace(/[^\w.-]+/g, "_")}.trace.json`;
    writeText(`${out}/${file}`, perfettoTrace([{ name, recorder }]));
    return {
      file,
      requests: Math.min(recorder.requestsMax, requests),
      of: requests,
    };
  }

  /** How a policy is set up. */
  options(policy: string): Record<string, unknown> {
    return policyOptions(policy, {
      batchSizeMax: this.settings.batchSizeMax,
      ...(this.profile && { profile: this.profile }),
    });
  }

  /** The same in words. */
  setUp(policy: string): string {
    return JSON.stringify(
      this.options(policy),
      (key, value) => key === "profile" ? "this machine's" : value,
    );
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
      // As a serving engine tells its policy.
      isRemote: true,
    });
  }

  #policy(name: string): Policy {
    return POLICIES[name].build(this.options(name));
  }
}

/** The one in the middle; of an even number the lower one. */
function middle<T>(values: readonly T[], of: (value: T) => number): T {
  return [...values].sort((a, b) => of(a) - of(b))[(values.length - 1) >> 1];
}
