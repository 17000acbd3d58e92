/** What `auto` keeps of a model: its requests, what they have left, and which of them would make the next batch. */
import { insertInOrder } from "../../base/insert_in_order.ts";
import { LeastSquares } from "../../base/least_squares.ts";
import { MovingMean } from "../../base/moving_mean.ts";
import type { CellGraph } from "../../graph/cell_graph.ts";
import type { Model } from "../../graph/model.ts";
import type { CostTable } from "../common/cost_table.ts";
import { type ExecTime, execTime } from "../common/exec_time.ts";
import { type Advance, startOf } from "../common/frontier.ts";
import type { Step } from "../launch.ts";
import type { Request } from "../request.ts";

/** Where and when, tasks ahead (1 and a 16th of all; 0: no threads), workers busy and in all, models with requests. */
export type Situation = Readonly<
  Record<"nowNs" | "worker" | "busy" | "ahead" | "all" | "shares", number>
>;
/** A launch: what its rows take alone, and what has been run of it. */
export type Pass = Situation & { aloneNs: number; ranNs: number };

/** What is kept with a request. What is under way of it is all on one worker. */
interface AutoTag extends Advance<AutoRequest>, Pick<ExecTime, "nodeNs"> {
  /** Tokens, or rows, that it came with; nodes left, by the index of the model's cells. */
  readonly brought: number;
  readonly left: number[];
  /** What it would take alone from here on, ns: a node at least while it may grow. */
  leftNs: number;
  /** When it has to be done, begun by a deadline for starting; Infinity: whenever, or it is lost. */
  dueNs: number;
  newest?: Pass;
}

export interface AutoRequest extends Request<AutoTag> {
  readonly graph: CellGraph<AutoRequest>;
}

/** Shares: of the time waited, off what is left; of the newest in what is learned of requests. */
const AGING = 0.02;
const NEWEST = 1 / 128;
/** Share of its rows that a batch takes off those who wait, however many come meanwhile: no overload lasts for ever. */
const NET = 0.1;
/** How much longer: a batch for who is late; for a decoder, a guess; of one by one, together, in parts; near; noise. */
const FREE = 1.01;
const GUESSED = 1.5;
const PAYS = 0.95;
const FLAT = 0.6;
const CLOSE = 1.2;
const SLOWED = 1.02;
/** Passes as short as that have a quarter of those who wait beside threads: else who launches them does not keep up. */
const SHORT_NS = 5e5;
/** Time that other models have for each that one has whose turn it would not be. */
const OTHERS = 8;
/** Requests that are looked at, and decisions after which what batches take is asked again; at first each time. */
const LOOKED_AT = 192;
const ASKED_AGAIN = 64;

export class ModelState {
  /** Those that have not ended, as good as in order: what ran has less left than before. */
  readonly requests: AutoRequest[] = [];
  readonly #steps = new LeastSquares([32, 0], 1 - NEWEST);
  readonly #gapNs = new MovingMean(NEWEST);
  /** By cell: rows of it that a request has in a pass, as the nodes of a tree. */
  readonly #widths: MovingMean[] = [];
  /** Of the newest request: when it came, what it takes, how late it might have begun. */
  #lastNs = NaN;
  #time!: ExecTime;
  #slackNs = Infinity;
  /** By rows: what a batch takes, in multiples of one row; and what that takes, ns, asked once for a decision. */
  #curve: number[] = [];
  #rowNs = 0;
  #decisions = 0;
  /** Time that other models had while requests were here, less what this one had, that often. */
  #owedNs = 0;
  /** What is decided about; models that share the workers, Infinity: as if there were one; how much longer it takes. */
  #now!: Situation;
  #shares = Infinity;
  #slowdown = 1;

  constructor(
    readonly model: Model,
    readonly costs: CostTable,
    readonly batchSizeMax: number,
  ) {}

