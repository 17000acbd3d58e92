/**
 * The one door by which protocols reach engines. Models come and go while it serves: an engine has a fixed list of them,
 * so a change makes another engine (a generation) with the new list beside the old one, which takes all that comes from
 * then on, while the old one finishes what it has. Admission, deadlines, priorities and observers hang here.
 */
import { checkedOptions } from "../../base/checked_options.ts";
import { shorten } from "../../base/describe.ts";
import { refusePromise } from "../../base/refuse_promise.ts";
import { msToNs, NS_PER_MS } from "../../base/units.ts";
import { checkPolicy } from "../../engine/core/check_models.ts";
import {
  ClosedError,
  DeadlineError,
  QueueFullError,
} from "../../engine/core/errors.ts";
import { wallNs } from "../../engine/wall/clock.ts";
import { reporter } from "../../engine/wall/reporter.ts";
import type { RunResult } from "../../engine/wall/run_result.ts";
import { ServingEngine } from "../../engine/wall/serving.ts";
import type { StepResult, StepStream } from "../../engine/wall/step_stream.ts";
import type { StreamOptions } from "../../engine/wall/stream_session.ts";
import { type Admission, UNLIMITED } from "./admission.ts";
import { InputError, NotFoundError, UnavailableError } from "./errors.ts";
import type { Entered } from "./entered.ts";
import type { FrameTurn } from "./frame_turns.ts";
import { Generation } from "./generation.ts";
import type { HostEnding } from "./host_observer.ts";
import { HostObservers } from "./host_observers.ts";
import {
  ENGINE_CHECKS,
  HOOK_CHECKS,
  HOST_CHECKS,
  type HostHooks,
  type HostOptions,
} from "./host_options.ts";
import type { HostRequest } from "./host_request.ts";
import { HostSession } from "./host_session.ts";
import { checkTakesRequests, type HostState } from "./host_state.ts";
import { ModelStatistics } from "./model_statistics.ts";
import { RoomTurns } from "./room_turns.ts";
import { type HostRunOptions, RUN_CHECKS } from "./run_options.ts";
import { servedLabel, type ServedModel } from "./served_model.ts";
import { wireMessage } from "./wire_names.ts";

/**
 * Engines behind one door, whose models come and go.
 *
 * @example A model is replaced while requests come
 * ```ts
 * import assert from "node:assert/strict";
 * import { cellular, lstm } from "@shoal/core";
 * import { EngineHost, servedTokens } from "@shoal/core/server";
 *
 * const model = lstm({ hidden: 8, vocabulary: 10 });
 * const [first, second] = ["1", "2"].map((version) => servedTokens(model, { name: "sentences", version }));
 * const host = await EngineHost.create({
 *   models: [first],
 *   policy: () => cellular(),
 *   engine: { workers: 0, warmUp: false },
 * });
 * const asked = host.run(host.find("sentences"), { tokens: [3, 1, 4] });
 * await host.change(() => [second]);
 * assert.equal(host.find("sentences"), second);
 * assert.equal((await asked).outputs["h"].data.length, 8);
 * await host.close();
 * ```
 */
export class EngineHost {
  /** What became of requests, by model. */
  readonly statistics: ModelStatistics = new ModelStatistics();
  readonly #options: Partial<HostOptions>;
  readonly #admission: Admission;
  readonly #observers: HostObservers;
  readonly #report: ReturnType<typeof reporter>;
  readonly #sessions = new Set<HostSession>();
  #generation: Generation | undefined;
  #models: readonly ServedModel[] = [];
  /** Those that are not closed yet, whether or not a request still reaches them. */
  readonly #open = new Set<Generation>();
  /** Changes come one after the other. */
  #changes: Promise<unknown> = Promise.resolve();
  readonly #roomTurns = new RoomTurns();
  #generations = 0;
  #requests = 0;
  #state: HostState = "serving";
  #closing: Promise<void> | undefined;

  /**
   * A host that makes its engines itself, so that models may come and go.
   * @throws TypeError on an option that there is not, or of another type; what `ServingEngine.create` throws
   */
  static async create(options: HostOptions): Promise<EngineHost> {
    const host = EngineHost.empty(options);
    const { models = [] } = host.#options;
    if (models.length > 0) await host.change(() => models);
    return host;
  }

