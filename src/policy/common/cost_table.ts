/**
 * What batches take, as far as it is known: an offline profile that is corrected by what is seen, or, without one,
 * only what is seen. By cell and rows; a row of tokens counts as its extent says in the profile.
 */
import type { Extent } from "../../graph/cache.ts";
import type { Cell } from "../../graph/cell.ts";
import type { Profile } from "../profile.ts";

/** Share of the newest time in an average. */
const NEWEST = 0.1;

interface Known {
  /** Seen over predicted, averaged. */
  ratio: number;
  /** Without a profile: mean times by the power of two that the rows reach, ns; undefined: never seen. */
  readonly byMagnitude: (number | undefined)[];
}

/** Times of batches by cell and rows. */
export class CostTable {
  readonly #profile: Profile | undefined;
  readonly #known = new Map<Cell, Known>();

  /** How often something came to be known that was not. */
  found = 0;
  /** What the host takes for a launch, beyond what goes on beside it, ns. */
  hostNs = 0;

  constructor(profile: Profile | undefined) {
    this.#profile = profile;
  }

  /** Between a launch and the next so much passed in which nothing ran. */
  sawHost(ns: number): void {
    this.hostNs += NEWEST * (ns - this.hostNs);
  }

  /** A batch of a cell took so long. */
  saw(cell: Cell, rows: number, extent: Extent | undefined, ns: number): void {
    const known = this.#of(cell);
    if (this.#profile) {
      const predicted = this.#profile(cell, rows, extent);
      if (predicted > 0) known.ratio += NEWEST * (ns / predicted - known.ratio);
      return;
    }
    const magnitude = Math.round(Math.log2(rows));
    const before = known.byMagnitude[magnitude];
    if (before === undefined) this.found++;
    const perRow = ns * 2 ** magnitude / rows;
    known.byMagnitude[magnitude] = before === undefined
      ? perRow
      : before + NEWEST * (perRow - before);
  }

  /** What a batch of a cell takes, ns; 0 when nothing is known. */
  ns(cell: Cell, rows: number, extent?: Extent): number {
    const { ratio, byMagnitude } = this.#of(cell);
    if (this.#profile) return ratio * this.#profile(cell, rows, extent);
    return between(byMagnitude, Math.log2(rows));
  }

  #of(cell: Cell): Known {
    let known = this.#known.get(cell);
    if (!known) this.#known.set(cell, known = { ratio: 1, byMagnitude: [] });
    return known;
  }
}

/**
 * Between what was seen. Beyond it the best that can be hoped for, so that it is tried: more rows take no longer, fewer
 * take as much less.
 */
function between(known: readonly (number | undefined)[], at: number): number {
  let below: [at: number, ns: number] | undefined;
  let above: [at: number, ns: number] | undefined;
  for (const [i, ns] of known.entries()) {
    if (ns === undefined) continue;
    if (i <= at) below = [i, ns];
    else above ??= [i, ns];
  }
  if (below === undefined) {
    return above === undefined ? 0 : above[1] * 2 ** (at - above[0]);
  }
  if (above === undefined) return below[1];
  const share = (at - below[0]) / (above[0] - below[0]);
  return below[1] + share * (above[1] - below[1]);
}
