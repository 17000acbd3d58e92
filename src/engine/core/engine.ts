/**
 * The engine core: synchronous, driven by events, without a clock of its own. A driver reports
 * arrivals and completions with their times and then calls `pump`, which asks the policy until it
 * has nothing more to launch. Every check here costs O(rows) and stays on.
 */
import { assert } from "../../base/assert.ts";
import { refusePromise } from "../../base/refuse_promise.ts";
import { NODE } from "../../graph/cell_graph.ts";
import type { Launch, Task } from "../../policy/launch.ts";
import type { EngineView, Policy } from "../../policy/policy.ts";
import type { NodeOf } from "../../policy/request.ts";
import type { Observer, Outcome } from "../../policy/records.ts";
import { ActiveList } from "./active_list.ts";
import { ActiveRequest, type Ending } from "./active_request.ts";
import { BatchLog } from "./batch_log.ts";
import { Admission } from "./admission.ts";
import { checkKnown, checkSupported, lookaheadOf } from "./check_models.ts";
import {
  checkLaunch,
  checkTail,
  checkWait,
  noDecision,
} from "./check_decision.ts";
import { claimPolicy } from "./claimed_policies.ts";
import { Deadlines } from "./deadlines.ts";
import { Dispatch } from "./dispatch.ts";
import {
  checkedEngineOptions,
  type EngineOptions,
  limitsOf,
  type Submission,
} from "./engine_options.ts";
import { QueueFullError } from "./errors.ts";
import { expired } from "./expired.ts";
import type { Executor } from "./executor.ts";
import { Growth } from "./growth.ts";
import { logBatch, requestRecord, taskRecord } from "./records.ts";
import { resultOf } from "./result_of.ts";
import { Sessions } from "./sessions.ts";
import { type EngineTask, type Run, startRun } from "./run.ts";
import { settleRow } from "./settle_row.ts";
import { StepRows } from "./step_rows.ts";
import { tellSteps } from "./tell_steps.ts";
import { TokenCheck } from "./token_check.ts";
import { deferred } from "./unfold.ts";
import { UsedGraphs } from "./used_graphs.ts";

/**
 * The engine without a clock and without threads: it keeps the requests, asks the policy, and checks and counts what
 * happens. Synchronous: a driver reports arrivals (`submit`) and completions (`completed`) with their times, in
 * ascending order, and then calls `pump`. `driveVirtual` is such a driver, `ServingEngine` another.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { cellular, lstm } from "@shoal/core";
 * import { constantCost, driveVirtual, EngineCore, SimExecutor, Timeline } from "@shoal/core/simulate";
 *
 * const model = lstm({ hidden: 4, vocabulary: 10 });
 * const timeline = new Timeline();
 * const executor = new SimExecutor({
 *   timeline,
 *   cost: constantCost(1000),
 *   onCompleted: (task, startNs, endNs) => engine.completed(task, startNs, endNs),
 * });
 * const engine = new EngineCore({ models: [model], policy: cellular(), executor });
 * driveVirtual(engine, timeline, [{ model, input: { tokens: [1, 2] }, arrivalNs: 0 }]);
 * assert.equal(timeline.nowNs, 2000); // two steps
 * assert.equal(engine.active, 0);
 * ```
 */
export class EngineCore {
  readonly #policy: Policy;
  readonly #executor: Executor;
  readonly #observer: Observer | undefined;
  readonly #queueMax: number;
  readonly #active = new ActiveList();
  readonly #view: { nowNs: number } & EngineView;
  readonly #deadlines = new Deadlines();
  readonly #admission: Admission;
  /** Streams, whose frames are requests. */
  readonly sessions: Sessions;
  readonly #tokens = new TokenCheck();
  /** Errors of rows in the task being settled. */
  readonly #failures = new Map<ActiveRequest, Error>();
  readonly #growth: Growth;
  readonly #dispatch: Dispatch;
  readonly #graphs: UsedGraphs;
  /** What the policy threw when it was given a request. */
  #policyError: { readonly error: unknown } | undefined;
  /** Of a request that found no room. Frames, which come often, need no function of their own. */
  readonly #mayWait = (request: ActiveRequest): boolean =>
    request.whenFull === "wait" && this.#admission.findsNoRoom(request);
  #requests = 0;
  #launches = 0;

