/** How requests did. */
import { ascending, percentile } from "../../../src/base/statistics.ts";
import { NS_PER_MS } from "../../../src/base/units.ts";

export interface Figures {
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Share within the target. */
  readonly inTime: number;
  /** Requests within the target, by the second of arrivals. */
  readonly goodputPerS: number;
}

export function figuresOf(
  latenciesNs: readonly number[],
  targetNs: number,
  ratePerS: number,
): Figures {
  const sorted = ascending(latenciesNs);
  const inTime = latenciesNs.filter((ns) => ns <= targetNs).length /
    latenciesNs.length;
  return {
    p50Ms: percentile(sorted, 0.5) / NS_PER_MS,
    p99Ms: percentile(sorted, 0.99) / NS_PER_MS,
    inTime,
    goodputPerS: inTime * ratePerS,
  };
}

/** Of each figure the one in the middle. */
export function middleOf(all: readonly Figures[]): Figures {
  const of = (figure: keyof Figures) =>
    percentile(ascending(all.map((one) => one[figure])), 0.5);
  return {
    p50Ms: of("p50Ms"),
    p99Ms: of("p99Ms"),
    inTime: of("inTime"),
    goodputPerS: of("goodputPerS"),
  };
}
