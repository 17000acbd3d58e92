/** Workloads: what arrives when. Everything follows from the seed. */
import { describe } from "../base/describe.ts";
import { Prng } from "../base/prng.ts";
import type { Arrivals } from "./arrivals.ts";
import type { GeneratedInput, InputGenerator } from "./inputs.ts";

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
  if (requests === undefined || !Number.isInteger(requests) || requests < 1) {
    throw new RangeError(
      `"requests" of a workload is a positive integer, got ${
        describe(requests)
      }`,
    );
  }
  const prng = new Prng(seed);
  const stream = prng.fork("inputs");
  return arrivals.timesNs(requests, prng.fork("arrivals"))
    .map((atNs) => ({ atNs, ...inputs.next(stream) }));
}
