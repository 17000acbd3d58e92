/** What this machine's workers really carry: the engine over real tensors, as a plan has it on virtual time. */
import { EngineCore } from "../../engine/core/engine.ts";
import { replay } from "../../engine/wall/replay.ts";
import type { TensorExecutor } from "../../engine/wall/tensor_executor.ts";
import type { Model } from "../../graph/model.ts";
import type { Target } from "../../load/result.ts";
import { searchRate } from "../../load/search.ts";
import type { Choice } from "../../plan/plan.ts";
import { arrivalsAt, type RecordedPart } from "../../plan/recorded_part.ts";
import { lateMax } from "../../plan/target.ts";
import { POLICIES } from "../../policy/registry.ts";

/** What is measured. */
export interface MeasuredSubject {
  readonly executor: TensorExecutor;
  /** The one that the executor has. */
  readonly model: Model;
  readonly choice: Choice;
  readonly part: RecordedPart;
  readonly target: Target;
}

/** What came of it. */
export interface MeasuredLoad {
  /** The greatest rate that kept the target; undefined when none did. */
  readonly perS: number | undefined;
  /** Every run, in its order: rate, and share in time. */
  readonly runs: readonly { readonly perS: number; readonly inTime: number }[];
}

/** Runs of which most say whether a rate is carried: one may be disturbed by something else on the machine. */
const RUNS = 3;
/** Targets that an overloaded run goes on for. */
const PATIENCE = 4;

/** Searches for it, from a rate on, by steps of a factor of two unless said otherwise. */
export async function measuredLoad(
  subject: MeasuredSubject,
  { fromPerS, precision, step }: {
    readonly fromPerS: number;
    readonly precision: number;
    readonly step?: number;
  },
): Promise<MeasuredLoad> {
  const runs: { perS: number; inTime: number }[] = [];
  const requests = subject.part.seconds.length;
  const leastInTime = 1 - lateMax(subject.target, requests) / requests;
  const { best } = await searchRate({
    ...{ ratePerS: fromPerS, leastPerS: fromPerS / 16, precision },
    ...{ mostPerS: 16 * fromPerS, ...(step !== undefined && { step }) },
    trial: async (perS) => {
      let held = 0;
      let lost = 0;
      while (Math.max(held, lost) <= RUNS / 2) {
        const inTime = await measuredShare(subject, perS);
        runs.push({ perS, inTime });
        if (inTime >= leastInTime) held++;
        else lost++;
      }
      return { holds: held > lost, result: undefined };
    },
  });
  return { perS: best?.ratePerS, runs };
}

/** Share of a part's requests that are done in time at a rate. */
export async function measuredShare(
  { executor, model, choice, part, target }: MeasuredSubject,
  perS: number,
): Promise<number> {
  let inTime = 0;
  const engine = new EngineCore({
    models: [model],
    policy: POLICIES[choice.policy].build({ ...choice.options }),
    executor,
    isRemote: true,
    observer: {
      request(_, { arrivalNs, endNs, outcome }) {
        if (outcome === "done" && endNs - arrivalNs <= target.sloNs) inTime++;
      },
    },
  });
  const arrivals = arrivalsAt(part, model, perS);
  const lastNs = arrivals[arrivals.length - 1].arrivalNs;
  await replay(engine, executor, arrivals, lastNs + PATIENCE * target.sloNs);
  return inTime / arrivals.length;
}
