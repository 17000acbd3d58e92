/** What `auto` keeps of a model: its requests, what they have left, and which of them would make the next batch. */
import type { Cell } from "../../graph/cell.ts";
import type { CellGraph, CellNode } from "../../graph/cell_graph.ts";
import type { Model } from "../../graph/model.ts";
import type { CostTable } from "../common/cost_table.ts";
import { execTime } from "../common/exec_time.ts";
import { isReadyAtOnce } from "../common/frontier.ts";
import type { Request } from "../request.ts";

/** What is kept with a request. */
export interface AutoTag {
  /** Nodes that can run. */
  readonly ready: AutoNode[];
  /** What it would take alone from here on, ns: its input part, and its growing steps. */
  inputNs: number;
  growNs: number;
  /** By the index of the model's cells: executions that are left, and what one takes alone. */
  readonly work: number[];
  readonly nodeNs: readonly number[];
  /** When it has to be done; Infinity: whenever. */
  readonly dueNs: number;
  /** Launches under way that it is in, all of one worker. */
  launches: number;
  worker: number;
  /** When the newest of them was decided on. */
  launchedNs: number;
  /** Growing steps that it has taken. */
  steps: number;
  hasStarted: boolean;
}

export interface AutoRequest extends Request<AutoTag> {
  readonly graph: CellGraph<AutoRequest>;
}
export type AutoNode = CellNode<AutoRequest>;

/** Requests that could advance together now. */
export interface Batch {
  readonly state: ModelState;
  readonly requests: readonly AutoRequest[];
  /** Until when it waits for more. */
  readonly untilNs: number;
  /** Latest start that leaves all in time; Infinity: none has a deadline; NaN: they are late already. */
  readonly latestNs: number;
  /** Until they are done, if they stay together. */
  readonly takesNs: number;
  readonly why: string;
}

/** The device as a batch would find it. */
export interface Situation {
  readonly nowNs: number;
  readonly worker: number;
  /** Workers, as far as they do not slow each other down. */
  readonly workers: number;
  /** What a batch takes beside those that run, in multiples of its time alone; and those without it. */
  readonly slowdown: number;
  readonly slowdownBefore: number;
}

/** Share of the time waited that is taken off what is left. */
const AGING = 0.05;
/** Share of the newest number of steps in an average; of the newest gap between arrivals. */
const NEWEST_STEPS = 1 / 16;
const NEWEST_GAP = 1 / 128;
/** Steps of a decoder of which none has ended yet. */
const STEPS = 32;
/** Of those who will come, the share that a batch's size counts on, as later ones grow with the queue. */
const EXPECTED = 0.9;
/** Share of what the densest batches do that is counted on at most: an overload is not taken to last for ever. */
const CARRIED = 0.8;
/** What batches side by side have to gain, as each of them takes longer than one by one. */
const WORTH_SHARING = 1.15;
/** What one more row has to gain in rows for the time for it to be waited for. */
const WORTH_WAITING = 1.02;
/** Mean gaps between arrivals after which nobody is expected to come. */
const PATIENCE = 4;
/** Time that other models have for each that one has whose turn it would not be. */
const OTHERS = 8;
/** Candidates that are looked at, beside those that have started. */
const LOOKED_AT = 128;
/** Arrivals after which what batches take is asked again. */
const ASKED_AGAIN = 64;

export class ModelState {
  readonly model: Model;
  readonly #costs: CostTable;
  readonly #most: number;
  readonly #cellAt: ReadonlyMap<Cell, number>;
  /** In order. */
  readonly #waiting: AutoRequest[] = [];
  readonly #started: AutoRequest[] = [];
  #running = 0;
  /** By rows: what the input part takes, and the growing one, in multiples of one row. */
  #input: readonly number[] = [];
  #grow: readonly number[] = [];
  #found = -1;
  /** Time that other models had while this one waited, less what it had since, that often. */
  #owedNs = 0;
  #steps = STEPS;
  /** Mean gap between arrivals, of so many. */
  #gapNs = 0;
  #gaps = 0;
  #lastNs = -Infinity;

