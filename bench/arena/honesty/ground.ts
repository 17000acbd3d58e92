/** A model on a machine that was profiled: what is asked of policies, and what simulations are made of. */
import { mean } from "../../../src/base/statistics.ts";
import { NS_PER_S } from "../../../src/base/units.ts";
import { buildModel, type BuiltModel } from "../../../src/cli/bench_models.ts";
import { submissions } from "../../../src/cli/measure.ts";
import type { MachineProfile } from "../../../src/cli/planning/machine_profile.ts";
import { policyOptions } from "../../../src/cli/policy_options.ts";
import type { Submission } from "../../../src/engine/core/engine_options.ts";
import type { SizeClass } from "../../../src/models/registry.ts";
import { OutsideProfile } from "../../../src/plan/profiled_cost.ts";
import { policyOf } from "../../../src/plan/policy_settings.ts";
import {
  type Machine,
  simulatedTrial,
} from "../../../src/plan/simulated_trial.ts";
import type { Policy } from "../../../src/policy/policy.ts";
import { atOnce, poisson } from "../../../src/workload/arrivals.ts";
import { workload } from "../../../src/workload/workload.ts";
import { workloadOf } from "../workloads.ts";

/** Where policies are compared. */
export interface Ground {
  readonly name: string;
  readonly built: BuiltModel;
  /** As it was when it was profiled: how fast its workers were, and when its host stood still. */
  readonly machine: Machine;
  readonly capacityPerS: number;
  readonly targetNs: number;
  /** Those that can batch the model. */
  readonly policies: readonly string[];
  /** A fresh one. */
  make(policy: string): Policy;
  /** @param ratePerS Infinity: all at once */
  arrivals(ratePerS: number, requests: number, seed: number): Submission[];
}

/** As in the arena. */
const BATCH_SIZE_MAX = 64;
/** The target, in multiples of the mean time alone. */
const TARGET = 5;
/** Requests that the time alone and the capacity are taken of, on virtual time. */
const FACTS = 128;
/** Whoever is the fastest of them gives the capacity, as in the arena. */
const FASTEST = ["graph", "merged", "cellular", "late"];

export function groundOf({ model: name, size, profile, policies, seed }: {
  readonly model: string;
  readonly size: SizeClass;
  readonly profile: MachineProfile;
  readonly policies: readonly string[];
  readonly seed: number;
}): Ground {
  const built = buildModel(name, size, seed);
  const { model, inputs } = built;
  const { machine, times: { tablesNs } } = profile;
  // What a capacity is does not hang on what came in between.
  const { recorded: _, ...steady } = machine;
  const batchSizeMax = Math.min(
    BATCH_SIZE_MAX,
    ...Object.values(tablesNs).map((points) => points[points.length - 1][0]),
  );
  const { decTimesteps } = workloadOf(name, size);
  // As plans give it: policies may ask for more rows than they run.
  const given = { profile: tablesNs, decTimesteps };
  const make = (policy: string, aloneNs: number): Policy =>
    policyOf(policy, policyOptions(policy, { batchSizeMax }), {
      ...given,
      ...{ aloneNs, targetNs: TARGET * aloneNs },
    });
  const supports = (policy: string) =>
    make(policy, 1).supports(model) === undefined;
  const arrivals = (ratePerS: number, requests: number, seed: number) => {
    const times = Number.isFinite(ratePerS) ? poisson({ ratePerS }) : atOnce();
    return submissions(
      model,
      workload({ arrivals: times, inputs, requests, seed }),
    );
  };
  const facts = arrivals(Infinity, FACTS, seed);
  const aloneNs = mean(
    facts.map((one) => simulatedNs(steady, make("serial", 1), [one])[0]),
  );
  const capacityPerS = Math.max(
    ...FASTEST.filter(supports).map((policy) => {
      try {
        const endsNs = simulatedNs(steady, make(policy, aloneNs), facts);
        return FACTS * NS_PER_S / endsNs.reduce((a, b) => Math.max(a, b));
      } catch (error) {
        // `graph` takes all at once: more rows than are profiled. The others say what is carried.
        if (error instanceof OutsideProfile) return 0;
        throw error;
      }
    }),
  );
  return {
    ...{ name, built, machine, capacityPerS, arrivals },
    targetNs: TARGET * aloneNs,
    policies: policies.filter(supports),
    make: (policy) => make(policy, aloneNs),
  };
}

/**
 * Latencies on virtual time, as requests end.
 * @param from where in what was recorded of the machine it begins: a share of the whole
 */
export function simulatedNs(
  machine: Machine,
  policy: Policy,
  arrivals: readonly Submission[],
  from = 0,
): readonly number[] {
  const target = { sloNs: Infinity, share: 1 };
  return simulatedTrial({ machine, policy, arrivals, target, from }, true)
    .latenciesNs;
}
