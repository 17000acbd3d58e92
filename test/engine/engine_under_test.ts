/** A serving engine with an oracle at its side: whatever is done to the one is told to the other. */
import { setImmediate } from "node:timers";
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import type { Policy } from "../../src/policy/policy.ts";
import type { Observer } from "../../src/policy/records.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import type { Death } from "./fuse.ts";
import type { MortalWorker } from "./mortal_workers.ts";
import { fillingRequest, SERVED } from "./served_models.ts";
import {
  prepareRequest,
  type RequestSpec,
  type Trick,
} from "./served_request.ts";
import { Oracle, sameBits, type Ticket } from "./serving_oracle.ts";
import { ask } from "./ask.ts";

/** What an engine is made with. */
export interface Setting {
  readonly policy: string;
  readonly options: Record<string, unknown>;
  readonly workers: number;
  readonly threadsPerWorker: number;
  readonly queueMax: number;
  readonly slotBytes: number;
  readonly taskBytes: number;
}

/** More than all nodes of a full queue: what goes on for longer goes on for ever. */
const LAUNCHES_MAX = 10_000;

export const HOOKS = ["decided", "waited", "task", "request"] as const;

/** What the engine's observer does besides, once. */
export interface ObserverTrick {
  readonly hook: (typeof HOOKS)[number];
  readonly does: "throw" | "run";
}