  /** As `create`, of no models yet. */
  static empty(options: Omit<HostOptions, "models">): EngineHost {
    return new EngineHost(
      checkedOptions<HostOptions>("EngineHost", options, HOST_CHECKS, [
        "policy",
      ]),
    );
  }

  /** A host of an engine that somebody else made, and closes; its models stay. @throws TypeError on other hooks */
  static around(
    engine: ServingEngine,
    models: readonly ServedModel[],
    hooks: HostHooks = {},
  ): EngineHost {
    const checked = checkedOptions("EngineHost.around()", hooks, HOOK_CHECKS);
    const host = new EngineHost(checked);
    host.#generation = new Generation(0, engine, new Set(models), false);
    host.#open.add(host.#generation);
    host.#models = models;
    return host;
  }

  private constructor(options: Partial<HostOptions>) {
    this.#options = options;
    this.#admission = options.admission ?? UNLIMITED;
    this.#report = reporter(options.onError);
    const { observers = [] } = options;
    this.#observers = new HostObservers(
      [this.#admission, this.statistics, ...observers],
      this.#report,
    );
  }

  /** All that is served, in the order in which it was given. */
  get models(): readonly ServedModel[] {
    return this.#models;
  }

  /** Whether it takes requests. */
  get state(): HostState {
    return this.#state;
  }

  /** Engines that are there: the one that takes requests, and those that finish what they have. */
  get engines(): number {
    return this.#open.size;
  }

  /** Requests that engines have. */
  get active(): number {
    return [...this.#open].reduce((sum, { engine }) => sum + engine.active, 0);
  }

  /** The engine's error that ended it, if it was ended by one: the host is not alive then. */
  get failure(): Error | undefined {
    return this.#generation?.engine.failure;
  }

  /** Why any request would be refused now, whatever it brings; see Admission. */
  refusal(priority?: number): Error | undefined {
    const refusal = this.#admission.refusal?.(priority);
    refusePromise(refusal, "refusal", "the admission");
    return refusal;
  }

  /** Whether a key may use a model; see Admission. @throws ForbiddenError */
  checkKey(key: string | undefined, served: ServedModel): void {
    if (key === undefined) return;
    const checked: unknown = this.#admission.checkKey?.(key, served);
    refusePromise(checked, "checkKey", "the admission");
  }

  /**
   * The model of a name: of the version that is asked for, or the last one given.
   * @throws NotFoundError
   */
  find(name: string, version?: string): ServedModel {
    const found = this.#models.findLast((served) =>
      served.name === name &&
      (version === undefined || served.version === version)
    );
    if (found) return found;
    throw new NotFoundError(
      version === undefined || !this.#models.some((m) => m.name === name)
        ? `There is no model "${shorten(name)}"`
        : `Model "${name}" has no version "${shorten(version)}"`,
    );
  }

