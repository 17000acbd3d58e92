/** Every policy at three loads over real tensors, on this machine's workers. */
import { BenchRun, withExecutor } from "../../../src/cli/bench_run.ts";
import { benchSettings } from "../../../src/cli/bench_settings.ts";
import { progress } from "../../../src/cli/terminal.ts";
import { EngineCore } from "../../../src/engine/core/engine.ts";
import type { Submission } from "../../../src/engine/core/engine_options.ts";
import { replay } from "../../../src/engine/wall/replay.ts";
import type { TensorExecutor } from "../../../src/engine/wall/tensor_executor.ts";
import type { Policy } from "../../../src/policy/policy.ts";
import type { Ground } from "./ground.ts";

/** What was run of a policy at a load. */
export interface Ran {
  readonly policy: string;
  /** Share of the capacity. */
  readonly load: number;
  readonly ratePerS: number;
  readonly arrivals: readonly Submission[];
  /** Of `arrivals`, by run. */
  readonly latenciesNs: (readonly number[])[];
}

const LOADS = [0.25, 0.6, 0.9];
/** Requests under each policy before anything counts: code that is compiled meanwhile takes processors. */
const PRACTICE = 100;
const REQUESTS = { min: 100, max: 4000 };

/** The same requests `runs` times, one round of all policies and loads after the other. */
export async function runsOf(
  ground: Ground,
  { seconds, runs, seed }: {
    readonly seconds: number;
    readonly runs: number;
    /** That of the profile. */
    readonly seed: number;
  },
): Promise<Ran[]> {
  const { name, built, machine, capacityPerS, policies, make } = ground;
  const requestsOf = (ratePerS: number) =>
    Math.min(
      REQUESTS.max,
      Math.max(REQUESTS.min, Math.round(ratePerS * seconds)),
    );
  const settings = {
    ...benchSettings([`--seed=${seed}`, "--workers", `${machine.workers}`])!,
    requests: requestsOf(Math.max(...LOADS) * capacityPerS),
  };
  return await withExecutor(built, settings, async (executor) => {
    await new BenchRun(built, executor, settings).warmUp();
    for (const policy of policies) {
      progress(`${name}: ${policy}, practising`);
      const few = ground.arrivals(
        ...[LOADS[1] * capacityPerS, PRACTICE, otherSeed(seed, 2)] as const,
      );
      await measuredLatencies(executor, make(policy), few);
    }
    const all: Ran[] = LOADS.flatMap((load) => {
      const ratePerS = load * capacityPerS;
      const arrivals = ground.arrivals(
        ...[ratePerS, requestsOf(ratePerS), otherSeed(seed, 1)] as const,
      );
      return policies.map((policy) => ({
        ...{ policy, load, ratePerS, arrivals },
        latenciesNs: [],
      }));
    });
    for (let run = 1; run <= runs; run++) {
      for (const { policy, load, arrivals, latenciesNs } of all) {
        progress(`${name}: ${policy} at ${load} of the capacity, run ${run}`);
        latenciesNs.push(
          await measuredLatencies(executor, make(policy), arrivals),
        );
      }
    }
    return all;
  });
}

/** None that the profile was measured with, so that no prediction knows the requests that it is judged on. */
function otherSeed(seed: number, by: number): number {
  return seed > 0 ? seed - by : seed + by;
}

async function measuredLatencies(
  executor: TensorExecutor,
  policy: Policy,
  arrivals: readonly Submission[],
): Promise<number[]> {
  const latenciesNs: number[] = [];
  const engine = new EngineCore({
    models: [...new Set(arrivals.map(({ model }) => model))],
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
