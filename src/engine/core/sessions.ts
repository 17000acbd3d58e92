/**
 * Order within sessions: a frame begins when the one before has left nothing in flight, nor rows in a launch of several
 * steps that is not over, and whatever else is done to a session (parked, reset, closed) when all frames pushed before
 * have ended.
 *
 * A session is looked after by `next`, which the engine asks when it pumps: by then the policy has heard of all that
 * became of the frame before, whose nodes are used again.
 */
import { Fifo } from "../../base/fifo.ts";
import type { Model } from "../../graph/model.ts";
import type { StreamModel } from "../../graph/stream_model.ts";
import type { TensorData } from "../../tensor/tensor.ts";
import { ActiveRequest, type ActiveSession } from "./active_request.ts";
import { checkKnown } from "./check_models.ts";
import { ClosedError, QueueFullError } from "./errors.ts";
import type { Executor, SessionMemory } from "./executor.ts";
import { readSnapshot, snapshotOf } from "./snapshot.ts";
import { Session, type SessionAction } from "./session.ts";

interface KnownModels {
  knows(model: Model): boolean;
}

/** All sessions of an engine. */
export class Sessions {
  readonly #executor: Executor;
  readonly #models: KnownModels;
  readonly #open = new Set<ActiveSession>();
  /** Sessions in which something waits and nothing is under way. */
  readonly #ready = new Fifo<ActiveSession>();
  /** Sessions with room that may be parked: the longest ago that one was opened, resumed or fed, the earlier. */
  readonly #parkable = new Set<ActiveSession>();
  /** What is to be done between frames and was not yet. */
  #due = 0;

  /**
   * @internal
   * @param models those that the engine knows
   */
  constructor(executor: Executor, models: KnownModels) {
    this.#executor = executor;
    this.#models = models;
  }

  /** Sessions that are not closed. */
  get count(): number {
    return this.#open.size;
  }

  /** Whether something is to be done between frames when those before have ended. */
  get awaitsFrames(): boolean {
    return this.#due > 0;
  }

  /**
   * Opens a session, whose frames are submitted with it.
   * @param pendingMax frames that may wait for the one under way
   * @param snapshot what it is to go on with; default: as the model says that it begins
   * @param parksIdle may be parked while it is idle, when another one finds no room
   * @throws TypeError or RangeError on a model that is none of streams or not the engine's, or a snapshot of
   * another one; QueueFullError when there is no room now, RangeError when there never is
   */
  open(
    model: StreamModel,
    pendingMax: number,
    snapshot?: Uint8Array,
    parksIdle = false,
  ): ActiveSession {
    checkKnown(model, this.#models);
    const session: ActiveSession = new Session(
      model,
      pendingMax,
      parksIdle,
    );
    if (snapshot !== undefined) {
      const { stateBytes } = session.frame;
      const { saved, framesDone } = readSnapshot(model, stateBytes, snapshot);
      session.saved = saved;
      session.framesDone = framesDone;
    }
    this.resume(session);
    this.#open.add(session);
    return session;
  }

  /**
   * A frame of a session comes in. If it may not begin at once it is `waiting`.
   * @param input see StreamModel; what waits is copied
   * @param into arrays for results, by name
   * @throws TypeError or RangeError on a frame that is none, ClosedError, QueueFullError
   */
  take(
    request: ActiveRequest,
    input: unknown,
    into: Readonly<Record<string, TensorData>> | undefined,
  ): void {
    const session = request.session!;
    if (session.isClosed) throw new ClosedError("The stream is closed");
    // Before the frame: it may run code of the caller's, and what the frame brings is written as it was checked.
    const arrays = into && session.frame.readInto(into);
    const values = session.frame.read(input);
    if (isFree(session)) {
      request.rows = { values, into: arrays };
      return;
    }
    if (session.waiting >= session.pendingMax) {
      throw new QueueFullError(
        `${session.waiting} frames of this stream wait for the one under way, pendingMax is ${session.pendingMax}; ` +
          `push later, or raise it`,
      );
    }
    request.rows = { values: session.copyOf(values), into: arrays };
    request.waiting = { input: undefined, bytes: 0 };
    session.line.push(request);
    session.waiting++;
  }

  /**
   * A frame begins: its rows are written, its nodes wait.
   * @throws what the executor throws when a parked session finds no room
   */
  begin(request: ActiveRequest): void {
    const session = request.session!;
    this.resume(session);
    this.#executor.admit(request);
    this.#used(session);
    session.current = request;
    session.frame.begin(request);
  }

  /** A frame that waited begins, or ends without. */
  leave(request: ActiveRequest): void {
    const session = request.session!;
    session.line.delete(request);
    session.waiting--;
    session.giveBack(request.rows!.values);
    request.waiting = undefined;
  }

  /** A frame has ended, nothing of it is in flight, and no launch that the policy will hear of has nodes of it. */
  over(request: ActiveRequest): void {
    const session = request.session!;
    // The graph knows its owner until the next frame; what it brought is the caller's.
    request.rows = undefined;
    session.current = undefined;
    if (session.line.size > 0) this.#ready.push(session);
  }

  /**
   * Does something between two frames: now, if none is under way, or when all that were pushed before have ended.
   */
  after(session: ActiveSession, action: SessionAction): void {
    if (isFree(session)) return action.run();
    session.line.push(action);
    this.#due++;
  }

  /** A frame whose turn it is; what was to be done before is done. It waits until it begins or departs. */
  next(): ActiveRequest | undefined {
    const ready = this.#ready;
    for (let session = ready.first; session; session = ready.first) {
      const { line } = session;
      while (session.current === undefined && line.size > 0) {
        const head = line.first!;
        if (head instanceof ActiveRequest) return head;
        line.shift();
        this.#due--;
        head.run();
      }
      ready.shift();
    }
    return undefined;
  }

  /**
   * Gives a parked session its room back, with what it had in it.
   * @throws QueueFullError when there is none now, RangeError when there never is
   */
  resume(session: ActiveSession): void {
    if (session.isResident) return;
    this.#makeRoom(session);
    this.#memory.load(session, session.saved);
    session.isResident = true;
    session.saved = undefined;
    this.#used(session);
  }

  /** It is the last to be parked. */
  #used(session: ActiveSession): void {
    if (!session.parksIdle) return;
    this.#parkable.delete(session);
    this.#parkable.add(session);
  }

