/**
 * T_comp_wait from the offline profile: how long a batch may have been processed and still be stretched.
 * Source: DVABatch, section 7.2, Policy III has the threshold and gives neither a figure nor a rule for it.
 * Assumption: a batch waits for others for as long as that makes the two of them cheaper. Running together what is
 * left behind a stage saves device time; where it saves less than a twentieth of what both take in all (the same
 * twentieth as in `preferredBatchSize`), the batch would only wait. The threshold is therefore the time that the
 * batch's stages take up to the last one behind which it pays, and there is none where it pays behind the last but one:
 * later nobody can catch up anyway.
 */

/** Share of both batches' time that running the rest together has to save. */
const LEAST_GAIN = 0.05;

/** Time in ns that a batch of `size` may have been processed when `joining` others stretch it. */
export type CompWait = (size: number, joining: number) => number;

/**
 * @param stages number of them
 * @param remainingNs time of all stages behind `stage`, from 0, at a batch size; behind stage -1 of all
 */
export function profiledCompWait(
  stages: number,
  remainingNs: (stage: number, size: number) => number,
): CompWait {
  const known = new Map<number, Map<number, number>>();
  const compute = (size: number, joining: number): number => {
    const wholeNs = remainingNs(-1, size);
    const leastNs = LEAST_GAIN * (wholeNs + remainingNs(-1, joining));
    for (let stage = stages - 2; stage >= 0; stage--) {
      const ownNs = remainingNs(stage, size);
      const savedNs = ownNs + remainingNs(stage, joining) -
        remainingNs(stage, size + joining);
      if (savedNs < leastNs) continue;
      return stage === stages - 2 ? Infinity : wholeNs - ownNs;
    }
    return 0;
  };
  return (size, joining) => {
    let byJoining = known.get(size);
    if (byJoining === undefined) known.set(size, byJoining = new Map());
    let ns = byJoining.get(joining);
    if (ns === undefined) byJoining.set(joining, ns = compute(size, joining));
    return ns;
  };
}
