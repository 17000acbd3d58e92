/** Workloads: what arrives when. Everything follows from the seed. */
import {
  checkedOptions,
  type Checks,
  integer,
  number,
  withMethods,
} from "../base/checked_options.ts";
import { describe, isList } from "../base/describe.ts";
import { Prng } from "../base/prng.ts";
import type { Arrivals } from "./arrivals.ts";
import type { GeneratedInput, InputGenerator } from "./input_generator.ts";

/** Requests of a workload: all of them are made before it starts. */
const REQUESTS_MAX = 1_000_000;

/** A request to come. */
export interface Arrival extends GeneratedInput {
  /** Scheduled arrival; latency counts from here. */
  readonly atNs: number;
}

/** Options of {@linkcode workload}. */
export interface WorkloadOptions {
  /** When requests come. */
  arrivals: Arrivals;
  /** What they bring. */
  inputs: InputGenerator;
  /** How many; default: all that a trace holds. */
  requests?: number;
  /** An integer; equal ones give equal workloads. */
  seed: number;
}

const isCount = integer(1, REQUESTS_MAX);

const CHECKS: Checks<WorkloadOptions> = {
  arrivals: withMethods("an arrival process", ["timesNs"]),
  inputs: withMethods("an input generator", ["next"]),
  requests: isCount,
  seed: number("an integer", (value) => Number.isSafeInteger(value)),
};

/**
 * Requests in order of arrival. Times and inputs have streams of their own: the same seed gives the
 * same inputs at every rate.
 * @throws TypeError or RangeError on an option that is not one, and on an arrival process whose times are not as many as
 * requests, or not in order
 *
 * @example Sentences of one to twenty words, one request in ten milliseconds on average
 * ```ts
 * import assert from "node:assert/strict";
 * import { lstm, serial } from "@shoal/core";
 * import {
 *   Collector, constantCost, driveVirtual, EngineCore, poisson, SimExecutor, summarize, Timeline, workload,
 * } from "@shoal/core/simulate";
 *
 * const model = lstm({ hidden: 4, vocabulary: 10 });
 * const load = workload({
 *   arrivals: poisson({ ratePerS: 100 }),
 *   inputs: {
 *     name: "sentences",
 *     next: (prng) => ({
 *       input: { tokens: Array.from({ length: 1 + prng.int(20) }, () => prng.int(10)) },
 *     }),
 *   },
 *   requests: 50,
 *   seed: 1,
 * });
 * const timeline = new Timeline();
 * const executor = new SimExecutor({
 *   timeline,
 *   cost: constantCost(200_000),
 *   onCompleted: (task, startNs, endNs) => engine.completed(task, startNs, endNs),
 * });
 * const collector = new Collector();
 * const engine = new EngineCore({ models: [model], policy: serial(), executor, observer: collector });
 * driveVirtual(
 *   engine,
 *   timeline,
 *   load.map(({ atNs, ...request }) => ({ model, arrivalNs: atNs, ...request })),
 * );
 * assert.equal(summarize(collector).requests.done, 50);
 * ```
 */
export function workload(options: WorkloadOptions): Arrival[] {
  const given = checkedOptions("workload()", options, CHECKS, [
    "arrivals",
    "inputs",
    "seed",
  ]);
  const { arrivals, inputs, seed, requests = arrivals.requestsMax } = given;
  if (requests === undefined) {
    throw new RangeError(
      `"requests" is an integer from 1 to ${REQUESTS_MAX}; "${arrivals.name}" goes on for ever, give how many`,
    );
  }
  // What a process says is no more to be believed than what a caller does.
  isCount("requests", requests);
  const prng = new Prng(seed);
  const stream = prng.fork("inputs");
  const timesNs = arrivals.timesNs(requests, prng.fork("arrivals"));
  checkTimes(timesNs, requests, arrivals.name);
  return timesNs.map((atNs) => ({ atNs, ...inputs.next(stream) }));
}

/** What an arrival process says, which may be a caller's own. */
function checkTimes(
  timesNs: readonly number[],
  requests: number,
  name: string,
): void {
  if (!isList(timesNs) || timesNs.length !== requests) {
    throw new TypeError(
      `Arrivals "${name}" are a list of ${requests} times, got ${
        isList(timesNs) ? timesNs.length : describe(timesNs)
      }`,
    );
  }
  if (timesNs[requests - 1] > Number.MAX_SAFE_INTEGER) {
    throw new RangeError(
      `${requests} requests of "${name}" take longer than 2^53 ns (104 days); raise the rate`,
    );
  }
  let beforeNs = 0;
  for (const atNs of timesNs) {
    if (!(atNs >= beforeNs)) {
      throw new RangeError(
        `Arrivals "${name}" are nanoseconds from 0 on, ascending, got ${
          describe(atNs)
        } behind ${beforeNs}`,
      );
    }
    beforeNs = atNs;
  }
}
