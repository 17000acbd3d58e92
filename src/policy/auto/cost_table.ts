/**
 * What batches take: by a profile, or, without one, in proportion to their rows and those rows' lengths, times what was
 * seen over that, by cell and by the power of two that the rows reach; and how much workers slow each other down.
 */
import type { Extent } from "../../graph/cache.ts";
import type { Cell } from "../../graph/cell.ts";
import type { Profile } from "../profile.ts";

/** Share of the newest in an average: of times; of what varies more, batches beside others and gaps between launches. */
const NEWEST = 0.1;
const NEWEST_VARYING = 0.02;

/** Times of batches by cell and rows. */
export class CostTable {
  readonly #expectedNs: Profile;
  readonly #isProfiled: boolean;
  /** Seen over expected, averaged. */
  readonly #seen = new Map<Cell, number[]>();
  /** By the number of workers that are busy: times of batches in multiples of those alone, the mean of so many. */
  readonly #slowdowns: { mean: number; count: number }[] = [];

  /** What the host takes for a launch, beyond what goes on beside it, ns. */
  hostNs = 0;

  constructor(profile: Profile | undefined) {
    this.#expectedNs = profile ??
      ((_cell, rows, extent) => rows * (extent?.length ?? 1));
    this.#isProfiled = profile !== undefined;
  }

  /** Between a launch and the next so much passed in which nothing ran. */
  sawHost(ns: number): void {
    this.hostNs += NEWEST_VARYING * (Math.max(0, ns) - this.hostNs);
  }

  /** A batch of a cell took so long, while so many workers were busy. */
  saw(
    cell: Cell,
    rows: number,
    extent: Extent | undefined,
    ns: number,
    busy: number,
  ): void {
    const expectedNs = this.#expectedNs(cell, rows, extent);
    if (!(expectedNs > 0)) return;
    const at = Math.round(Math.log2(rows));
    const seen = this.#seen.get(cell) ?? [];
    this.#seen.set(cell, seen);
    const isKnown = this.#isProfiled || seen[at] !== undefined;
    const aloneNs = isKnown ? this.ns(cell, rows, extent) : 0;
    if (busy > 1 && aloneNs > 0) {
      const slowdown = this.#slowdowns[busy] ??= { mean: 1, count: 0 };
      const share = Math.max(1 / ++slowdown.count, NEWEST_VARYING);
      // Workers that share a device equally slow each other down by no more than their number.
      const times = Math.max(1 / busy, Math.min(busy, ns / aloneNs));
      slowdown.mean += share * (times - slowdown.mean);
    } else {
      // What was never seen alone is better known from beside others than from fewer rows.
      const times = ns / expectedNs / this.slowdown(busy);
      const before = seen[at] ??
        (this.#isProfiled ? this.#ratio(cell, at) : times);
      seen[at] = before + NEWEST * (times - before);
    }
  }

  /** What a batch takes while so many workers are busy, in multiples of its time alone. */
  slowdown(busy: number): number {
    return this.#slowdowns[busy]?.mean ?? 1;
  }

  /** What a batch of a cell takes alone, ns; 0 when nothing is known. */
  ns(cell: Cell, rows: number, extent?: Extent): number {
    return this.#expectedNs(cell, rows, extent) *
      this.#ratio(cell, Math.log2(rows));
  }

  /**
   * Between what was seen. Beyond it a profile is off by as much as there; without one it is the best that can be hoped
   * for, so that it is tried: more rows take no longer, fewer take as much less.
   */
  #ratio(cell: Cell, at: number): number {
    const seen = this.#seen.get(cell) ?? [];
    const last = seen.length - 1;
    if (last < 0) return this.#isProfiled ? 1 : 0;
    if (at >= last) {
      return seen[last] * (this.#isProfiled ? 1 : 2 ** (last - at));
    }
    let [below, above] = [Math.floor(at), Math.floor(at) + 1];
    while (below > 0 && seen[below] === undefined) below--;
    while (seen[above] === undefined) above++;
    const from = seen[below] ?? seen[above];
    return from + (at - below) / (above - below) * (seen[above] - from);
  }
}
