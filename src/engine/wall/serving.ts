import { describe } from "../../base/describe.ts";
import { NS_PER_MS, NS_PER_US } from "../../base/units.ts";
import type { Model } from "../../graph/model.ts";
import type { OutputTypes } from "../../graph/result.ts";
import type { StreamModel } from "../../graph/stream_model.ts";
import { auto } from "../../policy/auto/auto.ts";
import { wallNs } from "./clock.ts";
import { checkUnclaimed } from "../core/claimed_policies.ts";
import { checkedOptions } from "../../base/checked_options.ts";
import { EngineCore } from "../core/engine.ts";
import type { EngineOptions } from "../core/engine_options.ts";
import { ClosedError } from "../core/errors.ts";
import { guardedObserver } from "./guarded_observer.ts";
import { timerMs } from "./patience.ts";
import { reporter } from "./reporter.ts";
import { NO_OPTIONS, type RequestOptions } from "./request_options.ts";
import type { RunResult } from "./run_result.ts";
import { runRows } from "./run_rows.ts";
import { SERVING_CHECKS, type ServingOptions } from "./serving_options.ts";
import { startExecutor } from "./start_executor.ts";
import { StepStream } from "./step_stream.ts";
import {
  type StreamHost,
  type StreamOptions,
  StreamSession,
} from "./stream_session.ts";
import { submitRequest } from "./submit_request.ts";
import type { WallExecutor } from "./wall_executor.ts";

const QUEUE_MAX = 10_000;
const WAITING_BYTES = 2 ** 28;

/** Waits in a row that a policy may let pass and do nothing, once nothing more comes. */
const WAITS_MAX = 1000;

/** Time for unfolding in one turn; deadlines, completions and the caller's own work come in between. */
const ADMIT_NS = 5e5;

/**
 * An engine that serves: real tensors, worker threads, wall-clock time. It lives in the event loop of
 * its thread and holds no timer and no spinning loop while it is idle. Where threads cannot share memory (a
 * page that is not cross-origin isolated), and with `workers: 0`, it computes in that thread as well, with the
 * same bits.
 *
 * @example Two sentences, batched together and returned as each is done
 * ```ts
 * import { lstm, ServingEngine } from "@shoal/core";
 *
 * const model = lstm({ hidden: 64, vocabulary: 1000, head: "classifier" });
 * const engine = await ServingEngine.create({ models: [model] });
 * const [short, long] = await Promise.all([
 *   engine.run(model, { tokens: [3, 1, 4] }),
 *   engine.run(model, { tokens: [1, 5, 9, 2, 6, 5, 3, 5] }),
 * ]);
 * console.log(short.outputs.logits.data, long.outputs.logits.data);
 * await engine.close();
 * ```
 */
export class ServingEngine {
  readonly #core: EngineCore;
  readonly #executor: WallExecutor;
  /** What is to be done to the core, in order. */
  readonly #actions: (() => void)[] = [];
  /** Whether the core is at work: what callbacks ask for then comes afterwards. */
  #busy = false;
  readonly #lingerUs: number;
  #fatal: Error | undefined;
  #closing: Promise<void> | undefined;
  #listening = false;
  /** Until when this turn may unfold requests that waited. */
  #admitUntilNs = 0;
  #timer: { id: ReturnType<typeof setTimeout>; atNs: number } | undefined;
  #onIdle: (() => void) | undefined;
  readonly #host: StreamHost;
  /** While it closes and no task is under way: what waits, until when, and how many waits have passed. */
  #standstill:
    | {
      readonly active: number;
      readonly waits: number;
      readonly untilNs: number;
    }
    | undefined;
  /** Somebody is to look around before this turn of the event loop is over. */
  #turningSoon = false;

