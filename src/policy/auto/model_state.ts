/** What `auto` keeps of a model: its requests, what they have left, and which of them would make the next batch. */
import { firstOf } from "../../base/first_of.ts";
import { insertInOrder } from "../../base/insert_in_order.ts";
import { LeastSquares } from "../../base/least_squares.ts";
import { MovingMean } from "../../base/moving_mean.ts";
import { settle } from "../../base/settle.ts";
import type { CellGraph } from "../../graph/cell_graph.ts";
import type { Model } from "../../graph/model.ts";
import { type CostTable, type RanPass, SLOWED } from "../common/cost_table.ts";
import { type ExecTime, execTime, stepsTaken } from "../common/exec_time.ts";
import { type Advance, rowsReady, startOf } from "../common/frontier.ts";
import type { Step } from "../launch.ts";
import type { Request } from "../request.ts";

/** Where and when, workers busy and in all, the share of the device that others take, tasks ahead, models in all. */
export type Situation = Readonly<Record<Fact, number>>;
type Fact = "nowNs" | "worker" | "busy" | "beside" | "ahead" | "all" | "shares";
/** Of a launch: what its rows take one by one; what has been run, and was expected of that alone. */
export const RUN = { aloneNs: 0, ranNs: 0, expectedNs: 0 };
export type Pass = Situation & RanPass & typeof RUN;

/** What is kept with a request. What is under way of it is all on one worker. */
interface AutoTag extends Advance<AutoRequest>, Pick<ExecTime, "nodeNs"> {
  /** Tokens, or rows, that it came with; nodes left, by the index of the model's cells. */
  brought: number;
  readonly left: number[];
  /** What it takes alone from here on, ns, as far as its steps were foreseen. */
  leftNs: number;
  /** When it has to be done, a deadline for starting counting as one; Infinity: whenever, or it is lost. */
  dueNs: number;
  newest?: Pass;
}
export type AutoRequest = Request<AutoTag> & { graph: CellGraph<AutoRequest> };
/** Shares: of time waited, off what is left; of the newest in what is learned; of time that no request takes, at least. */
const [AGING, NEWEST, IDLE] = [0.02, 1 / 128, 0.1];
/** How much longer: a batch for who is late; of one by one, together, in parts; near, or for late frames of streams. */
const [FREE, PAYS, FLAT, CLOSE] = [1.01, 0.95, 0.6, 1.2];
/** Passes so short have so many rows for a task ahead, beside threads; others' time for one; looked at; asked again. */
const [SHORT_NS, ROWS, OTHERS, LOOKED_AT, AGAIN] = [5e5, 4, 8, 192, 64];

