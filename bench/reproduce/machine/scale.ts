import type { Context } from "../experiment.ts";

/** How much an experiment on this machine measures. */
export interface Scale {
  /** Length of a run. */
  readonly seconds: number;
  /** Loads, as shares of the best policy's peak. */
  readonly shares: readonly number[];
}

export function scaleOf({ quick, full }: Context): Scale {
  if (full) return { seconds: 10, shares: [0.2, 0.4, 0.6, 0.8, 0.95] };
  if (quick) return { seconds: 0.25, shares: [0.3, 0.8] };
  return { seconds: 0.6, shares: [0.25, 0.5, 0.75, 0.9] };
}
