/** What a padded batch of whole requests of one model takes, by a profile or as far as is known. */
import type { Extent } from "../../graph/cache.ts";
import type { Cell } from "../../graph/cell.ts";
import type { Profile } from "../profile.ts";
import type { Request } from "../request.ts";
import { CostTable, type RanTask } from "./cost_table.ts";
import { type ExecTime, execTime } from "./exec_time.ts";

/** How estimates are made. */
export interface BatchTimeOptions {
  /** Undefined: it is learned from what batches take. */
  readonly profile: Profile | undefined;
  /** Steps that a growing decoder is expected to take. */
  readonly decTimesteps: number;
}

/**
 * Estimates of batches, each request's own part made once.
 * Assumption: a batch takes as many steps of every cell as the request that takes most, each of as many rows as there
 * are requests, and of the extent of that request's.
 */
export class BatchTime {
  readonly #costs: CostTable;
  readonly #decTimesteps: number;
  readonly #alone = new WeakMap<Request, ExecTime>();

  constructor({ profile, decTimesteps }: BatchTimeOptions) {
    this.#costs = new CostTable(profile);
    this.#decTimesteps = decTimesteps;
  }

  /** A task took so long. A profile stays as it is. */
  saw(task: RanTask, ns: number): void {
    if (!this.#costs.isProfiled) this.#costs.saw(task, ns);
  }

  /** What a request is expected to take alone. */
  alone(request: Request): ExecTime {
    let time = this.#alone.get(request);
    if (!time) {
      const decTimesteps = this.#decTimesteps;
      time = execTime(request, { profile: this.#costs.ns, decTimesteps });
      this.#alone.set(request, time);
    }
    return time;
  }

  /** Whether a batch takes as long with the one as with the other. */
  isAlike(a: Request, b: Request): boolean {
    const [one, other] = [this.alone(a), this.alone(b)];
    return a.model === b.model &&
      one.work.every((work, c) =>
        work === other.work[c] && isSame(one.extents?.[c], other.extents?.[c])
      );
  }

  /** A batch without requests yet. */
  batch(): PlannedBatch {
    return new PlannedBatch(this, this.#costs.ns);
  }
}

/** A batch that requests are put into one by one. */
export class PlannedBatch {
  readonly #time: BatchTime;
  readonly #profile: Profile;
  /** By the index of the model's cells, the request's part that keeps it busy for longest. */
  readonly #most: ExecTime[] = [];
  #cells: readonly Cell[] = [];

  constructor(time: BatchTime, profile: Profile) {
    this.#time = time;
    this.#profile = profile;
  }

  add(request: Request): this {
    this.#cells = request.model.cells;
    const time = this.#time.alone(request);
    for (let c = 0; c < this.#cells.length; c++) {
      if (!(weight(this.#most[c], c) >= weight(time, c))) this.#most[c] = time;
    }
    return this;
  }

  /** What it takes with so many rows, in integer nanoseconds. */
  ns(rows: number): number {
    let ns = 0;
    for (let c = 0; c < this.#cells.length; c++) {
      const { work, extents } = this.#most[c];
      if (work[c] === 0) continue;
      ns += work[c] * this.#profile(this.#cells[c], rows, extents?.[c]);
    }
    return ns;
  }
}

function isSame(a: Extent | undefined, b: Extent | undefined): boolean {
  return a?.length === b?.length && a?.caches.length === b?.caches.length &&
    (a?.caches ?? []).every(({ seen }, i) => seen === b?.caches[i].seen);
}

/** What orders requests by the time that they keep a cell busy. */
function weight(time: ExecTime | undefined, cell: number): number {
  return time ? time.work[cell] * time.nodeNs[cell] : NaN;
}
