/**
 * What a server does, as it does it, for the page that shows it: a frame every fifth of a second, with the tasks that
 * workers executed and who was in them, the requests that ended, how many run and wait; and now and then how long batches
 * take by their size. Nothing is gathered while nobody looks; a frame has a most that it tells; and who reads too slowly
 * gets fewer frames, not later ones.
 */
import { nsToMs } from "../../base/units.ts";
import { absoluteMsOf, wallNs } from "../../engine/wall/clock.ts";
import type { Task } from "../../policy/launch.ts";
import type { Observer, TaskRecord } from "../../policy/records.ts";
import type {
  HostEnding,
  HostObserver,
  ModelVersion,
} from "../host/host_observer.ts";
import type { HostRequest } from "../host/host_request.ts";
import { servedLabel, type ServedModel } from "../host/served_model.ts";
import { HttpError } from "../http/http_error.ts";
import { reasonOf } from "../observe/refusal_reason.ts";

const FRAME_MS = 200;

/** Of a frame: tasks, requests that are named in them, those in one task, and requests that ended. */
const TASKS_MAX = 1000;
const NAMED_MAX = 4000;
const ROWS_MAX = 64;
const ENDED_MAX = 500;

/** Frames from one curve to the next. */
const CURVE_EVERY = 5;

/** Batch sizes of which a curve keeps times, of every cell; larger ones are left out. */
const CURVE_ROWS_MAX = 256;

/** Pages that look at once. */
const READERS_MAX = 8;

/** Frames that a reader may be behind. */
const BEHIND_MAX = 4;

/** Weight of a batch in the mean of its size. */
const CURVE_WEIGHT = 1 / 16;

/** A task: worker, cell, start in milliseconds since 1970, milliseconds, rows, padding, labels of its first rows. */
type TaskLine = readonly [
  worker: number,
  cell: string,
  startMs: number,
  ranMs: number,
  rows: number,
  padding: number,
  labels: readonly string[],
];

/** A request that ended: label, model, milliseconds in all and in batches, "done" or why not. */
type EndedLine = readonly [
  label: string,
  model: string,
  tookMs: number,
  ranMs: number,
  how: string,
];

interface Reader {
  readonly controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>;
}

/** Gathers for whoever reads. */
export class LiveFeed implements HostObserver {
  readonly #sloMs: number | undefined;
  readonly #readers = new Set<Reader>();
  readonly #encoder = new TextEncoder();
  /** Mean nanoseconds of batches, by cell and rows: 0 where there was none. */
  readonly #curves = new Map<string, Float64Array>();
  /** Names of a version's cells, by its label. */
  readonly #cells = new Map<string, readonly string[]>();
  #timer: ReturnType<typeof setInterval> | undefined;
  #tasks: TaskLine[] = [];
  #ended: EndedLine[] = [];
  #named = 0;
  #leftOut = 0;
  /** Of this frame, those left out included. */
  #done = 0;
  #refused = 0;
  #frames = 0;
  #running = 0;
  #waiting = 0;
  #policy = "";
  #isClosed = false;
  readonly #started = new Set<string>();

  /** @param sloMs the server's target, if there is one */
  constructor(sloMs?: number) {
    this.#sloMs = sloMs;
  }

  /**
   * Frames as server-sent events, until the reader leaves; none of a server that closes: pages ask again until there is
   * one that goes on.
   * @throws HttpError 503 when enough look already
   */
  read(): ReadableStream<Uint8Array<ArrayBuffer>> {
    if (this.#readers.size === READERS_MAX) {
      throw new HttpError(503, `${READERS_MAX} pages look already`);
    }
    let reader: Reader;
    return new ReadableStream<Uint8Array<ArrayBuffer>>({
      start: (controller) => {
        if (this.#isClosed) return controller.close();
        reader = { controller };
        this.#readers.add(reader);
        this.#send(reader, {
          policy: this.#policy,
          ...(this.#sloMs !== undefined && { slo_ms: this.#sloMs }),
          curves: this.#curveLines(),
        });
        this.#timer ??= setInterval(() => this.#frame(), FRAME_MS);
      },
      cancel: () => this.#leave(reader),
    }, { highWaterMark: BEHIND_MAX });
  }

  /** Nobody reads any more; for servers that close. */
  close(): void {
    this.#isClosed = true;
    for (const reader of this.#readers) {
      reader.controller.close();
      this.#leave(reader);
    }
  }

