/**
 * Admission by cost: how much work waits is bounded, not how many requests do, since one may be worth a thousand others;
 * and what cannot be done in time is refused when it comes, not when its time is over (as Clockwork does: Gujarati et
 * al., OSDI '20). The engine is given as many requests as it can make full batches of, the others wait here, where
 * priorities are heeded.
 *
 * Priorities mean what they do in Triton (`ModelDynamicBatching.priority_levels`): 1 is the highest; all requests of a
 * level are handled before those of the next, in the order in which they came; 0, and what is no level, is the default
 * one. Deviation: levels share one bound there is on waiting work, where Triton has a limit for each; a request that
 * would be refused takes the place of the newest ones of lower levels, so that these cannot shut out higher ones.
 */
import { SteadyMap } from "../../base/steady_map.ts";
import { withoutStack } from "../../base/without_stack.ts";
import { msToNs, NS_PER_MS } from "../../base/units.ts";
import { DeadlineError } from "../../engine/core/errors.ts";
import { watchSignal } from "../../engine/wall/watch_signal.ts";
import type { Model } from "../../graph/model.ts";
import type { Task } from "../../policy/launch.ts";
import type { Observer, TaskRecord } from "../../policy/records.ts";
import type { Admission } from "../host/admission.ts";
import { OverloadedError } from "../host/errors.ts";
import type { HostRequest } from "../host/host_request.ts";
import type { HostEnding } from "../host/host_observer.ts";
import { type AdmissionLimits, admissionLimits } from "./admission_limits.ts";
import { CostEstimate } from "./cost_estimate.ts";
import { requestSize } from "./request_size.ts";
import { Ticket } from "./ticket.ts";
import { type TimeSource, WALL_TIME } from "./time_source.ts";
import { WaitingLevels } from "./waiting_levels.ts";

/** When to come back, where nobody knows what waits. */
const RETRY_UNKNOWN_MS = 1000;

/**
 * Work that the engine has at once, as a share of the time that a request is given: who comes later joins batches and
 * delays those who came before, and nobody could be promised anything where everybody did. What is beyond waits here,
 * first come first served. Counted is what a request adds to batches that there are anyway.
 */
const RUNNING_SHARE = 0.15;

/** Requests that it has in any case: without them there are no batches, which make the work of each less. */
const RUNNING_LEAST = 8;

/** Part of its time by which a request may be late before it is not worth running. */
const BY_FAR = 0.25;

/** Longest time that is promised to be worth waiting for. */
const RETRY_MS_MAX = 60_000;

/**
 * Decides when requests are given to the engine, and which are refused: by the work in the system and by when they would
 * be done, both learned while serving.
 *
 * @example A host that refuses what it cannot finish within 100 ms
 * ```ts
 * import assert from "node:assert/strict";
 * import { cellular, lstm } from "@shoal/core";
 * import { CostAdmission, EngineHost, servedTokens } from "@shoal/core/server";
 *
 * const model = lstm({ hidden: 8, vocabulary: 10, head: "classifier" });
 * const admission = new CostAdmission({ sloMs: 100, runningMax: 64 });
 * const host = await EngineHost.create({
 *   models: [servedTokens(model, { name: "intents" })],
 *   policy: () => cellular(),
 *   engine: { workers: 0, warmUp: false },
 *   admission,
 * });
 * await host.run(host.find("intents"), { tokens: [3, 1, 4] });
 * assert(admission.estimateOf(model).isKnown);
 * assert.equal(admission.running, 0);
 * await host.close();
 * ```
 */
export class CostAdmission implements Admission {
  readonly #limits: AdmissionLimits;
  readonly #time: TimeSource;
  readonly #waiting: WaitingLevels;
  readonly #estimates = new WeakMap<Model, CostEstimate>();
  readonly #tickets = new SteadyMap<Ticket>();
  /** Those that are to be admitted once more, and when they were asked for first. */
  readonly #again = new SteadyMap<number>();
  #running = 0;
  /** Requests that the engine has room for, as far as known: at most `runningMax`. */
  #room: number;
  /** What running requests are expected to cost still. */
  #runningNs = 0;

