/** What `auto` keeps of a model: its requests, what they have left, and which of them would make the next batch. */
import type { Cell } from "../../graph/cell.ts";
import type { CellGraph, CellNode } from "../../graph/cell_graph.ts";
import type { Model } from "../../graph/model.ts";
import type { CostTable } from "../common/cost_table.ts";
import { type CellExtents, execTime } from "../common/exec_time.ts";
import { isReadyAtOnce } from "../common/frontier.ts";
import type { Request } from "../request.ts";

/** What is kept with a request. */
export interface AutoTag {
  /** Nodes that can run. */
  readonly ready: AutoNode[];
  /** What it would take alone from here on, ns. */
  leftNs: number;
  /** By the index of the model's cells: executions that are left, and what one takes alone. */
  readonly work: number[];
  readonly nodeNs: readonly number[];
  /** When it has to be done; Infinity: whenever. */
  readonly dueNs: number;
  /** Launches under way that it is in, all of one worker. */
  launches: number;
  worker: number;
  /** Growing steps that it has taken. */
  steps: number;
  /** Of its rows by the index of the model's cells, where it makes a difference. */
  readonly extents: CellExtents | undefined;
  hasStarted: boolean;
}

export interface AutoRequest extends Request<AutoTag> {
  readonly graph: CellGraph<AutoRequest>;
}
export type AutoNode = CellNode<AutoRequest>;

/** Requests that could advance together now. */
export interface Batch {
  readonly requests: readonly AutoRequest[];
  /** Until when waiting for more leaves all in time, if more are needed; -Infinity: it starts at once. */
  readonly untilNs: number;
  /** Latest start that leaves all in time; Infinity: none has a deadline; NaN: they are late already. */
  readonly latestNs: number;
  /** Requests done for the time that they take. */
  readonly perNs: number;
  readonly why: string;
}

/** Share of the time waited that is taken off what is left. */
const AGING = 0.05;
/** Share of the newest gap between arrivals, and of the newest number of steps, in an average. */
const NEWEST = 1 / 16;
/** The same of the gaps between arrivals. */
const NEWEST_GAP = 1 / 128;
/** Steps of a decoder of which none has ended yet. */
const STEPS = 32;
/** What one more row has to gain in rows for the time for it to be waited for. */
const WORTH_WAITING = 1.02;
/** Mean gaps between arrivals after which nobody is expected to come. */
const PATIENCE = 4;
/** Candidates that are looked at, beside those that have started. */
const LOOKED_AT = 128;
/** Decisions after which what larger batches take is asked again. */
const ASKED_AGAIN = 64;

/** Batch sizes that times are asked for; between them they are interpolated. */
function sizesUpTo(most: number): number[] {
  const sizes = [1, 2, 3];
  for (let size = 4; size < most; size *= 2) sizes.push(size, size * 1.5);
  return [...sizes.filter((size) => size < most), most];
}

export class ModelState {
  readonly model: Model;
  readonly #costs: CostTable;
  readonly #most: number;
  readonly #sizes: readonly number[];
  /** In order. */
  readonly #waiting: AutoRequest[] = [];
  readonly #started: AutoRequest[] = [];
  /** By the cell that is next: what a batch takes, in multiples of one row, at each of the sizes. */
  readonly #factors = new Map<
    Cell,
    { asked: number; readonly found: number; readonly at: number[] }
  >();
  #steps = STEPS;
  /** Mean gap between arrivals, of so many. */
  #gapNs = 0;
  #gaps = 0;
  #lastNs = -Infinity;

  constructor(model: Model, costs: CostTable, batchSizeMax: number) {
    this.model = model;
    this.#costs = costs;
    this.#most = batchSizeMax;
    this.#sizes = sizesUpTo(batchSizeMax);
  }

