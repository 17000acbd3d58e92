/** Workloads: what arrives when. Everything follows from the seed. */
import { describe } from "../base/describe.ts";
import { Prng } from "../base/prng.ts";
import type { Arrivals } from "./arrivals.ts";
import type { GeneratedInput, InputGenerator } from "./inputs.ts";

/** Requests of a workload: all of them are made before it starts. */
const REQUESTS_MAX = 1_000_000;

/** A request to come. */
export interface Arrival extends GeneratedInput {
  /** Scheduled arrival; latency counts from here. */
  readonly atNs: number;
}

export interface WorkloadOptions {
  arrivals: Arrivals;
  inputs: InputGenerator;
  /** Default: all that a trace holds. */
  requests?: number;
  seed: number;
}

/**
 * Requests in order of arrival. Times and inputs have streams of their own: the same seed gives the
 * same inputs at every rate.
 * @throws RangeError when the number of requests is missing or not one the arrivals have
 */
export function workload(options: WorkloadOptions): Arrival[] {
  const { arrivals, inputs, seed, requests = arrivals.requestsMax } = options;
  if (
    requests === undefined || !Number.isInteger(requests) || requests < 1 ||
    requests > REQUESTS_MAX
  ) {
    throw new RangeError(
      `"requests" of a workload is a positive integer up to ${REQUESTS_MAX}, got ${
        describe(requests)
      }`,
    );
  }
  const prng = new Prng(seed);
  const stream = prng.fork("inputs");
  const timesNs = arrivals.timesNs(requests, prng.fork("arrivals"));
  const lastNs = timesNs[requests - 1];
  if (!(lastNs <= Number.MAX_SAFE_INTEGER)) {
    throw new RangeError(
      `${requests} requests of "${arrivals.name}" take longer than 2^53 ns (104 days); raise the rate`,
    );
  }
  return timesNs.map((atNs) => ({ atNs, ...inputs.next(stream) }));
}
