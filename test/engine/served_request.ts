/** Requests of the tests that drive a serving engine at random: sound ones, and many kinds of others. */
import type { RequestOptions } from "../../src/engine/wall/request_options.ts";
import type { Model } from "../../src/graph/model.ts";
import {
  type Callback,
  cutShort,
  type Played,
  SERVED,
} from "./served_models.ts";
import { Ticket } from "./serving_oracle.ts";

export const SIGNALS = [
  "none",
  "sound",
  "aborted before",
  "no AbortSignal",
  "throws when asked",
  "throws when listened to",
  "throws when left alone",
] as const;
type SignalKind = (typeof SIGNALS)[number];

/** What a callback of a request's model does besides. */
export const TRICKS = [
  "throw",
  "throw no error",
  "return a promise",
  "return a rejected promise",
  "run",
  "abort",
  "abort another",
  "close",
  "reject",
] as const;
export type Trick = (typeof TRICKS)[number];

export interface RequestSpec {
  /** A name in SERVED, or that of no model of the engine. */
  readonly model: string;
  /** Which of the model's cases, modulo their number. */
  readonly input: number;
  readonly signal?: SignalKind;
  readonly deadlineMs?: number;
  readonly finishMs?: number;
  readonly stepsFixed?: number;
  readonly whenFull?: "wait" | "refuse";
  /** In the n-th call of a callback, from 0 on. */
  readonly trick?: {
    readonly at: Callback;
    readonly call: number;
    readonly does: Trick;
  };
}

/** An engine as a new request finds it. */
export interface Circumstances {
  /** Requests in the system. */
  readonly active: number;
  readonly queueMax: number;
  /** Nobody's rows are in flight, and nobody has a slot. */
  readonly quiet: boolean;
  /** It was closed, or has given up. */
  readonly over: boolean;
  /** The request is made inside a callback of the engine's. */
  readonly inside: boolean;
}

/** All that a call of run() takes, and what is known of how it may end. */
export interface PreparedRequest {
  readonly ticket: Ticket;
  readonly model: Model<Played>;
  readonly input: Played;
  readonly options: RequestOptions;
}

/** With such a signal no request is taken. */
const HOPELESS: RequestSpec["signal"][] = [
  "aborted before",
  "no AbortSignal",
  "throws when asked",
  "throws when listened to",
];

/** Steps and deadlines that are none. */
function isBad(
  { model, deadlineMs = 1, finishMs = 1, stepsFixed = 1 }: RequestSpec,
) {
  return SERVED[model] === undefined || !(deadlineMs > 0) ||
    !(finishMs > 0) || stepsFixed < 1;
}

/** Deadlines that a request may miss, on the busiest machine. */
const SHORT_MS = 1000;

/** @param play plays the request's trick */
export function prepareRequest(
  what: string,
  spec: RequestSpec,
  now: Circumstances,
  play: (trick: Trick, ticket: Ticket) => unknown,
): PreparedRequest {
  const served = SERVED[spec.model] ?? SERVED["lstm"];
  const { input, fate, answer } = served
    .cases[spec.input % served.cases.length];
  const controller = new AbortController();
  const ticket = new Ticket(
    what,
    spec.signal === "sound" ? controller : undefined,
  );
  const { rejections } = ticket;
  const signal = signalOf(spec.signal ?? "none", controller, ticket);
  const { deadlineMs = Infinity, finishMs = Infinity } = spec;
  const steps = served.grows || spec.stepsFixed === 0
    ? spec.stepsFixed
    : undefined;
  const wayward = now.inside || spec.trick !== undefined;
  const full = now.active >= now.queueMax;

  if (fate !== "done") rejections.add(fate);
  if (isBad(spec)) rejections.add("bad input");
  if (deadlineMs < SHORT_MS) rejections.add("not started in time");
  if (finishMs < SHORT_MS) rejections.add("not finished in time");
  if (full || wayward) rejections.add("queue full");
  if (spec.whenFull === "refuse" && (!now.quiet || wayward)) {
    rejections.add("no room");
  }
  if (now.over) rejections.add("closed");
  const hopeless = fate !== "done" || isBad(spec) || now.over ||
    HOPELESS.includes(spec.signal) || (full && !wayward);
  if (!hopeless) {
    ticket.answer = steps === undefined ? answer : cutShort(answer!, steps);
  }
  return {
    ticket,
    model: SERVED[spec.model] ? served.model : { ...served.model },
    input: {
      input,
      ...spec.trick && { trick: trickOf(spec.trick, ticket, play) },
    },
    options: {
      ...signal && { signal },
      ...spec.deadlineMs !== undefined && { deadlineMs: spec.deadlineMs },
      ...spec.finishMs !== undefined && { finishMs: spec.finishMs },
      ...steps !== undefined && { stepsFixed: steps },
      ...spec.whenFull && { whenFull: spec.whenFull },
    },
  };
}

function trickOf(
  { at, call, does }: NonNullable<RequestSpec["trick"]>,
  ticket: Ticket,
  play: (trick: Trick, ticket: Ticket) => unknown,
): NonNullable<Played["trick"]> {
  let calls = 0;
  return {
    at,
    play: () => calls++ === call ? play(does, ticket) : undefined,
  };
}

/** A signal; an error that its methods throw is the ticket's own. */
function signalOf(
  kind: SignalKind,
  controller: AbortController,
  { what, errors, rejections }: Ticket,
): AbortSignal | undefined {
  const { signal } = controller;
  if (kind === "none") return undefined;
  if (kind === "sound") return signal;
  if (kind === "aborted before") {
    controller.abort();
    errors.add(signal.reason);
    return signal;
  }
  if (kind === "no AbortSignal") {
    rejections.add("bad input");
    return { aborted: false } as AbortSignal;
  }
  const error = new Error(`the signal of ${what}`);
  // What goes wrong once a request has ended cannot be its end.
  if (kind !== "throws when left alone") errors.add(error);
  const fail = () => {
    throw error;
  };
  return kind === "throws when asked"
    ? Object.defineProperty(signal, "aborted", { get: fail })
    : Object.defineProperty(
      signal,
      kind === "throws when listened to"
        ? "addEventListener"
        : "removeEventListener",
      { value: fail },
    );
}
