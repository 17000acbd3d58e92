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

/** Runs that begin at so many places of what was recorded of a machine: most of them say whether a rate is carried. */
export const RUNS = 9;
/** Runs of them that carry what is said to be carried nearly always, in most cases, and seldom. */
export const IN_RUNS = { mostly: 8, half: 5, seldom: 2 } as const;

/** Where they begin, as shares of the whole; one of a machine that is always the same. */
export function startsOf({ recorded }: Machine): readonly number[] {
  return recorded ? Array.from({ length: RUNS }, (_, i) => i / RUNS) : [0];
}

/** Rates as factors of the first that are tried. */
export const REACH = 1e4;

/**
 * @param policy makes a fresh one for each run
 * @param range where the search begins, and what it does not go below; rates are told apart to `precision`; a rate is
 * carried when it is in so many of nine runs (`inRuns`, half by default)
 * @returns requests per second; undefined when not even the least rate keeps the target
 * @throws OutsideProfile when the policy asks for batches that were not measured
 */
export async function carriedPerS(
  { model, machine, part, target }: Subject,
  policy: () => Policy,
  { fromPerS, leastPerS = fromPerS / REACH, precision, inRuns }: {
    readonly fromPerS: number;
    readonly leastPerS?: number;
    readonly precision: number;
    readonly inRuns?: keyof typeof IN_RUNS;
  },
): Promise<number | undefined> {
  const starts = startsOf(machine);
  const needed = machine.recorded ? IN_RUNS[inRuns ?? "half"] : 1;
  const { best } = await searchRate({
    ...{ ratePerS: fromPerS, leastPerS, mostPerS: fromPerS * REACH, precision },
    trial: (ratePerS) => {
      const arrivals = arrivalsAt(part, model, ratePerS);
      let held = 0;
      let lost = 0;
      while (held < needed && lost <= starts.length - needed) {
        const { holds } = simulatedTrial({
          ...{ machine, policy: policy(), arrivals, target },
          from: starts[held + lost],
        });
        if (holds) held++;
        else lost++;
      }
      return Promise.resolve({ holds: held === needed, result: undefined });
    },
  });
  return best?.ratePerS;
}
