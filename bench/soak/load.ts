/** Puts requests to the engine, from its own event loop as a server's handlers would, and books their ends. */
import { setImmediate } from "node:timers/promises";
import { EventHeap, RANK } from "../../src/base/event_heap.ts";
import type { Prng } from "../../src/base/prng.ts";
import { msToNs } from "../../src/base/units.ts";
import { DeadlineError, QueueFullError } from "../../src/engine/core/errors.ts";
import type { ServingEngine } from "../../src/engine/wall/serving.ts";
import type { Ledger } from "./ledger.ts";
import { type BadQuestion, type Question, sameBits } from "./pool.ts";

/** Longest time of submitting before others have their turn in the event loop. */
const SLICE_MS = 1;

/** Arrivals later than this are given up: a client would have, too, and the backlog would never end. */
const SKIP_MS = 500;

/** Shares of requests that are bad, and that are cancelled after an exponential time with this mean. */
const BAD_SHARE = 0.005;
const CANCEL_SHARE = 0.03;
const CANCEL_MS = 20;

/** Shares of requests that have a deadline, and the deadlines. */
export interface Deadlines {
  readonly share: number;
  readonly leastMs: number;
  readonly mostMs: number;
}

export interface ClosedLoad {
  readonly outstanding: number;
  readonly durationMs: number;
  /** Which models are asked, by number; default: all. */
  readonly models?: readonly number[];
}

export interface OpenLoad {
  readonly ratePerS: number;
  readonly durationMs: number;
  readonly deadlines: Deadlines;
}

interface Cancellation {
  readonly atNs: number;
  readonly rank: number;
  readonly controller: AbortController;
  readonly reason: Error;
}

export class Load {
  readonly #engine: ServingEngine;
  readonly #questions: readonly (readonly Question[])[];
  readonly #models: readonly number[];
  readonly #bad: readonly BadQuestion[];
  readonly #prng: Prng;
  readonly #cancellations = new EventHeap<Cancellation>();

  /** @param questions by model; each model is asked as often as the others */
  constructor(
    engine: ServingEngine,
    questions: readonly (readonly Question[])[],
    bad: readonly BadQuestion[],
    prng: Prng,
  ) {
    this.#engine = engine;
    this.#questions = questions;
    this.#models = [...questions.keys()];
    this.#bad = bad;
    this.#prng = prng;
  }

  /** Closed loop: `outstanding` requests at any time. Resolves when the time is over, not the requests. */
  async closed(
    ledger: Ledger,
    { outstanding, durationMs, models }: ClosedLoad,
  ): Promise<void> {
    const endMs = performance.now() + durationMs;
    const client = async () => {
      while (performance.now() < endMs) {
        await this.#ask(ledger, this.#draw(models));
      }
    };
    for (let i = 0; i < outstanding; i++) void client();
    await sleep(durationMs);
  }

  /** Open loop: Poisson arrivals whatever the engine does. Resolves when the time is over, not the requests. */
  async open(ledger: Ledger, load: OpenLoad): Promise<void> {
    const gapMs = 1000 / load.ratePerS;
    const startMs = performance.now();
    const endMs = startMs + load.durationMs;
    let dueMs = startMs + this.#prng.exponential(gapMs);
    while (dueMs < endMs) {
      const sliceMs = performance.now() + SLICE_MS;
      for (let nowMs = performance.now(); nowMs < sliceMs;) {
        if (dueMs > nowMs || dueMs >= endMs) break;
        if (nowMs - dueMs > SKIP_MS) {
          ledger.skipped++;
        } else {
          ledger.submittedLateMs.add(nowMs - dueMs);
          this.#submit(ledger, load.deadlines);
        }
        dueMs += this.#prng.exponential(gapMs);
        nowMs = performance.now();
      }
      this.#cancelDue();
      await this.#turn(Math.min(dueMs, endMs));
    }
  }

