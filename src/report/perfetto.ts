/**
 * Traces for Perfetto and chrome://tracing, in Chrome's trace event format (JSON): a process per run,
 * in it a track per worker with a slice per task, which has the reason of its launch, and a track per
 * request with a slice per batch it was in, so that one sees it join, swim along and leave; and a counter
 * of the requests that wait for their first task, those counted that the trace does not show.
 *
 * Slices are pairs of B and E events: their times are the same doubles wherever slices touch, so no
 * rounding of the reader can make neighbours overlap. Times are microseconds from the first arrival.
 */
import { NS_PER_US } from "../base/units.ts";
import { ascending } from "../base/statistics.ts";
import type { RequestRecord, TaskRecord } from "../policy/records.ts";
import { tellNote } from "./decision_log.ts";
import { formatCount } from "./format.ts";
import type { LaunchReason, TraceRecorder } from "./trace_recorder.ts";

/** One run to show. */
export interface TracedRun {
  readonly name: string;
  readonly recorder: TraceRecorder;
}

export interface TraceEvent {
  readonly ph: "B" | "E" | "M" | "C" | "i";
  readonly pid: number;
  readonly tid: number;
  readonly name?: string;
  readonly ts?: number;
  /** Of an instant: as high as its process. */
  readonly s?: "p";
  readonly args?: Readonly<Record<string, unknown>>;
}

interface Slice {
  readonly name: string;
  readonly startNs: number;
  readonly endNs: number;
  readonly args: Readonly<Record<string, unknown>>;
}

/** Tracks of requests come after those of workers. */
const FIRST_REQUEST_TRACK = 1000;

/** @returns the text of a `.json` trace */
export function perfettoTrace(runs: readonly TracedRun[]): string {
  const events = runs.flatMap((run, pid) => traceEvents(run, pid + 1));
  const lines = events.map((event) => JSON.stringify(event)).join(",\n");
  const otherData = JSON.stringify({
    runs: runs.map(({ name, recorder }) => ({
      name,
      requests: recorder.requestsSeen,
      requestsShown: recorder.requests.length,
    })),
  });
  return `{"displayTimeUnit":"ms","otherData":${otherData},"traceEvents":[\n${lines}\n]}\n`;
}

function traceEvents({ name, recorder }: TracedRun, pid: number): TraceEvent[] {
  const { tasks } = recorder;
  const requests = [...recorder.requests].sort((a, b) => a.id - b.id);
  let originNs = Infinity;
  for (const { arrivalNs } of requests) {
    originNs = Math.min(originNs, arrivalNs);
  }
  for (const { startNs } of tasks) originNs = Math.min(originNs, startNs);
  const track = new Track(pid, originNs);
  track.events.push({
    ph: "M",
    pid,
    tid: 0,
    name: "process_name",
    args: { name },
  });
  if (requests.length < recorder.requestsSeen) track.stop(recorder);
  track.queue(recorder);

  const byWorker = groupBy(tasks, (task) => [task.worker]);
  for (const worker of [...byWorker.keys()].sort((a, b) => a - b)) {
    track.open(worker, `worker ${worker}`);
    for (const task of inOrder(byWorker.get(worker)!)) {
      const reason = recorder.reasons.get(task.launchId);
      track.slice(worker, workerSlice(task, reason, track));
    }
  }

  const byRequest = groupBy(tasks, (task) => new Set(task.requests));
  let tid = FIRST_REQUEST_TRACK;
  for (const request of requests) {
    const own = (byRequest.get(request.id) ?? []).filter((task) =>
      task.startNs < request.endNs
    );
    lanes(inOrder(own)).forEach((lane, k) => {
      track.open(
        tid,
        k === 0
          ? `request ${request.id}`
          : `request ${request.id}, side by side ${k}`,
      );
      const slices = lane.map((task) => requestSlice(task, request));
      if (k === 0) track.request(tid, request, slices);
      else slices.forEach((slice) => track.slice(tid, slice));
      tid++;
    });
  }
  return track.events;
}

function workerSlice(
  task: TaskRecord,
  reason: LaunchReason | undefined,
  track: Track,
): Slice {
  const {
    cell,
    startNs,
    endNs,
    rows,
    padding,
    speculative,
    requests,
    launchId,
  } = task;
  return {
    name: cell,
    startNs,
    endNs,
    args: {
      rows,
      padding,
      speculative,
      launch: launchId,
      requests: requests.join(" "),
      ...(reason && {
        why: reason.why,
        decidedUs: track.us(reason.atNs),
        ...(reason.notes.length > 0 && { notes: reason.notes.map(tellNote) }),
      }),
    },
  };
}

function requestSlice(task: TaskRecord, request: RequestRecord): Slice {
  const { cell, rows, startNs, endNs, worker } = task;
  const own = task.requests.reduce(
    (count, id) => count + (id === request.id ? 1 : 0),
    0,
  );
  return {
    name: `${cell} (${rows} rows)`,
    startNs,
    endNs: Math.min(endNs, request.endNs),
    args: { worker, ...(own > 1 && { ownRows: own }) },
  };
}

