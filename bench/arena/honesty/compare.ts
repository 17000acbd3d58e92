/** A model under every policy at three loads: predicted, then measured. */
import { ascending, mean, percentile } from "../../../src/base/statistics.ts";
import { NS_PER_MS, NS_PER_S } from "../../../src/base/units.ts";
import { buildModel, type BuiltModel } from "../../../src/cli/bench_models.ts";
import { BenchRun, withExecutor } from "../../../src/cli/bench_run.ts";
import { benchSettings } from "../../../src/cli/bench_settings.ts";
import { submissions } from "../../../src/cli/measure.ts";
import type { MachineProfile } from "../../../src/cli/planning/machine_profile.ts";
import { policyOptions } from "../../../src/cli/policy_options.ts";
import { progress } from "../../../src/cli/terminal.ts";
import { typicalProfile } from "../../../src/cost/typical_profile.ts";
import { EngineCore } from "../../../src/engine/core/engine.ts";
import type { Submission } from "../../../src/engine/core/engine_options.ts";
import { replay } from "../../../src/engine/wall/replay.ts";
import type { TensorExecutor } from "../../../src/engine/wall/tensor_executor.ts";
import { policyOf } from "../../../src/plan/policy_settings.ts";
import { OutsideProfile } from "../../../src/plan/profiled_cost.ts";
import { simulatedTrial } from "../../../src/plan/simulated_trial.ts";
import type { Policy } from "../../../src/policy/policy.ts";
import { atOnce, poisson } from "../../../src/workload/arrivals.ts";
import { workload } from "../../../src/workload/workload.ts";
import { workloadOf } from "../workloads.ts";

/** How requests did. */
export interface Figures {
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Share within the target. */
  readonly inTime: number;
  /** Requests within the target, by the second of arrivals. */
  readonly goodputPerS: number;
}

/** A policy at a load. */
export interface Comparison {
  readonly model: string;
  readonly policy: string;
  /** Share of the capacity. */
  readonly load: number;
  readonly ratePerS: number;
  readonly requests: number;
  readonly targetMs: number;
  /** What the profile does not cover, in words: nothing was run. */
  readonly refused?: string;
  readonly predicted?: Figures;
  readonly measured?: Figures;
}

export interface CompareOptions {
  readonly model: string;
  readonly profile: MachineProfile;
  readonly policies: readonly string[];
  readonly seconds: number;
  readonly seed: number;
}

const LOADS = [0.25, 0.6, 0.9];
/** The target, in multiples of the mean time alone. */
const TARGET = 5;
/** Requests that the time alone and the capacity are taken of, on virtual time. */
const FACTS = 128;
const REQUESTS = { min: 60, max: 4000 };
/** Whoever is the fastest of them gives the capacity, as in the arena. */
const FASTEST = ["graph", "merged", "cellular", "late"];

export async function compare(
  { model: name, profile, policies, seconds, seed }: CompareOptions,
): Promise<Comparison[]> {
  const built = buildModel(name, "medium", seed);
  const { machine, tablesNs } = profile;
  const batchSizeMax = Math.min(
    ...Object.values(tablesNs).map((points) => points[points.length - 1][0]),
  );
  const { decTimesteps, tokens } = workloadOf(name, "medium");
  const make = (policy: string, aloneNs: number): Policy =>
    policyOf(policy, policyOptions(policy, { batchSizeMax }), {
      profile: typicalProfile(machine.cost, { tokens, steps: decTimesteps }),
      ...{ decTimesteps, aloneNs, targetNs: TARGET * aloneNs },
    });
  const predict = (policy: Policy, arrivals: readonly Submission[]) =>
    simulatedTrial({
      ...{ machine, policy, arrivals },
      target: { sloNs: Infinity, share: 0.99 },
    }, true).latenciesNs;
  const facts = arrivalsOf(built, Infinity, FACTS, seed);
  const aloneNs = mean(
    facts.map((one) => predict(make("serial", 1), [one])[0]),
  );
  const capacityPerS = Math.max(
    ...FASTEST.filter((policy) =>
      make(policy, 1).supports(built.model) === undefined
    )
      .map((policy) =>
        FACTS * NS_PER_S /
        predict(make(policy, aloneNs), facts).reduce((a, b) => Math.max(a, b))
      ),
  );
  const able = policies.filter((policy) =>
    make(policy, aloneNs).supports(built.model) === undefined
  );
  const requestsMost = requestsOf(Math.max(...LOADS) * capacityPerS, seconds);
  const benchOptions = {
    ...benchSettings([`--seed=${seed}`, "--workers", `${machine.workers}`])!,
    requests: requestsMost,
  };
  return await withExecutor(built, benchOptions, async (executor) => {
    await new BenchRun(built, executor, benchOptions).warmUp();
    const comparisons: Comparison[] = [];
    for (const load of LOADS) {
      const ratePerS = load * capacityPerS;
      const arrivals = arrivalsOf(
        ...[built, ratePerS, requestsOf(ratePerS, seconds), seed] as const,
      );
      const figures = (latenciesNs: readonly number[]) =>
        figuresOf(latenciesNs, TARGET * aloneNs, ratePerS);
      for (const policy of able) {
        progress(`${name}: ${policy} at ${load} of the capacity`);
        const what = {
          ...{ model: name, policy, load, ratePerS },
          requests: arrivals.length,
          targetMs: TARGET * aloneNs / NS_PER_MS,
        };
        try {
          const predicted = figures(predict(make(policy, aloneNs), arrivals));
          const measured = figures(
            await measuredLatencies(
              executor,
              built,
              make(policy, aloneNs),
              arrivals,
            ),
          );
          comparisons.push({ ...what, predicted, measured });
        } catch (error) {
          if (!(error instanceof OutsideProfile)) throw error;
          comparisons.push({ ...what, refused: error.message });
        }
      }
    }
    return comparisons;
  });
}

function requestsOf(ratePerS: number, seconds: number): number {
  return Math.min(
    REQUESTS.max,
    Math.max(REQUESTS.min, Math.round(ratePerS * seconds)),
  );
}

/** @param ratePerS Infinity: all at once */
function arrivalsOf(
  { model, inputs }: BuiltModel,
  ratePerS: number,
  requests: number,
  seed: number,
): Submission[] {
  const arrivals = Number.isFinite(ratePerS) ? poisson({ ratePerS }) : atOnce();
  return submissions(model, workload({ arrivals, inputs, requests, seed }));
}

async function measuredLatencies(
  executor: TensorExecutor,
  { model }: BuiltModel,
  policy: Policy,
  arrivals: readonly Submission[],
): Promise<number[]> {
  const latenciesNs: number[] = [];
  const engine = new EngineCore({
    models: [model],
    policy,
    executor,
    isRemote: true,
    queueMax: Infinity,
    observer: {
      request(_, { arrivalNs, endNs, outcome }) {
        if (outcome !== "done") throw new Error(`A request is ${outcome}`);
        latenciesNs.push(endNs - arrivalNs);
      },
    },
  });
  await replay(engine, executor, arrivals);
  return latenciesNs;
}

function figuresOf(
  latenciesNs: readonly number[],
  targetNs: number,
  ratePerS: number,
): Figures {
  const sorted = ascending(latenciesNs);
  const inTime = latenciesNs.filter((ns) => ns <= targetNs).length /
    latenciesNs.length;
  return {
    p50Ms: percentile(sorted, 0.5) / NS_PER_MS,
    p99Ms: percentile(sorted, 0.99) / NS_PER_MS,
    inTime,
    goodputPerS: inTime * ratePerS,
  };
}