  /**
   * Packs the weights, starts the workers.
   * @throws RangeError when the policy cannot batch a model, memory does not suffice, or more threads are
   * asked for than this host can have
   * @throws TypeError when the policy serves another engine already
   * @throws Error when the runtime lacks a feature, or a thread does not start; none is left then
   */
  static async create(options: ServingOptions): Promise<ServingEngine> {
    const { policy = auto(), observer, onError, lingerMs, ...limited } =
      checkedOptions("ServingEngine", options, SERVING_CHECKS, ["models"]);
    const { queueMax, waitingBytes, ...tensor } = limited;
    checkUnclaimed(policy);
    // The caller's list may be another one by the time that workers are there.
    const models = [...tensor.models];
    const report = reporter(onError);
    const guarded = observer && guardedObserver(observer, report);
    let engine: ServingEngine | undefined;
    let fatal: Error | undefined;
    const executor = await startExecutor({
      ...tensor,
      models,
      onFatal(error) {
        fatal ??= error;
        if (engine) engine.#fail(error);
      },
      onDeath: (error) => report(error),
    });
    try {
      if (fatal) throw fatal;
      const core = {
        models,
        policy,
        executor,
        queueMax: queueMax ?? QUEUE_MAX,
        waitingBytes: waitingBytes ?? WAITING_BYTES,
        ...(guarded && { observer: guarded }),
      };
      engine = new ServingEngine(executor, core, lingerMs ?? 0);
      return engine;
    } catch (error) {
      await executor.close();
      throw error;
    }
  }