/** Changes of the queue's length in order of time, up to when the last recorded request departs. */
function queueDepths(
  { queuedNs, dequeuedNs, requests }: TraceRecorder,
): { atNs: number; depth: number }[] {
  const lastNs = requests.reduce(
    (last, { endNs }) => Math.max(last, endNs),
    -Infinity,
  );
  const arrivals = ascending(queuedNs.values());
  const starts = ascending(dequeuedNs.values());
  const depths: { atNs: number; depth: number }[] = [];
  for (let came = 0, went = 0; went < starts.length;) {
    const atNs = Math.min(arrivals[came] ?? Infinity, starts[went]);
    if (atNs > lastNs) break;
    while (arrivals[came] === atNs) came++;
    while (starts[went] === atNs) went++;
    depths.push({ atNs, depth: came - went });
  }
  return depths;
}

/** Writes the events of one process. */
class Track {
  readonly events: TraceEvent[] = [];

  constructor(readonly pid: number, readonly originNs: number) {}

  open(tid: number, name: string): void {
    const { pid } = this;
    this.events.push({
      ph: "M",
      pid,
      tid,
      name: "thread_name",
      args: { name },
    });
    this.events.push({
      ph: "M",
      pid,
      tid,
      name: "thread_sort_index",
      args: { sort_index: tid },
    });
  }

  /** Says that later requests are not shown, as the process's label and where the first of them arrives. */
  stop({ requests, requestsSeen, stopNs }: TraceRecorder): void {
    const { pid } = this;
    const part = `first ${formatCount(requests.length)} of ${
      formatCount(requestsSeen)
    } requests`;
    this.events.push({
      ...{ ph: "M", pid, tid: 0, name: "process_labels" },
      args: { labels: part },
    }, {
      ...{ ph: "i", s: "p", pid, tid: 0, ts: this.us(stopNs) },
      name: `the trace stops here: ${part}`,
    });
  }

  /** The requests that wait for their first task, as a counter. */
  queue(recorder: TraceRecorder): void {
    const { pid } = this;
    for (const { atNs, depth } of queueDepths(recorder)) {
      this.events.push({
        ...{ ph: "C", pid, tid: 0, name: "queue depth", ts: this.us(atNs) },
        args: { requests: depth },
      });
    }
  }

  slice(tid: number, { name, startNs, endNs, args }: Slice): void {
    this.#begin(tid, name, startNs, args);
    this.#end(tid, endNs);
  }

  /** From arrival to departure; within, the wait for the first task and every task. */
  request(tid: number, request: RequestRecord, slices: readonly Slice[]): void {
    const { arrivalNs, startNs, endNs, outcome, model, nodes } = request;
    this.#begin(tid, `request ${request.id}`, arrivalNs, {
      outcome,
      model,
      nodes,
    });
    // Of one that was given up while its first task ran, only that task knows that it began.
    const waitedUntilNs = Number.isNaN(startNs)
      ? slices[0]?.startNs ?? endNs
      : startNs;
    if (waitedUntilNs > arrivalNs) {
      this.slice(tid, {
        name: "queued",
        startNs: arrivalNs,
        endNs: waitedUntilNs,
        args: {},
      });
    }
    for (const slice of slices) this.slice(tid, slice);
    this.#end(tid, endNs);
  }

  #begin(tid: number, name: string, atNs: number, args: Slice["args"]): void {
    this.events.push({
      ph: "B",
      pid: this.pid,
      tid,
      name,
      ts: this.us(atNs),
      args,
    });
  }

  #end(tid: number, atNs: number): void {
    this.events.push({ ph: "E", pid: this.pid, tid, ts: this.us(atNs) });
  }

  us(atNs: number): number {
    return (atNs - this.originNs) / NS_PER_US;
  }
}

function groupBy(
  tasks: readonly TaskRecord[],
  keys: (task: TaskRecord) => Iterable<number>,
): Map<number, TaskRecord[]> {
  const groups = new Map<number, TaskRecord[]>();
  for (const task of tasks) {
    for (const key of keys(task)) {
      const group = groups.get(key);
      if (group === undefined) groups.set(key, [task]);
      else group.push(task);
    }
  }
  return groups;
}

function inOrder(tasks: readonly TaskRecord[]): TaskRecord[] {
  return [...tasks].sort((a, b) => a.startNs - b.startNs || a.id - b.id);
}

/** Splits tasks in order of start into lanes without overlap; there is always a first lane. */
function lanes(tasks: readonly TaskRecord[]): TaskRecord[][] {
  const all: TaskRecord[][] = [[]];
  for (const task of tasks) {
    const free = all.find((lane) =>
      lane.length === 0 || lane[lane.length - 1].endNs <= task.startNs
    );
    if (free === undefined) all.push([task]);
    else free.push(task);
  }
  return all;
}
