/**
 * The decision log: what a policy launched, waited for, preempted, merged, stretched and split, when and
 * why; and from it, why a request waited and why a batch was not full.
 */
import {
  checkedOptions,
  type Checks,
  number,
} from "../base/checked_options.ts";
import { Fifo } from "../base/fifo.ts";
import { nsToMs } from "../base/units.ts";
import type { Launch, Note, Task } from "../policy/launch.ts";
import type { Observer, RequestRecord, TaskRecord } from "../policy/records.ts";
import type { Request } from "../policy/request.ts";

/** A launch in a {@linkcode DecisionLog}. */
export interface LoggedLaunch {
  /** Launches count from 0, in order. */
  readonly id: number;
  /** When it was decided. */
  readonly atNs: number;
  /** Id of the worker. */
  readonly worker: number;
  /** Names of the cells, in order, each once; those of the tail behind the steps'. */
  readonly cells: readonly string[];
  /** Ids, ascending. */
  readonly requests: readonly number[];
  /** Of its largest step, padding aside; a request may have several, as a tree has leaves. */
  readonly rows: number;
  /** What each step was filled up to; 0: nothing. */
  readonly paddedRows: number;
  /** The policy's reason. */
  readonly why: string;
  /** What the policy did to its tables before. */
  readonly notes: readonly Note[];
  /** Start of its first task; NaN while none has ended. */
  startNs: number;
  /** End of its last task so far; NaN while none has ended. */
  endNs: number;
  /**
   * Of one with more steps than one, three for each request: start of its first task in it, end of its last so far, and
   * the time between its tasks in which there were tasks without it; NaN where it has had none.
   */
  readonly partsNs?: Float64Array;
}

/** A wait in a {@linkcode DecisionLog}. */
export interface LoggedWait {
  /** When it was decided. */
  readonly atNs: number;
  /** At the latest; it ends sooner when something happens. */
  readonly untilNs: number;
  /** The policy's reason. */
  readonly why: string;
}

/** How much a log keeps; what is older is forgotten. Default: everything. */
export interface DecisionLogLimits {
  /** Requests that have departed. */
  readonly requestsMax?: number;
  /** Launches, and as many waits. */
  readonly decisionsMax?: number;
}

/** Figures of a request in a launch. */
const PARTS = 3;

/** What is told of a decision whose policy says nothing. */
const NO_REASON = "no reason given";

/** Lines about one gap in a request's life before the rest is only counted. */
const LINES_MAX = 12;

const isCount = number(
  "a positive integer, or Infinity",
  (value) => value === Infinity || Number.isSafeInteger(value) && value >= 1,
);

const LIMITS: Checks<DecisionLogLimits> = {
  requestsMax: isCount,
  decisionsMax: isCount,
};

/**
 * An engine's `observer` that keeps what its policy decided, on virtual time or on the clock, and says from it why a
 * request waited and why a batch was not full. {@linkcode tee} puts it beside another observer.
 *
 * @example The second request waits for the first
 * ```ts
 * import assert from "node:assert/strict";
 * import { lstm, serial } from "@shoal/core";
 * import {
 *   constantCost, DecisionLog, driveVirtual, EngineCore, SimExecutor, Timeline,
 * } from "@shoal/core/simulate";
 *
 * const model = lstm({ hidden: 4, vocabulary: 10 });
 * const timeline = new Timeline();
 * const executor = new SimExecutor({
 *   timeline,
 *   cost: constantCost(1e6),
 *   onCompleted: (task, startNs, endNs) => engine.completed(task, startNs, endNs),
 * });
 * const log = new DecisionLog("serial");
 * const engine = new EngineCore({ models: [model], policy: serial(), executor, observer: log });
 * const request = { model, input: { tokens: [1, 2] }, arrivalNs: 0 };
 * driveVirtual(engine, timeline, [request, request]);
 * assert.deepEqual(log.explainRequest(1).slice(0, 2), [
 *   "serial: request 1 (lstm) arrived at 0 ms, done at 4 ms: 4 ms in all",
 *   "waited 2 ms from 0 ms on:",
 * ]);
 * ```
 */