  /**
   * Runs a request, see `ServingEngine.run`.
   * @param input not copied: it is read when the request is admitted, and is to stay as it is until then
   * @throws TypeError on an option that there is not; InputError when the input is none of the model's; OverloadedError,
   * DeadlineError, QueueFullError, CellError, WorkerError, UnavailableError, or the reason of the signal
   */
  async run(
    served: ServedModel,
    input: unknown,
    options: HostRunOptions = {},
  ): Promise<RunResult> {
    let leave: (() => void) | undefined;
    try {
      return await this.#through(served, input, options, () => {
        const generation = this.#generationOf(served);
        // It is answered by the version that it came for, whatever is loaded while it waits.
        leave = generation.use();
        return {
          begin: (admitted) =>
            generation.engine.run(served.model, input, admitted),
        };
      });
    } finally {
      leave?.();
    }
  }

  /**
   * Runs a request that grows, and gives its steps as they are done, then its result, see `ServingEngine.stream`.
   * Leaving the iteration ends the request.
   * @param input as of `run`
   * @throws as `run`, from the iteration
   */
  async *stream(
    served: ServedModel,
    input: unknown,
    options: HostRunOptions = {},
  ): AsyncGenerator<StepResult, RunResult, undefined> {
    let leave: (() => void) | undefined;
    let begin: (steps: StepStream) => void;
    const next = () => new Promise<StepStream>((resolve) => begin = resolve);
    let begun = next();
    const done = this.#through(served, input, options, () => {
      const generation = this.#generationOf(served);
      leave = generation.use();
      return {
        begin(admitted) {
          const { engine } = generation;
          const steps = engine.stream(served.model, input, admitted);
          begin(steps);
          return steps.result;
        },
      };
      // With the request: who asks for no further step keeps no engine.
    }).finally(() => leave?.());
    const over = done.then(() => undefined, () => undefined);
    for (;;) {
      const steps = await Promise.race([begun, over]);
      if (steps === undefined) break;
      // One that the engine had no room for is begun once more; it had no steps.
      begun = next();
      try {
        yield* steps;
      } catch {
        // What went wrong the promise tells in the host's words.
      }
    }
    return await done;
  }

  /**
   * Tells of a request that is not run, since what it asks for could not be opened, as of one refused. @throws `why`
   * @internal
   */
  async refuse(
    served: ServedModel,
    input: unknown,
    options: HostRunOptions,
    why: unknown,
  ): Promise<never> {
    return await this.#through<never>(served, input, options, () => {
      throw why;
    });
  }

  /**
   * Opens a stream, which outlives the engine that it begins in: when models change, it goes on in the next one.
   * @throws as `ServingEngine.open`, and UnavailableError
   */
  open(served: ServedModel, options: StreamOptions = {}): HostSession {
    const session = new HostSession(served, options, {
      generation: this.#generationOf(served),
      push: (frame, options, enter) =>
        this.#through(served, frame, options, () => {
          checkTakesRequests(this.#state);
          return enter();
        }),
      onClosed: () => this.#sessions.delete(session),
    });
    this.#sessions.add(session);
    return session;
  }

  /**
   * Changes what is served. Requests that came before are answered by the models that they came for; open streams
   * of models that stay go on with the next frame, those of others keep their model until they are closed.
   * @param edit the new models, of those that are served when its turn has come
   * @throws as `ServingEngine.create`; nothing has changed then
   */
  change(
    edit: (models: readonly ServedModel[]) => readonly ServedModel[],
  ): Promise<void> {
    const done = this.#changes.then(() => this.#change(edit(this.#models)));
    this.#changes = done.catch(() => {});
    return done;
  }

  /** Is not ready any more (`state`), and takes requests still: balancers send theirs elsewhere before it is closed. */
  leave(): void {
    if (this.#state === "serving") this.#state = "leaving";
  }

  /** Takes no more requests, lets those that have come finish, and closes its engines. */
  close(): Promise<void> {
    return this.#closing ??= this.#close();
  }

  /**
   * From arrival to end: whatever asks an engine for something goes this way.
   * @param enter called when it comes; throws where it is not to be had
   */
  async #through<T extends { readonly timing: RunResult["timing"] }>(
    served: ServedModel,
    input: unknown,
    options: HostRunOptions,
    enter: () => Entered<T>,
  ): Promise<T> {
    const { id, signal, finishMs = Infinity, sloMs, priority = 0, key } =
      checkedOptions("A request to a host", options, RUN_CHECKS);
    const arrivalNs = wallNs();
    const label = `${++this.#requests}`;
    const request: HostRequest = {
      id: id ?? label,
      label,
      served,
      input,
      arrivalNs,
      finishNs: arrivalNs + msToNs(finishMs),
      priority,
      ...(sloMs !== undefined && { sloMs }),
      ...(key !== undefined && { key }),
      ...(signal && { signal }),
    };
    let release: (() => void) | undefined;
    let isAdmitted = false;
    let result: T | undefined;
    let beganNs = NaN;
    let turn: FrameTurn | undefined;
    this.#observers.tell((observer) => observer.arrived?.(request));
    try {
      const entered = enter();
      turn = entered.turn;
      if (turn) await turn.come(request);
      let fullAt: number | undefined;
      for (let isFirst = true; result === undefined; isFirst = false) {
        release = await this.#admission.admit(request);
        isAdmitted = true;
        if (fullAt !== undefined) await this.#roomTurns.wait(request, fullAt);
        const leftMs = (request.finishNs - wallNs()) / NS_PER_MS;
        if (leftMs <= 0) {
          throw new DeadlineError("It was not admitted in time", "finish");
        }
        if (isFirst) {
          this.#observers.tell((observer) => observer.started?.(request));
        }
        beganNs = wallNs();
        try {
          result = await entered.begin({
            label,
            // Admission that lets in again has an order of its own.
            whenFull: this.#admission.again ? "refuse" : "wait",
            ...(signal && { signal }),
            // NaN, too: the engine says that it is no time.
            ...(leftMs !== Infinity && { finishMs: leftMs }),
          });
        } catch (error) {
          const isFull = error instanceof QueueFullError;
          if (!isFull || !this.#isAgain(request)) {
            throw this.#asTold(error, signal);
          }
          fullAt = this.#roomTurns.ends;
          // What the next admission refuses has nothing to give back.
          const giveBack = release;
          release = undefined;
          this.#observers.call(giveBack);
        }
      }
      const { timing } = result;
      this.#ended(request, { outcome: "done", timing, beganNs });
      return result;
    } catch (error) {
      const isRefused = !isAdmitted || error instanceof InputError;
      this.#ended(request, {
        outcome: isRefused ? "refused" : "failed",
        error,
      });
      throw error;
    } finally {
      if (isAdmitted) this.#roomTurns.ended();
      if (release) this.#observers.call(release);
      turn?.over();
    }
  }

  /** Whether one that found no room is to be admitted once more. */
  #isAgain(request: HostRequest): boolean {
    const isAgain = this.#admission.again?.(request) ?? false;
    refusePromise(isAgain, "again", "the admission");
    return isAgain;
  }

  #ended(request: HostRequest, ending: Omit<HostEnding, "endNs">): void {
    const endNs = wallNs();
    this.#observers.tell((observer) =>
      observer.ended?.(request, { ...ending, endNs })
    );
  }

  /** An engine's error, in the host's words; a caller's reason is his own. */
  #asTold(error: unknown, signal: AbortSignal | undefined): unknown {
    if (error === this.failure) return error;
    if (signal?.aborted && error === signal.reason) return error;
    if (error instanceof TypeError || error instanceof RangeError) {
      return new InputError(wireMessage(error), { cause: error });
    }
    if (error instanceof ClosedError) {
      return new UnavailableError(error.message, { cause: error });
    }
    return error;
  }

  #generationOf(served: ServedModel): Generation {
    checkTakesRequests(this.#state);
    const generation = this.#generation;
    if (generation?.models.has(served)) return generation;
    throw new UnavailableError(
      `Model "${servedLabel(served)}" is not served any more`,
    );
  }

  async #change(models: readonly ServedModel[]): Promise<void> {
    const { policy, engine: settings = {} } = this.#options;
    if (policy === undefined) {
      throw new UnavailableError("The models of this server do not change");
    }
    checkTakesRequests(this.#state);
    refusePromise(models, "edit", "a host's change");
    HOST_CHECKS.models("models", models);
    const labels = new Set(models.map(servedLabel));
    if (labels.size < models.length) {
      throw new RangeError("Two models have one name and version");
    }
    const before = this.#generation;
    let next: Generation | undefined;
    if (models.length > 0) {
      const number = this.#generations++;
      const decides: unknown = policy(models);
      refusePromise(decides, "policy", "a host");
      checkPolicy(decides);
      const engine = await ServingEngine.create({
        ...checkedOptions('"engine" of a host', settings, ENGINE_CHECKS),
        models: models.map(({ model }) => model),
        policy: decides,
        observer: this.#observers.engine(number, models, decides.name),
        ...(this.#options.onError && { onError: this.#options.onError }),
      }).catch((error) => {
        this.#left(models);
        this.#observers.served(this.#models);
        throw error;
      });
      next = new Generation(number, engine, new Set(models), true);
    }
    this.#generation = next;
    if (next) this.#open.add(next);
    this.#models = [...models];
    this.#observers.served(models);
    await Promise.all(
      [...this.#sessions].map((session) => session.moveTo(next)),
    );
    if (before) void this.#retire(before);
  }

  async #retire(generation: Generation): Promise<void> {
    await generation.retire().catch((error) => this.#report(error));
    this.#open.delete(generation);
    this.#left(generation.models);
  }

  #left(models: Iterable<ServedModel>): void {
    const there = [...this.#open].flatMap(({ models }) => [...models]);
    this.#observers.left(models, there);
  }

  async #close(): Promise<void> {
    this.#state = "draining";
    await this.#changes;
    await Promise.all([...this.#sessions].map((session) => session.close()));
    await Promise.all([...this.#open].map((one) => this.#retire(one)));
    this.#state = "closed";
  }
}