/** Lets the event loop deliver what there is. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

export class EngineUnderTest {
  readonly oracle = new Oracle();
  /** Names of the models that it serves. */
  readonly models: readonly string[];
  readonly #filling: ReturnType<typeof fillingRequest>;
  #engine!: ServingEngine;
  #observerTrick: ObserverTrick | undefined;
  /** Runs launched and not finished. */
  #runs = 0;
  #launchesInARow = 0;
  #abandoned = false;
  /** Callbacks of the engine's being executed. */
  #depth = 0;
  #requests = 0;
  #closes: Promise<void>[] = [];
  #threads: MortalWorker[] = [];
  #threadsBefore = 0;
  /** Ids of requests that have departed in the sequence under way. */
  readonly #departed = new Set<number>();

  /** @param workers all threads on record: those that come while this engine is in use are its own */
  static async create(
    setting: Setting,
    workers: readonly MortalWorker[],
  ): Promise<EngineUnderTest> {
    const made = new EngineUnderTest(setting, workers);
    await made.#start();
    return made;
  }

  private constructor(
    readonly setting: Setting,
    readonly workers: readonly MortalWorker[],
  ) {
    const policy = POLICIES[setting.policy].build(setting.options);
    this.models = Object.keys(SERVED).filter((name) =>
      policy.supports(SERVED[name].model) === undefined
    );
    this.#filling = fillingRequest(setting.slotBytes);
  }

  async #start(): Promise<void> {
    const { policy, options, ...sizes } = this.setting;
    const before = this.workers.length;
    this.#engine = await ServingEngine.create({
      ...sizes,
      models: this.models.map((name) => SERVED[name].model),
      policy: this.#counted(POLICIES[policy].build(options)),
      observer: this.#observer(),
      onError: (error) => this.oracle.told(error),
      team: { leastNs: 0, wakeNs: 0 },
      warmUp: false,
      // Whatever it would give up waiting for is to hang here.
      patienceMs: 3_600_000,
    });
    this.#threads = this.workers.slice(before);
  }

  /** Begins a sequence. */
  begin(): void {
    this.oracle.tickets = [];
    this.#departed.clear();
    this.#threadsBefore = this.workers.length;
  }

  submit(spec: RequestSpec): void {
    const { oracle } = this;
    const prepared = prepareRequest(
      `request ${this.#requests++} ${JSON.stringify(spec)}`,
      spec,
      {
        active: this.#engine.active,
        queueMax: this.setting.queueMax,
        quiet: this.#engine.active === 0 && this.#runs === 0,
        over: oracle.closing !== undefined || oracle.gaveUp !== undefined,
        inside: this.#depth > 0,
      },
      (trick, ticket) => this.#callback(() => this.#play(trick, ticket)),
    );
    const { ticket, model, input, options } = prepared;
    oracle.tickets.push(ticket);
    try {
      ticket.ending = ask(this.#engine, model, input, options).then(
        (answer) => oracle.ended(ticket, { answer }),
        (reason) => oracle.ended(ticket, { reason }),
      );
    } catch (error) {
      ticket.ended = true;
      oracle.fail(`run() threw ${error}, for ${ticket.what}`);
    }
  }

  /** Aborts one of the requests of the sequence that can be aborted; it may have ended before. */
  cancel(index: number): void {
    const all = this.oracle.tickets.filter(({ controller }) => controller);
    if (all.length > 0) this.#cancel(all[index % all.length]);
  }

  #cancel(ticket: Ticket): void {
    const { oracle } = this;
    const { signal } = ticket.controller!;
    const before = this.#engine.active - this.#requests;
    const isThere = !ticket.ended && !signal.aborted && this.#knowsWhoIsThere();
    // The reason has to be known before anybody can be rejected with it.
    const reason = new Error(`the signal of ${ticket.what}`);
    ticket.errors.add(reason);
    ticket.controller!.abort(reason);
    if (!isThere) return;
    ticket.answer = undefined;
    ticket.rejections.clear();
    // The engine has looked around: others may have ended, and made new ones in their callbacks.
    if (this.#engine.active - this.#requests >= before) {
      oracle.fail(`${ticket.what} was cancelled and is not gone`);
    }
  }

  /** Whether all requests that have not ended are in the system, as far as anybody can tell. */
  #knowsWhoIsThere(): boolean {
    return this.#depth === 0 &&
      this.#engine.active === this.oracle.outstanding.length;
  }

  close(pending: "finish" | "reject"): void {
    const { oracle } = this;
    const there = this.#knowsWhoIsThere() ? oracle.outstanding : [];
    if (oracle.closing !== "reject") oracle.closing = pending;
    if (pending === "reject" || this.#depth > 0) {
      for (const { rejections } of oracle.outstanding) rejections.add("closed");
    }
    oracle.closesOutstanding++;
    try {
      this.#closes.push(
        this.#engine.close(pending).then(
          () => void oracle.closesOutstanding--,
          (error) => oracle.fail(`close() was rejected: ${error}`),
        ),
      );
    } catch (error) {
      oracle.fail(`close("${pending}") threw ${error}`);
    }
    if (pending === "finish" || this.#depth > 0) return;
    for (const ticket of there) ticket.answer = undefined;
    if (this.#engine.active > 0) {
      oracle.fail(`after close("reject") requests are in the system`);
    }
  }

  /** The observer's hook does something besides when it is called next. */
  trickObserver(trick: ObserverTrick): void {
    this.#observerTrick = trick;
  }

  /** Lets one of its threads die at its n-th access to shared memory, or write, from now. */
  kill(
    index: number,
    death: Death,
    accesses: number,
    which?: "writes",
  ): void {
    const alive = this.#allThreads().filter(({ ended, dead }) =>
      !ended && !dead
    );
    if (alive.length === 0) return;
    this.oracle.deaths++;
    alive[index % alive.length].light(death, accesses, which);
  }

  #allThreads(): MortalWorker[] {
    return [...this.#threads, ...this.workers.slice(this.#threadsBefore)];
  }

  /** Waits until one of the requests of the sequence has ended. */
  async await(index: number): Promise<void> {
    const { outstanding } = this.oracle;
    await outstanding[index % outstanding.length]?.ending;
  }

  /**
   * Ends a sequence: waits for everything, looks for leftovers, and closes an engine whose threads were
   * made to die.
   * @throws Error of the first fault that was found
   */
  async settle(): Promise<void> {
    const { oracle } = this;
    this.#observerTrick = undefined;
    await this.#awaitAll();
    for (const thread of this.#allThreads()) thread.spare();
    if (oracle.deaths > 0 && oracle.closing === undefined) {
      this.submit({ model: this.models[0], input: 0 });
      await this.#awaitAll();
    }
    const isOpen = oracle.closing === undefined;
    if (isOpen && oracle.gaveUp === undefined) await this.#checkSlots();
    if (isOpen && oracle.deaths > 0) this.close("finish");
    if (oracle.closing !== undefined) await this.#checkClosed();
    if (oracle.untold.size > 0) {
      oracle.fail("an observer threw, and nobody was told");
    }
    if (this.#engine.active !== 0) {
      oracle.fail(`nothing is outstanding, "active" is ${this.#engine.active}`);
    }
    oracle.check();
  }

  /** What has not ended, for messages. */
  describe(): string {
    const runs = this.#runs > 0 ? `; ${this.#runs} runs in flight` : "";
    return `${this.oracle.describe()}${runs}`;
  }

  async #awaitAll(): Promise<void> {
    for (const { ending } of this.oracle.tickets) await ending;
  }

  /** A request that needs all slots gets them once all others are gone. */
  async #checkSlots(): Promise<void> {
    while (this.#runs > 0 && !this.#abandoned) await turn();
    const { model, input, stepsFixed, answer } = this.#filling;
    try {
      const result = await ask(this.#engine, model, input, { stepsFixed });
      if (!sameBits(result, answer)) {
        this.oracle.fail("the last request has a wrong answer");
      }
    } catch (error) {
      this.oracle.fail(`with nobody there, a request is rejected: ${error}`);
    }
  }

  async #checkClosed(): Promise<void> {
    await Promise.all(this.#closes);
    const left = this.#allThreads().filter(({ ended, dead }) =>
      !ended && !dead
    );
    if (left.length > 0) {
      this.oracle.fail(`${left.length} threads have outlived close()`);
    }
  }

  /** Closes it, whatever it is doing. */
  async discard(): Promise<void> {
    this.#abandoned = true;
    await this.#engine.close("reject");
  }

  /** The same policy; its runs are counted. */
  #counted(policy: Policy): Policy {
    return {
      name: policy.name,
      supports: (model) => policy.supports(model),
      enqueue: (request) => policy.enqueue(request),
      schedule: (view) => {
        const decision = policy.schedule(view);
        if (decision.kind !== "launch") this.#launchesInARow = 0;
        else if (++this.#launchesInARow > LAUNCHES_MAX) {
          throw new Error("the policy launches something without end");
        } else this.#runs++;
        return decision;
      },
      submitted: (launch) => policy.submitted?.(launch),
      completed: (task, ranNs) => policy.completed?.(task, ranNs),
      finished: (launch) => {
        this.#runs--;
        policy.finished?.(launch);
      },
      ended: (request) => policy.ended?.(request),
    };
  }

  #observer(): Observer {
    return {
      decided: () => this.#observe("decided"),
      waited: () => this.#observe("waited"),
      task: () => this.#observe("task"),
      request: (_request, { id }) => {
        if (this.#departed.has(id)) this.oracle.fail(`${id} departed twice`);
        this.#departed.add(id);
        this.#observe("request");
      },
    };
  }

  #observe(hook: ObserverTrick["hook"]): void {
    if (this.#observerTrick?.hook !== hook) return;
    const { does } = this.#observerTrick;
    this.#observerTrick = undefined;
    this.#callback(() => {
      if (does === "run") this.submit({ model: this.models[0], input: 1 });
      else {
        const error = new Error(`the observer's "${hook}"`);
        this.oracle.untold.add(error);
        throw error;
      }
    });
  }

  #callback<T>(body: () => T): T {
    this.#depth++;
    try {
      return body();
    } finally {
      this.#depth--;
    }
  }

  /** Does what a callback of a request's model is to do besides. */
  #play(trick: Trick, ticket: Ticket): unknown {
    const error = new Error(`the model of ${ticket.what}`);
    switch (trick) {
      case "throw":
        ticket.errors.add(error);
        throw error;
      case "throw no error":
        ticket.errors.add(ticket.what);
        throw ticket.what;
      case "return a promise":
        ticket.rejections.add("bad input");
        return Promise.resolve();
      case "return a rejected promise": {
        ticket.rejections.add("bad input");
        ticket.errors.add(error);
        const promise = Promise.reject(error);
        promise.catch(() => {});
        return promise;
      }
      case "run":
        return void this.submit({ model: this.models[0], input: 1 });
      case "abort":
        return void (ticket.controller && this.#cancel(ticket));
      case "abort another": {
        const other = this.oracle.outstanding.find((one) =>
          one !== ticket && one.controller
        );
        return void (other && this.#cancel(other));
      }
      case "close":
        return this.close("finish");
      case "reject":
        return this.close("reject");
      default:
        trick satisfies never;
    }
  }
}
