/**
 * Opens streams, feeds, parks, resumes, resets, snapshots and closes them as it is told, and compares: every result
 * with that of a stream alone in a fresh engine which has seen the frames that this one has seen.
 */
import assert from "node:assert/strict";
import {
  CellError,
  ClosedError,
  DeadlineError,
  QueueFullError,
} from "../../src/engine/core/errors.ts";
import type { Result } from "../../src/graph/result.ts";
import type { Frame, StreamModel } from "../../src/graph/stream_model.ts";
import { aloneFrames, STREAMED } from "./stream_models.ts";

/** What can be asked of a stream between frames. */
export type Request = "reset" | "park" | "resume" | "close" | "reject";

/** One thing to do. Whom and what it is about are numbers, of which as much is used as there are choices. */
export interface StreamOp {
  readonly does:
    | "open"
    | "restore"
    | "push"
    | "burst"
    | "late"
    | "cancel"
    | "snapshot"
    | Request;
  readonly who: number;
  readonly value: number;
}

/** How a frame ended. */
export interface FrameEnding {
  readonly result?: Result;
  readonly error?: unknown;
}

/** A stream of whatever engine. */
export interface AnyStream {
  readonly frames: number;
  readonly pending: number;
  /** @returns cancels it */
  push(
    frame: Frame,
    late: boolean,
    onEnd: (ending: FrameEnding) => void,
  ): () => void;
  ask(what: Request, onEnd: (error?: unknown) => void): void;
  snapshot(onEnd: (snapshot?: Uint8Array, error?: unknown) => void): void;
}

/** An engine with streams. */
export interface StreamWorld {
  /** Frames that may wait in a stream. */
  readonly pendingMax: number;
  /** There may be no room for all of its streams. */
  readonly isTight: boolean;
  /** @throws QueueFullError */
  open(model: StreamModel, snapshot?: Uint8Array): AnyStream;
}

/** A snapshot, and the frames that it has seen. */
interface Taken {
  readonly of: number;
  bytes: Uint8Array | undefined;
  frames: readonly number[];
}

type Entry =
  | { readonly is: "reset" }
  | { readonly is: "snapshot"; readonly taken: Taken }
  | PushedFrame;

interface PushedFrame {
  readonly is: "frame";
  readonly number: number;
  readonly mayBe: Set<string>;
  cancel: () => void;
  ending: FrameEnding | undefined;
}

interface Player {
  readonly stream: AnyStream;
  /** Index into STREAMED. */
  readonly of: number;
  readonly from: Taken | undefined;
  readonly log: Entry[];
  isOpen: boolean;
}

const BURST = 3;

/** Plays with the streams of one engine. */
export class StreamPlayer {
  readonly #world: StreamWorld;
  /** In order of opening. */
  readonly #players: Player[] = [];
  readonly #taken: Taken[] = [];
  /** Requests that have not been answered. */
  #outstanding = 0;
  #faults: unknown[] = [];
  /** Frames that gave results. */
  done = 0;

  constructor(world: StreamWorld) {
    this.#world = world;
  }

