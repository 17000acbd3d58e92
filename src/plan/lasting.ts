import { NS_PER_S } from "../base/units.ts";
import type { Target } from "../load/result.ts";
import type { RecordedPart } from "./recorded_part.ts";

/**
 * Targets that requests come for, at least, to say which rate is carried. What is still to be done when the last has
 * come is in time as well, so that a machine seems to carry more by as much as the target is of the time: a twentieth
 * at most.
 */
export const TARGETS_LEAST = 20;

/** Why a rate at which a part keeps a target says nothing of what is carried for longer, if it is over too soon. */
export function tooFew(
  { seconds, recordedPerS, available }: RecordedPart,
  perS: number,
  { sloNs }: Target,
): string | undefined {
  const lastsNs = seconds[seconds.length - 1] * NS_PER_S * recordedPerS / perS;
  if (lastsNs >= TARGETS_LEAST * sloNs) return undefined;
  const needed = Math.ceil(
    seconds.length * TARGETS_LEAST * sloNs / Math.max(sloNs, lastsNs),
  );
  const rounded = (value: number) => Number(value.toPrecision(3));
  // Of requests that all come within a target any rate seems to be carried.
  const within = lastsNs < sloNs
    ? "they come within that time"
    : `at ${rounded(perS)}/s they come within ${rounded(lastsNs / 1e6)} ms`;
  return `${seconds.length} requests are too few for a target of ${
    sloNs / 1e6
  } ms: ${within}, not ${TARGETS_LEAST} times as long, so that they are worked off in time rather than carried; ` +
    `a plan needs ${needed} or more in each part of the trace, ` +
    (needed > available
      ? `which has ${available} for each: take a longer one`
      : `which has them (--requests ${needed})`);
}
