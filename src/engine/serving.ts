import { msToNs, NS_PER_MS } from "../base/units.ts";
import type { Model, Result } from "../graph/model.ts";
import type { Policy } from "../policy/policy.ts";
import type { Observer } from "../policy/records.ts";
import type { Ending } from "./active_request.ts";
import { wallNs } from "./clock.ts";
import { EngineCore } from "./engine.ts";
import { ClosedError } from "./errors.ts";
import { TensorExecutor, type TensorOptions } from "./tensor_executor.ts";

export interface ServingOptions extends Omit<TensorOptions, "onFatal"> {
  policy: Policy;
  /** Requests that may be in the system at once; a further one is refused. Default 10,000. */
  queueMax?: number;
  observer?: Observer;
}

export interface RequestOptions {
  /** Cancels the request; its promise rejects with the signal's reason. */
  signal?: AbortSignal;
  /** The request is refused unless it starts within this time. */
  deadlineMs?: number;
  /** Growing steps after which the workload ends the request (measurements); policies do not see it. */
  stepsFixed?: number;
}

/**
 * An engine that serves: real tensors, worker threads, wall-clock time. It lives in the event loop of
 * its thread and holds no timer and no spinning loop while it is idle.
 */
export class ServingEngine {
  readonly #core: EngineCore;
  readonly #executor: TensorExecutor;
  #fatal: Error | undefined;
  #closing: Promise<void> | undefined;
  #listening = false;
  #timer: { id: ReturnType<typeof setTimeout>; atNs: number } | undefined;
  #onIdle: (() => void) | undefined;

  /**
   * Packs the weights, starts the workers.
   * @throws RangeError when the policy cannot batch a model, or memory does not suffice
   */
  static async create(options: ServingOptions): Promise<ServingEngine> {
    let engine: ServingEngine | undefined;
    const onFatal = (error: Error) => {
      if (engine) engine.#fail(error);
    };
    const executor = await TensorExecutor.start({ ...options, onFatal });
    try {
      return engine = new ServingEngine(options, executor);
    } catch (error) {
      await executor.terminate();
      throw error;
    }
  }

  private constructor(options: ServingOptions, executor: TensorExecutor) {
    this.#executor = executor;
    this.#core = new EngineCore({
      ...options,
      executor,
      queueMax: options.queueMax ?? 10_000,
    });
  }

  /** Requests in the system. */
  get active(): number {
    return this.#core.active;
  }

  /**
   * Runs one request; resolves with its result rows by name.
   * Rejects with TypeError or RangeError on bad input, QueueFullError, DeadlineError, CellError,
   * ClosedError, or the reason of the signal.
   */
  run<Input>(
    model: Model<Input>,
    input: Input,
    options: RequestOptions = {},
  ): Promise<Result> {
    const { signal, deadlineMs, stepsFixed } = options;
    if (this.#fatal) return Promise.reject(this.#fatal);
    if (this.#closing) {
      return Promise.reject(new ClosedError("The engine is closed"));
    }
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (deadlineMs !== undefined && !(deadlineMs > 0)) {
      return Promise.reject(
        new RangeError(`"deadlineMs" is positive, got ${deadlineMs}`),
      );
    }
    if (
      stepsFixed !== undefined &&
      !(Number.isInteger(stepsFixed) && stepsFixed >= 1)
    ) {
      return Promise.reject(
        new RangeError(
          `"stepsFixed" is a positive integer, got ${stepsFixed}`,
        ),
      );
    }
    return new Promise((resolve, reject) => {
      const arrivalNs = wallNs();
      const abort = () => {
        this.#core.cancel(request, wallNs(), signal!.reason);
        this.#pump();
      };
      const onEnd = ({ outcome, result, error }: Ending) => {
        signal?.removeEventListener("abort", abort);
        if (outcome === "done") resolve(result!);
        else reject(error!);
      };
      const request = this.#core.submit({
        model,
        input,
        arrivalNs,
        ...(deadlineMs !== undefined &&
          { deadlineNs: arrivalNs + msToNs(deadlineMs) }),
        ...(stepsFixed !== undefined && { stepsFixed }),
        onEnd,
      });
      signal?.addEventListener("abort", abort, { once: true });
      this.#pump();
    });
  }

  /**
   * Refuses new requests and ends the workers.
   * @param pending what becomes of requests in the system: "finish" them (default) or "reject" them;
   * a second call may still reject what the first one would have finished
   */
  close(pending: "finish" | "reject" = "finish"): Promise<void> {
    if (pending === "reject") {
      this.#core.failAll(wallNs(), new ClosedError("The engine was closed"));
      this.#pump();
    }
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #close(): Promise<void> {
    if (this.#fatal === undefined && !this.#isIdle()) {
      const idle = new Promise<void>((resolve) => this.#onIdle = resolve);
      this.#pump();
      await idle;
    }
    clearTimeout(this.#timer?.id);
    if (this.#fatal) await this.#executor.terminate();
    else await this.#executor.close();
  }

  #isIdle(): boolean {
    return this.#core.active === 0 && this.#core.tasksInFlight === 0;
  }

  #fail(error: Error): void {
    this.#fatal ??= error;
    this.#core.failAll(wallNs(), error);
    this.#onIdle?.();
  }

  /**
   * Delivers what has happened, asks the policy, and makes sure that somebody comes back. What goes
   * wrong here is nobody's request's fault (a policy, an observer, too few taskBytes): it ends the engine.
   */
  #pump(): void {
    if (this.#fatal) return;
    try {
      this.#turn();
    } catch (error) {
      this.#fail(error as Error);
    }
  }

  #turn(): void {
    const { words, index } = this.#executor.doorbell;
    const seen = Atomics.load(words, index);
    for (const { task, startNs, endNs } of this.#executor.poll()) {
      this.#core.completed(task, startNs, endNs);
    }
    const wakeNs = this.#core.pump(wallNs());
    if (this.#isIdle()) this.#onIdle?.();
    this.#setTimer(wakeNs);
    if (this.#core.tasksInFlight > 0 && !this.#listening) {
      this.#listen(words, index, seen);
    }
  }

  #listen(words: Int32Array, index: number, seen: number): void {
    const { async, value } = Atomics.waitAsync(words, index, seen);
    this.#listening = true;
    const ring = () => {
      this.#listening = false;
      this.#pump();
    };
    if (async) value.then(ring);
    else queueMicrotask(ring);
  }

  #setTimer(atNs: number): void {
    if (this.#timer?.atNs === atNs) return;
    clearTimeout(this.#timer?.id);
    this.#timer = undefined;
    if (atNs === Infinity) return;
    const delayMs = Math.max(0, Math.ceil((atNs - wallNs()) / NS_PER_MS));
    const id = setTimeout(() => {
      this.#timer = undefined;
      this.#pump();
    }, delayMs);
    this.#timer = { id, atNs };
  }
}