  private constructor(
    executor: WallExecutor,
    options: EngineOptions,
    lingerMs: number,
  ) {
    // In plain JavaScript nothing else says that it is private.
    if (options === undefined) {
      throw new TypeError(
        "An engine is made by await ServingEngine.create(options), not by new",
      );
    }
    this.#executor = executor;
    this.#lingerUs = Math.round(lingerMs * NS_PER_MS / NS_PER_US);
    this.#core = new EngineCore({
      ...options,
      hasTime: () => wallNs() < this.#admitUntilNs,
      isRemote: executor.threads > 0,
    });
    const isBusy = () => this.#busy;
    this.#host = {
      core: this.#core,
      get isBusy() {
        return isBusy();
      },
      refusal: () => this.#refusal(),
      failure: () => this.#fatal,
      comeBy: () => this.#comeBy(),
      do: (action) => {
        if (!this.#comesBy) return this.#do(action);
        // Ahead of what those ask for that hear of what lay there.
        this.#actions.push(action);
        this.#comeBy();
      },
      turnSoon: () => this.#turnSoon(),
    };
  }

  /** Threads that compute, besides the one that the engine lives in; 0: that one does it itself. */
  get threads(): number {
    return this.#executor.threads;
  }

  /** Requests in the system. */
  get active(): number {
    return this.#core.active;
  }

  /** What ended the engine, if something did: it takes nothing any more. */
  get failure(): Error | undefined {
    return this.#fatal;
  }

  /**
   * Runs one request. Resolves with its results by name, each a tensor with its shape (see Result), and how
   * long it took. An input of several rows (`Model.rows`) is run as a request for each, and fails with the first that
   * does. Rejects with TypeError or RangeError on bad input, QueueFullError, DeadlineError,
   * CellError, WorkerError, ClosedError, or the reason of the signal.
   *
   * @example A classifier's logits, and how long they took
   * ```ts
   * import { cellular, lstm, ServingEngine } from "@shoal/core";
   *
   * const model = lstm({ hidden: 64, vocabulary: 1000, head: "classifier" });
   * await using engine = await ServingEngine.create({
   *   models: [model],
   *   policy: cellular(),
   * });
   * const { outputs, timing } = await engine.run(
   *   model,
   *   { tokens: [3, 1, 4] },
   *   { finishMs: 10_000, batches: true },
   * );
   * console.log(outputs.logits.shape, outputs.logits.data);
   * console.log(timing.queuedMs, timing.ranMs, timing.batches);
   * ```
   */
  run<Input, Outputs extends OutputTypes>(
    model: Model<Input, Outputs>,
    input: Input,
    options: RequestOptions = NO_OPTIONS,
  ): Promise<RunResult<Outputs>> {
    return runRows(
      model,
      input,
      options,
      (row, options) => submitRequest(this.#host, model, row, options).result,
    );
  }

  /**
   * Runs one request of a model whose requests grow (decoders), and gives what every step adds to its results as the
   * step is done, then the result: the same bits as those of `run`. Leaving the iteration ends the request and gives
   * its slot away. Who iterates slowly holds nobody up. Under a policy that holds a batch's results until its end
   * (graph batching), steps come then.
   * @throws TypeError when the model's requests do not grow, or the input is several rows
   *
   * @example The tokens of an answer as they come
   * ```ts
   * import { cellular, gpt, ServingEngine } from "@shoal/core";
   *
   * const model = gpt({ layers: 2, hidden: 64, heads: 2, vocabulary: 100, positionsMax: 64 });
   * await using engine = await ServingEngine.create({ models: [model], policy: cellular() });
   * const stream = engine.stream(model, { tokens: [7, 3, 9], maxSteps: 20 });
   * for await (const { index, outputs, endedMs } of stream) {
   *   console.log(index, outputs.tokens?.data[0], endedMs);
   * }
   * const { outputs, timing } = await stream.result;
   * console.log(outputs.tokens.data, timing.ranMs);
   * ```
   */
  stream<Input, Outputs extends OutputTypes>(
    model: Model<Input, Outputs>,
    input: Input,
    options: RequestOptions = NO_OPTIONS,
  ): StepStream<Outputs> {
    return new StepStream(this.#host, model, input, options);
  }

  /**
   * Opens a stream: its state stays in the engine's memory (`slotBytes`) from frame to frame, until it is closed or
   * parked.
   * @throws TypeError or RangeError on a model that is none of streams or not the engine's, an option that is not
   * one, or a snapshot of another model; QueueFullError when all slots are taken; ClosedError
   *
   * @example Frames of two streams, batched together
   * ```ts
   * import { cellular, lstmStream, ServingEngine } from "@shoal/core";
   *
   * const model = lstmStream({ hidden: 64, features: 2 });
   * await using engine = await ServingEngine.create({ models: [model], policy: cellular() });
   * const streams = [engine.open(model), engine.open(model)];
   * for (let t = 0; t < 3; t++) {
   *   const results = await Promise.all(streams.map((stream, i) => stream.push({ x: [t, i] })));
   *   for (const { outputs } of results) console.log(outputs.h.data[0]);
   * }
   * for (const stream of streams) await stream.close();
   * ```
   */
  open<I extends string, O extends OutputTypes>(
    model: StreamModel<I, O>,
    options: StreamOptions = {},
  ): StreamSession<I, O> {
    return new StreamSession(this.#host, model, options);
  }

  /**
   * Refuses new requests and frames, and ends the workers. A policy that does nothing with what is left, or lets a
   * thousand of its waits pass, ends the engine.
   * @param pending what becomes of requests in the system: "finish" them (default) or "reject" them;
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
    this.#closing ??= this.#close();
    if (pending === "reject") {
      this.#do(() => {
        if (this.#fatal) return;
        this.#core.failAll(wallNs(), new ClosedError("The engine was closed"));
        this.#turn();
      });
    }
    return this.#closing;
  }

  /** As close(): for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #close(): Promise<void> {
    // From inside a callback, the core is in the middle of something.
    await undefined;
    if (this.#fatal === undefined && !this.#isIdle()) {
      const idle = new Promise<void>((resolve) => this.#onIdle = resolve);
      this.#do(() => this.#turn());
      await idle;
    }
    clearTimeout(this.#timer?.id);
    await this.#executor.close();
  }

  /** Why no request is taken any more. */
  #refusal(): Error | undefined {
    if (this.#fatal) return this.#fatal;
    return this.#closing && new ClosedError("The engine is closed");
  }

  #isIdle(): boolean {
    return this.#core.active === 0 && this.#core.tasksInFlight === 0;
  }

  /**
   * Does something to the core: now, or, from inside a callback that the core called, as soon as it is
   * done. What goes wrong here is nobody's request's fault (a policy, too few taskBytes): it ends the engine.
   */
  #do(action: () => void): void {
    if (this.#busy) return void this.#actions.push(action);
    this.#busy = true;
    for (
      let next: (() => void) | undefined = action;
      next;
      next = this.#actions.shift()
    ) {
      try {
        next();
      } catch (error) {
        this.#fail(error as Error);
      }
    }
    this.#busy = false;
  }

  #fail(thrown: unknown): void {
    if (this.#fatal) return;
    // What is nothing would say that it goes on.
    const error = (thrown ||
      new Error(
        `The engine was ended by ${thrown}, which is no error`,
      )) as Error;
    this.#fatal = error;
    this.#setTimer(Infinity);
    this.#core.abandonAll(wallNs(), error);
    // What is queued would be computed for nobody.
    void this.#executor.close();
    this.#onIdle?.();
  }

  /** Delivers what has happened. @returns whether anything has */
  #collect(): boolean {
    const completions = this.#executor.poll();
    for (const { task, startNs, endNs } of completions) {
      this.#core.completed(task, startNs, endNs);
    }
    return completions.length > 0;
  }

  /** Whether something may lie there, and the core can be told. */
  get #comesBy(): boolean {
    return this.#lingerUs > 0 && !this.#busy;
  }

  /** What lies there is over, and takes no room from what comes in. */
  #comeBy(): void {
    if (!this.#comesBy) return;
    this.#do(() => {
      if (this.#fatal === undefined && this.#collect()) this.#turnSoon();
    });
  }

  /** Delivers what has happened, asks the policy, and makes sure that somebody comes back. */
  #turn(): void {
    if (this.#fatal) return;
    const seen = this.#executor.bell;
    const isNews = this.#collect();
    // Nobody waits for work: who has a result now may ask for the next one first.
    if (isNews && this.#core.isBusy) return this.#turnSoon();
    const nowNs = wallNs();
    this.#admitUntilNs = nowNs + ADMIT_NS;
    const wakeNs = this.#core.pump(nowNs);
    if (this.#isIdle()) this.#onIdle?.();
    else if (this.#closing) this.#checkProgress(nowNs, wakeNs);
    this.#setTimer(this.#core.holdsBack ? nowNs : wakeNs);
    if (this.#lingerUs > 0) this.#executor.linger(this.#patienceUs());
    if (this.#core.tasksInFlight > 0 && !this.#listening) {
      this.#listen(seen);
    }
  }

  /** How long news may keep: nobody waits for them but who pushed the frames, and no work hangs on them. */
  #patienceUs(): number {
    const waits = this.#closing === undefined && this.#core.awaitsFramesOnly;
    return waits ? this.#lingerUs : 0;
  }

  /** All that comes in before the microtasks under way are done is seen at once. */
  #turnSoon(): void {
    if (this.#turningSoon) return;
    this.#turningSoon = true;
    queueMicrotask(() => {
      this.#turningSoon = false;
      this.#do(() => this.#turn());
    });
  }

  /** An engine that takes nothing more hears of nothing but tasks and times. */
  #checkProgress(nowNs: number, wakeNs: number): void {
    const { active, tasksInFlight, holdsBack } = this.#core;
    const last = this.#standstill;
    this.#standstill = undefined;
    if (tasksInFlight > 0 || holdsBack) return;
    let waits = last?.active === active ? last.waits : 0;
    if (last && nowNs >= last.untilNs) waits++;
    this.#standstill = { active, waits, untilNs: wakeNs };
    if (wakeNs < Infinity && waits < WAITS_MAX) return;
    const what = wakeNs < Infinity
      ? `through ${waits} of its waits`
      : "for nothing";
    throw new Error(
      `Policy "${this.#core.policyName}" leaves ${active} requests waiting ${what}`,
    );
  }

  #listen(seen: number): void {
    this.#listening = true;
    this.#executor.onRing(seen, () => {
      this.#listening = false;
      this.#do(() => this.#turn());
    });
  }

  #setTimer(atNs: number): void {
    if (this.#timer?.atNs === atNs) return;
    clearTimeout(this.#timer?.id);
    this.#timer = undefined;
    if (atNs === Infinity) return;
    const id = setTimeout(() => {
      this.#timer = undefined;
      this.#do(() => this.#turn());
    }, timerMs(Math.ceil((atNs - wallNs()) / NS_PER_MS)));
    this.#timer = { id, atNs };
  }
}
