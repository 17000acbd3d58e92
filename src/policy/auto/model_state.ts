/** What `auto` keeps of a model: its requests, what they have left, and which of them would make the next batch. */
import { mean } from "../../base/statistics.ts";
import type { Cell } from "../../graph/cell.ts";
import type { CellGraph, CellNode } from "../../graph/cell_graph.ts";
import type { Model } from "../../graph/model.ts";
import { type CellExtents, execTime } from "../common/exec_time.ts";
import { isReadyAtOnce } from "../common/frontier.ts";
import type { Request } from "../request.ts";
import type { CostTable } from "./cost_table.ts";

/** A launch: where, when, how many workers were busy then, and what has been run of it. */
export interface Pass {
  readonly worker: number;
  readonly atNs: number;
  readonly busy: number;
  ranNs: number;
}

/** What is kept with a request. */
interface AutoTag {
  /** Nodes that can run. */
  readonly ready: CellNode<AutoRequest>[];
  /** What it would take alone from here on, ns: a node at least while it may grow. */
  leftNs: number;
  /** What a node takes alone, by the index of the model's cells. */
  readonly nodeNs: readonly number[];
  /** When it has to be done; Infinity: whenever, or it is lost. */
  dueNs: number;
  /** Launches under way that it is in, all of one worker, and the newest of all. */
  launches: number;
  newest?: Pass;
}

export interface AutoRequest extends Request<AutoTag> {
  readonly graph: CellGraph<AutoRequest>;
}

/** Requests that could advance together now. */
export interface Batch {
  readonly requests: readonly AutoRequest[];
  /** Latest start that leaves all in time; Infinity: none has a deadline that it can meet. */
  readonly latestNs: number;
  /** Until they are done, if they stay together; and requests done for that time. */
  readonly takesNs: number;
  readonly perNs: number;
  /** Other models have kept this one waiting for long enough. */
  readonly isOwed: boolean;
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
/** Of those who will come, the share that a batch's size counts on, as later ones grow with the queue. */
const EXPECTED = 0.9;
/** Share of what the densest batches do that is counted on at most: an overload is not taken to last for ever. */
const CARRIED = 0.8;
/** Share of its rows that a batch takes off those who wait, where more come than it has rows. */
const NONE = 1e-9;
/** How much longer a batch may take for who is late. */
const FREE = 1.01;
/** Time that other models have for each that one has whose turn it would not be. */
const OTHERS = 8;
/** Requests that are looked at, and changes after which what batches take is asked again. */
const LOOKED_AT = 192;
const ASKED_AGAIN = 64;

export class ModelState {
  readonly #model: Model;
  readonly #costs: CostTable;
  readonly #most: number;
  /** The first of them in order; those that are late whatever is done by themselves. */
  readonly #requests: AutoRequest[] = [];
  readonly #lost: AutoRequest[] = [];
  /** By rows: what a batch takes, in multiples of one row. */
  #curve: readonly number[] = [];
  #changes = 0;
  /** Executions of each cell in the newest request, how much there is of its rows, when it came, how late it may begin. */
  #work: readonly number[] = [];
  #extents: CellExtents | undefined;
  #lastNs = -Infinity;
  #slackNs = Infinity;
  /** Steps that a decoder takes, as far as is known. */
  #steps = 32;
  /** Mean gap between so many arrivals. */
  #gapNs = 0;
  #gaps = 0;
  /** What the newest pass took. */
  #passNs = 0;
  /** Time that other models had while requests were here, less what this one had, that often. */
  #owedNs = 0;

  constructor(model: Model, costs: CostTable, batchSizeMax: number) {
    this.#model = model;
    this.#costs = costs;
    this.#most = batchSizeMax;
  }

  /** Requests that have not ended. */
  get size(): number {
    return this.#requests.length + this.#lost.length;
  }