  constructor(model: Model, costs: CostTable, batchSizeMax: number) {
    this.model = model;
    this.#costs = costs;
    this.#most = batchSizeMax;
    this.#cellAt = new Map(model.cells.map((cell, i) => [cell, i]));
  }

  enqueue(request: AutoRequest, targetNs: number): void {
    const { work, nodeNs, execNs } = execTime(request, {
      profile: (cell, rows, extent) => this.#costs.ns(cell, rows, extent),
      decTimesteps: Math.max(1, Math.round(this.#steps)),
    });
    let growNs = 0;
    for (const [c, cell] of this.model.cells.entries()) {
      if (grows(cell)) growNs += work[c] * nodeNs[c];
    }
    const { finishNs, deadlineNs, arrivalNs } = request;
    request.tag = {
      ...{ inputNs: execNs - growNs, growNs, work, nodeNs },
      ready: request.graph.nodes.filter(isReadyAtOnce),
      // By its deadline it has to have started.
      dueNs: Math.min(targetNs, finishNs, deadlineNs + execNs),
      ...{
        launches: 0,
        worker: -1,
        launchedNs: NaN,
        steps: 0,
        hasStarted: false,
      },
    };
    const { found } = this.#costs;
    if (this.#found !== found || this.#gaps % ASKED_AGAIN === 0) {
      this.#found = found;
      this.#input = this.#multiples(work, false);
      this.#grow = this.#multiples(work, true);
    }
    insert(this.#waiting, request);
    if (this.#lastNs > -Infinity) {
      const weight = Math.max(1 / ++this.#gaps, NEWEST_GAP);
      this.#gapNs += weight * (arrivalNs - this.#lastNs - this.#gapNs);
    }
    this.#lastNs = arrivalNs;
  }

  /** What batches take; where nothing is known, as much as a row. */
  #multiples(work: readonly number[], isGrowing: boolean): number[] {
    const { cells } = this.model;
    const parts = cells.map((_, c) => c)
      .filter((c) => work[c] > 0 && grows(cells[c]) === isGrowing);
    const passes = Math.max(0, ...parts.map((c) => work[c]));
    const ns = (rows: number) =>
      parts.reduce(
        (sum, c) => sum + work[c] * this.#costs.ns(cells[c], rows),
        passes * this.#costs.hostNs,
      );
    const one = ns(1);
    return Array.from(
      { length: this.#most + 1 },
      (_, rows) => rows === 0 ? 0 : one > 0 ? ns(rows) / one : 1,
    );
  }

  started(
    requests: readonly AutoRequest[],
    worker: number,
    nowNs: number,
  ): void {
    for (const request of requests) {
      const { tag } = request;
      if (tag.launches++ === 0) this.#running++;
      tag.worker = worker;
      tag.launchedNs = nowNs;
      if (tag.hasStarted) continue;
      tag.hasStarted = true;
      this.#waiting.splice(this.#waiting.indexOf(request), 1);
      this.#started.push(request);
    }
  }

  submitted({ tag }: AutoRequest, node: AutoNode): void {
    const { cell } = node;
    const at = tag.ready.indexOf(node);
    if (at >= 0) tag.ready.splice(at, 1);
    const c = this.#cellAt.get(cell)!;
    if (cell.stop) tag.steps++;
    if (!grows(cell)) tag.inputNs = Math.max(0, tag.inputNs - tag.nodeNs[c]);
    // Who takes more steps than expected is taken to be at its last.
    else if (tag.work[c]-- > 1) tag.growNs -= tag.nodeNs[c];
  }

  finished({ tag }: AutoRequest): void {
    if (--tag.launches === 0) this.#running--;
  }

  ended(request: AutoRequest): void {
    const { steps, hasStarted } = request.tag;
    const list = hasStarted ? this.#started : this.#waiting;
    const at = list.indexOf(request);
    if (at >= 0) list.splice(at, 1);
    if (steps > 0) this.#steps += NEWEST_STEPS * (steps - this.#steps);
  }

  /** A task took so long, of this model or of another. */
  sawRun(isOwn: boolean, ranNs: number): void {
    if (isOwn) this.#owedNs = Math.max(0, this.#owedNs - OTHERS * ranNs);
    else if (this.#waiting.length + this.#started.length > this.#running) {
      this.#owedNs += ranNs;
    }
  }

  /** Whether others have kept a batch of it waiting for long enough. */
  isOwed({ takesNs }: Batch): boolean {
    return this.#owedNs > OTHERS * takesNs;
  }

  /** Who would advance now, if anybody. */
  batch(situation: Situation): Batch | undefined {
    const candidates: AutoRequest[] = [];
    for (const request of this.#started) {
      const { ready, launches, worker } = request.tag;
      const isFree = launches === 0 ||
        (launches === 1 && worker === situation.worker);
      if (isFree && ready.length > 0) candidates.push(request);
    }
    const all = candidates.length + this.#waiting.length;
    if (all === 0) return undefined;
    for (let i = 0; i < this.#waiting.length && i < LOOKED_AT; i++) {
      candidates.push(this.#waiting[i]);
    }
    sort(candidates);
    const { nowNs } = situation;
    const late: AutoRequest[] = [];
    const saved: AutoRequest[] = [];
    for (const request of candidates) {
      const isLate = nowNs + leftNs(request) > request.tag.dueNs;
      (isLate ? late : saved).push(request);
    }
    const hasDeadline = late.length > 0 ||
      saved.some(({ tag }) => tag.dueNs < Infinity);
    const batch = !hasDeadline
      ? this.#shortest(
        saved,
        all,
        situation,
        this.#gapNs > 0 ? EXPECTED / this.#gapNs : 0,
      )
      : saved.length > 0
      ? this.#urgent(saved, situation)
      // The shortest, in small batches: whoever comes meanwhile can still be saved.
      : {
        ...this.#shortest(
          late.sort((a, b) => leftNs(a) - leftNs(b)),
          all,
          situation,
          0,
        ),
        latestNs: NaN,
      };
    return this.#goesTogether(batch, situation) ? undefined : batch;
  }

  /** Whether more gets done when it waits for those that run, and then goes with them, than side by side. */
  #goesTogether(
    { requests }: Batch,
    { slowdown, slowdownBefore }: Situation,
  ): boolean {
    const running = Math.min(this.#most, this.#running);
    if (running === 0) return false;
    const [inputNs, growNs] = meansOf(requests);
    const per = (rows: number) =>
      rows / (inputNs * this.#input[rows] + growNs * this.#grow[rows]);
    const rows = requests.length;
    const together = per(Math.min(this.#most, running + rows)) / slowdownBefore;
    return (per(running) + per(rows)) / slowdown < WORTH_SHARING * together &&
      slowdown > 1.05 * slowdownBefore;
  }

  /** The batch size that leaves everybody the least time waiting, of those who have least left. */
  #shortest(
    sorted: AutoRequest[],
    all: number,
    { workers, slowdown }: Situation,
    ratePerNs: number,
  ): Batch {
    const [inputNs, growNs] = meansOf(sorted);
    // Where nothing is known, larger ones are tried.
    const takesNs = (rows: number) =>
      slowdown *
      Math.max(1, inputNs * this.#input[rows] + growNs * this.#grow[rows]);
    const perNs = Math.min(
      ratePerNs / workers,
      CARRIED * this.#most / takesNs(this.#most),
    );
    const waiting = all / workers;
    let rows = 0;
    let least = Infinity;
    let densest = 1;
    for (let size = 1; size <= sorted.length && size <= this.#most; size++) {
      const ns = takesNs(size);
      // What a batch leaves of those who wait, when so many come while it runs.
      const net = size - perNs * ns;
      const figure = net > 0 ? ns * (1 + waiting / net) : Infinity;
      if (figure < least) [least, rows] = [figure, size];
      if (ns / size <= takesNs(densest) / densest) densest = size;
    }
    // Where no size keeps up with who comes.
    if (rows === 0) rows = densest;
    const why =
      `${rows} of ${all} leave everybody the least time waiting, the shortest first`;
    return this.#made(sorted.slice(0, rows), slowdown, why);
  }

  /** The most urgent that are all in time together; or a later, denser group that they would make late. */
  #urgent(
    sorted: readonly AutoRequest[],
    situation: Situation,
  ): Batch {
    const { nowNs, workers, slowdown } = situation;
    const first = this.#inTime(sorted, 0, situation);
    let best = first;
    for (let from = 1; from < sorted.length; from = 2 * from + 1) {
      const group = this.#inTime(sorted, from, situation);
      if (perNs(group) > perNs(best)) best = group;
    }
    if (nowNs + first.takesNs <= best.latestNs) best = first;
    const { requests } = best;
    const rows = requests.length;
    const isFull = rows < sorted.length || rows === this.#most ||
      requests.some(({ tag }) => tag.hasStarted);
    if (isFull) return best;
    const more = this.#made([...requests, requests[rows - 1]], slowdown, "");
    const untilNs = Math.floor(
      Math.min(more.latestNs, this.#lastNs + PATIENCE * this.#gapNs),
    );
    const waits = perNs(more) > WORTH_WAITING * perNs(best) &&
      perNs(best) * workers * this.#gapNs < 1;
    return waits ? { ...best, untilNs } : best;
  }

  /** The first from some place on that are in time together. */
  #inTime(
    sorted: readonly AutoRequest[],
    from: number,
    { nowNs, slowdown }: Situation,
  ): Batch {
    const requests: AutoRequest[] = [];
    let entering = 0;
    let may = Infinity;
    for (let i = from; i < sorted.length; i++) {
      if (requests.length === this.#most) break;
      const { dueNs, inputNs } = sorted[i].tag;
      const enters = inputNs > 0 ? 1 : 0;
      const factor = slowdown * Math.max(
        this.#input[entering + enters],
        this.#grow[requests.length + 1],
      );
      const own = Math.min(may, (dueNs - nowNs) / leftNs(sorted[i]));
      if (requests.length > 0 && own < factor) continue;
      may = own;
      entering += enters;
      requests.push(sorted[i]);
    }
    const why = `the ${requests.length} most urgent that are in time together`;
    return this.#made(requests, slowdown, why);
  }

  #made(
    requests: readonly AutoRequest[],
    slowdown: number,
    why: string,
  ): Batch {
    const [inputNs, growNs] = meansOf(requests);
    let entering = 0;
    for (const { tag } of requests) if (tag.inputNs > 0) entering++;
    const input = slowdown * this.#input[entering];
    const grow = slowdown * this.#grow[requests.length];
    let latestNs = Infinity;
    for (const { tag } of requests) {
      const ns = tag.inputNs * input + tag.growNs * grow;
      latestNs = Math.min(latestNs, tag.dueNs - ns);
    }
    const takesNs = Math.max(1, inputNs * input + growNs * grow);
    return {
      state: this,
      requests,
      untilNs: -Infinity,
      latestNs,
      takesNs,
      why,
    };
  }
}

/** Requests done for the time that they take. */
export function perNs({ requests, takesNs }: Batch): number {
  return requests.length / takesNs;
}

function grows({ phase }: Cell): boolean {
  return phase === "decoder";
}

function leftNs({ tag }: AutoRequest): number {
  return tag.inputNs + tag.growNs;
}

function meansOf(requests: readonly AutoRequest[]): [number, number] {
  let inputNs = 0;
  let growNs = 0;
  for (const { tag } of requests) {
    inputNs += tag.inputNs;
    growNs += tag.growNs;
  }
  return [inputNs / requests.length, growNs / requests.length];
}

/** By deadline; without one by what is left, less a share of the time waited. */
function inOrder(a: AutoRequest, b: AutoRequest): number {
  if (a.tag.dueNs !== b.tag.dueNs) return a.tag.dueNs - b.tag.dueNs;
  const agedNs = AGING * (a.arrivalNs - b.arrivalNs);
  return leftNs(a) - leftNs(b) + agedNs || a.id - b.id;
}

/** Those who ran together are in order already, nearly. */
function sort(requests: AutoRequest[]): void {
  for (let i = 1; i < requests.length; i++) insert(requests, requests[i], i);
}

/** Puts a request where it belongs among the first `end`, in place of what is there. */
function insert(
  sorted: AutoRequest[],
  request: AutoRequest,
  end = sorted.length,
): void {
  let at = end;
  for (; at > 0 && inOrder(sorted[at - 1], request) > 0; at--) {
    sorted[at] = sorted[at - 1];
  }
  sorted[at] = request;
}
