/**
 * A worker may die at any of its accesses. The engine waits until its thread is certainly gone, reads
 * `completed` a last time, resets control block and arena, and gives the unfinished tasks to a fresh
 * thread, in order. Tasks are the steps of one growing request whose state lives in two buffers by turns,
 * so a step that is executed twice must not be one that a later step has built on.
 */
import {
  at,
  choose,
  count,
  event,
  gone,
  listen,
  load,
  look,
  NOT_EQUAL,
  read,
  RUNG,
  start,
  store,
  write,
} from "../access.ts";
import { type Body, ensure, then } from "../automaton.ts";
import { type Machine, words } from "../machine.ts";
import {
  abandonSlot,
  DONE,
  header,
  headerWords,
  isVoid,
  LAST,
  stepOutcome,
  takeStep,
  VOID,
} from "./header_words.ts";
import {
  announce,
  keepRing,
  ringDoorbell,
  signal,
  signalQuietly,
  stopWorker,
  takeTask,
} from "./ring.ts";

export interface Recovery {
  readonly submitted: number;
  readonly stepsLimit: number;
  /** Step whose token ends the request, or 0. */
  readonly stopsAt: number;
  readonly deaths: number;
  readonly abandons?: boolean;
  /** All tasks but the last do not ring while others stand behind them, unless they are void. */
  readonly quiet?: boolean;
  readonly fault?: RecoveryFault;
}

export const RECOVERY_FAULTS = [
  "steps are counted",
  "reset before the thread is gone",
  "completed not read a last time",
  "tables not written again",
  "reset after the fresh thread began",
  "reset wipes the doorbell",
  "nobody looks after recovery",
  "begun kept from an earlier task",
] as const;

type RecoveryFault = typeof RECOVERY_FAULTS[number];

const S = "slot";
/** Entries of the ring, each with tables of its own. */
export const ENTRIES = 2;
const CONTROL = {
  submitted: "submitted",
  completed: "completed",
  stop: "stop",
  linger: "linger",
  collected: "collected",
};
const FRESH = 1;
const MOVED = 2;

/** Makes the control block ready for a fresh worker; the doorbell is not its own. */
export function* openControl(): Body<void> {
  for (const word of Object.values(CONTROL)) yield store(word, 0);
}

/** Value of the request's state after `step` steps. */
const valueAfter = (step: number) => step === 0 ? 1 : 3 * step + 1;