  enqueue(request: AutoRequest, targetNs: number): void {
    const { work, nodeNs, execNs, extents } = execTime(request, {
      profile: (cell, rows, extent) => this.#costs.ns(cell, rows, extent),
      decTimesteps: Math.max(1, Math.round(this.#steps)),
    });
    const dueNs = Math.min(
      targetNs,
      request.finishNs,
      // It has to have started by then.
      request.deadlineNs + execNs,
    );
    request.tag = {
      ready: request.graph.nodes.filter(isReadyAtOnce),
      leftNs: execNs,
      work,
      nodeNs,
      extents,
      dueNs,
      launches: 0,
      worker: -1,
      steps: 0,
      hasStarted: false,
    };
    insert(this.#waiting, request);
    this.#arrived(request.arrivalNs);
  }

  #arrived(atNs: number): void {
    const gapNs = atNs - this.#lastNs;
    this.#lastNs = atNs;
    if (gapNs === Infinity) return;
    this.#gaps++;
    const weight = Math.max(1 / this.#gaps, NEWEST_GAP);
    this.#gapNs += weight * (gapNs - this.#gapNs);
  }

  get #ratePerNs(): number {
    return this.#gapNs > 0 ? 1 / this.#gapNs : 0;
  }

  /** The requests are in a launch to the worker. */
  started(requests: readonly AutoRequest[], worker: number): void {
    for (const request of requests) {
      const { tag } = request;
      tag.launches++;
      tag.worker = worker;
      if (tag.hasStarted) continue;
      tag.hasStarted = true;
      this.#waiting.splice(this.#waiting.indexOf(request), 1);
      this.#started.push(request);
    }
  }

  /** A node of a request was submitted. */
  submitted({ tag }: AutoRequest, node: AutoNode): void {
    const at = tag.ready.indexOf(node);
    if (at >= 0) tag.ready.splice(at, 1);
    const cell = this.model.cells.indexOf(node.cell);
    if (node.cell.stop) tag.steps++;
    // Who takes more steps than expected is taken to be at its last.
    if (tag.work[cell] > 1 || node.cell.phase !== "decoder") {
      tag.work[cell]--;
      tag.leftNs = Math.max(0, tag.leftNs - tag.nodeNs[cell]);
    }
  }

  ended(request: AutoRequest): void {
    const { steps, hasStarted } = request.tag;
    const list = hasStarted ? this.#started : this.#waiting;
    const at = list.indexOf(request);
    if (at >= 0) list.splice(at, 1);
    if (steps > 0) this.#steps += NEWEST * (steps - this.#steps);
  }

  /**
   * Who would advance on a worker.
   * @param workers that are idle now
   */
  batch(worker: number, nowNs: number, workers: number): Batch | undefined {
    const candidates = this.#started.filter(({ tag }) =>
      tag.ready.length > 0 &&
      (tag.launches === 0 || (tag.launches === 1 && tag.worker === worker))
    );
    const waiting = this.#waiting.slice(0, LOOKED_AT);
    candidates.push(...waiting);
    if (candidates.length === 0) return undefined;
    candidates.sort(inOrder);
    const factors = this.#factorsOf(candidates[0]);
    const all = candidates.length + this.#waiting.length - waiting.length;
    const saved: AutoRequest[] = [];
    const lost: AutoRequest[] = [];
    let hasDeadline = false;
    for (const request of candidates) {
      const { leftNs, dueNs } = request.tag;
      if (dueNs !== Infinity) hasDeadline = true;
      (nowNs + leftNs > dueNs ? lost : saved).push(request);
    }
    if (!hasDeadline) return this.#shortest(saved, factors, all, workers);
    if (saved.length > 0) {
      return this.#urgent(saved, factors, nowNs, workers);
    }
    lost.sort((a, b) => a.tag.leftNs - b.tag.leftNs || a.id - b.id);
    // Small ones: whoever comes meanwhile can still be saved.
    const batch = this.#shortest(lost, factors, all, workers, 0);
    return { ...batch, latestNs: NaN, why: "too late already" };
  }

  /** The batch size that leaves everybody the least time waiting, of those who have least left. */
  #shortest(
    sorted: readonly AutoRequest[],
    factors: readonly number[],
    all: number,
    workers: number,
    ratePerNs = this.#ratePerNs,
  ): Batch {
    let rows = 0;
    let least = Infinity;
    /** The most rows for the time, where no size keeps up with who comes. */
    let densest = 1;
    let leastPerRow = Infinity;
    // Where nothing is known, larger ones are tried.
    const meanNs = Math.max(1, meanLeftNs(sorted));
    const waiting = all / workers;
    const most = Math.min(sorted.length, this.#most);
    const perNs = ratePerNs / workers;
    for (const size of [...this.#sizes.filter((one) => one < most), most]) {
      const takesNs = meanNs * this.#at(factors, size);
      // What a batch leaves of those who wait, when so many come while it runs.
      const net = size - perNs * takesNs;
      const figure = net > 0 ? takesNs * (1 + waiting / net) : Infinity;
      if (figure < least) [least, rows] = [figure, size];
      if (takesNs / size < leastPerRow) {
        [leastPerRow, densest] = [takesNs / size, size];
      }
    }
    if (rows === 0) rows = densest;
    const requests = sorted.slice(0, rows);
    return {
      requests,
      untilNs: -Infinity,
      latestNs: Infinity,
      perNs: this.#perNs(requests, factors),
      why:
        `${rows} of ${waiting} leave everybody the least time waiting, the shortest first`,
    };
  }

  /** The most urgent that are all in time together; or a later, denser group that they would make late. */
  #urgent(
    sorted: readonly AutoRequest[],
    factors: readonly number[],
    nowNs: number,
    workers: number,
  ): Batch {
    let best: Batch | undefined;
    let first: Batch | undefined;
    for (let from = 0; from < sorted.length; from = 2 * from + 1) {
      const group = this.#inTime(sorted, from, factors, nowNs);
      first ??= group;
      if (best === undefined || group.perNs > best.perNs) best = group;
    }
    const takesNs = first!.requests.length / first!.perNs;
    const chosen = nowNs + takesNs <= best!.latestNs ? first! : best!;
    const isFull = chosen.requests.length < sorted.length ||
      chosen.requests.length === this.#most ||
      chosen.requests.some(({ tag }) => tag.hasStarted);
    if (isFull) return chosen;
    const { requests } = chosen;
    const rows = requests.length;
    const gain = this.#at(factors, rows) * (rows + 1) /
      (this.#at(factors, rows + 1) * rows);
    const untilNs = Math.min(
      this.#latestNs(requests, factors, rows + 1),
      this.#lastNs + PATIENCE / this.#ratePerNs,
    );
    const waits = gain > WORTH_WAITING && untilNs < Infinity &&
      chosen.perNs * workers < this.#ratePerNs;
    return waits ? { ...chosen, untilNs } : chosen;
  }

  /** The first from some place on that are in time together. */
  #inTime(
    sorted: readonly AutoRequest[],
    from: number,
    factors: readonly number[],
    nowNs: number,
  ): Batch {
    const requests: AutoRequest[] = [];
    let may = Infinity;
    for (let i = from; i < sorted.length; i++) {
      if (requests.length === this.#most) break;
      const { leftNs, dueNs } = sorted[i].tag;
      const factor = this.#at(factors, requests.length + 1);
      const own = (dueNs - nowNs) / leftNs;
      if (requests.length > 0 && Math.min(may, own) < factor) continue;
      may = Math.min(may, own);
      requests.push(sorted[i]);
    }
    return {
      requests,
      untilNs: -Infinity,
      latestNs: this.#latestNs(requests, factors, requests.length),
      perNs: this.#perNs(requests, factors),
      why: `the ${requests.length} most urgent that are in time together`,
    };
  }

  /** When a batch of so many has to start for all of these to be in time. */
  #latestNs(
    requests: readonly AutoRequest[],
    factors: readonly number[],
    rows: number,
  ): number {
    const factor = this.#at(factors, rows);
    let latestNs = Infinity;
    for (const { tag: { dueNs, leftNs } } of requests) {
      latestNs = Math.min(latestNs, dueNs - leftNs * factor);
    }
    return latestNs;
  }

  #perNs(requests: readonly AutoRequest[], factors: readonly number[]): number {
    const meanNs = meanLeftNs(requests);
    const factor = this.#at(factors, requests.length);
    return requests.length / Math.max(1, meanNs * factor);
  }

