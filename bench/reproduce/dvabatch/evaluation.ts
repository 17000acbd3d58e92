/** What the figures of section 8 share: DelayBatch's window, load levels, and systems measured at them. */
import { ascending, mean, percentile } from "../../../src/base/statistics.ts";
import type { Context, Series } from "../experiment.ts";
import {
  dva,
  type DvaSettings,
  type Load,
  LOADS,
  peakPerS,
  type Run,
  runsAt,
  SETUP,
  type System,
} from "./serving.ts";

/** Windows that DelayBatch is tuned over. */
const WINDOWS_MS: readonly number[] = [0, 2, 5, 10, 20];
const QUICK_WINDOWS_MS: readonly number[] = [0, 5];

export interface Delayed {
  readonly system: System;
  readonly windowMs: number;
  /** What loads are shares of. */
  readonly peakPerS: number;
}

/** DelayBatch with the window of the highest peak, the shorter of equals (section 8.1). */
export async function delayBatch(
  context: Context,
  name: string,
): Promise<Delayed> {
  let best: Delayed | undefined;
  for (const windowMs of context.quick ? QUICK_WINDOWS_MS : WINDOWS_MS) {
    const system: System = { baseline: "DelayBatch", windowMs };
    const peak = await peakPerS(context, system, name);
    if (best === undefined || peak > best.peakPerS) {
      best = { system, windowMs, peakPerS: peak };
    }
  }
  return best!;
}

export type ByLoad<T> = Readonly<Record<Load, T>>;

/**
 * A system's runs at the three loads.
 * Assumption: "its peak throughput", of which loads are shares, is DelayBatch's, so that all systems have the same.
 */
export async function atLoads(
  context: Context,
  system: System,
  name: string,
  peak: number,
): Promise<ByLoad<Run[]>> {
  const at = (load: Load) =>
    runsAt(context, system, name, SETUP.loads[load] * peak);
  return {
    low: await at("low"),
    medium: await at("medium"),
    high: await at("high"),
  };
}

export function meanOf(runs: readonly Run[], of: (run: Run) => number): number {
  return mean(runs.map(of));
}

/** A point of a chart: the mean over runs, with quartiles. */
export function pointOf(
  x: number,
  runs: readonly Run[],
  of: (run: Run) => number,
): Series["points"][number] {
  const sorted = ascending(runs.map(of));
  return {
    x,
    y: mean(sorted),
    low: percentile(sorted, 0.25),
    high: percentile(sorted, 0.75),
  };
}

/** How far below a base a value is, %. */
export function below(value: number, base: number): number {
  return 100 * (1 - value / base);
}

/** By load: how far below a base's a system's value is, %. */
export function reductions(
  system: ByLoad<Run[]>,
  base: ByLoad<Run[]>,
  of: (run: Run) => number,
): readonly number[] {
  return LOADS.map((load) =>
    below(meanOf(system[load], of), meanOf(base[load], of))
  );
}

/** Three systems on one network. */
export interface Compared3 {
  readonly name: string;
  readonly delayed: Delayed;
  readonly zero: ByLoad<Run[]>;
  readonly delay: ByLoad<Run[]>;
  readonly dva: ByLoad<Run[]>;
}

export async function compare(
  context: Context,
  name: string,
  changed: DvaSettings = {},
): Promise<Compared3> {
  const delayed = await delayBatch(context, name);
  const at = (system: System) =>
    atLoads(context, system, name, delayed.peakPerS);
  return {
    name,
    delayed,
    zero: await at({ baseline: "ZeroBatch" }),
    delay: await at(delayed.system),
    dva: await at(dva(name, changed)),
  };
}

/** Means over networks of the reductions at each load. */
export function meanReductions(
  networks: readonly Compared3[],
  base: "zero" | "delay",
  of: (run: Run) => number,
): readonly number[] {
  return LOADS.map((_, i) =>
    mean(networks.map((one) => reductions(one.dva, one[base], of)[i]))
  );
}
