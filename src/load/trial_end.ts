/**
 * Where a trial of a search may end before its time: more requests were not answered in time than its target allows of
 * all that it has (early_stopping.ts), so that it fails whatever comes. It never passes early: looking again and again
 * until a run passes would let one pass that should not.
 */
import { overMost } from "./early_stopping.ts";
import { ENDS } from "./ledger.ts";
import type { LoadPlan } from "./plan.ts";
import type { Target } from "./result.ts";
import type { RunOptions } from "./run.ts";

/** What stops a run (see `RunOptions`), and tells it. */
export interface TrialEnd {
  readonly stop: AbortSignal;
  readonly onEnd: NonNullable<RunOptions["onEnd"]>;
}

/** Of one run of a plan. */
export function trialEnd(
  { dueNs, warmUpNs }: LoadPlan,
  { sloNs, share, confidence }: Target,
): TrialEnd {
  const counted = dueNs.filter((ns) => ns >= warmUpNs).length;
  const most = overMost(counted, share, confidence);
  const hopeless = new AbortController();
  let over = 0;
  return {
    stop: hopeless.signal,
    onEnd({ dueNs, endNs, ends }, i) {
      const isIn = ENDS[ends[i]] === "left" ||
        ENDS[ends[i]] === "completed" && endNs[i] - dueNs[i] <= sloNs;
      if (dueNs[i] >= warmUpNs && !isIn && ++over > most) hopeless.abort();
    },
  };
}