  /** A figure that is known at the sizes, interpolated. */
  #at(known: readonly number[], rows: number): number {
    const sizes = this.#sizes;
    let i = 0;
    while (i < sizes.length - 1 && sizes[i] < rows) i++;
    if (sizes[i] <= rows || i === 0) return known[i];
    const share = (rows - sizes[i - 1]) / (sizes[i] - sizes[i - 1]);
    return known[i - 1] + share * (known[i] - known[i - 1]);
  }

  #factorsOf({ tag: { ready, work, extents } }: AutoRequest): number[] {
    const next = ready[0].cell;
    const known = this.#factors.get(next);
    const { found } = this.#costs;
    if (known && known.found === found && known.asked++ < ASKED_AGAIN) {
      return known.at;
    }
    const { cells } = this.model;
    const times = this.#sizes.map((size) => {
      let ns = 0;
      for (let c = 0; c < cells.length; c++) {
        if (work[c] === 0) continue;
        ns += work[c] * this.#costs.ns(cells[c], size, extents?.[c]);
      }
      return ns;
    });
    // Where nothing is known, a batch is taken to cost as much as a row.
    const at = times.map((ns) => times[0] > 0 ? ns / times[0] : 1);
    this.#factors.set(next, { asked: 0, found, at });
    return at;
  }
}

function meanLeftNs(requests: readonly AutoRequest[]): number {
  let leftNs = 0;
  for (const { tag } of requests) leftNs += tag.leftNs;
  return leftNs / requests.length;
}

/** By deadline; without one by what is left, less a share of the time waited. */
function inOrder(a: AutoRequest, b: AutoRequest): number {
  if (a.tag.dueNs !== b.tag.dueNs) return a.tag.dueNs - b.tag.dueNs;
  const agedNs = AGING * (a.arrivalNs - b.arrivalNs);
  return a.tag.leftNs - b.tag.leftNs + agedNs || a.id - b.id;
}

/** What waits has all of it left, so that the order stays. */
function insert(sorted: AutoRequest[], request: AutoRequest): void {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (inOrder(sorted[middle], request) <= 0) low = middle + 1;
    else high = middle;
  }
  sorted.splice(low, 0, request);
}
