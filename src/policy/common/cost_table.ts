/**
 * What batches take: by a profile, or, without one, in proportion to their rows and those rows' lengths, times what was
 * seen over that, by cell and by the power of two that the rows reach; and how much workers slow each other down: by
 * how many are busy, in the mean, and by the share of the device that a pass takes.
 */
import { log2, split } from "../../base/elementary/logarithm.ts";
import { powerOfTwo } from "../../base/elementary/powers_of_two.ts";
import { MovingMean } from "../../base/moving_mean.ts";
import { mean } from "../../base/statistics.ts";
import { type Extent, hasExtents } from "../../graph/cache.ts";
import type { Cell } from "../../graph/cell.ts";
import { NODE } from "../../graph/cell_graph.ts";
import type { Model } from "../../graph/model.ts";
import type { Task } from "../launch.ts";
import type { Profile } from "../profile.ts";

/** Share of the newest in a mean: of times; of what varies more, batches beside others and gaps between launches. */
const NEWEST = 0.1;
const NEWEST_VARYING = 0.02;
const NEWEST_SHARE = 0.05;
/** What takes so many times as long as alone is slowed down by others; less is noise. */
export const SLOWED = 1.02;
/** Logarithms of rows to base 2: decisions ask for many. */
const LOGARITHMS = Float64Array.from({ length: 1025 }, (_, i) => log2(i));
const log2OfRows = (rows: number) => LOGARITHMS[rows] ?? log2(rows);

/** What counts of a task: how much there is of each of its rows, and whether it was computed. */
export type RanTask =
  & Pick<Task, "cell" | "padding" | "paddedLength">
  & Partial<Pick<Task, "padsDone">>
  & { readonly nodes: readonly (Extent & { readonly state?: number })[] };

/** What a pass of so many requests took, ns, and was expected to take alone, beside others that take such a share. */
export interface RanPass {
  readonly model: Model;
  readonly rows: number;
  /** Share of the device. */
  readonly beside: number;
  /** Workers in all. */
  readonly all: number;
  ranNs: number;
  expectedNs: number;
}

/** Times of batches by cell and rows. */
export class CostTable {
  readonly #expectedNs: Profile;
  /** Without a profile nothing is known before it was seen. */
  readonly isProfiled: boolean;
  /** Seen over expected. */
  readonly #seen = new Map<Cell, MovingMean[]>();
  /** By the number of workers that are busy: times of batches in multiples of those alone. */
  readonly #slowdowns: MovingMean[] = [];
  /** By model and by the power of two that a pass's requests reach: the share of the device that it takes. */
  readonly #shares = new Map<Model, MovingMean[]>();
  /** What the host takes for a launch, ns: what passes between two beside what was run, where one follows at once. */
  readonly hostNs = new MovingMean(NEWEST_VARYING);
  /** What a task takes, ns, whatever it is of; before any was seen long. */
  readonly taskNs = new MovingMean(NEWEST_VARYING, 1e9);

  constructor(profile: Profile | undefined) {
    this.#expectedNs = profile ??
      ((_cell, rows, extent) => rows * (extent?.length ?? 1));
    this.isProfiled = profile !== undefined;
  }

  /**
   * A task took so long, while so many workers were busy. Padding counts as what it stands for, a void row as nothing.
   * @returns what it was expected to take alone, ns; NaN when nothing was known or computed
   */
  saw(task: RanTask, ns: number, busy = 1): number {
    this.taskNs.add(ns);
    const { cell, padding, paddedLength } = task;
    const nodes = computed(task);
    if (nodes.length === 0 && task.nodes.length > 0) return NaN;
    const rows = nodes.length + padding;
    const extent = hasExtents(cell) && nodes.length > 0
      ? {
        length: Math.max(
          paddedLength,
          Math.round(mean(nodes.map(({ length }) => length))),
        ),
        caches: nodes[nodes.length >> 1].caches,
      }
      : undefined;
    const expectedNs = this.#expectedNs(cell, rows, extent);
    if (!(expectedNs > 0)) return NaN;
    const at = split(rows).k;
    const seen = this.#seen.get(cell) ?? [];
    const isKnown = this.isProfiled || seen[at] !== undefined;
    const aloneNs = isKnown ? this.ns(cell, rows, extent) : 0;
    // A batch that took no time by the clock says nothing of what others cost it.
    if (busy > 1 && aloneNs > 0) {
      // Workers that share a device equally slow each other down by no more than their number.
      const times = ns / aloneNs;
      this.#slowdowns[busy] ??= new MovingMean(NEWEST_VARYING);
      this.#slowdowns[busy].add(Math.max(1 / busy, Math.min(busy, times)));
    } else {
      // Without a profile what was never seen alone is better known from beside others than from fewer rows.
      seen[at] ??= this.isProfiled
        ? new MovingMean(
          NEWEST,
          aloneNs / expectedNs,
          1 / NEWEST,
        )
        : new MovingMean(NEWEST);
      seen[at].add(ns / expectedNs / this.slowdown(busy));
      this.#seen.set(cell, seen);
    }
    return isKnown ? aloneNs : NaN;
  }

