/**
 * The decision log: what a policy launched, waited for, preempted, merged, stretched and split, when and
 * why; and from it, why a request waited and why a batch was not full.
 */
import { Fifo } from "../base/fifo.ts";
import { nsToMs } from "../base/units.ts";
import type { Launch, Note, Task } from "../policy/launch.ts";
import type { Observer, RequestRecord, TaskRecord } from "../policy/records.ts";
import type { Request } from "../policy/request.ts";

export interface LoggedLaunch {
  readonly id: number;
  readonly atNs: number;
  readonly worker: number;
  /** Names of the cells, in order, each once. */
  readonly cells: readonly string[];
  /** Ids, ascending. */
  readonly requests: readonly number[];
  /** Of its largest step, padding aside; a request may have several, as a tree has leaves. */
  readonly rows: number;
  readonly paddedRows: number;
  readonly why: string;
  readonly notes: readonly Note[];
  /** End of its last task so far; NaN while none has ended. */
  endNs: number;
}

export interface LoggedWait {
  readonly atNs: number;
  readonly untilNs: number;
  readonly why: string;
}

/** How much a log keeps; what is older is forgotten. Default: everything. */
export interface DecisionLogLimits {
  /** Requests that have departed. */
  readonly requestsMax?: number;
  /** Launches, and as many waits. */
  readonly decisionsMax?: number;
}

/** Lines about one gap in a request's life before the rest is only counted. */
const LINES_MAX = 12;

export class DecisionLog implements Observer {
  /** By id, in order. */
  readonly launches = new Map<number, LoggedLaunch>();
  readonly waits = new Fifo<LoggedWait>();
  readonly requests = new Map<number, RequestRecord>();
  readonly #requestsMax: number;
  readonly #decisionsMax: number;
  /** Until then launches ran that are forgotten, as far as was heard; -Infinity while all are there. */
  #forgottenNs = -Infinity;

  /** @param policy name of the policy that decides */
  constructor(
    readonly policy: string,
    { requestsMax = Infinity, decisionsMax = Infinity }: DecisionLogLimits = {},
  ) {
    this.#requestsMax = requestsMax;
    this.#decisionsMax = decisionsMax;
  }

  decided(atNs: number, launch: Launch, id: number): void {
    const { worker, steps, tail, paddedRows = 0, why, notes = [] } = launch;
    const requests = new Set<number>(tail?.requests.map(({ id }) => id));
    let rows = requests.size;
    for (const { nodes } of steps) {
      rows = Math.max(rows, nodes.length);
      for (const { graph } of nodes) requests.add(graph.owner.id);
    }
    this.launches.set(id, {
      id,
      atNs,
      worker,
      cells: [...new Set(steps.map(({ cell }) => cell.name))],
      requests: [...requests].sort((a, b) => a - b),
      rows,
      paddedRows,
      why,
      notes,
      endNs: NaN,
    });
    for (const { atNs, endNs } of keep(this.launches, this.#decisionsMax)) {
      this.#forgottenNs = Math.max(this.#forgottenNs, atNs, endNs || atNs);
    }
  }

  waited(atNs: number, untilNs: number, why = "no reason given"): void {
    this.waits.push({ atNs, untilNs, why });
    if (this.waits.size > this.#decisionsMax) this.waits.shift();
  }

  task(_task: Task, { launchId, endNs }: TaskRecord): void {
    const launch = this.launches.get(launchId);
    if (launch) launch.endNs = endNs;
  }

  request(_request: Request, record: RequestRecord): void {
    this.requests.set(record.id, record);
    keep(this.requests, this.#requestsMax);
  }

  /**
   * Why a request waited: every gap between its arrival and its end in which nothing of it ran, with
   * what was decided meanwhile; of one that was given up, the last one, too.
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
    for (const launch of this.launches.values()) {
      if (!launch.requests.includes(id)) continue;
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
      sinceNs = Math.max(sinceNs, launch.endNs);
    }
    if (!(endNs > sinceNs)) return lines;
    if (outcome === "done") {
      return [...lines, `held until ${ms(endNs)}, the end of its run`];
    }
    return [
      ...lines,
      `waited ${ms(endNs - sinceNs)} from ${ms(sinceNs)} on:`,
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
    for (const { atNs, untilNs: dueNs, why } of this.waits) {
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