  enqueue(request: AutoRequest, targetNs: number): void {
    const { finishNs, deadlineNs, arrivalNs, graph } = request;
    const brought = graph.nodes.reduce((sum, { length }) => sum + length, 1);
    const decTimesteps = Math.ceil(this.#steps.expect([1, brought]));
    this.#time = execTime(request, { profile: this.costs.ns, decTimesteps });
    const { execNs: leftNs, nodeNs, work: [...left] } = this.#time;
    const dueNs = Math.min(targetNs, finishNs, deadlineNs + leftNs);
    request.tag = { ...startOf(graph), brought, leftNs, nodeNs, left, dueNs };
    this.#slackNs = dueNs - arrivalNs - leftNs;
    if (this.#lastNs >= 0) this.#gapNs.add(arrivalNs - this.#lastNs);
    this.#lastNs = arrivalNs;
    insertInOrder(this.requests, request, inOrder);
  }

  /** What a batch takes, in multiples of a row; where nothing is known as much as a row, so that large ones are tried. */
  #times(size: number): number {
    const rows = Math.min(size, this.batchSizeMax);
    return this.#curve[rows] ??= this.#batchNs(rows) /
        (this.#rowNs ||= Math.max(1, this.#batchNs(1))) || 1;
  }

  /** Of one model, without deadlines, requests are anywhere on their way: few in the same part, in some passes nobody. */
  #batchNs(rows: number): number {
    const { work, extents } = this.#time;
    const of = (part: string) =>
      Math.max(0, ...work.filter((_, c) => this.model.cells[c].phase === part));
    const passes = this.#shares === 1 ? of("encoder") + of("decoder") : 0;
    return this.model.cells.reduce((sum, cell, c) => {
      if (work[c] === 0) return sum;
      const share = work[c] > 1 ? Math.min(1, work[c] / passes) : 1;
      const anybody = 1 - (1 - share) ** rows;
      const some = Math.min(rows, Math.max(1, rows * share / anybody));
      const width = this.#shares < Infinity && this.#widths[c]?.value || 1;
      const ns = this.costs.meanNs(cell, some * width, extents?.[c]) / width;
      return sum + work[c] / share * anybody * ns;
    }, Math.max(...work) * this.costs.hostNs.value);
  }

  submitted(steps: readonly Step<AutoRequest>[]): void {
    for (const { cell, nodes } of steps) {
      const c = this.model.cells.indexOf(cell);
      const width = this.#widths[c] ??= new MovingMean(NEWEST, 1, 1);
      width.add(nodes.length / new Set(nodes.map(({ graph }) => graph)).size);
      for (const { graph: { closed, owner: { tag } } } of nodes) {
        const ns = tag.nodeNs[c];
        tag.left[c]--;
        const leastNs = !closed && cell.phase === "decoder" ? ns : 0;
        tag.leftNs = Math.max(leastNs, tag.leftNs - ns);
        tag.newest!.aloneNs += ns;
      }
    }
    this.requests.unshift(...this.requests.splice(0, LOOKED_AT).sort(inOrder));
  }

  sawRun(isOwn: boolean, ns: number): void {
    const waitedNs = isOwn ? -OTHERS * ns : this.requests.length > 0 ? ns : 0;
    this.#owedNs = Math.max(0, this.#owedNs + waitedNs);
  }

  ended(request: AutoRequest): void {
    const at = this.requests.indexOf(request);
    if (at >= 0) this.requests.splice(at, 1);
    const steps = request.graph.nodes.filter(({ cell }) => cell.stop).length;
    if (steps > 0) this.#steps.observe([1, request.tag.brought], steps);
  }

  /** Who would advance now, if anybody. A decoder has one step ahead at most: whichever is under way may be its last. */
  batch(now: Situation) {
    this.#now = now;
    const isShared = this.costs.slowdown(now.all, now.all) > SLOWED;
    this.#shares = isShared || this.#slackNs < Infinity ? Infinity : now.shares;
    this.#slowdown = this.costs.slowdown(now.busy);
    this.#rowNs = 0;
    const { requests } = this;
    const isLate = ({ tag }: AutoRequest) => now.nowNs + tag.leftNs > tag.dueNs;
    for (const late of requests.slice(0, LOOKED_AT).filter(isLate)) {
      late.tag.dueNs = Infinity;
      requests.splice(requests.indexOf(late), 1);
      insertInOrder(requests, late, inOrder);
    }
    const free = requests.filter(({ tag }) =>
      tag.ready.length > 0 &&
      (tag.underWay === 0 || tag.newest?.worker === now.worker &&
          (tag.underWay < 2 || tag.ready[0].cell.phase !== "decoder"))
    ).slice(0, LOOKED_AT);
    if (free.length === 0) return undefined;
    const often = this.#decisions < ASKED_AGAIN ? 1 : ASKED_AGAIN;
    if (this.#decisions++ % often === 0) this.#curve = [];
    const isUrgent = free[0].tag.dueNs < Infinity;
    const of = (isUrgent ? this.#urgent : this.#shortest).bind(this);
    const [all, part] = [of(free), this.#part(free, isUrgent)];
    const isPart = part !== free;
    const batch = { ...(isPart ? of(part) : all), perNs: all.perNs, isPart };
    return this.#goesTogether(batch.requests) ? undefined : batch;
  }

  /** Those in one part, where most get through it for its time, or the most urgent is: parts share no cells, and wait. */
  #part(free: AutoRequest[], isUrgent: boolean): AutoRequest[] {
    const { model: { cells }, batchSizeMax } = this;
    const grows = cells.findIndex(({ phase }) => phase === "decoder");
    const most = Math.min(free.length, batchSizeMax);
    if (grows < 0 || this.#times(most) > FLAT * most) return free;
    const { nowNs } = this.#now;
    const aging = isUrgent ? 0 : AGING;
    const stepNs = this.#time.nodeNs.slice(grows).reduce((a, b) => a + b, 1);
    const times: number[][] = cells.map(() => []);
    const parts = free.map(({ arrivalNs, tag }) => {
      const { ready: [{ cell }], left, leftNs, nodeNs, dueNs } = tag;
      const at = cells.indexOf(cell);
      const isThere = left[at] < 2 || at >= grows; // Or will be, by a pass.
      const part = isThere ? grows : at;
      let ns = isThere ? Math.max(stepNs, leftNs) : aging * (arrivalNs - nowNs);
      for (let c = part; c < grows && left[c] <= left[at]; c++) {
        ns += left[c] * nodeNs[c];
      }
      if (!isUrgent || dueNs < Infinity) times[part].push(Math.max(1, ns));
      return part;
    });
    const perNs = times.map((of) =>
      Math.max(0, ...of.sort((a, b) => a - b).map((ns, i) => (i + 1) / ns))
    );
    const isClose = nowNs + CLOSE * free[0].tag.leftNs > free[0].tag.dueNs;
    const best = isClose ? parts[0] : perNs.indexOf(Math.max(...perNs));
    return free.filter((_, i) => parts[i] === best);
  }

  /** Whether it waits for those that run, half done on average, and goes with them: side by side all take longer. */
  #goesTogether(requests: readonly AutoRequest[]): boolean {
    const slowdownBefore = this.costs.slowdown(this.#now.busy - 1);
    const running = this.requests.filter(({ tag }) => tag.underWay > 0);
    if (running.length === 0 || this.#slowdown <= slowdownBefore) return false;
    const all = running.filter(({ tag }) => tag.leftNs > 0).concat(requests);
    const passes = new Set(running.map(({ tag }) => tag.newest!));
    const times = this.#times(Math.ceil(running.length / passes.size));
    const passNs = [...passes].reduce((ns, p) => ns + times * p.aloneNs / 2, 0);
    const togetherNs = passNs * (1 + requests.length / running.length) +
      sumNs(all) * this.#times(all.length);
    const besideNs = passNs + sumNs(running) * times +
      sumNs(requests) * this.#times(requests.length);
    return slowdownBefore * togetherNs < this.#slowdown * besideNs;
  }

  /** The batch size that leaves everybody the least time waiting, of those who have least left. */
  #shortest(sorted: readonly AutoRequest[]) {
    const all = sorted.length;
    const oneNs = this.#slowdown * sumNs(sorted) / all;
    const isLost = this.#slackNs < Infinity;
    const gapNs = (isLost ? 0 : this.#gapNs.value) || Infinity;
    const shortNs = SHORT_NS * Math.max(...this.#time.work);
    const enough = Math.min(all, this.batchSizeMax, 4 * (this.#now.ahead - 1));
    const parallel = Math.max(1, this.#now.all / this.#shares);
    let [rows, least] = [1, Infinity];
    for (let size = 1; size <= Math.min(all, this.batchSizeMax); size++) {
      const ns = oneNs * this.#times(size);
      // Of the lost only so many that whoever comes meanwhile can still be saved.
      if (isLost && size > 1 && ns > this.#slackNs / 2) break;
      if (size < enough && ns < shortNs) continue;
      const net = Math.max(size - ns / parallel / gapNs, NET * size);
      const figure = ns * (1 + all / parallel / net);
      if (figure < least) [rows, least] = [size, figure];
    }
    const why = `${rows} of ${all} leave everybody the least time waiting`;
    return this.#made(sorted.slice(0, rows), why);
  }

  /** The most urgent that are all in time together; or a later, denser group that they would make late. */
  #urgent(sorted: readonly AutoRequest[]) {
    const first = this.#inTime(sorted);
    let best = first;
    const saved = sorted.filter(({ tag }) => tag.dueNs < Infinity).length;
    for (let from = 1; from < saved; from = 2 * from + 1) {
      const group = this.#inTime(sorted.slice(from));
      if (group.perNs > best.perNs) best = group;
    }
    return this.#now.nowNs + first.takesNs <= best.latestNs ? first : best;
  }

  /** The first that are in time together, and who rides along; one alone where that takes as long one by one. */
  #inTime(sorted: readonly AutoRequest[]) {
    const { nowNs } = this.#now;
    const requests: AutoRequest[] = [];
    let [rows, mayTake] = [0, Infinity];
    for (const request of sorted) {
      if (rows === this.batchSizeMax) break;
      const { dueNs, leftNs } = request.tag;
      const isLost = dueNs === Infinity;
      if (isLost && !request.graph.closed) continue;
      const own = Math.min(mayTake, (dueNs - nowNs) / leftNs / this.#slowdown);
      const least = request.graph.closed ? 0 : GUESSED;
      const limit = isLost ? FREE * this.#times(rows) : Math.max(least, own);
      if (rows > 0 && this.#times(rows + 1) > limit) continue;
      mayTake = own;
      rows = requests.push(request);
    }
    if (this.#times(rows) > PAYS * rows) requests.length = 1;
    const why = `the ${requests.length} most urgent that are in time together`;
    return this.#made(requests, why);
  }

  #made(requests: readonly AutoRequest[], why: string) {
    const rows = requests.length;
    const times = this.#slowdown * this.#times(rows);
    const start = ({ tag }: AutoRequest) => tag.dueNs - tag.leftNs * times;
    const latestNs = Math.min(...requests.map(start));
    const takesNs = times * sumNs(requests) / rows;
    const isOwed = this.#owedNs > OTHERS * takesNs;
    const rank = (latestNs < Infinity ? 2 : 0) + (isOwed ? 1 : 0);
    return { requests, latestNs, takesNs, perNs: rows / takesNs, rank, why };
  }
}

const sumNs = (requests: readonly AutoRequest[]) =>
  Math.max(1, requests.reduce((sum, { tag }) => sum + tag.leftNs, 0));

function inOrder(a: AutoRequest, b: AutoRequest): number {
  if (a.tag.dueNs !== b.tag.dueNs) return a.tag.dueNs - b.tag.dueNs;
  const agedNs = AGING * (a.arrivalNs - b.arrivalNs);
  return a.tag.leftNs - b.tag.leftNs + agedNs || a.id - b.id;
}
