/** What this machine's workers really carry: the engine over real tensors, as a plan has it on virtual time. */
import { EngineCore } from "../../engine/core/engine.ts";
import { replay } from "../../engine/wall/replay.ts";
import type { TensorExecutor } from "../../engine/wall/tensor_executor.ts";
import type { Model } from "../../graph/model.ts";
import type { Target } from "../../load/result.ts";
import { searchRate } from "../../load/search.ts";
import { tooFew } from "../../plan/lasting.ts";
import type { Carried, Choice } from "../../plan/plan.ts";
import { arrivalsAt, type RecordedPart } from "../../plan/recorded_part.ts";
import { lateMax } from "../../plan/target.ts";
import { POLICIES } from "../../policy/registry.ts";
import { formatNumber } from "../../report/format.ts";
import { progress } from "../terminal.ts";

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
export interface MeasuredLoad extends Carried {
  /** The least rate that was tried. */
  readonly leastPerS: number;
  /**
   * Every run, in its order: rate, and share of the part's requests that were in time. A run that loses the target is given
   * up there, and whoever had not come is in none.
   */
  readonly runs: readonly { readonly perS: number; readonly inTime: number }[];
}

/** How a load is searched for. */
interface MeasuredSearch {
  /** The first rate. */
  readonly fromPerS: number;
  readonly precision: number;
  /** Factor from one rate to the next; default 2. */
  readonly step?: number;
  /** Whether runs go on that have lost the target. */
  readonly areWhole?: boolean;
}

/** Runs of which most say whether a rate is carried: one may be disturbed by something else on the machine. */
const RUNS = 3;
/** Targets that an overloaded run goes on for. */
const PATIENCE = 4;
/** Factors of the first rate that are tried; a run at a quarter of it takes four times as long. */
const REACH = { down: 4, up: 16 } as const;

/** Searches for it, from a rate on, no lower than a fourth of it. */
export async function measuredLoad(
  subject: MeasuredSubject,
  { fromPerS, precision, step, areWhole }: MeasuredSearch,
): Promise<MeasuredLoad> {
  const { part, target } = subject;
  const runs: { perS: number; inTime: number }[] = [];
  const requests = part.seconds.length;
  const leastInTime = requests - lateMax(target, requests);
  const leastPerS = fromPerS / REACH.down;
  const { best } = await searchRate({
    ...{ ratePerS: fromPerS, leastPerS, precision },
    ...{ mostPerS: REACH.up * fromPerS, ...(step !== undefined && { step }) },
    trial: async (perS) => {
      progress(`measuring ${formatNumber(perS)}/s`);
      let held = 0;
      let lost = 0;
      while (Math.max(held, lost) <= RUNS / 2) {
        const inTime = await measuredRun(subject, perS, areWhole);
        runs.push({ perS, inTime: inTime / requests });
        if (inTime >= leastInTime) held++;
        else lost++;
      }
      return { holds: held > lost, result: undefined };
    },
  });
  const least = Math.min(...runs.map(({ perS }) => perS));
  const perS = best?.ratePerS;
  const obstacle = perS === undefined ? undefined : tooFew(part, perS, target);
  return {
    ...{ leastPerS: least, runs },
    ...(obstacle === undefined ? { perS } : { perS: undefined, obstacle }),
  };
}

/** How many of a part's requests are done in time at a rate. */
async function measuredRun(
  { executor, model, choice, part, target }: MeasuredSubject,
  perS: number,
  isWhole = false,
): Promise<number> {
  const arrivals = arrivalsAt(part, model, perS);
  const allowed = isWhole ? Infinity : lateMax(target, arrivals.length);
  let inTime = 0;
  let late = 0;
  const engine = new EngineCore({
    models: [model],
    policy: POLICIES[choice.policy].build({ ...choice.options }),
    executor,
    isRemote: true,
    observer: {
      request(_, { arrivalNs, endNs, outcome }) {
        if (outcome === "done" && endNs - arrivalNs <= target.sloNs) inTime++;
        else late++;
      },
    },
  });
  const lastNs = arrivals[arrivals.length - 1].arrivalNs;
  const mostNs = lastNs + PATIENCE * target.sloNs;
  await replay(
    engine,
    executor,
    arrivals,
    (sinceStartNs) => late > allowed || sinceStartNs > mostNs,
  );
  return inTime;
}
