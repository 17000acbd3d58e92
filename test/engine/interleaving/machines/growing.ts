/**
 * A growing request: its steps are submitted ahead of their values, so some turn out to be void; it may be
 * abandoned at any time, and a row may fail. The engine settles steps as the worker's `completed` moves on.
 */
import {
  add,
  choose,
  count,
  load,
  look,
  notify,
  read,
  store,
  wait,
  write,
} from "../access.ts";
import { type Body, ensure, then } from "../automaton.ts";
import { type Machine, words } from "../machine.ts";
import {
  abandonSlot,
  DONE,
  failureOf,
  header,
  headerWords,
  isVoid,
  LAST,
  reportFailure,
  row,
  stepOutcome,
  takeStep,
  VOID,
} from "./header_words.ts";

export interface Growing {
  readonly submitted: number;
  readonly stepsLimit: number;
  /** Step whose token ends the request, or 0. */
  readonly stopsAt: number;
  /** Step whose row may fail, or 0. */
  readonly failsAt?: number;
  readonly abandons?: boolean;
  readonly fault?:
    | "steps and done are two words"
    | "completed before results";
}

/** How the engine sees a request. */
const GOES_ON = 0;
const ENDED = 1;
const FAILED = 2;
const ABANDONED = 3;

const S = "slot";

export function growing(options: Growing): Machine {
  const { submitted, stepsLimit, stopsAt, failsAt = 0, fault } = options;
  const twoWords = fault === "steps and done are two words";
  const last = Math.min(stepsLimit, stopsAt || submitted, submitted);

  function* rowOver(): Body<boolean> {
    if (twoWords) return (yield load("done")) !== 0;
    return yield* isVoid(S);
  }

  function* take(step: number): Body<void> {
    if (!twoWords) return yield* takeStep(S, step, step === stopsAt);
    const steps = (yield add("steps", 1)) + 1;
    if (step === stopsAt || steps >= stepsLimit) yield store("done", 1);
  }

  function* outcome(step: number): Body<number> {
    if (!twoWords) return yield* stepOutcome(S, step);
    const steps = yield load("steps");
    if (step > steps) return VOID;
    return step === steps && (yield load("done")) !== 0 ? LAST : DONE;
  }

  function* signal(task: number): Body<void> {
    yield store("completed", task + 1);
    yield add("doorbell", 1);
    yield notify("doorbell");
  }

  function* worker(task: number): Body {
    if (task === submitted) return;
    const step = task + 1;
    if (!(yield* rowOver())) {
      if (step > 1) {
        ensure((yield read(row(S, step - 1))) === step - 1, "inputs are there");
      }
      const fails = step === failsAt && (yield choose(2)) === 1;
      if (fault === "completed before results") yield* signal(task);
      if (fails) yield* reportFailure(S, step);
      else yield write(row(S, step), step);
      yield count("computed");
      yield* take(step);
      if (fault === "completed before results") return then(worker, step);
    }
    yield* signal(task);
    return then(worker, step);
  }

  function* settle(step: number): Body<number> {
    const failure = yield* failureOf(S);
    if (failure !== 0) {
      ensure(failure === failsAt, "the failure names the row that failed");
      return FAILED;
    }
    const was = yield* outcome(step);
    const right = step < last ? DONE : step === last ? LAST : VOID;
    ensure(was === right, `step ${step} of ${last} is settled as ${was}`);
    if (was !== VOID) {
      ensure((yield look("computed")) >= step, "what is done was computed");
    }
    if (was !== LAST) return GOES_ON;
    for (let done = 1; done <= step; done++) {
      ensure((yield read(row(S, done))) === done, `row ${done} is whole`);
    }
    return ENDED;
  }

  function* engine(settled: number, request: number): Body {
    if (
      options.abandons && request === GOES_ON && (yield choose(2)) === 1
    ) {
      yield* abandonSlot(S);
      return then(engine, settled, ABANDONED);
    }
    const rung = yield load("doorbell");
    const completed = yield load("completed");
    return then(settling, settled, request, completed, rung);
  }

  function* settling(
    settled: number,
    request: number,
    completed: number,
    rung: number,
  ): Body {
    if (settled < completed) {
      const step = settled + 1;
      const now = request === GOES_ON ? yield* settle(step) : request;
      return then(settling, step, now, completed, rung);
    }
    if (settled === submitted) return;
    yield wait("doorbell", rung);
    return then(engine, settled, request);
  }

  const { mixed, plain } = headerWords(S, stepsLimit);
  return {
    words: {
      atomic: {
        completed: 0,
        doorbell: 0,
        ...(twoWords && { steps: 0, done: 0, [header(S).failure]: 0 }),
      },
      mixed: twoWords ? { [header(S).abandoned]: 0 } : mixed,
      plain: { ...plain, ...words(`${S}.row`, submitted + 1) },
      books: { computed: 0 },
    },
    processes: {
      worker: { start: then(worker, 0) },
      engine: { start: then(engine, 0, GOES_ON) },
    },
  };
}