export class ModelState {
  /** Those that have not ended, as good as in order: what ran has less left than before. */
  readonly requests: AutoRequest[] = [];
  readonly #steps = new LeastSquares([32, 0], 1 - NEWEST);
  readonly #gapNs = new MovingMean(NEWEST);
  /** By cell: rows of it that a request has in a pass, as the nodes of a tree; how long one is, where they differ. */
  readonly #widths: MovingMean[] = [];
  readonly #lengths: MovingMean[] = [];
  #curve: number[] = []; // By rows: what a batch takes, in multiples of one row.
  #asked = 0;
  due = 0; // Who can be in time, of those looked at; without a deadline nobody.
  led = Infinity; // So many count for tasks ahead: few where results say who goes on.
  /** Of the newest request: when it came, what it takes, how late it might have begun. */
  #lastNs = NaN;
  #time!: ExecTime;
  #slackNs = Infinity;
  #owedNs = 0; // Time that other models had while requests were here, less what this one had, that often.
  /** What is decided about; models that share the workers, Infinity: as if there were one; most turns of a cell. */
  #now!: Situation;
  #shares = Infinity;
  #turns = 1;
  constructor(
    readonly model: Model,
    readonly costs: CostTable,
    readonly batchSizeMax: number,
  ) {}
  enqueue(request: AutoRequest, dueNs: number): void {
    const { arrivalNs, graph } = request;
    const tag = request.tag = startOf<AutoRequest, AutoTag>(graph);
    if (!tag.left || this.#asked < AGAIN || this.#asked % AGAIN === 0) {
      tag.brought = graph.nodes.reduce((sum, { length }) => sum + length, 1);
      const decTimesteps = Math.ceil(this.#steps.expect([1, tag.brought]));
      this.#time = execTime(request, { profile: this.costs.ns, decTimesteps });
      this.#turns = Math.max(...this.#time.work);
      this.led = graph.closed ? Infinity : 64;
      this.#time.extents?.forEach((one, c) => {
        if (one) (this.#lengths[c] ??= new MovingMean(NEWEST)).add(one.length);
      });
    }
    const { execNs: leftNs, nodeNs, work } = this.#time;
    Object.assign(tag, { left: [...work], leftNs, nodeNs, dueNs });
    this.#slackNs = dueNs - arrivalNs - leftNs;
    if (this.#lastNs >= 0) this.#gapNs.add(arrivalNs - this.#lastNs);
    this.#lastNs = arrivalNs;
    insertInOrder(this.requests, request, inOrder);
  }

  /** What a batch takes, in multiples of a row; where nothing is known as much as a row, so that large ones are tried. */
  #times(size: number): number {
    const rows = Math.min(size, this.batchSizeMax);
    return this.#curve[rows] ??= rows > 1 &&
        this.#batchNs(rows) / Math.max(1, this.#batchNs(1)) || 1;
  }
  /** What a batch takes, ns. Rows that a request has at once, as a tree's leaves, count where that was found to pay. */
  #batchNs(rows: number): number {
    const { work, extents } = this.#time;
    return this.model.cells.reduce((sum, cell, c) => {
      if (work[c] === 0) return sum;
      const extent = extents?.[c] &&
        { ...extents[c], length: Math.round(this.#lengths[c].value) };
      const width = this.#shares < Infinity && this.#widths[c]?.value || 1;
      const ns = this.costs.meanNs(cell, rows * width, extent) / width;
      return sum + work[c] * ns;
    }, this.#turns * this.costs.hostNs.value);
  }

  submitted(steps: readonly Step<AutoRequest>[]): void {
    for (const { cell, nodes } of steps) {
      const c = this.model.cells.indexOf(cell);
      for (const { graph: { owner: { tag } } } of nodes) {
        tag.left[c]--;
        tag.leftNs = Math.max(0, tag.leftNs - tag.nodeNs[c]);
        tag.newest!.aloneNs += tag.nodeNs[c];
      }
      if (this.model.shape === "chain") continue; // Has one of them at once.
      const width = this.#widths[c] ??= new MovingMean(NEWEST, 1, 1);
      width.add(nodes.length / new Set(nodes.map(({ graph }) => graph)).size);
    }
    settle(this.requests, LOOKED_AT, inOrder);
  }
  sawRun(isOwn: boolean, ns: number): void {
    const waitedNs = isOwn ? -OTHERS * ns : this.requests.length > 0 ? ns : 0;
    this.#owedNs = Math.max(0, this.#owedNs + waitedNs);
  }
  ended(request: AutoRequest): void {
    this.requests.splice(this.requests.indexOf(request), 1);
    const steps = stepsTaken(request);
    if (steps > 0) this.#steps.observe([1, request.tag.brought], steps);
  }

  /** Who would advance now, if anybody: who has nothing under way elsewhere. Steps ahead may lie behind a decoder's end. */
  batch(now: Situation) {
    const { nowNs, worker, all: workers, shares } = this.#now = now;
    const isSlowed = this.costs.slowdown(workers, workers) > SLOWED;
    const isShared = isSlowed && this.#turns > 1 || this.#slackNs < Infinity;
    this.#shares = isShared ? Infinity : shares;
    let late = this.due = 0;
    for (const { tag } of this.requests.slice(0, LOOKED_AT)) {
      if (tag.dueNs === Infinity) break; // Who is due goes first.
      if (nowNs + tag.leftNs > tag.dueNs) late = tag.dueNs = Infinity;
      else this.due++;
    }
    if (late > 0) this.requests.sort(inOrder);
    const isFree = ({ tag: { ready, underWay, newest } }: AutoRequest) =>
      ready.length > 0 && (underWay === 0 || newest?.worker === worker);
    const free = firstOf(this.requests, LOOKED_AT, isFree);
    if (free.length === 0) return undefined;
    if (this.#asked++ < AGAIN || this.#asked % AGAIN === 0) this.#curve = [];
    const isUrgent = free[0].tag.dueNs < Infinity;
    let batch = isUrgent ? this.#urgent(free) : this.#shortest(free);
    const { perNs, requests: { length: rows } } = batch;
    const part = this.#part(free, isUrgent, rows);
    if (part !== free && isUrgent) batch = this.#urgent(part);
    if (part !== free && !isUrgent) batch = this.#made(part.slice(0, rows));
    if (this.#goesTogether(batch.requests, free.length)) return undefined;
    const how = isUrgent ? "are in time together" : "leave the least waiting";
    const why = `${batch.requests.length} of ${part.length} ${how}`;
    return { ...batch, perNs, why };
  }

  /** Those in one part: the first with enough for a batch, or of the most urgent; or where most get through for its time. */
  #part(free: AutoRequest[], isUrgent: boolean, rows: number): AutoRequest[] {
    const [{ cells }, { nowNs }] = [this.model, this.#now];
    const grows = cells.findIndex(({ phase }) => phase === "decoder");
    const most = Math.min(free.length, this.batchSizeMax);
    const isFlat = this.#times(most) <= FLAT * most;
    if (grows < 0 || !isFlat && (isUrgent || this.#now.shares > 1)) return free;
    const stepNs = this.#time.nodeNs.slice(grows).reduce((a, b) => a + b, 1);
    const times: number[][] = cells.map(() => []);
    const parts = free.map(({ arrivalNs, tag }) => {
      const { ready: { 0: { cell } }, left, leftNs, nodeNs, dueNs } = tag;
      const at = cells.indexOf(cell);
      const part = left[at] < 2 || at >= grows ? grows : at; // Or there by a pass.
      if (isUrgent && dueNs === Infinity) return part;
      const agedNs = isUrgent ? 0 : AGING * (arrivalNs - nowNs);
      let [ns, c] = [part < grows ? agedNs : Math.max(stepNs, leftNs), part];
      while (c < grows && left[c] <= left[at]) ns += left[c] * nodeNs[c++];
      times[part].push(Math.max(1, ns));
      return part;
    });
    const perNs = (of: number[]) =>
      Math.max(0, ...of.sort((a, b) => a - b).map((ns, i) => (i + 1) / ns));
    const isClose = nowNs + CLOSE * free[0].tag.leftNs > free[0].tag.dueNs;
    const goes = (one: number) =>
      isUrgent ? isClose : times[one].length >= rows;
    const enough = parts.find(goes);
    const all = enough === undefined && isFlat ? times.map(perNs) : [];
    const best = enough ?? all.indexOf(Math.max(...all));
    return best < 0 ? free : free.filter((_, i) => parts[i] === best);
  }

  /** How much longer it takes beside so many. Passes of a model that takes several differ: only their mean is known. */
  #slowdown(rows: number, workers = 1): number {
    const { beside, busy, all } = this.#now;
    if (this.#turns > 1) return this.costs.slowdown(rows > 0 ? busy : busy - 1);
    const share = this.costs.share({ model: this.model, rows, all });
    return Math.max(1, workers > 1 ? workers * share : beside + share);
  }
  /** Whether it waits for those that run, half done, and goes with them: side by side all take longer, but some fit. */
  #goesTogether(requests: readonly AutoRequest[], free: number): boolean {
    const [k, x] = [requests.length, this.#now.beside];
    const [before, beside] = [0, k].map((rows) => this.#slowdown(rows));
    if (beside <= before) return false;
    const running = this.requests.filter(({ tag }) => tag.underWay > 0);
    const n = running.length;
    if (n === 0) return false;
    const left = running.filter(({ tag }) => tag.leftNs >= 1); // Or rounding.
    const passes = [...new Set(running.map(({ tag }) => tag.newest!))];
    const times = this.#times(Math.ceil(n / passes.length));
    const halfNs = passes.reduce((ns, p) => ns + times * p.aloneNs / 2, 0) / n;
    const restNs = halfNs + times * sumNs(left) / n;
    const ownNs = this.#times(k) * sumNs(requests) / k;
    const all = left.concat(requests);
    const allNs = this.#times(all.length) * sumNs(all) / all.length;
    const soonNs = k * Math.min(ownNs, restNs);
    const fit = this.#shares < Infinity ? Math.max(0, 1 - x) / (beside - x) : 0;
    const waitedNs = (n + k + fit * (free - k)) * halfNs +
      left.length * allNs + k * (allNs - ownNs) + soonNs;
    return before * waitedNs < beside * (n * restNs + soonNs);
  }

  /** The size that leaves everybody the least time waiting, of who has least left; with those to come, all together. */
  #shortest(sorted: readonly AutoRequest[]) {
    const [all, oneNs] = [sorted.length, sumNs(sorted) / sorted.length];
    const most = Math.min(all, this.batchSizeMax);
    const takesNs = (size: number) =>
      oneNs * this.#times(size) * this.#slowdown(size, this.#now.all);
    const heldNs = "stream" in this.model ? takesNs(1) : 0; // Late, it makes the next late.
    const gapNs = this.#slackNs === Infinity && this.#gapNs.value || Infinity;
    const wide = sorted.reduce((n, { tag }) => n + rowsReady(tag), 0) / all;
    const enough = Math.min(most, ROWS * this.#now.ahead / wide);
    const parallel = Math.max(1, this.#now.all / this.#shares);
    const idle = Math.max(IDLE, 1 - takesNs(most) / most / parallel / gapNs);
    let [rows, least] = [1, Infinity];
    for (let size = 1; size <= most; size++) {
      const ns = takesNs(size);
      if (size > 1 && ns - heldNs > this.#slackNs / 2) break; // Or who comes meanwhile could not be saved.
      if (size < enough && ns < SHORT_NS * this.#turns) continue;
      const figure = ns * (1 + all / parallel / idle / size);
      if (figure < least) [rows, least] = [size, figure];
    }
    return this.#made(sorted.slice(0, rows));
  }

  /** The most urgent that are all in time together; or a later, denser group that they would make late. */
  #urgent(sorted: readonly AutoRequest[]) {
    const first = this.#inTime(sorted);
    let best = first;
    const saved = sorted.findLastIndex(({ tag }) => tag.dueNs < Infinity) + 1;
    for (let from = 1; from < saved; from = 2 * from + 1) {
      const group = this.#inTime(sorted, from);
      if (group.perNs > best.perNs) best = group;
    }
    return this.#now.nowNs + first.takesNs <= best.latestNs ? first : best;
  }
  /** The first that are in time together, and who rides along; one alone where that takes as long one by one. */
  #inTime(sorted: readonly AutoRequest[], from = 0) {
    const requests: AutoRequest[] = [];
    const share = "stream" in this.model ? CLOSE : FREE; // In all, or each.
    let [rows, mayTake, rides] = [0, Infinity, 0];
    for (let i = from; i < sorted.length && rows < this.batchSizeMax; i++) {
      const { dueNs, leftNs } = sorted[i].tag;
      const takesNs = leftNs * this.#slowdown(rows + 1);
      const own = Math.min(mayTake, (dueNs - this.#now.nowNs) / takesNs);
      const limit = dueNs < Infinity ? own : Math.min(own, rides);
      const fits = rows === 0 || this.#times(rows + 1) <= limit;
      if (!fits && dueNs === Infinity) break; // Nor does anybody behind.
      if (!fits) continue;
      mayTake = own;
      rows = requests.push(sorted[i]);
      if (share === FREE || dueNs < Infinity) rides = share * this.#times(rows);
    }
    if (this.#times(rows) > PAYS * rows) requests.length = 1;
    return this.#made(requests);
  }
  #made(requests: readonly AutoRequest[]) {
    const rows = requests.length;
    const times = this.#slowdown(rows) * this.#times(rows);
    const start = ({ tag }: AutoRequest) => tag.dueNs - tag.leftNs * times;
    const latestNs = requests.reduce((a, b) => Math.min(a, start(b)), Infinity);
    const takesNs = times * sumNs(requests) / rows;
    const isOwed = this.#owedNs > OTHERS * takesNs;
    const rank = (latestNs < Infinity ? 2 : 0) + (isOwed ? 1 : 0);
    const { nowNs, all } = this.#now;
    const waitedNs = requests.reduce((a, b) => a + nowNs - b.arrivalNs, 0);
    const inTurn = latestNs === Infinity && all < 2 && "stream" in this.model;
    const perNs = inTurn ? rows + waitedNs / takesNs : rows / takesNs;
    return { requests, latestNs, takesNs, perNs, rank };
  }
}

const sumNs = (requests: readonly AutoRequest[]) =>
  Math.max(1, requests.reduce((sum, { tag }) => sum + tag.leftNs, 0));
function inOrder(a: AutoRequest, b: AutoRequest): number {
  if (a.tag.dueNs !== b.tag.dueNs) return a.tag.dueNs - b.tag.dueNs;
  const agedNs = AGING * (a.arrivalNs - b.arrivalNs);
  return a.tag.leftNs - b.tag.leftNs + agedNs || a.id - b.id;
}