  /** What a batch takes while so many workers are busy, in multiples of its time alone; `unseen` before any was. */
  slowdown(busy: number, unseen = 1): number {
    return this.#slowdowns[busy]?.value ?? unseen;
  }

  /** Share of the device that a pass takes; none without rows, and before any was seen what leaves room for all. */
  share({ model, rows, all }: Pick<RanPass, "model" | "rows" | "all">): number {
    if (rows === 0) return 0;
    const seen = this.#shares.get(model) ?? [];
    const at = split(rows).k;
    for (let far = 0; far < seen.length + at; far++) {
      const nearest = seen[at - far] ?? seen[at + far];
      if (nearest) return nearest.value;
    }
    return 1 / all;
  }

  sharesOf(passes: readonly RanPass[]): number {
    return passes.reduce((sum, pass) => sum + this.share(pass), 0);
  }

  /** Requests are launched behind their worker's newest pass; that was theirs, too, or says nothing. */
  sawGap(
    newest: (RanPass & { readonly nowNs: number }) | undefined,
    requests: readonly { readonly tag: { readonly newest?: RanPass } }[],
    nowNs: number,
  ): void {
    if (!newest || requests.every(({ tag }) => tag.newest !== newest)) return;
    this.hostNs.add(Math.max(0, nowNs - newest.nowNs - newest.ranNs));
  }

  /** While all ask for more than there is everybody takes as many times as long (E2bird, section 7.1, Eq. 3). */
  sawPass(pass: RanPass): void {
    const { model, rows, beside, ranNs, expectedNs } = pass;
    if (beside === 0 || !(expectedNs > 0)) return;
    const times = ranNs / expectedNs;
    const known = this.share(pass);
    // Both were known wrongly in proportion. Who is not slowed down tells no more than that there was enough.
    const least = times > SLOWED ? 0 : 1;
    const share = known * Math.max(1, times) / Math.max(least, known + beside);
    const seen = this.#shares.get(model) ?? [];
    this.#shares.set(model, seen);
    const at = split(rows).k;
    seen[at] ??= new MovingMean(NEWEST_SHARE, known, 1);
    seen[at].add(Math.min(1, share));
  }

  /**
   * What a batch of a cell takes alone, ns; 0 when nothing is known. Beyond what was seen a profile is off by as much as
   * there; without one it is the best that can be hoped for, so that it is tried: more rows take no longer, fewer take as
   * much less.
   */
  readonly ns: Profile = (cell, rows, extent) => {
    const expectedNs = this.#expectedNs(cell, rows, extent);
    const seen = this.#seen.get(cell);
    if (!seen) return this.isProfiled ? expectedNs : 0;
    const at = log2OfRows(rows);
    let [below, above] = [Math.floor(at), Math.max(0, Math.ceil(at))];
    while (below >= 0 && !seen[below]) below--;
    while (above < seen.length && !seen[above]) above++;
    const from = seen[below] ?? seen[above];
    const to = seen[above] ?? from;
    const share = above > below && below >= 0
      ? (at - below) / (above - below)
      : 0;
    const beyond = this.isProfiled
      ? 1
      : Math.max(1, rows / powerOfTwo(seen.length - 1));
    return expectedNs * (from.value + share * (to.value - from.value)) /
      beyond;
  };

  /** What so many rows on average take, ns: linear between whole numbers of rows. */
  meanNs(cell: Cell, rows: number, extent?: Extent): number {
    const below = Math.floor(rows);
    const ns = this.ns(cell, below, extent);
    if (below === rows) return ns;
    return ns + (rows - below) * (this.ns(cell, below + 1, extent) - ns);
  }
}

/**
 * Its rows but for those that workers leave out: steps behind a decoder's last, rows of requests that were cancelled.
 * Done requests' padding is computed unless it is all that there is.
 */
function computed({ nodes, padsDone }: RanTask): RanTask["nodes"] {
  let left = 0;
  for (const { state } of nodes) if (state !== NODE.void) left++;
  if (left === nodes.length || padsDone && left > 0) return nodes;
  return nodes.filter(({ state }) => state !== NODE.void);
}
