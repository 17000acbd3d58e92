/** What `auto` keeps of a model: its requests, what they have left, and which of them would make the next batch. */
import type { Cell } from "../../graph/cell.ts";
import type { CellGraph, CellNode } from "../../graph/cell_graph.ts";
import type { Model } from "../../graph/model.ts";
import { execTime } from "../common/exec_time.ts";
import { isReadyAtOnce } from "../common/frontier.ts";
import type { Request } from "../request.ts";
import type { CostTable } from "./cost_table.ts";

/** What is kept with a request. */
interface AutoTag {
  /** Nodes that can run. */
  readonly ready: AutoNode[];
  /** What it would take alone from here on, ns: its input part, and its growing steps, of which one is left at least. */
  inputNs: number;
  growNs: number;
  readonly stepNs: number;
  /** What a node takes alone, by the index of the model's cells. */
  readonly nodeNs: readonly number[];
  /** When it has to be done; Infinity: whenever, or it is lost. */
  dueNs: number;
  /** Launches under way that it is in, all of one worker, and the newest of all. */
  launches: number;
  worker: number;
  newest: number;
  /** Growing steps that it has taken. */
  steps: number;
}

export interface AutoRequest extends Request<AutoTag> {
  readonly graph: CellGraph<AutoRequest>;
}
export type AutoNode = CellNode<AutoRequest>;

/** Requests that could advance together now. */
export interface Batch {
  readonly state: ModelState;
  readonly requests: readonly AutoRequest[];
  /** Latest start that leaves all in time; Infinity: none has a deadline. */
  readonly latestNs: number;
  /** They are late whatever is done. */
  readonly isLost: boolean;
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
/** How much longer a batch may take for who is late. */
const FREE = 1.01;
/** Time that other models have for each that one has whose turn it would not be. */
const OTHERS = 8;
/** Requests that are looked at, the first in order. */
const LOOKED_AT = 192;
/** Changes after which what batches take is asked again. */
const ASKED_AGAIN = 64;

export class ModelState {
  readonly model: Model;
  readonly #costs: CostTable;
  readonly #most: number;
  readonly #cellAt: ReadonlyMap<Cell, number>;
  /** In order, but for those that have just run; those that are late whatever is done by themselves. */
  readonly #requests: AutoRequest[] = [];
  readonly #lost: AutoRequest[] = [];
  #running = 0;
  /** By rows: what the input part takes, and the growing one, in multiples of one row. */
  #input: readonly number[] = [];
  #grow: readonly number[] = [];
  #changes = 0;
  /** Executions of each cell in the newest request, and how late it may begin. */
  #work: readonly number[] = [];
  #slackNs = Infinity;
  /** Time that other models had while this one waited, less what it had since, that often. */
  #owedNs = 0;
  #steps = STEPS;
  /** What the newest pass took. */
  #passNs = 0;
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

  /** Requests that are not running. */
  get waiting(): number {
    return this.#requests.length + this.#lost.length - this.#running;
  }