  get #open(): Player[] {
    return this.#players.filter(({ isOpen }) => isOpen);
  }

  play({ does, who, value }: StreamOp): void {
    if (does === "open") return this.#enter(value % STREAMED.length);
    if (does === "restore") {
      const ready = this.#taken.filter(({ bytes }) => bytes);
      if (ready.length === 0) return;
      const taken = ready[value % ready.length];
      return this.#enter(taken.of, taken);
    }
    const open = this.#open;
    if (open.length === 0) return;
    const player = open[who % open.length];
    switch (does) {
      case "push":
      case "late":
        return this.#push(player, value, does === "late");
      case "burst":
        for (let i = 0; i < BURST; i++) this.#push(player, value + i, false);
        return;
      case "cancel":
        return this.#cancel(player);
      case "snapshot":
        return this.#snapshot(player);
      default:
        return this.#ask(player, does);
    }
  }

  #enter(of: number, from?: Taken): void {
    try {
      const stream = this.#world.open(STREAMED[of].model, from?.bytes);
      this.#players.push({ stream, of, from, log: [], isOpen: true });
    } catch (error) {
      if (!this.#world.isTight || !(error instanceof QueueFullError)) {
        throw error;
      }
    }
  }

  #push({ stream, of, log }: Player, number: number, late: boolean): void {
    const { model, frame, fails } = STREAMED[of];
    const entry: PushedFrame = {
      is: "frame",
      number,
      mayBe: new Set(["done"]),
      cancel: () => {},
      ending: undefined,
    };
    log.push(entry);
    const { mayBe } = entry;
    if (fails(number)) {
      mayBe.delete("done");
      mayBe.add(CellError.name);
    }
    if (late) mayBe.add(DeadlineError.name);
    if (stream.pending >= this.#world.pendingMax) {
      mayBe.add(QueueFullError.name);
    }
    entry.cancel = stream.push(frame(number), late, (ending) => {
      if (entry.ending) this.#faults.push(`${model.name} ended twice`);
      entry.ending = ending;
    });
  }

  #cancel({ log }: Player): void {
    const frame = log.findLast((entry): entry is PushedFrame =>
      entry.is === "frame" && entry.ending === undefined
    );
    frame?.mayBe.add("AbortError");
    frame?.cancel();
  }

  #snapshot({ stream, of, log }: Player): void {
    const taken: Taken = { of, bytes: undefined, frames: [] };
    log.push({ is: "snapshot", taken });
    this.#outstanding++;
    stream.snapshot((bytes, error) => {
      this.#outstanding--;
      taken.bytes = bytes;
      if (bytes) this.#taken.push(taken);
      else this.#faults.push(error);
    });
  }

  #ask(player: Player, what: Request): void {
    const { stream, log } = player;
    if (what === "reset") log.push({ is: "reset" });
    if (what === "close" || what === "reject") player.isOpen = false;
    for (const entry of log) {
      if (entry.is !== "frame" || entry.ending) continue;
      if (what === "reject") entry.mayBe.add(ClosedError.name);
    }
    this.#outstanding++;
    stream.ask(what, (error) => {
      this.#outstanding--;
      if (error === undefined) return;
      if (what === "resume" && error instanceof QueueFullError) return;
      this.#faults.push(error);
    });
  }

  /** Closes all streams; what they were asked for is to be done then. */
  end(): void {
    for (const player of this.#open) this.#ask(player, "close");
  }

  /** @throws AssertionError on the first thing that is not as it would be alone */
  check(): void {
    assert.deepEqual(this.#faults, []);
    assert.equal(this.#outstanding, 0, "all that was asked for is done");
    for (const [i, player] of this.#players.entries()) this.#judge(i, player);
  }

  #judge(index: number, { stream, of, from, log }: Player): void {
    const { model, frame } = STREAMED[of];
    let frames: number[] = [...from?.frames ?? []];
    let results: Map<number, Result> = new Map();
    const compare = () => {
      if (results.size === 0) return;
      const alone = aloneFrames(model, frames.map(frame));
      for (const [at, result] of results) {
        assert.deepStrictEqual(
          result,
          alone[at],
          `frame ${at} of stream ${index} (${model.name})`,
        );
      }
    };
    for (const entry of log) {
      if (entry.is === "reset") {
        compare();
        frames = [];
        results = new Map();
      } else if (entry.is === "snapshot") entry.taken.frames = [...frames];
      else {
        this.#judgeEnding(index, entry);
        const { result } = entry.ending!;
        if (result === undefined) continue;
        this.done++;
        results.set(frames.length, result);
        frames.push(entry.number);
      }
    }
    compare();
    assert.equal(stream.frames, frames.length, `frames of stream ${index}`);
  }

  #judgeEnding(index: number, { number, mayBe, ending }: PushedFrame): void {
    const what = `frame number ${number} of stream ${index}`;
    assert(ending !== undefined, `${what} ended`);
    const { error } = ending;
    const way = error === undefined ? "done" : (error as Error).name;
    // A parked stream may find that others have taken its room.
    const isRoom = this.#world.isTight && error instanceof QueueFullError &&
      /^Slot memory is full/.test(error.message);
    assert(
      isRoom || mayBe.has(way),
      `${what} is ${way}, may be ${[...mayBe]}: ${error}`,
    );
  }
}
