import { NS_PER_S } from "../base/units.ts";
import type { Target } from "../load/result.ts";
import { formatMs, formatNumber } from "../report/format.ts";
import type { RecordedPart } from "./recorded_part.ts";

/**
 * Why no rate is low enough, if requests come at once however slowly the trace is replayed.
 * @param perS the least rate that was tried
 */
export function crowded(
  made: RecordedPart,
  heldBack: RecordedPart,
  perS: number,
  { sloNs }: Target,
): string | undefined {
  const { seconds, recordedPerS } = made;
  const nsPerSecond = NS_PER_S * recordedPerS / perS;
  let from = 0;
  let most = 0;
  for (const [i, at] of seconds.entries()) {
    while ((at - seconds[from]) * nsPerSecond > sloNs) from++;
    most = Math.max(most, i - from + 1);
  }
  if (most < 2) return undefined;
  const together = `even at ${
    formatNumber(perS)
  }/s, the least that is tried, ${most} of ${seconds.length} requests come within ${
    formatMs(sloNs)
  } ms`;
  const { gapS, behind, wholeS } = longestGap(made, heldBack);
  return gapS > wholeS / 2
    ? `${together}, as behind request ${behind} of the trace nothing comes for ${
      formatNumber(gapS)
    } of its ${formatNumber(wholeS)} s: plan without this gap`
    : `${together}: take a part of the trace that is more even`;
}

/** Between two requests of both parts. */
function longestGap(
  made: RecordedPart,
  heldBack: RecordedPart,
): { gapS: number; behind: number; wholeS: number } {
  const count = made.seconds.length + heldBack.seconds.length;
  const wholeS = (count - 1) / made.recordedPerS;
  const shiftS = wholeS - heldBack.seconds[heldBack.seconds.length - 1];
  const all = [...made.seconds, ...heldBack.seconds.map((at) => shiftS + at)];
  let behind = 1;
  for (let i = 1; i < count; i++) {
    if (all[i] - all[i - 1] > all[behind] - all[behind - 1]) behind = i;
  }
  return { gapS: all[behind] - all[behind - 1], behind, wholeS };
}