  /** Where there is none, idle sessions that may be are parked, the longest idle first. */
  #makeRoom(session: ActiveSession): void {
    for (;;) {
      try {
        return this.#memory.open(session);
      } catch (error) {
        const idle = error instanceof QueueFullError
          ? this.#longestIdle()
          : undefined;
        if (idle === undefined) throw error;
        this.park(idle);
      }
    }
  }

  #longestIdle(): ActiveSession | undefined {
    for (const session of this.#parkable) if (isFree(session)) return session;
    return undefined;
  }

  /** Copies a session's state out and gives its room away. */
  park(session: ActiveSession): void {
    if (!session.isResident) return;
    session.saved = this.#memory.save(session);
    this.#vacate(session);
  }

  /** Its state in bytes, for `open`. */
  snapshot(session: ActiveSession): Uint8Array {
    const state = session.isResident
      ? this.#memory.save(session)
      : session.saved ?? session.frame.initialState();
    return snapshotOf(session, state);
  }

  /** The session begins again. */
  reset(session: ActiveSession): void {
    session.framesDone = 0;
    session.saved = undefined;
    if (session.isResident) this.#memory.load(session, undefined);
  }

  /** Gives a session's room away for good. */
  close(session: ActiveSession): void {
    session.isClosed = true;
    session.saved = undefined;
    if (session.isResident) this.#vacate(session);
    this.#open.delete(session);
  }

  /** The engine ends: what was to be done is not. */
  abandon(error: Error): void {
    for (const session of this.#open) {
      session.waiting = 0;
      for (const entry of session.line) {
        if (!(entry instanceof ActiveRequest)) entry.abandon(error);
      }
    }
    this.#open.clear();
    this.#parkable.clear();
  }

  #vacate(session: ActiveSession): void {
    this.#memory.close(session);
    session.isResident = false;
    session.forgetCopies();
    this.#parkable.delete(session);
  }

  get #memory(): SessionMemory {
    const { sessions } = this.#executor;
    if (sessions !== undefined) return sessions;
    throw new TypeError("This engine's executor keeps no sessions");
  }
}

/** Nothing is under way, and nothing waits. */
function isFree({ current, line }: ActiveSession): boolean {
  return current === undefined && line.size === 0;
}