  enqueue(request: AutoRequest, targetNs: number): void {
    const { work, nodeNs, execNs, extents } = execTime(request, {
      profile: (cell, rows, extent) => this.#costs.ns(cell, rows, extent),
      decTimesteps: Math.max(1, Math.round(this.#steps)),
    });
    const { finishNs, deadlineNs, arrivalNs } = request;
    // By its deadline it has to have started.
    const dueNs = Math.min(targetNs, finishNs, deadlineNs + execNs);
    const ready = request.graph.nodes.filter(isReadyAtOnce);
    request.tag = { ready, leftNs: execNs, nodeNs, dueNs, launches: 0 };
    this.#requests.push(request);
    this.#work = work;
    this.#extents = extents;
    this.#slackNs = dueNs - arrivalNs - execNs;
    this.#changed();
    if (this.#lastNs > -Infinity) {
      const share = Math.max(1 / ++this.#gaps, NEWEST_GAP);
      this.#gapNs += share * (arrivalNs - this.#lastNs - this.#gapNs);
    }
    this.#lastNs = arrivalNs;
  }

  /** Costs may be others; where none are known, a batch takes as much as a row, so that large ones are tried. */
  #changed(): void {
    const changes = this.#changes++;
    // Often at first: while little is known it changes most.
    if (changes % ASKED_AGAIN > 0 && changes > ASKED_AGAIN) return;
    const ns = (rows: number) =>
      this.#work.reduce((sum, work, c) => {
        if (work === 0) return sum;
        const cell = this.#model.cells[c];
        const cellNs = this.#costs.ns(cell, rows, this.#extents?.[c]);
        return sum + work * cellNs;
      }, Math.max(...this.#work) * this.#costs.hostNs);
    const one = ns(1);
    this.#curve = Array.from(
      { length: this.#most + 1 },
      (_, rows) => one > 0 && rows > 0 ? ns(rows) / one : 1,
    );
  }

  submitted({ graph, tag }: AutoRequest, cell: Cell): void {
    const ns = tag.nodeNs[this.#model.cells.indexOf(cell)];
    const leastNs = !graph.closed && cell.phase === "decoder" ? ns : 0;
    tag.leftNs = Math.max(leastNs, tag.leftNs - ns);
  }

  /** A task of a pass took so long, of this model or of another. */
  sawRun(isOwn: boolean, pass: Pass, ns: number): void {
    if (isOwn) {
      this.#passNs = pass.ranNs;
      this.#owedNs = Math.max(0, this.#owedNs - OTHERS * ns);
      this.#changed();
    } else if (this.size > 0) this.#owedNs += ns;
  }

  ended(request: AutoRequest): void {
    for (const list of [this.#requests, this.#lost]) {
      const at = list.indexOf(request);
      if (at >= 0) list.splice(at, 1);
    }
    const steps = request.graph.nodes.filter(({ cell }) => cell.stop).length;
    if (steps > 0) this.#steps += NEWEST_STEPS * (steps - this.#steps);
  }

  /** Who would advance now, if anybody. */
  batch(situation: Situation): Batch | undefined {
    const { nowNs, worker } = situation;
    const first = this.#requests.splice(0, LOOKED_AT);
    const isLate = ({ tag }: AutoRequest) => nowNs + tag.leftNs > tag.dueNs;
    const late = first.filter(isLate);
    this.#requests.unshift(
      ...first.filter((request) => !isLate(request)).sort(inOrder),
    );
    for (const { tag } of late) tag.dueNs = Infinity;
    this.#lost.push(...late);
    const free = (list: readonly AutoRequest[]) =>
      list.slice(0, LOOKED_AT).filter(({ tag }) =>
        tag.ready.length > 0 &&
        (tag.launches === 0 || tag.newest?.worker === worker)
      );
    const candidates = [
      ...free(this.#requests),
      ...free(this.#lost).sort(inOrder),
    ];
    if (candidates.length === 0) return undefined;
    const batch = candidates[0].tag.dueNs < Infinity
      ? this.#urgent(candidates, situation)
      : this.#shortest(candidates, situation);
    return this.#goesTogether(batch, situation) ? undefined : batch;
  }

  /**
   * Whether it waits for those that run, and then goes with them, as side by side all take longer: what leaves those that
   * run, those that would, and who waits behind them less time waiting.
   */
  #goesTogether(
    { requests }: Batch,
    { slowdown, slowdownBefore }: Situation,
  ): boolean {
    if (slowdown <= slowdownBefore) return false;
    const running = [...this.#requests, ...this.#lost]
      .filter(({ tag }) => tag.launches > 0);
    const [a, b] = [running.length, requests.length];
    if (a === 0) return false;
    const behind = this.size - a - b;
    const goOn = running.filter(({ tag }) => tag.leftNs > 0).length;
    const all = Math.min(this.#most, goOn + b);
    const [runningNs, ownNs] = [meanLeftNs(running), meanLeftNs(requests)];
    // Half of a pass is left of those that run, and what comes behind it, if anything.
    const passNs = this.#passNs / 2;
    const endNs = passNs * slowdown / slowdownBefore +
      slowdown * runningNs * this.#curve[a];
    const aloneNs = ownNs * this.#curve[b];
    const besideNs = Math.min(
      slowdown * aloneNs,
      slowdownBefore * aloneNs + endNs * (1 - slowdownBefore / slowdown),
    );
    const togetherNs = slowdownBefore * this.#curve[all];
    const runNs = passNs + togetherNs * runningNs;
    const behindNs = passNs + togetherNs * ownNs;
    return a * runNs + b * behindNs + behind * Math.max(runNs, behindNs) <
      a * endNs + b * besideNs + behind * Math.max(endNs, besideNs);
  }

  /** The batch size that leaves everybody the least time waiting, of those who have least left. */
  #shortest(
    sorted: readonly AutoRequest[],
    { workers, slowdown }: Situation,
  ): Batch {
    const all = sorted.length;
    const oneNs = slowdown * meanLeftNs(sorted);
    // Of the lost only so many that whoever comes meanwhile can still be saved.
    const isLost = this.#slackNs < Infinity;
    const comePerNs = isLost || this.#gapNs === 0 ? 0 : Math.min(
      EXPECTED / this.#gapNs / workers,
      CARRIED * this.#most / oneNs / this.#curve[this.#most],
    );
    let rows = 0;
    let least = Infinity;
    for (let size = 1; size <= all && size <= this.#most; size++) {
      const ns = oneNs * this.#curve[size];
      if (isLost && size > 1 && ns > this.#slackNs / 2) break;
      // What a batch takes off those who wait, as so many come while it runs; where no size keeps up, the densest.
      const net = Math.max(size - comePerNs * ns, NONE * size);
      const figure = ns * (1 + all / workers / net);
      if (figure <= least) [least, rows] = [figure, size];
    }
    const why =
      `${rows} of ${all} leave everybody the least time waiting, the shortest first`;
    return this.#made(sorted.slice(0, rows), slowdown, why);
  }

  /** The most urgent that are all in time together; or a later, denser group that they would make late. */
  #urgent(sorted: readonly AutoRequest[], situation: Situation): Batch {
    const first = this.#inTime(sorted, 0, situation);
    let best = first;
    const saved = sorted.filter(({ tag }) => tag.dueNs < Infinity).length;
    for (let from = 1; from < saved; from = 2 * from + 1) {
      const group = this.#inTime(sorted, from, situation);
      if (group.perNs > best.perNs) best = group;
    }
    return situation.nowNs + first.takesNs <= best.latestNs ? first : best;
  }

  /** The first from some place on that are in time together, and who rides along. */
  #inTime(
    sorted: readonly AutoRequest[],
    from: number,
    { nowNs, slowdown }: Situation,
  ): Batch {
    const requests: AutoRequest[] = [];
    let mayTake = Infinity;
    for (const request of sorted.slice(from)) {
      const rows = requests.length;
      if (rows === this.#most) break;
      const { dueNs, leftNs } = request.tag;
      const own = Math.min(mayTake, (dueNs - nowNs) / leftNs / slowdown);
      // Who is late rides along where that takes no longer: the frames of a stream wait for each other.
      const isLost = dueNs === Infinity;
      if (isLost && !request.graph.closed) continue;
      const limit = isLost ? FREE * this.#curve[rows] : own;
      if (rows > 0 && this.#curve[rows + 1] > limit) continue;
      mayTake = own;
      requests.push(request);
    }
    const why = `the ${requests.length} most urgent that are in time together`;
    return this.#made(requests, slowdown, why);
  }

  #made(
    requests: readonly AutoRequest[],
    slowdown: number,
    why: string,
  ): Batch {
    const rows = requests.length;
    const times = slowdown * this.#curve[rows];
    const latestNs = Math.min(
      ...requests.map(({ tag }) => tag.dueNs - tag.leftNs * times),
    );
    const takesNs = times * meanLeftNs(requests);
    const isOwed = this.#owedNs > OTHERS * takesNs;
    return { requests, latestNs, takesNs, perNs: rows / takesNs, isOwed, why };
  }
}

function meanLeftNs(requests: readonly AutoRequest[]): number {
  return Math.max(1, mean(requests.map(({ tag }) => tag.leftNs)));
}

/** By deadline; without one by what is left, less a share of the time waited. */
function inOrder(a: AutoRequest, b: AutoRequest): number {
  if (a.tag.dueNs !== b.tag.dueNs) return a.tag.dueNs - b.tag.dueNs;
  const agedNs = AGING * (a.arrivalNs - b.arrivalNs);
  return a.tag.leftNs - b.tag.leftNs + agedNs || a.id - b.id;
}