  enqueue(request: AutoRequest, targetNs: number): void {
    const decTimesteps = Math.max(1, Math.round(this.#steps));
    const { work, nodeNs, execNs } = execTime(request, {
      profile: (cell, rows, extent) => this.#costs.ns(cell, rows, extent),
      decTimesteps,
    });
    let growNs = 0;
    for (const [c, cell] of this.model.cells.entries()) {
      if (grows(cell)) growNs += work[c] * nodeNs[c];
    }
    const { finishNs, deadlineNs, arrivalNs } = request;
    request.tag = {
      ready: request.graph.nodes.filter(isReadyAtOnce),
      ...{ inputNs: execNs - growNs, growNs, stepNs: growNs / decTimesteps },
      nodeNs,
      // By its deadline it has to have started.
      dueNs: Math.min(targetNs, finishNs, deadlineNs + execNs),
      ...{ launches: 0, worker: -1, newest: -1, steps: 0 },
    };
    this.#slackNs = request.tag.dueNs - arrivalNs - execNs;
    this.#work = work;
    this.#changed();
    insert(this.#requests, request);
    if (this.#lastNs > -Infinity) {
      const weight = Math.max(1 / ++this.#gaps, NEWEST_GAP);
      this.#gapNs += weight * (arrivalNs - this.#lastNs - this.#gapNs);
    }
    this.#lastNs = arrivalNs;
  }

  /** Costs may be others. */
  #changed(): void {
    const changes = this.#changes++;
    // Often at first: while little is known it changes most.
    if (changes % ASKED_AGAIN > 0 && changes > ASKED_AGAIN) return;
    this.#input = this.#multiples(false);
    this.#grow = this.#multiples(true);
  }

  /** What batches take; where nothing is known, as much as a row. */
  #multiples(isGrowing: boolean): number[] {
    const { cells } = this.model;
    const parts = [...this.#work.entries()]
      .filter(([c, work]) => work > 0 && grows(cells[c]) === isGrowing);
    const passes = Math.max(0, ...parts.map(([, work]) => work));
    const ns = (rows: number) =>
      parts.reduce(
        (sum, [c, work]) => sum + work * this.#costs.ns(cells[c], rows),
        passes * this.#costs.hostNs,
      );
    const one = ns(1);
    return Array.from(
      { length: this.#most + 1 },
      (_, rows) => rows === 0 ? 0 : one > 0 ? ns(rows) / one : 1,
    );
  }

  started(requests: readonly AutoRequest[], worker: number, id: number): void {
    for (const { tag } of requests) {
      if (tag.launches++ === 0) this.#running++;
      tag.worker = worker;
      tag.newest = id;
    }
  }

  submitted({ tag }: AutoRequest, { cell }: AutoNode): void {
    const ns = tag.nodeNs[this.#cellAt.get(cell)!];
    if (cell.stop) tag.steps++;
    if (grows(cell)) tag.growNs = Math.max(tag.stepNs, tag.growNs - ns);
    else tag.inputNs = Math.max(0, tag.inputNs - ns);
  }

  finished({ tag }: AutoRequest): void {
    if (--tag.launches === 0) this.#running--;
  }

  ended(request: AutoRequest): void {
    for (const list of [this.#requests, this.#lost]) {
      const at = list.indexOf(request);
      if (at >= 0) list.splice(at, 1);
    }
    const { steps } = request.tag;
    if (steps > 0) this.#steps += NEWEST_STEPS * (steps - this.#steps);
  }

  /** A task took so long, of this model or of another. */
  sawRun(isOwn: boolean, ranNs: number): void {
    if (isOwn) {
      this.#owedNs = Math.max(0, this.#owedNs - OTHERS * ranNs);
      this.#changed();
    } else if (this.waiting > 0) this.#owedNs += ranNs;
  }

  /** A launch took so long. */
  sawPass(ns: number): void {
    this.#passNs = ns;
  }

  /** Whether others have kept a batch of it waiting for long enough. */
  isOwed({ takesNs }: Batch): boolean {
    return this.#owedNs > OTHERS * takesNs;
  }

  /** Who would advance now, if anybody. */
  batch(situation: Situation): Batch | undefined {
    const { nowNs, worker } = situation;
    for (let i = 0; i < this.#requests.length && i < LOOKED_AT; i++) {
      const request = this.#requests[i];
      if (nowNs + leftNs(request) <= request.tag.dueNs) {
        insert(this.#requests, request, i);
        continue;
      }
      this.#requests.splice(i--, 1);
      request.tag.dueNs = Infinity;
      insert(this.#lost, request);
    }
    const free = (list: readonly AutoRequest[]) =>
      list.slice(0, LOOKED_AT).filter(({ tag }) =>
        tag.ready.length > 0 && (tag.launches === 0 || tag.worker === worker)
      );
    const saved = free(this.#requests);
    const isLost = saved.length === 0;
    const candidates = isLost ? free(this.#lost) : saved;
    if (candidates.length === 0) return undefined;
    const batch = candidates[0].tag.dueNs < Infinity
      ? this.#urgent(candidates, situation, free(this.#lost))
      : this.#shortest(candidates, situation, isLost);
    return this.#goesTogether(batch, situation) ? undefined : batch;
  }

  /**
   * Whether it waits for those that run, and then goes with them, as side by side all take longer: what leaves those that
   * run, those that would, and who waits behind them less time waiting.
   */
  #goesTogether(
    { requests }: Batch,
    { nowNs, slowdown, slowdownBefore }: Situation,
  ): boolean {
    if (this.#running === 0 || slowdown <= slowdownBefore) return false;
    const running = [...this.#requests, ...this.#lost]
      .filter(({ tag }) => tag.launches > 0);
    const [a, b] = [running.length, requests.length];
    const behind = this.waiting - b;
    // Half of a pass is left of those that run, and what comes behind it, if anything.
    const passNs = this.#passNs / 2;
    const goesOn = running.some((request) => leftNs(request) > 0);
    const ownNs = this.#takesNs(requests, b);
    const endNs = passNs * slowdown / slowdownBefore +
      (goesOn ? slowdown * this.#takesNs(running, a) : 0);
    const besideNs = Math.min(
      slowdown * ownNs,
      slowdownBefore * ownNs + endNs * (1 - slowdownBefore / slowdown),
    );
    const all = Math.min(this.#most, goesOn ? a + b : b);
    const runNs = passNs +
      (goesOn ? slowdownBefore * this.#takesNs(running, all) : 0);
    const behindNs = passNs + slowdownBefore * this.#takesNs(requests, all);
    const isHurt = ({ tag: { dueNs } }: AutoRequest) =>
      nowNs + runNs <= dueNs && dueNs < nowNs + endNs;
    if (running.some(isHurt)) return true;
    return a * runNs + b * behindNs + behind * Math.max(runNs, behindNs) <
      a * endNs + b * besideNs + behind * Math.max(endNs, besideNs);
  }

  /** What requests take in batches of so many; where nothing is known, larger ones are tried. */
  #takesNs(those: readonly AutoRequest[], rows: number): number {
    const [inputNs, growNs] = meansOf(those);
    return Math.max(1, inputNs * this.#input[rows] + growNs * this.#grow[rows]);
  }

  /** The batch size that leaves everybody the least time waiting, of those who have least left. */
  #shortest(
    sorted: readonly AutoRequest[],
    { workers, slowdown }: Situation,
    isLost: boolean,
  ): Batch {
    const [inputNs, growNs] = meansOf(sorted);
    const takesNs = (rows: number) =>
      slowdown *
      Math.max(1, inputNs * this.#input[rows] + growNs * this.#grow[rows]);
    // Of the lost only so many that whoever comes meanwhile can still be saved.
    const comePerNs = isLost || this.#gapNs === 0 ? 0 : Math.min(
      EXPECTED / this.#gapNs / workers,
      CARRIED * this.#most / takesNs(this.#most),
    );
    // Those included that go on behind what runs.
    const all = Math.max(sorted.length, this.waiting);
    let rows = 0;
    let least = Infinity;
    let densest = 1;
    for (let size = 1; size <= sorted.length && size <= this.#most; size++) {
      const ns = takesNs(size);
      if (isLost && size > 1 && ns > this.#slackNs / 2) break;
      // What a batch leaves of those who wait, when so many come while it runs.
      const net = size - comePerNs * ns;
      const figure = net > 0 ? ns * (1 + all / workers / net) : Infinity;
      if (figure < least) [least, rows] = [figure, size];
      if (ns / size <= takesNs(densest) / densest) densest = size;
    }
    // Where no size keeps up with who comes.
    if (rows === 0) rows = densest;
    const why =
      `${rows} of ${all} leave everybody the least time waiting, the shortest first`;
    return this.#made(sorted.slice(0, rows), slowdown, why, isLost);
  }

  /** The most urgent that are all in time together; or a later, denser group that they would make late. */
  #urgent(
    sorted: readonly AutoRequest[],
    situation: Situation,
    lost: readonly AutoRequest[],
  ): Batch {
    const first = this.#inTime(sorted, 0, situation, lost);
    let best = first;
    for (let from = 1; from < sorted.length; from = 2 * from + 1) {
      const group = this.#inTime(sorted, from, situation, lost);
      if (perNs(group) > perNs(best)) best = group;
    }
    return situation.nowNs + first.takesNs <= best.latestNs ? first : best;
  }

  /** The first from some place on that are in time together, and who rides along. */
  #inTime(
    sorted: readonly AutoRequest[],
    from: number,
    { nowNs, slowdown }: Situation,
    lost: readonly AutoRequest[],
  ): Batch {
    const requests: AutoRequest[] = [];
    let entering = 0;
    let may = Infinity;
    for (const [i, request] of [...sorted.slice(from), ...lost].entries()) {
      const rows = requests.length;
      if (rows === this.#most) break;
      const { dueNs, inputNs, growNs } = request.tag;
      const then = entering + (inputNs > 0 ? 1 : 0);
      const [input, grow] = [this.#input[then], this.#grow[rows + 1]];
      if (i < sorted.length - from) {
        const own = Math.min(may, (dueNs - nowNs) / leftNs(request));
        if (rows > 0 && own < slowdown * Math.max(input, grow)) continue;
        may = own;
      } else if (
        // Who is late rides along where that takes no longer: the frames of a stream wait for each other.
        growNs > 0 || input > FREE * this.#input[entering] ||
        grow > FREE * this.#grow[rows]
      ) continue;
      entering = then;
      requests.push(request);
    }
    const why = `the ${requests.length} most urgent that are in time together`;
    return this.#made(requests, slowdown, why);
  }

  #made(
    requests: readonly AutoRequest[],
    slowdown: number,
    why: string,
    isLost = false,
  ): Batch {
    const [inputNs, growNs] = meansOf(requests);
    const entering = requests.filter(({ tag }) => tag.inputNs > 0).length;
    const input = slowdown * this.#input[entering];
    const grow = slowdown * this.#grow[requests.length];
    const latestNs = Math.min(
      ...requests.map(({ tag }) =>
        tag.dueNs - tag.inputNs * input - tag.growNs * grow
      ),
    );
    const takesNs = Math.max(1, inputNs * input + growNs * grow);
    return { state: this, requests, latestNs, isLost, takesNs, why };
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
