/**
 * What batches take: by a profile, or, without one, in proportion to their rows, times what was seen over that, by cell
 * and by the power of two that the rows reach.
 */
import type { Extent } from "../../graph/cache.ts";
import type { Cell } from "../../graph/cell.ts";
import type { Profile } from "../profile.ts";

/** Share of the newest time in an average; of the newest gap between launches, which is zero but for a few. */
const NEWEST = 0.1;
const NEWEST_HOST = 0.02;

/** Times of batches by cell and rows. */
export class CostTable {
  readonly #profile: Profile | undefined;
  /** Seen over expected, averaged. */
  readonly #seen = new Map<Cell, number[]>();

  /** What the host takes for a launch, beyond what goes on beside it, ns. */
  hostNs = 0;

  constructor(profile: Profile | undefined) {
    this.#profile = profile;
  }

  /** Between a launch and the next so much passed in which nothing ran. */
  sawHost(ns: number): void {
    this.hostNs += NEWEST_HOST * (Math.max(0, ns) - this.hostNs);
  }

  /** A batch of a cell took so long. */
  saw(cell: Cell, rows: number, extent: Extent | undefined, ns: number): void {
    let seen = this.#seen.get(cell);
    if (!seen) this.#seen.set(cell, seen = []);
    const expected = this.#expected(cell, rows, extent);
    if (expected <= 0) return;
    const at = Math.round(Math.log2(rows));
    const before = seen[at] ??
      (this.#profile ? this.#ratio(cell, at) : ns / expected);
    seen[at] = before + NEWEST * (ns / expected - before);
  }

  /** What a batch of a cell takes, ns; 0 when nothing is known. */
  ns(cell: Cell, rows: number, extent?: Extent): number {
    return this.#expected(cell, rows, extent) *
      this.#ratio(cell, Math.log2(rows));
  }

  #expected(cell: Cell, rows: number, extent: Extent | undefined): number {
    return this.#profile ? this.#profile(cell, rows, extent) : rows;
  }

  /**
   * Between what was seen. Beyond it a profile is off by as much as there; without one it is the best that can be hoped
   * for, so that it is tried: more rows take no longer, fewer take as much less.
   */
  #ratio(cell: Cell, at: number): number {
    const seen = this.#seen.get(cell) ?? [];
    const last = seen.length - 1;
    if (last < 0) return this.#profile ? 1 : 0;
    if (at >= last) return seen[last] * (this.#profile ? 1 : 2 ** (last - at));
    let [below, above] = [Math.floor(at), Math.floor(at) + 1];
    while (below >= 0 && seen[below] === undefined) below--;
    while (seen[above] === undefined) above++;
    if (below < 0) return seen[above];
    const share = (at - below) / (above - below);
    return seen[below] + share * (seen[above] - seen[below]);
  }
}