  /**
   * An admission of one host.
   * @param limits what is not said has its default
   * @throws TypeError or RangeError on a limit that is none
   */
  constructor(
    limits: Partial<AdmissionLimits> = {},
    time: TimeSource = WALL_TIME,
  ) {
    this.#limits = admissionLimits(limits);
    this.#time = time;
    this.#room = this.#limits.runningMax;
    this.#waiting = new WaitingLevels(this.#limits.priorityLevels);
  }

  /** Requests that wait for the engine to have room. */
  get waiting(): number {
    return this.#waiting.count;
  }

  /** Requests that the engine has. */
  get running(): number {
    return this.#running;
  }

  /** Work in all of them, as known now, in nanoseconds of a worker's time. */
  get backlogNs(): number {
    return this.#runningNs + this.#waiting.workNs();
  }

  /** Its clock. */
  nowNs(): number {
    return this.#time.nowNs();
  }

  /** What a request is expected to cost, in nanoseconds of a worker's time; 0 while nothing is known. */
  costNs({ served, input }: HostRequest): number {
    return this.estimateOf(served.model).workNs(1, requestSize(input));
  }

  /** What is known of a model's requests. */
  estimateOf(model: Model): CostEstimate {
    let estimate = this.#estimates.get(model);
    if (estimate === undefined) {
      estimate = new CostEstimate(this.#limits.workers);
      this.#estimates.set(model, estimate);
    }
    return estimate;
  }

  /** See Admission. @throws OverloadedError, DeadlineError, or the signal's reason */
  admit(request: HostRequest): Promise<() => void> | (() => void) {
    const { signal, label } = request;
    const againNs = this.#again.get(label);
    this.#again.delete(label);
    // A polyfill's may not say why itself, and what is none is not watched.
    if (signal && signal.aborted !== false) watchSignal(signal, () => {})();
    const ticket = this.#ticketOf(request);
    ticket.askedNs = againNs ?? this.#time.nowNs();
    const ahead = this.#runningNs + this.#waiting.workNs(ticket.level);
    ticket.aheadNs = ahead;
    const { estimate, size } = ticket;
    if (estimate.isKnown) ticket.latencyNs = estimate.latencyNs(size, ahead);
    const isAlone = this.#running === 0 && this.#waiting.count === 0;
    // An estimate that is wrong could refuse everything, of its model at least, and would never hear that it is.
    ticket.isTrial = estimate.isOutdated(ticket.askedNs);
    if (againNs === undefined && !isAlone) {
      if (!ticket.isTrial) this.#refuseLate(ticket);
      this.#makeRoom(ticket);
    }
    estimate.letIn(this.#time.nowNs());
    if (againNs !== undefined) return this.#wait(ticket, true);
    const isNext = this.#hasRoomFor(ticket) &&
      (this.#waiting.first?.level ?? Infinity) > ticket.level;
    return isNext ? this.#start(ticket) : this.#wait(ticket);
  }

  /** See Admission. */
  refusal(priority = 0): OverloadedError | undefined {
    const level = this.#levelOf(priority);
    if (this.#waiting.lastBelow(level)) return undefined;
    return this.#fullBy(0, 1, undefined);
  }

  /**
   * See Admission: slots are full of requests that are larger than others. It is the next one when another one has
   * ended, and the engine is given fewer from now on, and little by little more.
   */
  again({ label }: HostRequest): boolean {
    // Alone it has all the room that there is.
    const ticket = this.#tickets.get(label);
    if (this.#running <= 1 || ticket === undefined) return false;
    this.#room = this.#running - 1;
    this.#again.set(label, ticket.askedNs);
    return true;
  }

  /** See HostObserver: what requests cost is learned from tasks. */
  engine(): Observer {
    return { task: (task, record) => this.#ran(task, record) };
  }

  /** See HostObserver. */
  ended(request: HostRequest, { outcome, endNs, error }: HostEnding): void {
    const ticket = this.#tickets.get(request.label);
    if (ticket === undefined) return;
    const { estimate, size, workNs } = ticket;
    const isDone = outcome === "done";
    if (isDone) {
      estimate.ran(size, workNs, endNs);
      const { runningMax } = this.#limits;
      this.#room = Math.min(runningMax, this.#room + 1 / this.#room);
    }
    // Assumption: one that was ended for being late took as long as it was let. It would have taken longer, and
    // leaving it out would make an estimate from those alone that were quick.
    if (isDone || error instanceof DeadlineError) {
      this.#learnLatency(ticket, endNs);
    }
  }

  #ticketOf(request: HostRequest): Ticket {
    const { finishNs, arrivalNs, priority, served, input } = request;
    const { sloMs = this.#limits.sloMs } = request;
    return new Ticket(
      request,
      this.#levelOf(priority),
      requestSize(input),
      this.estimateOf(served.model),
      finishNs,
      Math.min(finishNs, arrivalNs + msToNs(sloMs)),
    );
  }

  #levelOf(priority: number): number {
    const { priorityLevels, priorityDefault } = this.#limits;
    const isLevel = Number.isInteger(priority) && priority >= 1 &&
      priority <= priorityLevels;
    return (isLevel ? priority : priorityDefault) - 1;
  }

  #refuseLate({ estimate, latencyNs, dueNs }: Ticket): void {
    if (dueNs === Infinity || !estimate.isKnown) return;
    const endNs = this.#time.nowNs() + estimate.promisedNs(latencyNs);
    const lateNs = endNs - dueNs;
    if (lateNs <= 0) return;
    throw withoutStack(() =>
      new OverloadedError(
        "What waits already would make this too late",
        retryMs(lateNs),
        "late",
      )
    );
  }

  /** Displaces requests of lower levels as far as needed; nobody, where all of their places would not do. */
  #makeRoom(ticket: Ticket): void {
    const { estimate, size, level, isTrial } = ticket;
    const costNs = isTrial ? 0 : estimate.workNs(1, size);
    const belowNs = this.#waiting.workNs() - this.#waiting.workNs(level);
    const below = this.#waiting.countBelow(level);
    const inVain = this.#fullBy(costNs - belowNs, 1 - below, estimate);
    if (inVain) throw inVain;
    for (;;) {
      const full = this.#fullBy(costNs, 1, estimate);
      if (full === undefined) return;
      const displaced = this.#waiting.lastBelow(level);
      if (displaced === undefined) throw full;
      this.#leaveQueue(
        displaced,
        new OverloadedError(
          "Requests of higher priority took its place",
          full.retryAfterMs,
          "displaced",
        ),
      );
    }
  }

  /** @param estimate of the model that asks, which knows how fast work goes away */
  #fullBy(
    costNs: number,
    count: number,
    estimate: CostEstimate | undefined,
  ): OverloadedError | undefined {
    const { queueCostMs, queueMax, workers } = this.#limits;
    const excessNs = this.backlogNs + costNs - msToNs(queueCostMs);
    if (excessNs > 0) {
      const drainNs = estimate?.drainNs(excessNs) ?? excessNs / workers;
      return full(retryMs(drainNs));
    }
    return this.#waiting.count + count > queueMax
      ? full(RETRY_UNKNOWN_MS)
      : undefined;
  }

  #wait(ticket: Ticket, isFirst = false): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const { request: { signal }, finishNs } = ticket;
      const unwatch = signal &&
        watchSignal(signal, (reason) => this.#leaveQueue(ticket, reason));
      const cancelTimer = this.#time.at(finishNs, () => {
        this.#learnLatency(ticket, this.#time.nowNs());
        this.#leaveQueue(
          ticket,
          new DeadlineError("It waited until its time was over", "start"),
        );
      });
      ticket.settle = (error) => {
        ticket.settle = undefined;
        cancelTimer();
        unwatch?.();
        if (error === undefined) return resolve(this.#start(ticket));
        ticket.estimate.left();
        reject(error);
      };
      if (isFirst) this.#waiting.pushFirst(ticket);
      else this.#waiting.push(ticket);
    });
  }

  /** @param error why it does not wait any more; undefined: the engine has room */
  #leaveQueue(ticket: Ticket, error?: unknown): void {
    this.#waiting.delete(ticket);
    ticket.settle!(error);
  }

  #start(ticket: Ticket): () => void {
    const { request: { label }, estimate, size } = ticket;
    ticket.expectedNs = estimate.workNs(1, size);
    this.#running++;
    this.#runningNs += ticket.expectedNs;
    this.#tickets.set(label, ticket);
    return () => {
      if (!this.#tickets.delete(label)) return;
      estimate.left();
      this.#running--;
      // Sums of what was added and taken away again are not 0 to the last bit.
      this.#runningNs = this.#running === 0
        ? 0
        : Math.max(0, this.#runningNs - ticket.leftNs);
      this.#fill();
    };
  }

  /** Whether the engine should have another request now. */
  #hasRoomFor(
    { estimate, size, dueNs, request: { arrivalNs } }: Ticket,
  ): boolean {
    if (this.#running >= this.#room) return false;
    if (this.#running < RUNNING_LEAST) return true;
    const workNs = this.#runningNs + estimate.workNs(1, size);
    return estimate.marginalShare * workNs <=
      RUNNING_SHARE * (dueNs - arrivalNs) * this.#limits.workers;
  }

  /** Gives the engine what it has room for. */
  #fill(): void {
    for (;;) {
      const ticket = this.#waiting.first;
      if (ticket === undefined || !this.#hasRoomFor(ticket)) return;
      this.#leaveQueue(ticket, this.#hopeless(ticket));
    }
  }

  /**
   * What came before it took longer than was promised: where it would miss its deadline, or its target by far, the
   * engine's time is better spent on what can be in time. One that is only somewhat late is better off than refused.
   */
  #hopeless(ticket: Ticket): OverloadedError | undefined {
    const { estimate, size, finishNs, dueNs, request: { arrivalNs } } = ticket;
    const isRun = ticket.isTrial || this.#running === 0;
    if (dueNs === Infinity || isRun) return undefined;
    const endNs = this.#time.nowNs() +
      estimate.latencyNs(size, this.#runningNs);
    const lastNs = Math.min(finishNs, dueNs + BY_FAR * (dueNs - arrivalNs));
    if (endNs <= lastNs) return undefined;
    return new OverloadedError(
      "It would be too late by now: what came before took longer than expected",
      retryMs(endNs - dueNs),
      "late",
    );
  }

  #learnLatency(
    { askedNs, estimate, size, aheadNs, latencyNs }: Ticket,
    endNs: number,
  ) {
    const tookNs = endNs - askedNs;
    const expected = { size, aheadNs, expectedNs: latencyNs };
    estimate.took(expected, tookNs, this.#time.nowNs());
  }

  /** Shares a task's time out among its rows, by what there is of them. */
  #ran({ nodes }: Task, { startNs, endNs }: TaskRecord): void {
    let length = 0;
    for (const node of nodes) length += node.length;
    let isLearned = false;
    for (const node of nodes) {
      const { label } = node.graph.owner;
      const ticket = label === undefined ? undefined : this.#tickets.get(label);
      if (ticket === undefined) continue;
      // Those of a task are of one model.
      if (!isLearned) ticket.estimate.ranTask(length, endNs - startNs, endNs);
      isLearned = true;
      const before = ticket.leftNs;
      ticket.workNs += (endNs - startNs) * node.length / length;
      this.#runningNs -= before - ticket.leftNs;
    }
  }
}

function full(retryAfterMs: number): OverloadedError {
  return withoutStack(() =>
    new OverloadedError("As much waits as may wait", retryAfterMs, "full")
  );
}

function retryMs(ns: number): number {
  return Math.min(RETRY_MS_MAX, Math.max(1, Math.ceil(ns / NS_PER_MS)));
}
