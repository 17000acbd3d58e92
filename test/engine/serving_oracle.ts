/**
 * What a serving engine may do, as far as those who use it can tell: the histories of all requests, and how each
 * of them may therefore end.
 */
import {
  CellError,
  ClosedError,
  DeadlineError,
  QueueFullError,
  WorkerError,
} from "../../src/engine/core/errors.ts";
import type { Result } from "../../src/graph/result.ts";

/** Ways to be rejected; an error of one's own callback or signal is another. */
export type Rejection =
  | "bad input"
  | "cell failed"
  | "closed"
  | "not started in time"
  | "not finished in time"
  | "no room"
  | "queue full"
  | "too large"
  | "worker died";

/** One request: what happened to it, and so how it may end. */
export class Ticket {
  ended = false;
  /** Resolves once its promise is settled. */
  ending: Promise<void> = Promise.resolve();
  /** The serial answer; undefined once it cannot be done any more. */
  answer: Result | undefined;
  readonly rejections = new Set<Rejection>();
  /** Errors of its own callbacks, reasons of its own signal. */
  readonly errors = new Set<unknown>();

  /** @param abort aborts its signal, if it has a sound one */
  constructor(
    readonly what: string,
    readonly controller: AbortController | undefined,
  ) {}
}

export type Ending =
  | { readonly answer: Result }
  | { readonly reason: unknown };

export class Oracle {
  /** How it was closed, most severe way so far. */
  closing: "finish" | "reject" | undefined;
  /** Calls of close() whose promises are not settled. */
  closesOutstanding = 0;
  /** Fuses lit: threads that have died, or are going to. */
  deaths = 0;
  /** Errors of observers that nobody has been told of. */
  readonly untold = new Set<unknown>();
  /** Deaths that the engine has told of. */
  #deathsTold = 0;
  /** What the engine as a whole has ended with. */
  gaveUp: { readonly error: unknown } | undefined;
  /** Requests of the sequence under way. */
  tickets: Ticket[] = [];
  #fault: string | undefined;

  get outstanding(): Ticket[] {
    return this.tickets.filter(({ ended }) => !ended);
  }

  /** Judges an ending. */
  ended(ticket: Ticket, ending: Ending): void {
    if (ticket.ended) this.fail(`${ticket.what} ended twice`);
    ticket.ended = true;
    if ("answer" in ending) {
      if (ticket.answer === undefined) {
        this.fail(`${ticket.what} was answered; it cannot be`);
      } else if (!sameBits(ending.answer, ticket.answer)) {
        this.fail(
          `${ticket.what} was answered ${show(ending.answer)}, serially it is ${
            show(ticket.answer)
          }`,
        );
      }
      return;
    }
    if (!this.#mayReject(ticket, ending.reason)) {
      this.fail(
        `${ticket.what} was rejected for no reason in its history (${
          [...ticket.rejections, ...ticket.errors].join(", ") || "none"
        }): ${show(ending.reason)}`,
      );
    }
  }

  /** Judges what the engine tells of that ends no request. */
  told(error: unknown): void {
    if (this.untold.delete(error)) return;
    if (++this.#deathsTold > this.deaths) {
      this.fail(`told of an error that nobody made: ${show(error)}`);
    }
  }

  #mayReject({ rejections, errors }: Ticket, reason: unknown): boolean {
    if (errors.has(reason)) return true;
    if (!(reason instanceof Error)) return false;
    if (errors.has(reason.cause)) return true;
    const way = wayOf(reason);
    if (way === "worker died") return this.deaths >= 2;
    if (way !== undefined && rejections.has(way)) return true;
    return this.#isGivingUp(reason);
  }

  /** Whether it is the error with which the engine as a whole ends, of which there is one. */
  #isGivingUp(error: Error): boolean {
    if (this.gaveUp) return this.gaveUp.error === error;
    // One that it recovers from, and two of those that start in its place.
    if (this.deaths < 3) return false;
    this.gaveUp = { error };
    return true;
  }

  /** Takes down a fault, wherever it is found; `check` throws it. */
  fail(what: string): void {
    this.#fault ??= what;
  }

  /** @throws Error of the first fault found so far */
  check(): void {
    if (this.#fault !== undefined) throw new Error(this.#fault);
  }

  /** What has not ended, for messages. */
  describe(): string {
    return [
      ...this.outstanding.map(({ what }) => what),
      ...this.closesOutstanding > 0
        ? [`${this.closesOutstanding} calls of close()`]
        : [],
    ].join("; ") || "nothing";
  }
}

function wayOf(error: Error): Rejection | undefined {
  if (error instanceof CellError) return "cell failed";
  if (error instanceof ClosedError) return "closed";
  if (error instanceof DeadlineError) {
    return error.missed === "start"
      ? "not started in time"
      : "not finished in time";
  }
  if (error instanceof QueueFullError) {
    return /^Slot memory is full/.test(error.message)
      ? "no room"
      : "queue full";
  }
  if (error instanceof WorkerError) return "worker died";
  if (/^A request needs a slot/.test(error.message)) return "too large";
  if (error instanceof TypeError || error instanceof RangeError) {
    return "bad input";
  }
  return undefined;
}

export function sameBits(a: Result, b: Result): boolean {
  const names = Object.keys(b);
  return Object.keys(a).length === names.length && names.every((name) => {
    const x = a[name];
    const y = b[name];
    return x !== undefined && x.data.constructor === y.data.constructor &&
      String(x.shape) === String(y.shape) &&
      x.data.every((value, i) => Object.is(value, y.data[i]));
  });
}

function show(value: unknown): string {
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  return String(
    typeof value === "object" ? JSON.stringify(value) : value,
  ).slice(0, 200);
}