  /**
   * An engine without requests.
   * @throws RangeError when the policy cannot batch one of the models
   * @throws TypeError when it serves another engine already, or an option is not one
   */
  constructor(options: EngineOptions) {
    const { models, policy, executor, observer, ...rest } =
      checkedEngineOptions(options);
    const { queueMax = 1e6, hasTime, isRemote = false, waitingBytes } = rest;
    this.#policy = policy;
    this.#executor = executor;
    this.#growth = new Growth(executor);
    this.#graphs = new UsedGraphs(executor);
    this.#observer = observer;
    this.#queueMax = queueMax;
    this.#admission = new Admission(
      models,
      (model) =>
        hasTime ? executor.workers * lookaheadOf(policy, model) : Infinity,
      hasTime ?? (() => true),
      waitingBytes,
    );
    this.sessions = new Sessions(executor, this.#admission);
    for (const model of models) checkSupported(model, policy);
    this.#dispatch = new Dispatch({
      policy,
      executor,
      growth: this.#growth,
      admission: this.#admission,
      active: this.#active,
    });
    this.#view = { nowNs: 0, workers: this.#dispatch.workers, isRemote };
    claimPolicy(policy);
  }

  /** What messages call its policy. */
  get policyName(): string {
    return this.#policy.name;
  }

  /** Requests in the system. */
  get active(): number {
    return this.#active.size;
  }

  /** Tasks submitted and not completed. */
  get tasksInFlight(): number {
    return this.#dispatch.tasksInFlight;
  }

  /** Whether every worker has a task. */
  get isBusy(): boolean {
    return this.#dispatch.isBusy;
  }

  /** Whether all that is in the system are frames, workers have all there is to do for them, and nothing is due then. */
  get awaitsFramesOnly(): boolean {
    return this.#active.isOut && !this.sessions.awaitsFrames;
  }

  /** Whether requests could come in that the last pump had no time for: pump again soon. */
  get holdsBack(): boolean {
    return this.#admission.isHeld;
  }

  /**
   * Takes a request in. The caller pumps afterwards.
   * @throws TypeError or RangeError on bad input, deadlines or steps, QueueFullError when the queue is full, or slots
   * are and it is not to wait, or only sessions have them; nothing is queued then
   */
  submit(submission: Submission): ActiveRequest {
    const { input, model, session } = submission;
    checkKnown(model, this.#admission);
    // First: refusing is what an overloaded engine does most.
    if (this.#active.size >= this.#queueMax) {
      throw new QueueFullError(
        `${this.#active.size} requests are in the system, queueMax is ${this.#queueMax}; retry later or raise it`,
      );
    }
    const { deadlineNs, finishNs } = limitsOf(submission);
    const request = new ActiveRequest(
      this.#requests,
      model,
      session?.frame.graph ?? this.#graphs.empty(model),
      submission.arrivalNs,
      deadlineNs,
      finishNs,
      submission.stepsFixed,
      submission.onEnd,
      session,
    );
    request.label = submission.label;
    request.whenFull = submission.whenFull ?? "wait";
    if (request.whenFull === "refuse") this.#admission.checkRoom();
    if (submission.logBatches) request.log = new BatchLog();
    if (submission.onStep) request.steps = new StepRows(submission.onStep);
    if (session) this.sessions.take(request, input, submission.into);
    else if (!this.#admission.isOpen(model)) {
      request.waiting = deferred(model, input);
    }
    if (!request.waiting && !this.#admit(request, input)) {
      // It has a graph, with a copy of what it brought.
      request.waiting = { input: undefined, bytes: 0 };
    }
    if (request.waiting && !session) this.#admission.wait(request);
    // A refused one has no number: those of requests that are taken follow each other.
    this.#requests++;
    this.#active.add(request);
    this.#deadlines.add(request);
    return request;
  }

  /**
   * Unfolds a request, makes room for it, and tells the policy.
   * @returns whether there was room; otherwise it is to wait for some
   */
  #admit(request: ActiveRequest, input: unknown): boolean {
    if (request.session) this.sessions.begin(request);
    else if (!this.#graphs.admit(request, input, this.#mayWait)) return false;
    this.#admission.entered(request);
    try {
      this.#told("enqueue", this.#policy.enqueue(request));
    } catch (error) {
      // No fault of the request's, which is in the system: whoever pumps has to hear of it.
      this.#policyError ??= { error };
    }
    return true;
  }

  /** Admits frames whose turn it is, and requests that waited for others of their model to begin. */
  #admitWaiting(nowNs: number): void {
    for (;;) {
      const request = this.sessions.next() ?? this.#admission.next(nowNs);
      if (request === undefined) return;
      try {
        const isIn = this.#admit(request, request.waiting!.input);
        if (isIn) this.#leave(request);
      } catch (thrown) {
        const error = thrown as Error;
        this.#depart(request, nowNs, { outcome: "failed", error });
      }
    }
  }

  /**
   * Ends a request early, with outcome "cancelled". Rows already submitted become void or are wasted; batch-mates do
   * not notice. Nothing happens when it has ended.
   */
  cancel(request: ActiveRequest, nowNs: number, reason: Error): void {
    this.#endEarly(request, nowNs, { outcome: "cancelled", error: reason });
  }

  /** Fails every request. Tasks in flight go on; the policy hears of every end. */
  failAll(nowNs: number, error: Error): void {
    for (const request of this.#active.inOrder()) {
      this.#endEarly(request, nowNs, { outcome: "failed", error });
    }
  }

  /**
   * Fails every request of an engine that is beyond repair: its workers are gone, or its policy threw. Asks neither
   * of them; nothing may be submitted or reported afterwards. All are over before anybody hears, who may cancel others.
   */
  abandonAll(nowNs: number, error: Error): void {
    const all = this.#active.takeAll();
    for (const request of all) request.over = request.departed = true;
    for (const request of all) {
      this.#report(request, nowNs, "failed");
      tellEnd(request, { outcome: "failed", error }, nowNs);
    }
    this.sessions.abandon(error);
  }

  /**
   * Asks the policy for launches until it has none. What the policy throws ends the engine (abandonAll).
   * @returns when to pump again at the latest; Infinity when only an event can change anything
   */
  pump(nowNs: number): number {
    this.#view.nowNs = nowNs;
    this.#expire(nowNs);
    this.#graphs.settle();
    for (;;) {
      this.#admitWaiting(nowNs);
      if (this.#policyError) throw this.#policyError.error;
      const decision = this.#policy.schedule(this.#view);
      switch (decision?.kind) {
        case "launch":
          this.#launch(decision.launch, nowNs);
          continue;
        case "wait":
          checkWait(decision, nowNs, this.#policy);
          this.#observer?.waited?.(nowNs, decision.untilNs, decision.why);
          return Math.min(decision.untilNs, this.#deadlines.nextNs());
        case "idle":
          return this.#deadlines.nextNs();
        default:
          decision satisfies never;
          throw noDecision(this.#policy, decision);
      }
    }
  }

  /**
   * A task was executed from `startNs` to `endNs`: settles its rows, ends requests that need nothing more, and tells
   * observer and policy. What executors are given as `onCompleted`; the caller pumps afterwards.
   * @throws Error when the task is not under way
   */
  completed(given: Task, startNs: number, endNs: number): void {
    const task = given as EngineTask;
    const { run, nodes } = task;
    assert(run.inFlight > 0, "a task of a run that is under way");
    let rows = 0;
    let tokens = 0;
    const ended: ActiveRequest[] = [];
    let logged = 0;
    for (let i = 0; i < nodes.length; i++) {
      const node = nodes[i];
      const request = node.graph.owner;
      request.inFlight--;
      const wasOver = request.over;
      if (this.#settle(task, node, startNs)) {
        rows++;
        tokens += node.length;
        if (request.log) logged++;
        if (request.steps?.done(node)) run.stepped.push(request);
      }
      if (request.over && !wasOver) ended.push(request);
      if (request.departed && request.inFlight === 0) this.#release(request);
    }
    if (logged > 0) logBatch(task, { rows, startNs, endNs });
    this.#dispatch.done(task);
    this.#observer?.task?.(
      task,
      taskRecord(task, { rows, tokens, startNs, endNs }),
    );
    this.#told("completed", this.#policy.completed?.(task, endNs - startNs));
    if (run.launch.release !== "end") this.#tellSteps(run, endNs);
    for (const request of ended) this.#end(request, run, endNs);
    this.#dispatch.goOn(run);
    this.#endStunted(endNs);
    if (run.inFlight === 0) this.#finish(run, endNs);
  }

  /** @returns whether the row was executed for its request */
  #settle(
    task: EngineTask,
    node: NodeOf<ActiveRequest>,
    startNs: number,
  ): boolean {
    assert(node.state === NODE.submitted, "a node is completed once");
    const request = node.graph.owner;
    const settlement = request.over
      ? "void"
      : this.#executor.settle(task, node, request);
    if (settlement instanceof Error) this.#failures.set(request, settlement);
    return settleRow(node, settlement, startNs);
  }

  #end(request: ActiveRequest, run: Run, nowNs: number): void {
    const error = this.#failures.get(request);
    if (error) {
      this.#failures.delete(request);
      return this.#depart(request, nowNs, { outcome: "failed", error });
    }
    if (nowNs > request.finishNs) {
      return this.#depart(request, nowNs, expired(request, "finish"));
    }
    const ending = resultOf(request, this.#executor);
    if (run.launch.release === "end") {
      request.held = ending;
      run.held.push(request);
    } else {
      this.#depart(request, nowNs, ending);
    }
  }

  #tellSteps(run: Run, nowNs: number): void {
    for (const [request, error] of tellSteps(run, this.#executor, nowNs)) {
      this.#endEarly(request, nowNs, { outcome: "failed", error });
    }
  }

  #endEarly(request: ActiveRequest, nowNs: number, ending: Ending): void {
    if (request.departed) return;
    request.over = true;
    request.held = undefined;
    if (!request.waiting) this.#executor.abandon(request);
    this.#depart(request, nowNs, ending);
  }

  #depart(request: ActiveRequest, nowNs: number, ending: Ending): void {
    if (request.departed) return;
    request.departed = true;
    this.#active.delete(request);
    const { waiting, begun } = request;
    if (ending.outcome === "done") request.session?.advance();
    try {
      if (waiting) {
        this.#leave(request);
        if (!request.session) this.#graphs.withdraw(request);
      } else {
        if (!begun) this.#admission.began(request);
        this.#told("ended", this.#policy.ended?.(request));
      }
    } finally {
      this.#deadlines.drop(request);
      this.#report(request, nowNs, ending.outcome);
      if (!waiting && request.inFlight === 0) this.#release(request);
      tellEnd(request, ending, nowNs);
    }
  }

  /** A request that waited is admitted, or departs. */
  #leave(request: ActiveRequest): void {
    (request.session ? this.sessions : this.#admission).leave(request);
  }

  /** Nothing of a request that has departed is in flight. */
  #release(request: ActiveRequest): void {
    this.#executor.release(request);
    if (!request.session) this.#admission.left();
    if (request.longRuns === 0) this.#partFrom(request);
  }

  /** The policy has heard of a run's end: that was all that some requests waited for which are over. */
  #letGo({ requests }: Run): void {
    for (const request of requests) {
      const isLast = --request.longRuns === 0;
      if (isLast && request.departed && request.inFlight === 0) {
        this.#partFrom(request);
      }
    }
  }

  /** No launch that the policy will hear of has nodes of it. */
  #partFrom(request: ActiveRequest): void {
    if (request.session) this.sessions.over(request);
    else this.#graphs.leave(request);
  }

  #report(request: ActiveRequest, endNs: number, outcome: Outcome): void {
    this.#observer?.request?.(request, requestRecord(request, endNs, outcome));
  }

  #expire(nowNs: number): void {
    const take = () => this.#deadlines.takeMissed(nowNs);
    for (let late = take(); late; late = take()) {
      this.#endEarly(late.request, nowNs, expired(late.request, late.missed));
    }
  }

  /** The policy was told of something. @throws TypeError unless it has heard by now */
  #told(hook: keyof Policy, returned: unknown): void {
    refusePromise(returned, hook, "policy", this.#policy.name);
  }

  #launch(given: Launch, nowNs: number): void {
    checkLaunch(given, this.#dispatch.workers.length, this.#policy);
    if (given.tail) checkTail(given.tail, this.#active, this.#policy);
    // A policy launches what it was given.
    const launch = given as Launch<ActiveRequest>;
    const run = startRun(launch, this.#launches++, this.#view);
    if (launch.tokens) this.#tokens.acquire(launch.tokens);
    this.#observer?.decided?.(nowNs, run.launch, run.id);
    this.#dispatch.begin(run);
    this.#told("submitted", this.#policy.submitted?.(launch));
    this.#endStunted(nowNs);
  }

  /** Ends requests whose growth failed, once the policy knows what was submitted. */
  #endStunted(nowNs: number): void {
    for (const [request, error] of this.#growth.takeStunted()) {
      this.#endEarly(request, nowNs, { outcome: "failed", error });
    }
  }

  #finish(run: Run, nowNs: number): void {
    if (run.launch.tokens) this.#tokens.release(run.launch.tokens);
    this.#told("finished", this.#policy.finished?.(run.given));
    this.#letGo(run);
    this.#tellSteps(run, nowNs);
    for (const request of run.held) {
      if (request.held === undefined) continue;
      const isLate = nowNs > request.finishNs;
      const ending = isLate ? expired(request, "finish") : request.held;
      this.#depart(request, nowNs, ending);
    }
  }
}

/** Who keeps the request longer, as its stream and its deadline do, keeps nothing of what it brought or got. */
function tellEnd(request: ActiveRequest, ending: Ending, nowNs: number): void {
  const { onEnd } = request;
  request.onEnd = request.steps = request.held = undefined;
  onEnd?.(ending, nowNs);
}
