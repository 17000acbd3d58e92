/**
 * What a run sends and when, all of it decided before it starts: equal seeds give equal requests, and the same ones
 * at every rate.
 */
import type { Prng } from "../base/prng.ts";
import { NS_PER_S } from "../base/units.ts";
import type { Arrivals } from "../workload/arrivals.ts";
import { sampleText, type Text, type TextOptions } from "./texts.ts";
import type { WireRequest } from "./wire.ts";

/** Bodies that are made; a run that has more requests draws among them. */
const BODIES_MAX = 2048;

/** A run before it starts. */
export interface LoadPlan {
  /** Name of the arrival process. */
  readonly arrivals: string;
  /** When each request is due, ascending, from 0. */
  readonly dueNs: readonly number[];
  /** Requests due before are sent and not counted. */
  readonly warmUpNs: number;
  /** End of what is counted: of the time that was asked for, or of a trace that ends before. */
  readonly endNs: number;
  /** Requests that are told apart. */
  readonly requests: readonly WireRequest[];
  /** Which of `requests` each one is. */
  readonly choice: Uint16Array;
  /** For each one after how long the client leaves, whatever has come; Infinity: it stays. */
  readonly leaveNs: Float64Array;
}

/** What a plan is made of. */
export interface PlanOptions {
  readonly arrivals: Arrivals;
  /** Mean rate, for how many there are to ask the process for. */
  readonly ratePerS: number;
  readonly warmUpS: number;
  readonly seconds: number;
  readonly prng: Prng;
  readonly bodies: readonly WireRequest[];
  /** Share of the requests whose client leaves before it is answered. */
  readonly leaves: number;
  /** It leaves after a time uniform up to this. */
  readonly leavesWithinNs: number;
}

/** The bodies of a run. */
export function wireRequests(
  { path, headers, method, texts, body, prng, distinct = BODIES_MAX }: {
    path: string;
    headers: Readonly<Record<string, string>>;
    method: "GET" | "POST";
    texts: TextOptions;
    /** Text, or what becomes JSON. */
    body: (text: Text, prng: Prng) => unknown;
    prng: Prng;
    distinct?: number;
  },
): WireRequest[] {
  const encoder = new TextEncoder();
  const texting = prng.fork("texts");
  const filling = prng.fork("bodies");
  return Array.from({ length: Math.min(distinct, BODIES_MAX) }, () => {
    const made = body(sampleText(texts, texting), filling);
    const text = typeof made === "string" ? made : JSON.stringify(made);
    return { method, path, headers, body: encoder.encode(text) };
  });
}

/** A plan. */
export function loadPlan(
  {
    arrivals,
    ratePerS,
    warmUpS,
    seconds,
    prng,
    bodies,
    leaves,
    leavesWithinNs,
  }: PlanOptions,
): LoadPlan {
  const warmUpNs = warmUpS * NS_PER_S;
  const askedNs = (warmUpS + seconds) * NS_PER_S;
  const { dueNs, isAll } = timesUpTo(arrivals, askedNs, ratePerS, prng);
  // Nobody was due behind the end of a trace: that time has no rate.
  const endNs = isAll
    ? Math.max(warmUpNs, dueNs[dueNs.length - 1] ?? 0)
    : askedNs;
  const choosing = prng.fork("choice");
  const leaving = prng.fork("leaves");
  return {
    arrivals: arrivals.name,
    dueNs,
    ...{ warmUpNs, endNs },
    requests: bodies,
    choice: Uint16Array.from(dueNs, () => choosing.int(bodies.length)),
    leaveNs: Float64Array.from(dueNs, () => {
      const share = leaving.float();
      const at = leaving.float();
      return share < leaves ? at * leavesWithinNs : Infinity;
    }),
  };
}

/**
 * All arrivals before a time. A process gives as many as it is asked for: as many are asked for as it takes.
 * @returns them, and whether the process has no others
 */
function timesUpTo(
  arrivals: Arrivals,
  endNs: number,
  ratePerS: number,
  prng: Prng,
): { dueNs: number[]; isAll: boolean } {
  const most = arrivals.requestsMax ?? Infinity;
  for (let asked = Math.ceil(1.2 * ratePerS * endNs / NS_PER_S) + 100;;) {
    const count = Math.min(asked, most);
    const times = arrivals.timesNs(count, prng.fork("arrivals"));
    const isEnough = times[times.length - 1] >= endNs;
    if (isEnough || count === most) {
      return { dueNs: times.filter((ns) => ns < endNs), isAll: !isEnough };
    }
    asked *= 2;
  }
}