export function recovery(options: Recovery): Machine {
  const { submitted, stepsLimit, stopsAt, deaths, fault } = options;
  const counted = fault === "steps are counted";
  const last = Math.min(stepsLimit, stopsAt || submitted, submitted);
  const entry = (task: number) => at("entry", task % ENTRIES);
  const table = (task: number) => at("table", task % ENTRIES);
  const begun = (task: number) => at("begun", task % ENTRIES);
  const buffer = (step: number) => at("buffer", step % 2);
  const thread = (n: number) => `worker ${n}`;

  /** @param done tasks of this thread's ring that are complete; `kept`: the ring for them is kept back */
  function* worker(done: number, kept: number): Body {
    if (kept !== 0) {
      yield* keepRing(CONTROL, "doorbell", done);
      return then(worker, done, 0);
    }
    const what = yield* takeTask(CONTROL, done);
    if (what === "again") return then(worker, done, 0);
    if (what === "stop") return;
    const step = yield read(entry(done));
    yield write(begun(done), 1);
    yield count(at("times begun", step));
    const tables = yield read(table(done));
    ensure(tables === FRESH, "a task's tables are as the engine wrote them");
    // Rows move within the tables when some are left out.
    yield write(table(done), MOVED);
    const over = yield* isVoid(S);
    if (!over) {
      const before = yield read(buffer(step - 1));
      ensure(before === valueAfter(step - 1), `inputs of step ${step}`);
      yield write(buffer(step), valueAfter(step));
      yield write(at("out", step), step);
      if (counted) {
        const steps = (yield read("steps")) + 1;
        yield write("steps", steps);
        if (steps === stopsAt || steps >= stepsLimit) {
          yield store(header(S).lastStep, steps);
        }
      } else yield* takeStep(S, step, step === stopsAt);
    }
    const report = options.quiet && !over && step < submitted
      ? signalQuietly
      : signal;
    const keeps = yield* report(CONTROL, "doorbell", done);
    return then(worker, done + 1, keeps);
  }

  function* settle(step: number): Body<void> {
    const was = yield* stepOutcome(S, step);
    const right = step < last ? DONE : step === last ? LAST : VOID;
    ensure(was === right, `step ${step} of ${last} is settled as ${was}`);
    if (was !== LAST) return;
    for (let done = 1; done <= step; done++) {
      ensure((yield read(at("out", done))) === done, `row ${done} is whole`);
    }
  }

  function* push(n: number, step: number): Body<void> {
    if (fault !== "tables not written again" || n === step - 1) {
      yield write(table(n), FRESH);
    }
    yield write(entry(n), step);
    if (fault !== "begun kept from an earlier task") yield write(begun(n), 0);
    yield* announce(CONTROL.submitted, n + 1);
  }

  /** Settles what is complete. @returns whether the engine is not interested any more */
  function* settleAll(
    settled: number,
    completed: number,
    over: number,
  ): Body<number> {
    for (; settled < completed; settled++) {
      if (over === 0) yield* settle(settled + 1);
      if (settled + 1 >= last) over = 1;
    }
    return over;
  }

  /**
   * One turn: `settled` tasks of the request are, `pushed` were pushed, thread `n` executes those from
   * `origin` on. `over`: the engine is not interested any more.
   */
  function* turn(
    settled: number,
    pushed: number,
    n: number,
    origin: number,
    over: number,
  ): Body {
    if (options.abandons && over === 0 && (yield choose(2)) === 1) {
      yield* abandonSlot(S);
      over = 1;
    }
    const seen = yield load("doorbell");
    const completed = origin + (yield load("completed"));
    if (completed > settled) yield store("collected", completed - origin);
    over = yield* settleAll(settled, completed, over);
    settled = Math.max(settled, completed);
    while (pushed < submitted && pushed - settled < ENTRIES) {
      pushed++;
      yield* push(pushed - 1 - origin, pushed);
    }
    if (settled === submitted) {
      yield* stopWorker(CONTROL);
      return;
    }
    if ((yield listen("doorbell", seen)) === NOT_EQUAL) {
      return then(turn, settled, pushed, n, origin, over);
    }
    return then(idle, settled, pushed, n, origin, over);
  }

  /** Asleep in the event loop, which brings rings and the news of a death. */
  function* idle(
    settled: number,
    pushed: number,
    n: number,
    origin: number,
    over: number,
  ): Body {
    const news = n === deaths
      ? event()
      : fault === "reset before the thread is gone"
      ? event(1)
      : event(0, thread(n));
    if ((yield news) === RUNG) {
      return then(turn, settled, pushed, n, origin, over);
    }
    if (fault !== "reset before the thread is gone") yield gone(thread(n));
    let now = settled;
    if (fault !== "completed not read a last time") {
      now = origin + (yield load("completed"));
      if (now > settled) yield store("collected", now - origin);
      over = yield* settleAll(settled, now, over);
    }
    if (now < pushed) {
      const isBegun = (yield read(begun(now - origin))) === 1;
      const times = yield look(at("times begun", now + 1));
      ensure(!isBegun || times > 0, `step ${now + 1} was begun`);
      if (!isBegun) {
        const tables = yield read(table(now - origin));
        ensure(tables === FRESH, "what nobody has begun is as it was written");
      }
    }
    if (fault === "reset after the fresh thread began") {
      yield start(thread(n + 1));
    }
    yield* openControl();
    if (fault === "reset wipes the doorbell") yield write("doorbell", 0);
    if (fault !== "reset after the fresh thread began") {
      yield start(thread(n + 1));
    }
    for (let task = now; task < pushed; task++) {
      yield* push(task - now, task + 1);
    }
    if (fault !== "nobody looks after recovery") {
      yield* ringDoorbell("doorbell");
    }
    return then(idle, now, pushed, n + 1, now, over);
  }

  function* ringer(): Body {
    yield* ringDoorbell("doorbell");
    return undefined;
  }

  const { mixed, plain } = headerWords(S, stepsLimit);
  const threads = Array.from({ length: deaths + 1 }, (_, n) => n);
  return {
    words: {
      atomic: { submitted: 0, completed: 0, stop: 0, linger: 0, collected: 0 },
      mixed: { doorbell: 0, ...mixed },
      plain: {
        ...plain,
        ...words("entry", ENTRIES),
        ...words("table", ENTRIES),
        ...words("begun", ENTRIES),
        "buffer[0]": valueAfter(0),
        "buffer[1]": 0,
        ...words("out", submitted + 1),
        ...(counted && { steps: 0 }),
      },
      books: words("times begun", submitted + 1),
    },
    processes: {
      ...Object.fromEntries(threads.map((n) => [thread(n), {
        start: then(worker, 0, 0),
        ...(n < deaths && { mortal: true }),
        ...(n > 0 && { later: true }),
      }])),
      ...(fault === "reset wipes the doorbell" &&
        { "other worker": { start: then(ringer) } }),
      engine: { start: then(turn, 0, 0, 0, 0, 0) },
    },
  };
}
