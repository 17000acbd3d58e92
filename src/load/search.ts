/**
 * The greatest rate at which a server holds a target: MLPerf's Server scenario, by trials. From the first rate by
 * steps, of a factor of two unless said otherwise, up or down until there is one that holds and one that does not, then
 * by halving the ratio between them.
 *
 * Source: mlcommons/inference, loadgen: FindPeakPerformance (loadgen.cc), which searches by halves as well.
 */

/** One trial. */
export interface Trial<Result> {
  readonly ratePerS: number;
  /** Whether the target was held, in a run that is valid where that matters. */
  readonly holds: boolean;
  readonly result: Result;
}

/** Options of {@linkcode searchRate}. */
export interface SearchOptions<Result> {
  /** The first rate. */
  readonly ratePerS: number;
  /** Rates are searched between these. */
  readonly leastPerS: number;
  readonly mostPerS: number;
  /** Factor from one rate to the next as long as all hold or none does, above 1; default 2. */
  readonly step?: number;
  /** Stops when the rate that does not hold is at most this much more than the one that does, e.g. 0.05. */
  readonly precision: number;
  /** Tries a rate; undefined: the search ends with the trials before. */
  readonly trial: (
    ratePerS: number,
  ) => Promise<Omit<Trial<Result>, "ratePerS"> | undefined>;
}

/** What came of it. */
export interface Searched<Result> {
  /** The trial at the greatest rate that holds; undefined when none does. */
  readonly best?: Trial<Result>;
  /** Whether a greater rate was seen not to hold. */
  readonly isBounded: boolean;
  /** In the order in which they were made. */
  readonly trials: readonly Trial<Result>[];
}

/** Searches for it. */
export async function searchRate<Result>(
  { ratePerS, leastPerS, mostPerS, step = 2, precision, trial }: SearchOptions<
    Result
  >,
): Promise<Searched<Result>> {
  const trials: Trial<Result>[] = [];
  let best: Trial<Result> | undefined;
  let worstPerS = Infinity;
  let isOver = false;
  const tryAt = async (perS: number): Promise<boolean> => {
    const tried = await trial(perS);
    if (tried === undefined) {
      isOver = true;
      return false;
    }
    const made = { ratePerS: perS, ...tried };
    trials.push(made);
    if (made.holds) best = made;
    else worstPerS = perS;
    return made.holds;
  };
  let perS = Math.min(mostPerS, Math.max(leastPerS, ratePerS));
  if (await tryAt(perS)) {
    while (!isOver && worstPerS === Infinity && perS < mostPerS) {
      await tryAt(perS = Math.min(mostPerS, step * perS));
    }
  } else {
    while (!isOver && best === undefined && perS > leastPerS) {
      await tryAt(perS = Math.max(leastPerS, perS / step));
    }
  }
  while (
    !isOver && best !== undefined &&
    worstPerS / best.ratePerS > 1 + precision && worstPerS < Infinity
  ) {
    const between = Math.sqrt(best.ratePerS * worstPerS);
    // Neighbours have none between them, however precise it is to be.
    if (between <= best.ratePerS || between >= worstPerS) break;
    await tryAt(between);
  }
  return { ...(best && { best }), isBounded: worstPerS < Infinity, trials };
}
