/**
 * Whether two co-running workers keep their deadlines, by the work they have and the capacity they get.
 * Source: E2bird, section 7.1, Fig. 8, Eq. 2, 3 and 5. Work is in units of capacity times time.
 * Deviation: Eq. 4 is not used: as printed it divides the parts done alone by u1 instead of u0, and
 * Eq. 5 does not follow from it; Eq. 5 follows from Eq. 2 and 3 with the parts done alone at u0.
 */
export interface CoRun {
  /** Worker 1's work before worker 2 starts, and beside it. */
  readonly w1: number;
  readonly w2: number;
  /** Worker 2's work beside worker 1, and after it. */
  readonly w1New: number;
  readonly w2New: number;
  /** The device's capacity, and what worker 2 gets of it while both run. */
  readonly u0: number;
  readonly u2: number;
}

/** t0, t2 and t4 of Fig. 8: worker 2's start, worker 1's end, worker 2's end. */
export function coRunTimes(
  { w1, w2, w1New, w2New, u0, u2 }: CoRun,
): { t0: number; t2: number; t4: number } {
  const t0 = w1 / u0;
  return { t0, t2: t0 + w2 / (u0 - u2), t4: t0 + w1New / u2 + w2New / u0 };
}

/** Eq. 2: t2 < t3 and t4 < t0 + t3. */
export function keepsQos(run: CoRun, t3: number): boolean {
  const { t0, t2, t4 } = coRunTimes(run);
  return t2 < t3 && t4 < t0 + t3;
}

/** Eq. 5: the bounds of u2 for which both keep QoS t3; none does when `above` is not below `below`. */
export function newWorkerShare(
  { w1, w2, w1New, w2New, u0 }: Omit<CoRun, "u2">,
  t3: number,
): { above: number; below: number } {
  return {
    above: w1New * u0 / (t3 * u0 - w2New),
    below: u0 + w2 * u0 / (w1 - t3 * u0),
  };
}

/**
 * Eq. 1: what overlapping transfer with computation saves at most.
 * @returns share of the time saved, as the paper prints it, and the gain in throughput that it means
 */
export function overlapBound(
  transferNs: number,
  computeNs: number,
): { timeSaved: number; throughputGain: number } {
  return {
    timeSaved: transferNs / (transferNs + computeNs),
    throughputGain: transferNs / computeNs,
  };
}
