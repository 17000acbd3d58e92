/** Points that Fig. 13, Fig. 14 and the abstract have in common, and how they are averaged. */
import { ascending, mean, percentile } from "../../../src/base/statistics.ts";
import type { Context } from "../experiment.ts";
import { type Device, nameOf } from "./device.ts";
import type { NetworkName } from "./networks.ts";
import {
  highPerS,
  optWait,
  peakPerS,
  type Phases,
  type Place,
  type System,
  twoPhases,
} from "./systems.ts";

/** Arrival patterns of a two-phase run, of 400 requests each, for one of the context's runs. */
const PATTERNS = 10;

/** The seeds of a context's runs. */
export function seedsOf({ seed, runs }: Context, patterns = 1): number[] {
  return Array.from({ length: runs * patterns }, (_, i) => seed + i);
}

/** High load of a network: what TensorFlow Serving, as tuned, can just keep the QoS at. */
export function highLoadPerS(context: Context, place: Place): Promise<number> {
  const system = optWait(place.network);
  const { seed } = context;
  return context.point(
    { what: "high load", system, ...place, seed },
    () => highPerS(system, place, seed),
  );
}

/** Means over the patterns' runs, and each run. */
export interface Latency extends Phases {
  readonly runs: readonly Phases[];
}

export async function latencyOf(
  context: Context,
  system: System,
  place: Place,
): Promise<Latency> {
  const ratePerS = await highLoadPerS(context, place);
  const seeds = seedsOf(context, PATTERNS);
  const runs = await context.point(
    { what: "latency", system, ...place, ratePerS, seeds },
    () => seeds.map((seed) => twoPhases(system, place, ratePerS, seed)),
  );
  const average = (of: keyof Phases) => mean(runs.map((run) => run[of]));
  return {
    runs,
    lowMs: average("lowMs"),
    highMs: average("highMs"),
    highP99Ms: average("highP99Ms"),
  };
}

export interface Spread {
  readonly y: number;
  readonly low: number;
  readonly high: number;
}

/** Mean and quartiles. */
export function spread(values: readonly number[]): Spread {
  const sorted = ascending(values);
  return {
    y: mean(sorted),
    low: percentile(sorted, 0.25),
    high: percentile(sorted, 0.75),
  };
}

/** Highest rate that keeps the QoS, by run. */
export function peaksOf(
  context: Context,
  system: System,
  place: Place,
): Promise<number[]> {
  const { quick } = context;
  return Promise.all(
    seedsOf(context).map((seed) =>
      context.point(
        { what: "peak", system, ...place, quick, seed },
        () => peakPerS(context, system, place, seed),
      )
    ),
  );
}

/** How much less, percent. */
export function reductionPct(before: number, after: number): number {
  return 100 * (1 - after / before);
}

/** "-12.3 %", of a factor. */
export function changeText(factor: number): string {
  const pct = 100 * (factor - 1);
  return `${pct < 0 ? "" : "+"}${pct.toFixed(1)} %`;
}

export function placeName(network: NetworkName, device: Device): string {
  return `${network}, ${nameOf(device)}`;
}