  /** See HostObserver. */
  engine(
    _generation: number,
    models: readonly ServedModel[],
    policy: string,
  ): Observer {
    this.#policy = policy;
    for (const served of models) {
      const names = served.model.cells.map(({ name }) => name);
      this.#cells.set(servedLabel(served), names);
    }
    return { task: (task, record) => this.#ran(task, record) };
  }

  /** See HostObserver. */
  forget(version: ModelVersion): void {
    this.#cells.delete(servedLabel(version));
    const known = new Set([...this.#cells.values()].flat());
    for (const cell of this.#curves.keys()) {
      if (!known.has(cell)) this.#curves.delete(cell);
    }
  }

  /** See HostObserver. */
  arrived(): void {
    this.#waiting++;
  }

  /** See HostObserver. */
  started({ label }: HostRequest): void {
    this.#started.add(label);
    this.#waiting--;
    this.#running++;
  }

  /** See HostObserver. */
  ended(
    { label, served, arrivalNs }: HostRequest,
    { outcome, endNs, timing, error }: HostEnding,
  ): void {
    if (this.#started.delete(label)) this.#running--;
    else this.#waiting--;
    if (this.#readers.size === 0) return;
    if (outcome === "done") this.#done++;
    else this.#refused++;
    if (this.#ended.length === ENDED_MAX) {
      this.#leftOut++;
      return;
    }
    this.#ended.push([
      label,
      served.name,
      nsToMs(endNs - arrivalNs),
      timing?.ranMs ?? 0,
      outcome === "done" ? outcome : reasonOf(error),
    ]);
  }

  #ran(
    { nodes }: Task,
    { worker, cell, rows, padding, startNs, endNs }: TaskRecord,
  ): void {
    if (rows === 0) return;
    this.#addToCurve(cell, rows + padding, endNs - startNs);
    if (this.#readers.size === 0) return;
    const named = Math.min(nodes.length, ROWS_MAX);
    if (this.#tasks.length === TASKS_MAX || this.#named + named > NAMED_MAX) {
      this.#leftOut++;
      return;
    }
    this.#named += named;
    this.#tasks.push([
      worker,
      cell,
      absoluteMsOf(startNs),
      nsToMs(endNs - startNs),
      rows,
      padding,
      nodes.slice(0, ROWS_MAX).map(({ graph: { owner } }) =>
        owner.label ?? `#${owner.id}`
      ),
    ]);
  }

  #addToCurve(cell: string, rows: number, ns: number): void {
    if (rows > CURVE_ROWS_MAX) return;
    let means = this.#curves.get(cell);
    if (means === undefined) {
      means = new Float64Array(CURVE_ROWS_MAX + 1);
      this.#curves.set(cell, means);
    }
    means[rows] = means[rows] === 0
      ? ns
      : means[rows] + CURVE_WEIGHT * (ns - means[rows]);
  }

  #curveLines(): Record<string, (readonly [rows: number, ms: number])[]> {
    return Object.fromEntries(
      [...this.#curves].map(([cell, means]) => [
        cell,
        Array.from(means, (ns, rows) => [rows, nsToMs(ns)] as const)
          .filter(([, ms]) => ms > 0),
      ]),
    );
  }

  #frame(): void {
    const frame = {
      at_ms: absoluteMsOf(wallNs()),
      running: this.#running,
      waiting: this.#waiting,
      tasks: this.#tasks,
      ended: this.#ended,
      done: this.#done,
      refused: this.#refused,
      left_out: this.#leftOut,
      ...(++this.#frames % CURVE_EVERY === 0 &&
        { curves: this.#curveLines() }),
    };
    this.#tasks = [];
    this.#ended = [];
    this.#named = 0;
    this.#leftOut = this.#done = this.#refused = 0;
    for (const reader of this.#readers) this.#send(reader, frame);
  }

  #send({ controller }: Reader, frame: unknown): void {
    if ((controller.desiredSize ?? 0) <= 0) return;
    const text = `data: ${JSON.stringify(frame)}\n\n`;
    controller.enqueue(this.#encoder.encode(text));
  }

  #leave(reader: Reader): void {
    this.#readers.delete(reader);
    if (this.#readers.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#tasks = [];
    this.#ended = [];
    this.#named =
      this.#leftOut =
      this.#done =
      this.#refused =
        0;
  }
}