  /** Waits for requests that are still open, and cancels those whose time comes. */
  async drain(ledger: Ledger, patienceMs: number): Promise<void> {
    const endMs = performance.now() + patienceMs;
    while (ledger.open > 0 && performance.now() < endMs) {
      this.#cancelDue();
      await sleep(5);
    }
  }

  async #turn(dueMs: number): Promise<void> {
    const waitMs = dueMs - performance.now();
    if (waitMs <= 0) await setImmediate();
    else await sleep(waitMs);
  }

  #draw(models = this.#models): Question {
    const questions = this.#questions[models[this.#prng.int(models.length)]];
    return questions[this.#prng.int(questions.length)];
  }

  #submit(ledger: Ledger, deadlines: Deadlines): void {
    const kind = this.#prng.float();
    const question = this.#draw();
    if (kind < BAD_SHARE) {
      void this.#askBad(ledger, this.#bad[this.#prng.int(this.#bad.length)]);
      return;
    }
    const { share, leastMs, mostMs } = deadlines;
    const deadlineMs = this.#prng.float() < share
      ? leastMs + this.#prng.float() * (mostMs - leastMs)
      : undefined;
    const cancelled = kind < BAD_SHARE + CANCEL_SHARE
      ? this.#cancelLater()
      : undefined;
    void this.#ask(ledger, question, deadlineMs, cancelled);
  }

  #cancelLater(): Cancellation {
    const cancellation = {
      atNs: msToNs(performance.now() + this.#prng.exponential(CANCEL_MS)),
      rank: RANK.arrival,
      controller: new AbortController(),
      reason: new Error("The client went away"),
    };
    this.#cancellations.push(cancellation);
    return cancellation;
  }

  #cancelDue(): void {
    for (;;) {
      const next = this.#cancellations.peek();
      if (next === undefined || next.atNs > msToNs(performance.now())) return;
      this.#cancellations.pop();
      next.controller.abort(next.reason);
    }
  }

  async #ask(
    ledger: Ledger,
    { model, input, stepsFixed, answer }: Question,
    deadlineMs?: number,
    cancellation?: Cancellation,
  ): Promise<void> {
    const startMs = performance.now();
    ledger.offered++;
    ledger.open++;
    try {
      const { outputs } = await this.#engine.run(model, input, {
        ...(stepsFixed !== undefined && { stepsFixed }),
        ...(deadlineMs !== undefined && { deadlineMs }),
        ...(cancellation && { signal: cancellation.controller.signal }),
      });
      const tookMs = performance.now() - startMs;
      if (!sameBits(outputs, answer)) {
        ledger.end("wrong", `an answer of ${model.name} has other bits`);
        return;
      }
      ledger.answered(model.name, tookMs, deadlineMs);
    } catch (error) {
      if (error instanceof DeadlineError && deadlineMs !== undefined) {
        ledger.end("expired");
        const lateMs = performance.now() - startMs - deadlineMs;
        if (lateMs < 0) {
          ledger.end("unexpected", `a deadline passed ${-lateMs} ms too early`);
        }
        ledger.latenessMs.add(lateMs);
      } else if (cancellation && error === cancellation.reason) {
        ledger.end("cancelled");
      } else if (error instanceof QueueFullError) {
        ledger.end("queueFull");
      } else {
        ledger.end("unexpected", `${model.name}: ${error}`);
      }
    } finally {
      ledger.open--;
    }
  }

  async #askBad(ledger: Ledger, bad: BadQuestion): Promise<void> {
    ledger.offered++;
    ledger.open++;
    try {
      await this.#engine.run(bad.model, bad.input);
      ledger.end("unexpected", `${bad.model.name} answered a bad input`);
    } catch (error) {
      const { name, message } = error as Error;
      if (name === bad.error.name && message === bad.error.message) {
        ledger.end("badInput");
      } else if (error instanceof QueueFullError) {
        ledger.end("queueFull");
      } else {
        ledger.end("unexpected", `${bad.model.name}: ${error}`);
      }
    } finally {
      ledger.open--;
    }
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
