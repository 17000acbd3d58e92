/**
 * Arrival processes: when requests are due, whatever the server does (open loop). Times are integer
 * nanoseconds, ascending, and those of one seed at two rates are the same pattern at two scales.
 */
import { describe } from "../base/describe.ts";
import { power } from "../base/elementary/power.ts";
import { knownOptions } from "../base/options.ts";
import type { Prng } from "../base/prng.ts";
import { NS_PER_S, secondsToNs } from "../base/units.ts";
import { traceSeconds } from "./trace.ts";

/** When requests come. One of your own is an object with these. */
export interface Arrivals {
  /** For messages and reports. */
  readonly name: string;
  /** Requests it has times for; undefined without a limit. */
  readonly requestsMax?: number;
  /** Scheduled arrival of each of the first `requests` requests, ns from the start, ascending. */
  timesNs(requests: number, prng: Prng): number[];
}

/** Options of {@linkcode poisson} and {@linkcode interval}. */
export interface RateOptions {
  /** Requests per second, on average. */
  ratePerS: number;
}

/**
 * Independent users: exponential gaps (MLPerf's server scenario, used by all five papers).
 * @throws TypeError or RangeError on an option that is not one
 *
 * @example Made of it, bursts of eight
 * ```ts
 * import assert from "node:assert/strict";
 * import { type Arrivals, poisson, workload } from "@shoal/core/simulate";
 *
 * const bursts = poisson({ ratePerS: 50 });
 * const arrivals: Arrivals = {
 *   name: "bursts of eight",
 *   timesNs: (requests, prng) =>
 *     bursts.timesNs(Math.ceil(requests / 8), prng).flatMap((ns) => new Array(8).fill(ns))
 *       .slice(0, requests),
 * };
 * const inputs = { name: "alike", next: () => ({ input: { tokens: [1] } }) };
 * const times = workload({ arrivals, inputs, requests: 100, seed: 1 }).map(({ atNs }) => atNs);
 * assert.equal(new Set(times).size, 13);
 * ```
 */
export function poisson(options: RateOptions): Arrivals {
  checkOptions("poisson", options, ["ratePerS"]);
  const ratePerS = checkPositive("ratePerS", options.ratePerS);
  return {
    name: `poisson ${ratePerS}/s`,
    timesNs: (requests, prng) =>
      accumulate(requests, () => prng.exponential(1) / ratePerS),
  };
}

/**
 * One request every 1/rate seconds, the first at 0.
 * @throws TypeError or RangeError on an option that is not one
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { interval, workload } from "@shoal/core/simulate";
 *
 * const inputs = { name: "alike", next: () => ({ input: { tokens: [1] } }) };
 * const load = workload({ arrivals: interval({ ratePerS: 4 }), inputs, requests: 3, seed: 1 });
 * assert.deepEqual(load.map(({ atNs }) => atNs), [0, 0.25e9, 0.5e9]);
 * ```
 */
export function interval(options: RateOptions): Arrivals {
  checkOptions("interval", options, ["ratePerS"]);
  const ratePerS = checkPositive("ratePerS", options.ratePerS);
  return {
    name: `interval ${ratePerS}/s`,
    timesNs: (requests) =>
      Array.from({ length: requests }, (_, i) => secondsToNs(i / ratePerS)),
  };
}

/**
 * Everything at time 0: what a machine can do when it never waits for requests.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { atOnce, workload } from "@shoal/core/simulate";
 *
 * const inputs = { name: "alike", next: () => ({ input: { tokens: [1] } }) };
 * const load = workload({ arrivals: atOnce(), inputs, requests: 2, seed: 1 });
 * assert.deepEqual(load.map(({ atNs }) => atNs), [0, 0]);
 * ```
 */
export function atOnce(): Arrivals {
  return {
    name: "at once",
    timesNs: (requests) => new Array<number>(requests).fill(0),
  };
}

/** Options of {@linkcode traceReplay}. */
export interface TraceOptions {
  /**
   * The trace's text: a header `t_seconds,input_tokens,output_tokens` and a line per request, or `t_seconds,count` and a
   * line per interval.
   */
  csv: string;
  /** Names the trace in errors and reports; default "trace". */
  file?: string;
  /** Requests arrive this many times faster than recorded; default 1. */
  rateScale?: number;
}

/**
 * The recorded times of a request log, the first at 0. What requests bring is up to whoever makes their inputs.
 * @throws TypeError or RangeError on an option that is not one
 * @throws SyntaxError naming file, line and value of what is no trace
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { traceReplay, workload } from "@shoal/core/simulate";
 *
 * const csv = "t_seconds,input_tokens,output_tokens\n10,3,0\n10.5,7,0\n12,1,0\n";
 * const arrivals = traceReplay({ csv, rateScale: 2 });
 * const inputs = { name: "alike", next: () => ({ input: { tokens: [1] } }) };
 * const load = workload({ arrivals, inputs, seed: 1 });
 * assert.deepEqual(load.map(({ atNs }) => atNs), [0, 0.25e9, 1e9]);
 * ```
 */
