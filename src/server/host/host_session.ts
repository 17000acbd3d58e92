/** A stream that outlives engines: its state goes from one to the next by snapshot, between two frames. */
import { checkedOptions } from "../../base/checked_options.ts";
import type { RunResult } from "../../engine/wall/run_result.ts";
import {
  PENDING_MAX,
  STREAM_CHECKS,
  type StreamOptions,
  type StreamSession,
} from "../../engine/wall/stream_session.ts";
import type { Frame, StreamModel } from "../../graph/stream_model.ts";
import type { Entered } from "./entered.ts";
import { UnavailableError } from "./errors.ts";
import { type FrameTurn, FrameTurns } from "./frame_turns.ts";
import type { Generation } from "./generation.ts";
import {
  type AdmittedOptions,
  type HostRunOptions,
  RUN_CHECKS,
} from "./run_options.ts";
import type { ServedModel } from "./served_model.ts";

/** What a session has of its host. */
export interface SessionDoor {
  /** Where it begins. */
  readonly generation: Generation;
  /** Has a frame admitted, and tells of it. */
  push(
    frame: unknown,
    options: HostRunOptions,
    enter: () => Entered<RunResult>,
  ): Promise<RunResult>;
  /** Hears that it is closed. */
  onClosed(): void;
}

/** A live stream of a served model; `EngineHost.open` makes them. */
export class HostSession {
  readonly #options: StreamOptions;
  readonly #door: SessionDoor;
  readonly #turns: FrameTurns;
  #generation: Generation;
  #stream: StreamSession;
  #leave: () => void;
  /** While it is moved: frames wait for it. */
  #moving: Promise<void> | undefined;
  #closed: Promise<void> | undefined;

  /**
   * Use `EngineHost.open`.
   * @internal
   */
  constructor(
    /** Its model. */
    readonly served: ServedModel,
    options: StreamOptions,
    door: SessionDoor,
  ) {
    const { generation } = door;
    const checked = checkedOptions("open()", options, STREAM_CHECKS);
    // Two at least: the engine lets no result lie (lingerMs) that it knows the next frame to wait for.
    const pendingMax = Math.max(2, checked.pendingMax ?? PENDING_MAX);
    this.#options = { ...checked, pendingMax };
    this.#door = door;
    this.#stream = generation.engine.open(this.#model, this.#options);
    // One less than there is room for: a frame that has ended early may be in flight still.
    this.#turns = new FrameTurns(pendingMax);
    this.#generation = generation;
    this.#leave = generation.use();
  }

  /** Frames done since it began. */
  get frames(): number {
    return this.#stream.frames;
  }

  /** Whether it takes no frame any more. */
  get closed(): boolean {
    return this.#closed !== undefined || this.#stream.closed;
  }

  /** Whoever it is, the engine looks whether it is one of streams. */
  get #model(): StreamModel {
    return this.served.model as StreamModel;
  }

  /**
   * As `StreamSession.push`, but that those beyond `pendingMax` wait. Frames are computed in the order of the calls,
   * whatever their priorities; one that comes while it moves is the first one that it computes there.
   * @param frame not copied: it is read when its turn has come, and is to stay as it is until its promise is settled
   */
  async push(frame: Frame, options: HostRunOptions = {}): Promise<RunResult> {
    const own = checkedOptions("A request to a host", options, RUN_CHECKS);
    const { finishMs = this.#options.deadlineMs } = own;
    const timed = { ...own, ...(finishMs !== undefined && { finishMs }) };
    return await this.#door.push(frame, timed, () => {
      if (this.#closed) throw new UnavailableError("The stream is closed");
      const turn = this.#turns.join();
      return { turn, begin: (admitted) => this.#begin(frame, turn, admitted) };
    });
  }

  async #begin(
    frame: Frame,
    turn: FrameTurn,
    { label, signal, finishMs }: AdmittedOptions,
  ): Promise<RunResult> {
    while (this.#moving) await this.#moving;
    const pushed = this.#stream.push(frame, {
      label,
      ...(signal && { signal }),
      ...(finishMs !== undefined && { deadlineMs: finishMs }),
    });
    // What the engine does not take it has refused by now.
    await Promise.race([pushed, undefined]);
    turn.taken();
    return await pushed;
  }

  /** As `StreamSession.park`. */
  async park(): Promise<void> {
    while (this.#moving) await this.#moving;
    if (!this.#closed) await this.#stream.park();
  }

  /** Finishes the frames that were pushed and gives its memory away. */
  close(): Promise<void> {
    return this.#closed ??= this.#close();
  }

  async #close(): Promise<void> {
    // Some may wait for admission still. Where there are none its room is free when this returns: another may want it.
    if (!this.#turns.isIdle) await this.#turns.idle();
    while (this.#moving) await this.#moving;
    await this.#stream.close();
    this.#leave();
    this.#door.onClosed();
  }

  /**
   * Goes on in another engine, if that serves the same model; otherwise, and where there is no room for it, it stays
   * where it is, and its engine with it.
   * @internal
   */
  async moveTo(next: Generation | undefined): Promise<void> {
    while (this.#moving) await this.#moving;
    if (!next?.models.has(this.served) || this.closed) return;
    this.#moving = this.#move(next).finally(() => this.#moving = undefined);
    await this.#moving;
  }

  async #move(next: Generation): Promise<void> {
    const before = this.#stream;
    let stream: StreamSession;
    try {
      const snapshot = await before.snapshot();
      stream = next.engine.open(this.#model, {
        ...this.#options,
        snapshot,
      });
    } catch {
      // Its engine lives as long as it does.
      return;
    }
    this.#leave();
    this.#leave = next.use();
    this.#generation = next;
    this.#stream = stream;
    await before.close();
  }
}
