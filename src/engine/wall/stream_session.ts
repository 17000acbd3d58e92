import {
  anything,
  checkedOptions,
  type Checks,
  ofType,
  positive,
  positiveInteger,
} from "../../base/checked_options.ts";
import { describe } from "../../base/describe.ts";
import { msToNs } from "../../base/units.ts";
import type { OutputTypes, Result } from "../../graph/result.ts";
import type { Frame, StreamModel } from "../../graph/stream_model.ts";
import type { DataOf, Dtype, TensorData } from "../../tensor/tensor.ts";
import { ActiveRequest, type ActiveSession } from "../core/active_request.ts";
import type { EngineCore } from "../core/engine.ts";
import type { Submission } from "../core/engine_options.ts";
import { ClosedError } from "../core/errors.ts";
import { wallNs } from "./clock.ts";
import { orderedResults } from "./ordered_results.ts";
import type { RunResult } from "./run_result.ts";
import { timingOf } from "./timing.ts";
import { watchSignal } from "./watch_signal.ts";

/** Options of {@linkcode ServingEngine.open}. */
export interface StreamOptions {
  /**
   * A deadline for each frame: one that is not done so many milliseconds after its push is ended with a
   * DeadlineError, and leaves the state as it found it. Default Infinity.
   */
  deadlineMs?: number;
  /** Frames that may wait for the one under way; a further one is refused. Default 32. */
  pendingMax?: number;
  /**
   * Whether the stream may be parked while it is idle, when another stream finds no slot: those that have been idle for
   * the longest first. Its next frame brings it back. Default false.
   */
  parkIdle?: boolean;
  /** What `snapshot` of a stream of this model returned, here or in another process: the stream goes on from there. */
  snapshot?: Uint8Array;
}

/**
 * Options of {@linkcode StreamSession.push}.
 * @typeParam O see StreamModel
 */
export interface FrameOptions<O extends OutputTypes = OutputTypes> {
  /** Cancels the frame, which leaves the state as it found it; its promise is rejected with the signal's reason. */
  signal?: AbortSignal;
  /** As in StreamOptions, for this frame. */
  deadlineMs?: number;
  /** As in RequestOptions. */
  label?: string;
  /**
   * Arrays that results are written to, by name; default: fresh ones. Not to be looked at before the promise is
   * resolved; where it is rejected they may have been written.
   */
  into?: { readonly [Name in keyof O]?: DataOf<NonNullable<O[Name]>> };
}

/** Options of {@linkcode StreamSession.pipe}. */
export interface PipeOptions {
  /** As in StreamOptions, for these frames. */
  deadlineMs?: number;
  /** Frames that are under way or wait at once, at most; default 4, or `pendingMax` + 1 if that is less. */
  ahead?: number;
  /**
   * Hears of frames without a result (too late, failed), by their number from 0 on, which are left out then. A promise
   * that it returns is waited for; what it throws, or that is rejected with, ends the iteration.
   * Default: the first one ends the iteration with its error, as one that finds stream or engine closed always does.
   */
  onError?: (error: Error, index: number) => void;
}

/** Frames that may wait, unless told. */
export const PENDING_MAX = 32;

/** Frames of a pipe under way at once, unless told. */
const AHEAD = 4;

/** Of the options of `ServingEngine.open`. */
export const STREAM_CHECKS: Checks<StreamOptions> = {
  deadlineMs: positive,
  pendingMax: positiveInteger,
  parkIdle: ofType("boolean"),
  // Whatever it is, readSnapshot finds out.
  snapshot: anything,
};

const FRAME_CHECKS: Checks<FrameOptions> = {
  signal: anything,
  deadlineMs: positive,
  label: ofType("string"),
  into: ofType("object"),
};

const PIPE_CHECKS: Checks<PipeOptions> = {
  deadlineMs: positive,
  ahead: positiveInteger,
  onError: ofType("function"),
};

/** What a stream needs of its engine. */
export interface StreamHost {
  readonly core: EngineCore;
  /** Whether the core is in the middle of something. */
  readonly isBusy: boolean;
  /** Why nothing is taken any more. */
  refusal(): Error | undefined;
  /** What has ended the engine: what was asked for before is not done either. */
  failure(): Error | undefined;
  /** Delivers what was done and has not been told of yet. */
  comeBy(): void;
  /** Does something to the core: now, or, from inside a callback that it called, as soon as it is done. */
  do(action: () => void): void;
  /** Lets the engine look around, once for all who ask in a turn of the event loop. */
  turnSoon(): void;
}