export function traceReplay(options: TraceOptions): Arrivals {
  checkOptions("trace", options, ["csv", "file", "rateScale"]);
  const { csv, file = "trace" } = options;
  if (typeof file !== "string") {
    throw new TypeError(`"file" names a trace, got ${describe(file)}`);
  }
  const rateScale = checkPositive("rateScale", options.rateScale ?? 1);
  const times = traceSeconds(csv, file).map((at) =>
    secondsToNs(at / rateScale)
  );
  return {
    name: `${file} x${rateScale}`,
    requestsMax: times.length,
    timesNs(requests) {
      if (requests > times.length) {
        throw new RangeError(
          `${file} holds ${times.length} requests, ${requests} were asked for`,
        );
      }
      return times.slice(0, requests);
    },
  };
}

/** Options of {@linkcode stepping}. */
export interface SteppingOptions {
  /** Rate of the first step; not with `ratesPerS`. */
  startRatePerS?: number;
  /** The rate is multiplied by this at each step; not with `ratesPerS`. */
  factor?: number;
  /** Rate of each step; the last one holds on. */
  ratesPerS?: readonly number[];
  /** Requests of one step. */
  every: number;
  /** Default "poisson". */
  gaps?: "poisson" | "interval";
}

/**
 * A load that steps up: from 66/s, a step every 2,000 requests (DVABatch, section 8.3), or 150
 * requests at a low rate and then a high one (E2bird's diurnal pattern).
 * @throws TypeError or RangeError on an option that is not one
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { stepping, workload } from "@shoal/core/simulate";
 *
 * const arrivals = stepping({ ratesPerS: [10, 100], every: 2, gaps: "interval" });
 * const inputs = { name: "alike", next: () => ({ input: { tokens: [1] } }) };
 * const load = workload({ arrivals, inputs, requests: 4, seed: 1 });
 * assert.deepEqual(load.map(({ atNs }) => atNs), [0.1e9, 0.2e9, 0.21e9, 0.22e9]);
 * ```
 */
export function stepping(options: SteppingOptions): Arrivals {
  checkOptions("stepping", options, [
    "startRatePerS",
    "factor",
    "ratesPerS",
    "every",
    "gaps",
  ]);
  const { startRatePerS, factor, ratesPerS, gaps = "poisson" } = options;
  const every = checkPositive("every", options.every);
  if (!Number.isInteger(every)) {
    throw new RangeError(
      `"every" is a number of requests, got ${describe(every)}`,
    );
  }
  if (gaps !== "poisson" && gaps !== "interval") {
    throw new RangeError(
      `"gaps" is "poisson" or "interval", got ${describe(gaps)}`,
    );
  }
  if (
    (ratesPerS === undefined) ===
      (startRatePerS === undefined && factor === undefined)
  ) {
    throw new TypeError(
      `A stepping load takes either "ratesPerS" or "startRatePerS" and "factor"`,
    );
  }
  let rateOf: (step: number) => number;
  if (ratesPerS !== undefined) {
    if (!Array.isArray(ratesPerS) || ratesPerS.length === 0) {
      throw new TypeError(
        `"ratesPerS" is a list of rates, got ${describe(ratesPerS)}`,
      );
    }
    ratesPerS.forEach((rate, i) => checkPositive(`ratesPerS[${i}]`, rate));
    rateOf = (step) => ratesPerS[Math.min(step, ratesPerS.length - 1)];
  } else {
    const start = checkPositive("startRatePerS", startRatePerS);
    const by = checkPositive("factor", factor);
    rateOf = (step) => start * power(by, step);
  }
  return {
    name: `stepping from ${rateOf(0)}/s every ${every}`,
    timesNs: (requests, prng) =>
      accumulate(requests, (i) => {
        const gap = gaps === "poisson" ? prng.exponential(1) : 1;
        return gap / rateOf(Math.floor(i / every));
      }),
  };
}

// deno-lint-ignore no-explicit-any -- a registry holds processes of different options
type Build = (options: any) => Arrivals;

/** Every arrival process by name: one line adds one. */
export const ARRIVALS: Readonly<Record<string, Build>> = {
  poisson,
  interval,
  "at-once": (options) => {
    checkOptions("at-once", options, []);
    return atOnce();
  },
  trace: traceReplay,
  stepping,
};

/**
 * An arrival process as a configuration names it.
 * @throws TypeError or RangeError naming what is unknown or out of range
 */
export function arrivals(
  name: string,
  options: Readonly<Record<string, unknown>> = {},
): Arrivals {
  const build = Object.hasOwn(ARRIVALS, name) ? ARRIVALS[name] : undefined;
  if (build === undefined) {
    throw new RangeError(
      `No arrival process ${describe(name)}; there are ${
        Object.keys(ARRIVALS).join(", ")
      }`,
    );
  }
  return build(options);
}

/** By the names of ARRIVALS, which configurations have. */
function checkOptions(
  name: string,
  options: unknown,
  known: readonly string[],
): asserts options is object {
  knownOptions(`Arrival process "${name}"`, options, known);
}

/** Rounds once per arrival, so that errors do not add up. */
function accumulate(
  requests: number,
  gapSeconds: (i: number) => number,
): number[] {
  const times = new Array<number>(requests);
  let seconds = 0;
  for (let i = 0; i < requests; i++) {
    seconds += gapSeconds(i);
    times[i] = Math.round(seconds * NS_PER_S);
  }
  return times;
}

function checkPositive(name: string, value: unknown): number {
  if (typeof value !== "number" || !(value > 0 && value < Infinity)) {
    throw new RangeError(
      `"${name}" is a positive number, got ${describe(value)}`,
    );
  }
  return value;
}
