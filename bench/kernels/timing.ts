/** Interleaved timing: every contestant once per round, so that a slow moment hits all. */

/** Options of {@linkcode bestTimesNs}. */
export interface TimingOptions {
  rounds: number;
  /** Calls of every contestant per round; 1 by default. */
  calls?: number;
}

const WARM_ROUNDS = 3;
/** Long enough for the engine's background compiler to finish. */
const TIER_UP_MS = 10;

/** Best time per call of each contestant, in nanoseconds. */
export async function bestTimesNs(
  contestants: readonly (() => void | Promise<unknown>)[],
  { rounds, calls = 1 }: TimingOptions,
): Promise<number[]> {
  const best = contestants.map(() => Infinity);
  for (let round = -WARM_ROUNDS; round < rounds; ++round) {
    for (const [i, run] of contestants.entries()) {
      const startMs = performance.now();
      for (let call = 0; call < calls; ++call) {
        const pending = run();
        if (pending !== undefined) await pending;
      }
      const ns = (performance.now() - startMs) * 1e6 / calls;
      if (round >= 0) best[i] = Math.min(best[i], ns);
    }
    if (round < 0) {
      await new Promise((resolve) => setTimeout(resolve, TIER_UP_MS));
    }
  }
  return best;
}
