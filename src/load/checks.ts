/**
 * Whether a run's figures mean anything, and if not, why. A run that is not valid says nothing about the server,
 * neither good nor bad.
 *
 * Assumption: what is too late, too short or too many is nobody's standard but MLPerf's number of requests; the
 * limits are below, with what they mean.
 */
import { NS_PER_MS, NS_PER_S, nsToMs } from "../base/units.ts";
import { formatPercentile } from "../report/format.ts";
import { requestsLeast } from "./early_stopping.ts";
import type { MachineUse } from "./machine.ts";
import type { Check, Slice, Spread } from "./result.ts";
import { grows } from "./trend.ts";

/** Generator's lag at p99 that is put up with: timers resolve a millisecond or two. */
const LAG_MAX_NS = 5 * NS_PER_MS;
/** With a target that is far off, up to this share of it. */
const LAG_OF_SLO = 0.1;
/** Share of requests that may fail. */
const FAILED_MAX = 0.001;
/** Less than this says nothing about anything that happens now and then, such as a collection of garbage. */
const SECONDS_LEAST = 10;
/** Latencies of the slowest requests that have to fit into a run one after the other. */
const LATENCIES_LEAST = 20;
/** Growth of the median from the first to the last third that is more than a change of the weather. */
const GROWTH = 1.25;
/** What of its one core a generator may use. */
const OWN_CORES_MAX = 0.85;
/** A machine that is all in use, of which the generator has more than a tenth, measures the generator, too. */
const BUSY_MAX = 0.95;
const OWN_SHARE_MAX = 0.1;

/** What a run is judged by. */
export interface Facts {
  /** Without those whose client left as planned. */
  readonly requests: number;
  readonly completed: number;
  readonly failed: number;
  readonly reasons: readonly (readonly [string, number])[];
  readonly seconds: number;
  readonly sloNs: number | undefined;
  /** The percentile that the run is about. */
  readonly share: number;
  /** With which that has to be shown; default MLPerf's. */
  readonly confidence: number | undefined;
  readonly lag: Spread;
  readonly connectionWait: Spread;
  readonly connections: number;
  readonly latencyP99Ns: number;
  readonly slices: readonly Slice[];
  /** Of the machine; undefined where nobody looked. */
  readonly machine: MachineUse | undefined;
  /** Whether the server is on the same machine. */
  readonly isLocal: boolean;
  readonly wasStopped: boolean;
}

/** Every check of a run, in the order in which a reader wants to hear of them. */
export function checksOf(facts: Facts): Check[] {
  const lagMaxNs = Math.max(LAG_MAX_NS, LAG_OF_SLO * (facts.sloNs ?? 0));
  return [
    whole(facts),
    schedule(facts, lagMaxNs),
    connections(facts, lagMaxNs),
    duration(facts),
    enough(facts),
    errors(facts),
    steady(facts),
    ...(facts.machine ? [machine(facts.machine, facts.isLocal)] : []),
  ];
}

function whole({ wasStopped }: Facts): Check {
  return {
    name: "whole",
    ok: !wasStopped,
    found: wasStopped ? "the run was stopped before its end" : "ran to its end",
  };
}

function schedule({ lag }: Facts, mostNs: number): Check {
  const ok = !(lag.p99Ns > mostNs);
  const found = `the generator came to requests ${ms(lag.p99Ns)} late at p99, ${
    ms(mostNs)
  } is the most`;
  return {
    name: "schedule",
    ok,
    found: ok
      ? found
      : `${found}: it was behind its own schedule; ask for less, or run it on a machine of its own`,
  };
}

function connections(
  { connectionWait, connections }: Facts,
  mostNs: number,
): Check {
  const ok = !(connectionWait.p99Ns > mostNs);
  const found = `requests waited ${
    ms(connectionWait.p99Ns)
  } for one of ${connections} connections at p99, ${ms(mostNs)} is the most`;
  return {
    name: "connections",
    ok,
    found: ok
      ? found
      : `${found}: the loop was not open; the server is beyond its capacity, or give more --connections`,
  };
}

function duration({ seconds, latencyP99Ns }: Facts): Check {
  const leastS = Math.max(
    SECONDS_LEAST,
    LATENCIES_LEAST * (latencyP99Ns || 0) / NS_PER_S,
  );
  return {
    name: "duration",
    ok: seconds >= leastS,
    found: `measured for ${round(seconds)} s, at least ${
      round(leastS)
    } s are needed`,
  };
}

function enough({ requests, share, confidence }: Facts): Check {
  const least = requestsLeast(share, 0, confidence);
  return {
    name: "requests",
    ok: requests >= least,
    found: `${requests} requests; ${
      formatPercentile(share)
    } % takes at least ${least} (MLPerf's early stopping)`,
  };
}

function errors({ requests, failed, reasons }: Facts): Check {
  const most = FAILED_MAX * requests;
  const why = reasons.map(([reason, count]) => `${reason} (${count})`);
  return {
    name: "errors",
    ok: failed <= most,
    found: failed === 0
      ? "no request failed"
      : `${failed} of ${requests} requests failed${
        failed <= most ? "" : `, ${Math.floor(most)} is the most`
      }: ${why.slice(0, 5).join(", ")}`,
  };
}

/** Medians over time: a queue that only grows has no percentile. */
function steady({ slices }: Facts): Check {
  const medians = slices.map(({ p50Ns }) => p50Ns).filter(Number.isFinite);
  const third = Math.floor(medians.length / 3);
  const mean = (values: readonly number[]) =>
    values.reduce((sum, value) => sum + value, 0) / values.length;
  const first = mean(medians.slice(0, third));
  const last = mean(medians.slice(-third));
  const drifts = third > 0 && grows(medians) && last > GROWTH * first &&
    last - first > NS_PER_MS;
  return {
    name: "steady",
    ok: !drifts,
    found: drifts
      ? `latency was still growing: its median was ${
        ms(first)
      } in the first third, ${
        ms(last)
      } in the last; the server falls behind, or has not warmed up (--warm-up)`
      : "latency did not grow",
  };
}

function machine(
  { ownCores, busyShare, cores }: MachineUse,
  isLocal: boolean,
): Check {
  const ownShare = ownCores / cores;
  const isFull = ownCores > OWN_CORES_MAX;
  const isShared = isLocal && busyShare > BUSY_MAX && ownShare > OWN_SHARE_MAX;
  const found = `the generator took ${percent(ownCores)} of a core` +
    (Number.isFinite(busyShare)
      ? `, ${percent(ownShare)} of a machine that was ${
        percent(busyShare)
      } busy`
      : "");
  return {
    name: "machine",
    ok: !isFull && !isShared,
    found: isFull
      ? `${found}: it could hardly send any faster`
      : isShared
      ? `${found}, as the server is on it, too: without the generator it would do more`
      : found,
  };
}

function ms(ns: number): string {
  return Number.isFinite(ns) ? `${round(nsToMs(ns))} ms` : "–";
}

function round(value: number): string {
  return `${Number(value.toPrecision(3))}`;
}

function percent(share: number): string {
  return `${Number((100 * share).toPrecision(3))} %`;
}
