/** The greatest rate at which a part of a trace keeps its target under a policy, on virtual time. */
import type { Target } from "../load/result.ts";
import { searchRate } from "../load/search.ts";
import type { Model } from "../graph/model.ts";
import type { Policy } from "../policy/policy.ts";
import { arrivalsAt, type RecordedPart } from "./recorded_part.ts";
import { type Machine, simulatedTrial } from "./simulated_trial.ts";

/** What carries what. */
export interface Subject {
  readonly model: Model;
  readonly machine: Machine;
  readonly part: RecordedPart;
  readonly target: Target;
}

/** Rates as factors of the first that are tried. */
const REACH = 1e4;

/**
 * @param policy makes a fresh one for each run
 * @param range where the search begins, and what it does not go below; rates are told apart to `precision`
 * @returns requests per second; undefined when not even the least rate keeps the target
 * @throws OutsideProfile when the policy asks for batches that were not measured
 */
export async function carriedPerS(
  { model, machine, part, target }: Subject,
  policy: () => Policy,
  { fromPerS, leastPerS = fromPerS / REACH, precision }: {
    readonly fromPerS: number;
    readonly leastPerS?: number;
    readonly precision: number;
  },
): Promise<number | undefined> {
  const { best } = await searchRate({
    ...{ ratePerS: fromPerS, leastPerS, mostPerS: fromPerS * REACH, precision },
    trial: (ratePerS) => {
      const arrivals = arrivalsAt(part, model, ratePerS);
      const { holds } = simulatedTrial({
        ...{ machine, policy: policy(), arrivals, target },
      });
      return Promise.resolve({ holds, result: undefined });
    },
  });
  return best?.ratePerS;
}