/**
 * A live stream: a model's state, and frames that come one after the other. `ServingEngine.open` makes them. What is
 * asked of a stream is done in the order of the calls; frames of different streams share batches, and a frame's
 * result is the same bits as if the stream were alone.
 *
 * @example
 * ```ts
 * import { cellular, gruStream, ServingEngine } from "@shoal/core";
 *
 * const model = gruStream({ hidden: 64, features: 3 });
 * await using engine = await ServingEngine.create({ models: [model], policy: cellular() });
 * const stream = engine.open(model, { deadlineMs: 1000 });
 * const { outputs } = await stream.push({ x: Float32Array.of(0.1, 0.2, 0.3) });
 * console.log(outputs.h.data);
 *
 * const snapshot = await stream.snapshot();
 * await stream.close();
 * const again = engine.open(model, { snapshot }); // goes on with the second frame
 * for await (const { outputs } of again.pipe([{ x: [0.4, 0.5, 0.6] }])) console.log(outputs.h.data);
 * await again.close();
 * ```
 * @typeParam I see StreamModel
 * @typeParam O see StreamModel
 */
export class StreamSession<
  I extends string = string,
  O extends OutputTypes = OutputTypes,
> {
  readonly #host: StreamHost;
  readonly #session: ActiveSession;
  readonly #deadlineMs: number;
  #closing: Promise<void> | undefined;

  /**
   * Use `ServingEngine.open`.
   * @internal
   */
  constructor(
    host: StreamHost,
    /** What its frames go through. */
    readonly model: StreamModel<I, O>,
    options: StreamOptions,
  ) {
    const { deadlineMs = Infinity, parkIdle = false, ...session } =
      checkedOptions("open()", options, STREAM_CHECKS);
    const { pendingMax = PENDING_MAX, snapshot } = session;
    this.#host = host;
    this.#deadlineMs = deadlineMs;
    const checkOpen = () => {
      const refusal = host.refusal();
      if (refusal) throw refusal;
    };
    checkOpen();
    host.comeBy();
    // What was delivered may have ended the engine.
    checkOpen();
    this.#session = host.core.sessions.open(
      model,
      pendingMax,
      snapshot,
      parkIdle,
    );
  }

  /** Frames done since it began, or was reset; those before a snapshot count. */
  get frames(): number {
    return this.#session.framesDone;
  }

  /** Frames that wait for the one under way. */
  get pending(): number {
    return this.#session.waiting;
  }

  /** Whether its state lies outside of the slots; the next frame brings it back. */
  get parked(): boolean {
    return !this.closed && !this.#session.isResident;
  }

  /** Whether it takes no frame any more: it was closed, or the engine. */
  get closed(): boolean {
    return this.#refusal() !== undefined;
  }

  /**
   * The next frame. It is copied, or written where it belongs, before this returns. Resolves with its results;
   * rejects with TypeError or RangeError on a frame that is none of the model's, QueueFullError when `pendingMax`
   * frames wait (or, where the stream is parked, no slot is free), DeadlineError, CellError, WorkerError, ClosedError,
   * or the reason of the signal. The state is then as if the frame had not been pushed, and the stream goes on.
   */
  push(
    frame: Frame<I>,
    options?: FrameOptions<O>,
  ): Promise<RunResult<O>> {
    return new Promise((resolve, reject) => {
      const host = this.#host;
      const session = this.#session;
      const { signal, deadlineMs = this.#deadlineMs, into, label } = options
        ? checkedOptions("push()", options, FRAME_CHECKS)
        : NONE;
      const refusal = this.#refusal();
      if (refusal) throw refusal;
      const arrivalNs = wallNs();
      let input: unknown = frame;
      let arrays = into as Readonly<Record<string, TensorData>> | undefined;
      const isLater = host.isBusy;
      let request: ActiveRequest | undefined;
      let aborted: { reason: unknown } | undefined;
      const unwatch = signal && watchSignal(signal, (reason) => {
        aborted = { reason };
        host.do(() => {
          if (request === undefined) return;
          host.core.cancel(request, wallNs(), reason as Error);
          host.turnSoon();
        });
      });
      host.do(() => {
        try {
          const failure = host.failure();
          if (failure) throw failure;
          if (aborted) throw aborted.reason;
          const submission: Submission = {
            model: session.model,
            session,
            input,
            arrivalNs,
            finishNs: arrivalNs + msToNs(deadlineMs),
            onEnd({ outcome, result, error }, endNs) {
              if (outcome === "done") {
                const timing = timingOf(request!, endNs);
                resolve({ outputs: result as Result<O>, timing });
              } else reject(error);
              unwatch?.();
            },
          };
          // To spread what may be there into it takes as long as the rest of this.
          if (arrays) submission.into = arrays;
          if (label !== undefined) submission.label = label;
          request = host.core.submit(submission);
          host.turnSoon();
        } catch (error) {
          reject(error);
          unwatch?.();
        }
      });
      if (!isLater) return;
      // By then the caller's arrays may be others. It has its place: a frame may push one itself when it is read.
      try {
        arrays &&= session.frame.arraysIn(arrays);
        input = session.copyOfFrame(frame);
      } catch (reason) {
        aborted = { reason };
      }
    });
  }

  /**
   * Pushes frames as they come and gives their results in order. It looks no further ahead than `ahead` frames, and
   * asks for the next frame only when it may push it; the stream stays open when the frames are over.
   * @throws TypeError when they are nothing that can be iterated, or an option is not one
   * @throws what a frame's push is rejected with, unless `onError` hears of it; what the frames' own iterator throws
   */
  pipe(
    frames: AsyncIterable<Frame<I>> | Iterable<Frame<I>>,
    options: PipeOptions = {},
  ): AsyncGenerator<RunResult<O>, void, undefined> {
    const { ahead = AHEAD, onError, deadlineMs } = checkedOptions(
      "pipe()",
      options,
      PIPE_CHECKS,
    );
    checkIterable(frames);
    const frameOptions = deadlineMs === undefined ? undefined : { deadlineMs };
    return orderedResults(
      frames,
      (frame) => this.push(frame, frameOptions),
      Math.min(ahead, this.#session.pendingMax + 1),
      onError && ((error, index) => {
        // Of all frames to come there would be the same to tell.
        const isEnd = error instanceof ClosedError ||
          error === this.#host.refusal();
        if (isEnd) throw error;
        return onError(error, index);
      }),
    );
  }

  /** Begins again: the next frame finds the state that the model begins with. */
  reset(): Promise<void> {
    return this.#after((sessions) => sessions.reset(this.#session));
  }

  /** Copies the state out and gives the slot away. The next frame brings it back, or `resume`. */
  park(): Promise<void> {
    return this.#after((sessions) => sessions.park(this.#session));
  }

  /** Takes a slot again, ahead of the next frame. Rejects with QueueFullError when there is none. */
  resume(): Promise<void> {
    return this.#after((sessions) => sessions.resume(this.#session));
  }

  /** The state after all frames pushed before, in bytes: see StreamOptions.snapshot. */
  snapshot(): Promise<Uint8Array> {
    return this.#after((sessions) => sessions.snapshot(this.#session));
  }

  /**
   * Takes no frame any more and gives the slot away.
   * @param pending what becomes of frames that were pushed: "finish" them (default) or "reject" them with ClosedError;
   * a second call may still reject what the first one would have finished
   */
  close(pending: "finish" | "reject" = "finish"): Promise<void> {
    if (pending !== "finish" && pending !== "reject") {
      return Promise.reject(
        new TypeError(
          `close() takes "finish" or "reject", got ${describe(pending)}`,
        ),
      );
    }
    const { core } = this.#host;
    const session = this.#session;
    if (this.#closing === undefined) {
      // An engine that is being closed finishes its frames, too.
      const closed = this.#after((sessions) => sessions.close(session), false);
      // Behind frames that were pushed from inside the same callback.
      this.#host.do(() => session.isClosed = true);
      // An engine that has ended has no slots left to give away.
      this.#closing = closed.catch(() => {});
    }
    if (pending === "reject") {
      this.#host.do(() => {
        const error = new ClosedError("The stream was closed");
        const { line, current } = session;
        for (const request of [current, ...line]) {
          if (!(request instanceof ActiveRequest)) continue;
          core.cancel(request, wallNs(), error);
        }
        this.#host.turnSoon();
      });
    }
    return this.#closing;
  }

  /** As close(): for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /**
   * Does something when all that was asked for before is done.
   * @param isNew what a stream that is closed, or its engine, refuses
   */
  #after<T>(
    run: (sessions: EngineCore["sessions"]) => T,
    isNew = true,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      const { core } = this.#host;
      const refusal = isNew ? this.#refusal() : undefined;
      if (refusal) throw refusal;
      this.#host.do(() => {
        const failure = this.#host.failure();
        if (failure) return reject(failure);
        core.sessions.after(this.#session, {
          run() {
            try {
              resolve(run(core.sessions));
            } catch (error) {
              reject(error);
            }
          },
          abandon: reject,
        });
        this.#host.turnSoon();
      });
    });
  }

  #refusal(): Error | undefined {
    return this.#host.refusal() ??
      (this.#closing && new ClosedError("The stream is closed"));
  }
}

/** @throws TypeError unless it gives what comes in one after the other */
function checkIterable(frames: unknown): void {
  const { [Symbol.asyncIterator]: coming, [Symbol.iterator]: there } =
    (frames ?? {}) as Partial<AsyncIterable<unknown> & Iterable<unknown>>;
  const isIterable = typeof frames !== "string" &&
    typeof (coming ?? there) === "function";
  if (isIterable) return;
  throw new TypeError(
    `pipe() takes frames one after the other, a list, a generator or the like, got ${
      describe(frames)
    }`,
  );
}

const NONE: FrameOptions<Record<string, Dtype>> = {};
