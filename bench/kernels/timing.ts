/** Interleaved timing: every contestant once per round, so that a slow moment hits all. */

/** Options of {@linkcode bestTimesNs}. */
export interface TimingOptions {
  rounds: number;
  /** Calls of every contestant per round; 1 by default. */
  calls?: number;
  /** How long threads of a contestant that returns promises go on spinning after a call; 0 by default. */
  settleMs?: number;
}

const WARM_ROUNDS = 3;
/** Long enough for the engine's background compiler to finish. */
const TIER_UP_MS = 10;

/** Best time per call of each contestant, in nanoseconds. */
export async function bestTimesNs(
  contestants: readonly (() => void | Promise<unknown>)[],
  { rounds, calls = 1, settleMs = 0 }: TimingOptions,
): Promise<number[]> {
  const best = contestants.map(() => Infinity);
  for (let round = -WARM_ROUNDS; round < rounds; ++round) {
    for (const [i, run] of contestants.entries()) {
      let pending: void | Promise<unknown> = undefined;
      const startMs = performance.now();
      for (let call = 0; call < calls; ++call) {
        pending = run();
        if (pending !== undefined) await pending;
      }
      const ns = (performance.now() - startMs) * 1e6 / calls;
      if (pending !== undefined && settleMs > 0) await sleep(settleMs);
      if (round >= 0) best[i] = Math.min(best[i], ns);
    }
    if (round < 0) await sleep(TIER_UP_MS);
  }
  return best;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