export class DecisionLog implements Observer {
  /** By id, in order. */
  readonly launches: Map<number, LoggedLaunch> = new Map();
  /** Requests that have departed, by id. */
  readonly requests: Map<number, RequestRecord> = new Map();
  readonly #waits = new Fifo<LoggedWait>();
  readonly #requestsMax: number;
  readonly #decisionsMax: number;
  /** Until then launches ran that are forgotten, as far as was heard; -Infinity while all are there. */
  #forgottenNs = -Infinity;

  /**
   * An empty log.
   * @param policy name of the policy that decides, for what is told
   * @throws TypeError or RangeError on a limit that is not one
   */
  constructor(readonly policy: string, limits: DecisionLogLimits = {}) {
    const { requestsMax = Infinity, decisionsMax = Infinity } = checkedOptions(
      "DecisionLog",
      limits,
      LIMITS,
    );
    this.#requestsMax = requestsMax;
    this.#decisionsMax = decisionsMax;
  }

  /** In the order in which they were decided. */
  get waits(): Iterable<LoggedWait> {
    return this.#waits;
  }

  /** Takes down a launch. */
  decided(atNs: number, launch: Launch, id: number): void {
    const { worker, steps, tail, paddedRows = 0, notes = [] } = launch;
    const { why = NO_REASON } = launch;
    const ids = new Set<number>(tail?.requests.map(({ id }) => id));
    let rows = ids.size;
    for (const { nodes } of steps) {
      rows = Math.max(rows, nodes.length);
      for (const { graph } of nodes) ids.add(graph.owner.id);
    }
    const requests = [...ids].sort((a, b) => a - b);
    const hasParts = tail !== undefined || steps.length > 1;
    this.launches.set(id, {
      id,
      atNs,
      worker,
      cells: namesOf([...steps.map(({ cell }) => cell), ...tail?.cells ?? []]),
      requests,
      rows,
      paddedRows,
      why,
      notes,
      ...{ startNs: NaN, endNs: NaN },
      ...(hasParts &&
        { partsNs: new Float64Array(PARTS * requests.length).fill(NaN) }),
    });
    for (const { atNs, endNs } of keep(this.launches, this.#decisionsMax)) {
      this.#forgottenNs = Math.max(this.#forgottenNs, atNs, endNs || atNs);
    }
  }

  /** Takes down a wait. */
  waited(atNs: number, untilNs: number, why = NO_REASON): void {
    this.#waits.push({ atNs, untilNs, why });
    if (this.#waits.size > this.#decisionsMax) this.#waits.shift();
  }

  /** Takes down a task that was executed. */
  task(_task: Task, { launchId, startNs, endNs, requests }: TaskRecord): void {
    const launch = this.launches.get(launchId);
    if (launch === undefined) return;
    if (Number.isNaN(launch.startNs)) launch.startNs = startNs;
    const beforeNs = launch.endNs;
    launch.endNs = endNs;
    const { partsNs } = launch;
    if (partsNs === undefined) return;
    for (const id of requests) {
      // Rows of one that was given up before are computed for nobody.
      if (startNs >= (this.requests.get(id)?.endNs ?? Infinity)) continue;
      const at = PARTS * placeOf(launch.requests, id);
      if (Number.isNaN(partsNs[at])) {
        partsNs[at] = startNs;
        partsNs[at + 2] = 0;
      } else if (beforeNs > partsNs[at + 1]) {
        partsNs[at + 2] += startNs - partsNs[at + 1];
      }
      partsNs[at + 1] = endNs;
    }
  }

  /** Takes down a request that departed. */
  request(_request: Request, record: RequestRecord): void {
    this.requests.set(record.id, record);
    keep(this.requests, this.#requestsMax);
  }

  /**
   * Why a request waited: every gap between its arrival and its end in which it was in no launch, with what was decided
   * meanwhile; behind what it was queued on its worker; for how long its batch went on without it; and how long its
   * results were held. Of one that was given up, the last gap, too.
   * @throws RangeError when there is no such request
   */
  explainRequest(id: number): string[] {
    const record = this.requests.get(id);
    if (record === undefined) {
      throw new RangeError(
        `No request ${id}; there are ${range(this.requests)}`,
      );
    }
    const { model, arrivalNs, endNs, outcome } = record;
    const lines = [
      `${this.policy}: request ${id} (${model}) arrived at ${ms(arrivalNs)}, ` +
      `${outcome} at ${ms(endNs)}: ${ms(endNs - arrivalNs)} in all`,
    ];
    let sinceNs = arrivalNs;
    if (this.#forgottenNs >= arrivalNs) {
      sinceNs = this.#forgottenNs;
      lines.push(`launches that ran until ${ms(sinceNs)} are forgotten`);
    }
    let before = "";
    const own = [...this.launches.values()].filter(({ requests }) =>
      requests.includes(id)
    );
    const firstNs = (launch: LoggedLaunch) =>
      partsOf(launch, id)[0] || launch.atNs;
    // On several workers the one that was decided first is not always the first that ran.
    own.sort((a, b) => firstNs(a) - firstNs(b) || a.id - b.id);
    for (const launch of own) {
      const at = `at ${ms(launch.atNs)}`;
      const notes = launch.notes.filter((note) => note.requests.includes(id));
      const text = tellLaunch(launch);
      const waited = launch.atNs > sinceNs;
      if (waited) {
        const waitNs = launch.atNs - sinceNs;
        lines.push(`waited ${ms(waitNs)} from ${ms(sinceNs)} on:`);
        lines.push(...this.#between(sinceNs, launch.atNs));
      }
      if (waited || notes.length > 0 || text !== before) {
        lines.push(...notes.map((note) => `${at} ${tellNote(note)}`));
        lines.push(`${at} in launch ${launch.id} ${text}`);
      }
      before = text;
      sinceNs = Math.max(sinceNs, launch.atNs);
      const [startNs, untilNs, withoutNs] = partsOf(launch, id);
      const beganNs = Math.min(startNs, endNs);
      const ahead = this.#ahead(launch, sinceNs, beganNs);
      if (ahead.length > 0) {
        lines.push(
          `queued ${ms(beganNs - sinceNs)} from ${ms(sinceNs)} on, ` +
            `behind launch ${ahead.join(", ")}`,
        );
      }
      if (withoutNs > 0) {
        lines.push(`there, tasks without it took ${ms(withoutNs)}`);
      }
      // Nothing of it ran in a launch that it left before.
      if (untilNs > sinceNs) sinceNs = untilNs;
    }
    if (!(endNs > sinceNs)) return lines;
    const restMs = ms(endNs - sinceNs);
    if (outcome === "done") {
      return [
        ...lines,
        `held ${restMs} until ${ms(endNs)}, the end of its run`,
      ];
    }
    return [
      ...lines,
      `waited ${restMs} from ${ms(sinceNs)} on:`,
      ...this.#between(sinceNs, endNs),
    ];
  }

  /**
   * Why a batch was not full: what decided it, and where every other request was at the time.
   * @throws RangeError when there is no such launch
   */
  explainBatch(id: number): string[] {
    const launch = this.launches.get(id);
    if (launch === undefined) {
      throw new RangeError(
        `No launch ${id}; there are ${range(this.launches)}`,
      );
    }
    const { atNs } = launch;
    const lines = [
      `${this.policy}: at ${ms(atNs)} launch ${id} ${tellLaunch(launch)}`,
      ...launch.notes.map((note) => `  ${tellNote(note)}`),
    ];
    const others = [...this.requests.values()].filter((request) =>
      request.arrivalNs <= atNs && request.endNs > atNs &&
      !launch.requests.includes(request.id)
    ).sort((a, b) => a.id - b.id);
    for (const { id, arrivalNs } of others) {
      const running = [...this.launches.values()].find((other) =>
        other.atNs <= atNs && other.endNs > atNs && other.id !== launch.id &&
        other.requests.includes(id)
      );
      lines.push(
        running
          ? `  request ${id} was in launch ${running.id} until ${
            ms(running.endNs)
          }`
          : `  request ${id} waited, since ${ms(arrivalNs)} in the system`,
      );
    }
    if (others.length === 0) lines.push("  nobody else was in the system");
    return lines;
  }

  /** Launches that ran on a launch's worker, itself among them, while a request of it was queued there. */
  #ahead({ worker }: LoggedLaunch, fromNs: number, untilNs: number): number[] {
    if (!(untilNs > fromNs)) return [];
    return [...this.launches.values()].filter((other) =>
      other.worker === worker && other.startNs < untilNs &&
      other.endNs > fromNs
    ).map(({ id }) => id);
  }

  #between(fromNs: number, untilNs: number): string[] {
    const events: { atNs: number; text: string }[] = [];
    for (const launch of this.launches.values()) {
      const overlaps = launch.atNs < untilNs &&
        (launch.atNs >= fromNs || launch.endNs > fromNs);
      if (!overlaps) continue;
      for (const note of launch.notes) {
        if (launch.atNs >= fromNs) {
          events.push({ atNs: launch.atNs, text: tellNote(note) });
        }
      }
      events.push({ atNs: launch.atNs, text: tellLaunch(launch) });
    }
    for (const { atNs, untilNs: dueNs, why } of this.#waits) {
      if (atNs < fromNs || atNs >= untilNs) continue;
      events.push({ atNs, text: `wait until ${ms(dueNs)}: ${why}` });
    }
    events.sort((a, b) => a.atNs - b.atNs);
    const lines: string[] = [];
    let more = 0;
    for (let i = 0; i < events.length;) {
      const { atNs, text } = events[i];
      let times = 1;
      while (events[i + times]?.text === text) times++;
      const again = times > 1 ? ` (${times} times)` : "";
      if (lines.length < LINES_MAX) {
        lines.push(`  ${ms(atNs)}  ${text}${again}`);
      } else more += times;
      i += times;
    }
    return more > 0 ? [...lines, `  and ${more} decisions more`] : lines;
  }
}

/** Each once, in order. */
function namesOf(cells: readonly Task["cell"][]): string[] {
  return [...new Set(cells.map(({ name }) => name))];
}

/** Of a request in a launch, as `LoggedLaunch.partsNs` has them. */
function partsOf(
  { requests, startNs, endNs, partsNs }: LoggedLaunch,
  id: number,
): readonly number[] | Float64Array {
  if (partsNs === undefined) return [startNs, endNs, 0];
  const at = PARTS * placeOf(requests, id);
  return partsNs.subarray(at, at + PARTS);
}

/** Where a number that is there stands among ascending ones. */
function placeOf(ascending: readonly number[], value: number): number {
  let [low, high] = [0, ascending.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ascending[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Forgets the oldest entries. @returns these */
function keep<T>(entries: Map<number, T>, most: number): T[] {
  const forgotten: T[] = [];
  for (const [oldest, entry] of entries) {
    if (entries.size <= most) break;
    entries.delete(oldest);
    forgotten.push(entry);
  }
  return forgotten;
}

/** Numbers that there are. */
function range(entries: ReadonlyMap<number, unknown>): string {
  const ids = [...entries.keys()];
  return ids.length === 0
    ? "none"
    : `${ids.reduce((a, b) => Math.min(a, b))} to ${
      ids.reduce((a, b) => Math.max(a, b))
    }`;
}

/** What a launch is, in a line. */
export function tellLaunch(launch: LoggedLaunch): string {
  const { worker, cells, requests, rows, paddedRows, why } = launch;
  const padding = paddedRows > rows ? ` of ${paddedRows}` : "";
  const { length } = requests;
  const whose = rows === length
    ? ""
    : ` of ${length} request${length === 1 ? "" : "s"}`;
  return `on worker ${worker}: ${cells.join(", ")}, ` +
    `${rows}${padding} rows${whose} (${why})`;
}

/** What a policy did to its tables, in a line. */
export function tellNote({ op, requests, why }: Note): string {
  return requests.length === 0
    ? `${op}: ${why}`
    : `${op} of ${requests.join(", ")}: ${why}`;
}

function ms(ns: number): string {
  return `${Number(nsToMs(ns).toFixed(6))} ms`;
}
