/**
 * The greatest rate at which a server holds a target at p99, in minutes even where it is ten requests a second: trials
 * have as many requests as early stopping needs at the confidence that is asked for, and no more; they go down from a
 * rate that is too high by the precision at a time, as those that fail end with the first requests that are late
 * (trial_end.ts), and only one that holds has to be sat through.
 */
import { Prng } from "../../src/base/prng.ts";
import { msToNs, NS_PER_S, nsToMs } from "../../src/base/units.ts";
import { requestsLeast } from "../../src/load/early_stopping.ts";
import { type LoadPlan, loadPlan } from "../../src/load/plan.ts";
import type { LoadResult, Target } from "../../src/load/result.ts";
import { runLoad } from "../../src/load/run.ts";
import { searchRate, type Trial } from "../../src/load/search.ts";
import { SHARE, summarizeLoad } from "../../src/load/summarize.ts";
import { trialEnd } from "../../src/load/trial_end.ts";
import type { LoadClock, Wire, WireRequest } from "../../src/load/wire.ts";
import { TARGETS_LEAST } from "../../src/plan/lasting.ts";
import { poisson } from "../../src/workload/arrivals.ts";

/** A server, and how it is asked. */
export interface RateSearchOptions {
  readonly wire: Wire;
  readonly clock: LoadClock;
  readonly bodies: readonly WireRequest[];
  readonly connections: number;
  readonly seed: number;
  readonly timeoutMs: number;
  /** At p99. */
  readonly sloMs: number;
  /** With which that is to be shown, in (0, 1). */
  readonly confidence: number;
  /** Where it begins: about what the server can do at all. */
  readonly fromPerS: number;
  /** The rate that does not hold is at most this much more than the one that does, e.g. 0.25. */
  readonly precision: number;
  /** Hears of each trial; the next one waits for it. */
  readonly onTrial: (
    ratePerS: number,
    holds: boolean,
    result: LoadResult,
  ) => Promise<void>;
}

/** What came of it. */
export interface HeldRate {
  /** The trial at the greatest rate that holds; undefined: none was found. */
  readonly best: Trial<LoadResult> | undefined;
  /** The least rate that did not hold; Infinity: all did. */
  readonly lostPerS: number;
  readonly trials: readonly Trial<LoadResult>[];
}

/** The same of a warm-up. */
const TARGETS_WARM = 2;
/** What of the first rate is gone down to, and up. */
const REACH = 16;

/** Searches for it. */
export async function heldRate(options: RateSearchOptions): Promise<HeldRate> {
  const { fromPerS, precision, onTrial } = options;
  const { best, trials } = await searchRate<LoadResult>({
    ...{ ratePerS: fromPerS, precision, step: 1 + precision },
    ...{ leastPerS: fromPerS / REACH, mostPerS: fromPerS * REACH },
    trial: async (ratePerS) => {
      const result = await trialAt(ratePerS, options);
      const { holds } = result.verdict!;
      await onTrial(ratePerS, holds, result);
      return { holds, result };
    },
  });
  const lost = trials.filter(({ holds }) => !holds);
  return {
    ...{ best, trials },
    lostPerS: Math.min(...lost.map(({ ratePerS }) => ratePerS)),
  };
}

/** One run at a rate. */
async function trialAt(
  ratePerS: number,
  options: RateSearchOptions,
): Promise<LoadResult> {
  const { wire, clock, connections, sloMs, confidence } = options;
  const target: Target = { sloNs: msToNs(sloMs), share: SHARE, confidence };
  const plan = trialPlan(ratePerS, options, target);
  const end = trialEnd(plan, target);
  const ledger = await runLoad(plan, {
    ...{ wire, clock, connections, ...end },
    timeoutNs: msToNs(options.timeoutMs),
  });
  return summarizeLoad(plan, ledger, {
    ...{ target, connections, isLocal: true },
    wasStopped: end.stop.aborted,
  });
}

/** With requests enough, however many chance brings in a time. */
function trialPlan(
  ratePerS: number,
  { bodies, seed, sloMs }: RateSearchOptions,
  { share, confidence }: Target,
): LoadPlan {
  const least = requestsLeast(share, 0, confidence);
  const sloS = msToNs(sloMs) / NS_PER_S;
  const planned = (seconds: number) =>
    loadPlan({
      ...{ arrivals: poisson({ ratePerS }), ratePerS, seconds, bodies },
      ...{ warmUpS: TARGETS_WARM * sloS, prng: new Prng(seed) },
      ...{ leaves: 0, leavesWithinNs: 0 },
    });
  const leastS = TARGETS_LEAST * sloS;
  for (let seconds = Math.max(leastS, least / ratePerS);; seconds *= 1.05) {
    const plan = planned(seconds);
    const counted = plan.dueNs.filter((ns) => ns >= plan.warmUpNs).length;
    if (counted >= least) return plan;
  }
}

/** p50 and p99 of a run, in milliseconds. */
export function percentilesMs({ latency }: LoadResult): [number, number] {
  const [p50, , p99] = latency;
  return [nsToMs(p50.ns), nsToMs(p99.ns)];
}
