/** Works the books of a run out to its figures. */
import { ascending, percentile } from "../base/statistics.ts";
import { NS_PER_S } from "../base/units.ts";
import { checksOf } from "./checks.ts";
import { estimates, SHARES } from "./confidence.ts";
import { overMost, passes } from "./early_stopping.ts";
import { type End, ENDS, type Ledger } from "./ledger.ts";
import type { MachineUse } from "./machine.ts";
import type { LoadPlan } from "./plan.ts";
import type { LoadResult, Slice, Spread, Target, Verdict } from "./result.ts";

/** Pieces that the measured time is cut into. */
const SLICES = 30;
const CDF_POINTS = 200;
const COMPLETED = ENDS.indexOf("completed");
const REFUSED = ENDS.indexOf("refused");
const LEFT = ENDS.indexOf("left");

/** The percentile that a run is about when it has no target. */
export const SHARE = 0.99;

/** What the books do not hold. */
export interface Surroundings {
  readonly target?: Target;
  readonly connections: number;
  readonly machine?: MachineUse;
  /** Whether the server is on the generator's machine. */
  readonly isLocal: boolean;
  readonly wasStopped: boolean;
}

/** The figures of a run. */
export function summarizeLoad(
  plan: LoadPlan,
  ledger: Ledger,
  surroundings: Surroundings,
): LoadResult {
  const { target, connections, machine, isLocal, wasStopped } = surroundings;
  const { warmUpNs } = plan;
  const { dueNs, launchedNs, sentNs, endNs, firstEventNs } = ledger;
  const sloNs = target?.sloNs ?? Infinity;
  const started = startedOf(ledger);
  const all = started.filter((i) => dueNs[i] >= warmUpNs);
  const of = (end: number) => all.filter((i) => ledger.ends[i] === end);
  const completed = of(COMPLETED);
  const refused = of(REFUSED);
  const left = of(LEFT);
  const latencies = completed.map((i) => endNs[i] - dueNs[i]);
  const inTime = latencies.filter((ns) => ns <= sloNs).length;
  const untilNs = wasStopped
    ? Math.max(warmUpNs, dueNs[started[started.length - 1]] ?? 0)
    : plan.endNs;
  const seconds = (untilNs - warmUpNs) / NS_PER_S;
  const sent = (set: readonly number[]) =>
    set.filter((i) => Number.isFinite(sentNs[i]));
  const lag = spread(all.map((i) => launchedNs[i] - dueNs[i]));
  const connectionWait = spread(
    sent(all).map((i) => sentNs[i] - launchedNs[i]),
  );
  const confidence = target?.confidence;
  const percentiles = (values: readonly number[]) =>
    estimates(values, SHARES, confidence);
  const latency = percentiles(latencies);
  const slices = slicesOf(plan, ledger, all, untilNs);
  const ends = Object.fromEntries(
    ENDS.map((end, code) => [end, of(code).length]),
  ) as Record<End, number>;
  const reasons = [...ledger.reasons].sort(([, a], [, b]) => b - a);
  const eventful = completed.filter((i) => Number.isFinite(firstEventNs[i]));
  // Those whose client left as planned are no fault of the server's, and tell nothing of it.
  const judged = all.length - left.length;
  const checks = checksOf({
    ...{ requests: judged, completed: completed.length },
    ...{ failed: ends.failed, reasons, seconds, sloNs: target?.sloNs },
    ...{ share: target?.share ?? SHARE, confidence },
    ...{ lag, connectionWait, connections, slices, machine, isLocal },
    latencyP99Ns: percentile(ascending(latencies), 0.99),
    wasStopped,
  });
  const first = dueNs[all[0]];
  const last = dueNs[all[all.length - 1]];
  return {
    ...{ arrivals: plan.arrivals, seconds, warmUpS: warmUpNs / NS_PER_S },
    requests: all.length,
    scheduledPerS: (all.length - 1) * NS_PER_S / (last - first),
    ends,
    late: completed.length - inTime,
    reasons,
    throughputPerS:
      started.filter((i) =>
        ledger.ends[i] === COMPLETED && endNs[i] >= warmUpNs &&
        endNs[i] < untilNs
      ).length / seconds,
    goodputPerS: inTime / seconds,
    latency,
    service: percentiles(completed.map((i) => endNs[i] - sentNs[i])),
    quantilesNs: quantiles(latencies),
    refusal: spread(refused.map((i) => endNs[i] - sentNs[i])),
    ...(eventful.length > 0 && {
      stream: {
        firstEvent: percentiles(
          eventful.map((i) => firstEventNs[i] - dueNs[i]),
        ),
        between: spread(ledger.gapsNs.values()),
        eventsPerS: ledger.events / seconds,
      },
    }),
    ...{ lag, connectionWait, openMost: ledger.openMost },
    ...(machine && { machine }),
    slices,
    ...(target && { verdict: verdict(target, judged, inTime) }),
    checks,
    isValid: checks.every(({ ok }) => ok),
  };
}

/** Whether so many requests, of which so many were answered in time, are enough. */
function verdict(target: Target, requests: number, inTime: number): Verdict {
  const over = requests - inTime;
  return {
    ...target,
    over,
    overMost: overMost(requests, target.share, target.confidence),
    holds: passes(requests, over, target.share, target.confidence),
  };
}

/** Requests that were started, in order. */
function startedOf({ launchedNs }: Ledger): number[] {
  const found: number[] = [];
  for (let i = 0; i < launchedNs.length; i++) {
    if (Number.isFinite(launchedNs[i])) found.push(i);
  }
  return found;
}

function slicesOf(
  { warmUpNs }: LoadPlan,
  { dueNs, launchedNs, endNs, ends }: Ledger,
  all: readonly number[],
  untilNs: number,
): Slice[] {
  const lengthNs = (untilNs - warmUpNs) / SLICES;
  const parts = Array.from({ length: SLICES }, (): number[] => []);
  for (const i of all) {
    const slice = Math.floor((dueNs[i] - warmUpNs) / lengthNs);
    // A run that was stopped at its first request has pieces without length.
    parts[Math.min(SLICES - 1, slice || 0)].push(i);
  }
  const perS = (set: readonly number[]) => set.length * NS_PER_S / lengthNs;
  return parts.map((part, k) => {
    const completed = part.filter((i) => ends[i] === COMPLETED);
    const refused = part.filter((i) => ends[i] === REFUSED);
    const left = part.filter((i) => ends[i] === LEFT);
    const latency = spread(completed.map((i) => endNs[i] - dueNs[i]));
    return {
      atS: (k + 0.5) * lengthNs / NS_PER_S,
      offeredPerS: perS(part),
      completedPerS: perS(completed),
      refusedPerS: perS(refused),
      failedPerS: perS(part) - perS(completed) - perS(refused) - perS(left),
      ...{ p50Ns: latency.p50Ns, p99Ns: latency.p99Ns },
      lagP99Ns: spread(part.map((i) => launchedNs[i] - dueNs[i])).p99Ns,
    };
  });
}

function spread(values: Iterable<number>): Spread {
  const sorted = ascending(values);
  return {
    p50Ns: percentile(sorted, 0.5),
    p99Ns: percentile(sorted, 0.99),
    maxNs: percentile(sorted, 1),
  };
}

function quantiles(values: readonly number[]): number[] {
  const sorted = ascending(values);
  const points = Math.min(sorted.length, CDF_POINTS);
  return Array.from(
    { length: points },
    (_, k) => sorted[Math.ceil((k + 1) * sorted.length / points) - 1],
  );
}
