/**
 * The engine and its workers: tasks arrive at any time, go through rings and arenas that hold few of them,
 * and come back; who has nothing to do sleeps; at the end the workers are stopped. After
 * src/engine/{tensor_executor,serving,worker_loop}.ts.
 */
import { TaskArena } from "../../../../src/engine/tensors/task_arena.ts";
import {
  add,
  at,
  choose,
  event,
  listen,
  load,
  NOT_EQUAL,
  notify,
  read,
  RUNG,
  store,
  wait,
  write,
} from "../access.ts";
import { type Body, ensure, then } from "../automaton.ts";
import { type Machine, words } from "../machine.ts";

export interface Ring {
  /** Units of the arena that each task's tables take; tasks go to the workers in turns. */
  readonly tasks: readonly number[];
  /** Those that do not ring while others stand behind them; all but the last may. Default none. */
  readonly quiet?: readonly boolean[];
  readonly workers?: number;
  readonly entries: number;
  readonly arena: number;
  /** How the engine sleeps: `waitAsync` (ServingEngine) or `wait` (replay). */
  readonly sleeps: "listens" | "waits";
  /**
   * The engine lets workers keep their rings back while tasks arrive that bring it back by itself. No time passes here:
   * what a worker keeps back it keeps until something wakes it, and the engine has to hear of it all the same.
   */
  readonly lingers?: boolean;
  /** The engine may stop its workers while they have tasks. */
  readonly terminates?: boolean;
  readonly fault?: RingFault;
}

export const RING_FAULTS = [
  "submitted before the entry",
  "worker notified before submitted",
  "completed before the times",
  "doorbell rung before completed",
  "engine notified before the doorbell",
  "doorbell read after poll",
  "doorbell not rung",
  "doorbell not rung by the last in the ring",
  "quiet looked at after completed",
  "linger looked at before completed",
  "linger ended without a look",
  "completed looked at before linger is ended",
  "arena given back at submission",
  "ring of any length",
  "stop after submitted",
  "stop looked at only before sleeping",
  "stop without a wake-up",
] as const;

type RingFault = typeof RING_FAULTS[number];

/** The words of one worker. */
export const ringWords = (w: number) => ({
  submitted: at("submitted", w),
  completed: at("completed", w),
  stop: at("stop", w),
  linger: at("linger", w),
  collected: at("collected", w),
  entry: (n: number) => at(`entry ${w}`, n),
  quiet: (n: number) => at(`quiet ${w}`, n),
  ended: (n: number) => at(`ended ${w}`, n),
  unit: (n: number) => at(`arena ${w}`, n),
});

/** What a worker does with nothing but its control block; `execute` is what it does with an entry. */
export function* takeTask(
  { submitted, stop }: { submitted: string; stop: string },
  done: number,
  fault?: RingFault,
): Body<"task" | "again" | "stop"> {
  if ((yield load(submitted)) === done) {
    if (
      fault === "stop looked at only before sleeping" &&
      (yield load(stop)) === 1
    ) return "stop";
    yield wait(submitted, done);
    return "again";
  }
  if (fault === "stop looked at only before sleeping") return "task";
  return (yield load(stop)) === 1 ? "stop" : "task";
}

/** Wakes the engine. */
export function* ringDoorbell(doorbell: string): Body<void> {
  yield add(doorbell, 1);
  yield notify(doorbell);
}

/** Rings, unless the ring may be kept back. @returns not 0: it is */
function* ringNow(linger: string, doorbell: string): Body<number> {
  const keeps = yield load(linger);
  if (keeps === 0) yield* ringDoorbell(doorbell);
  return keeps;
}

/** Reports task number `done` complete. */
export function* signal(
  { completed, linger }: { completed: string; linger: string },
  doorbell: string,
  done: number,
): Body<number> {
  yield store(completed, done + 1);
  return yield* ringNow(linger, doorbell);
}

/** Reports a quiet task complete: without a ring while another stands behind it. */
export function* signalQuietly(
  words: { submitted: string; completed: string; linger: string },
  doorbell: string,
  done: number,
): Body<number> {
  yield store(words.completed, done + 1);
  if ((yield load(words.submitted)) !== done + 1) return 0;
  return yield* ringNow(words.linger, doorbell);
}

/** Keeps the ring for `done` tasks back until it is woken, then rings unless the engine has seen them. */
export function* keepRing(
  { submitted, collected }: { submitted: string; collected: string },
  doorbell: string,
  done: number,
): Body<void> {
  if ((yield load(submitted)) === done) {
    yield wait(submitted, done);
    yield load(submitted);
  }
  if ((yield load(collected)) !== done) yield* ringDoorbell(doorbell);
}

/** Says whether a worker may keep its ring back, and rings for what it may have kept back where it may not now. */
export function* allowLinger(
  { linger, completed }: { linger: string; completed: string },
  doorbell: string,
  value: number,
  polled: number,
): Body<void> {
  yield store(linger, value);
  if (value !== 0) return;
  if ((yield load(completed)) !== polled) yield* ringDoorbell(doorbell);
}

/** Tells a worker of what was put into its ring. */
export function* announce(submitted: string, count: number): Body<void> {
  yield store(submitted, count);
  yield notify(submitted);
}

/** Ends a worker. */
export function* stopWorker(
  { stop, submitted }: { stop: string; submitted: string },
): Body<void> {
  yield store(stop, 1);
  yield add(submitted, 1);
  yield notify(submitted);
}

/** The books of the engine about one worker, as one number each. */
interface Books {
  readonly pushed: number;
  readonly polled: number;
  /** What was taken (1) from the arena and given back (0), after a leading 1, the first the highest. */
  readonly arena: number;
}

export function ring(options: Ring): Machine {
  const { tasks, workers = 1, entries, arena, sleeps, fault } = options;
  const ofWorker = <T>(all: readonly T[], w: number) =>
    all.filter((_, i) => i % workers === w);
  const tasksOf = Array.from(
    { length: workers },
    (_, w) => ofWorker(tasks, w),
  );
  const every = Array.from({ length: workers }, (_, w) => w);
  const quietOf = tasksOf.map((_, w) => ofWorker(options.quiet ?? [], w));

  function* worker(w: number, done: number, kept: number): Body {
    const words = ringWords(w);
    if (kept !== 0) {
      yield* keepRing(words, "doorbell", done);
      return then(worker, w, done, 0);
    }
    const { completed, entry, ended, unit } = words;
    const what = yield* takeTask(words, done, fault);
    if (what === "again") return then(worker, w, done, 0);
    if (what === "stop") return;
    ensure(done < tasksOf[w].length, "an entry that is executed was filled");
    const tables = yield read(entry(done % entries));
    const looksLate = fault === "quiet looked at after completed";
    const quiet = !looksLate && (yield read(words.quiet(done % entries))) === 1;
    for (let u = 0; u < tasksOf[w][done]; u++) {
      ensure(
        (yield read(unit(tables + u))) === done + 1,
        `the tables are those of task ${done + 1}`,
      );
    }
    const times = write(ended(done % entries), done + 1);
    let keeps = 0;
    if (fault === "completed before the times") {
      yield* signal(words, "doorbell", done);
      yield times;
    } else {
      yield times;
      if (fault === "doorbell rung before completed") {
        yield add("doorbell", 1);
        yield notify("doorbell");
        yield store(completed, done + 1);
      } else if (fault === "engine notified before the doorbell") {
        yield store(completed, done + 1);
        yield notify("doorbell");
        yield add("doorbell", 1);
      } else if (
        fault === "doorbell not rung" ||
        (quiet && fault === "doorbell not rung by the last in the ring")
      ) {
        yield store(completed, done + 1);
      } else if (looksLate) {
        yield store(completed, done + 1);
        if ((yield read(words.quiet(done % entries))) === 0) {
          yield* ringDoorbell("doorbell");
        }
      } else if (fault === "linger looked at before completed") {
        keeps = yield load(words.linger);
        yield store(completed, done + 1);
        if (keeps === 0) yield* ringDoorbell("doorbell");
      } else if (quiet) keeps = yield* signalQuietly(words, "doorbell", done);
      else keeps = yield* signal(words, "doorbell", done);
    }
    return then(worker, w, done + 1, keeps);
  }

  /** The real arena, brought to where it was. */
  function arenaOf(w: number, books: Books): TaskArena {
    const real = new TaskArena(0, arena);
    let taken = 0;
    for (const step of books.arena.toString(2).slice(1)) {
      if (step === "1") real.take(tasksOf[w][taken++]);
      else real.giveBack();
    }
    return real;
  }

  function* tryPush(w: number, books: Books): Body<Books | undefined> {
    const { submitted, entry, quiet, unit } = ringWords(w);
    const { pushed, polled } = books;
    if (pushed - polled === entries && fault !== "ring of any length") {
      return undefined;
    }
    const units = tasksOf[w][pushed];
    const tables = arenaOf(w, books).take(units);
    if (tables === undefined) return undefined;
    if (fault === "submitted before the entry") {
      yield* announce(submitted, pushed + 1);
    }
    for (let u = 0; u < units; u++) yield write(unit(tables + u), pushed + 1);
    yield write(entry(pushed % entries), tables);
    yield write(quiet(pushed % entries), quietOf[w][pushed] ? 1 : 0);
    if (fault === "worker notified before submitted") {
      yield notify(submitted);
      yield store(submitted, pushed + 1);
    } else if (fault !== "submitted before the entry") {
      yield* announce(submitted, pushed + 1);
    }
    const freed = fault === "arena given back at submission";
    const taken = 2 * books.arena + 1;
    return { pushed: pushed + 1, polled, arena: freed ? 2 * taken : taken };
  }

  function* poll(w: number, books: Books, arrived: number): Body<Books> {
    const { completed, ended, collected } = ringWords(w);
    const now = yield load(completed);
    let { pushed, polled, arena } = books;
    const isNew = polled < now;
    while (polled < now) {
      const time = yield read(ended(polled % entries));
      polled++;
      ensure(time === polled, `the times are those of task ${polled}`);
      if (fault !== "arena given back at submission") arena *= 2;
    }
    if (isNew) yield store(collected, now);
    const due = tasksOf[w].filter((_, i) => i * workers + w < arrived).length;
    books = { pushed, polled, arena };
    while (books.pushed < due) {
      const after = yield* tryPush(w, books);
      if (after === undefined) break;
      books = after;
    }
    return books;
  }

  /** Changes what workers may keep back; looks again at those that may have kept back what is due. */
  function* changeLinger(value: number, polled: readonly number[]): Body<void> {
    for (const w of every) {
      const words = ringWords(w);
      const isEnd = value === 0;
      if (fault === "linger ended without a look" && isEnd) {
        yield store(words.linger, 0);
      } else if (
        fault === "completed looked at before linger is ended" && isEnd
      ) {
        const isDue = (yield load(words.completed)) !== polled[w];
        yield store(words.linger, 0);
        if (isDue) yield* ringDoorbell("doorbell");
      } else yield* allowLinger(words, "doorbell", value, polled[w]);
    }
  }

  /** One turn; `state` is three numbers for each worker. */
  function* turn(
    arrived: number,
    listening: number,
    lingering: number,
    ...state: number[]
  ): Body {
    const early = fault === "doorbell read after poll"
      ? undefined
      : yield load("doorbell");
    const after: number[] = [];
    let polled = 0;
    for (let w = 0; w < workers; w++) {
      const [pushed, seen, arena] = state.slice(3 * w);
      const books = yield* poll(
        w,
        { pushed: pushed, polled: seen, arena: arena },
        arrived,
      );
      after.push(books.pushed, books.polled, books.arena);
      polled += books.polled;
    }
    if (polled === tasks.length) return then(close);
    const seen = early ?? (yield load("doorbell"));
    if (options.terminates && (yield choose(2)) === 1) return then(close);
    const more = arrived < tasks.length ? 1 : 0;
    if (options.lingers && more !== lingering) {
      const polledOf = every.map((w) => after[3 * w + 1]);
      yield* changeLinger(more, polledOf);
      lingering = more;
    }
    if (sleeps === "waits") {
      if (more) return then(turn, arrived + 1, 0, lingering, ...after);
      yield wait("doorbell", seen);
      return then(turn, arrived, 0, lingering, ...after);
    }
    if (polled < arrived && listening === 0) {
      // Listening in vain is an event, too.
      if ((yield listen("doorbell", seen)) === NOT_EQUAL) {
        return then(turn, arrived, 0, lingering, ...after);
      }
      listening = 1;
    }
    const rung = (yield event(more)) === RUNG;
    return then(
      turn,
      rung ? arrived : arrived + 1,
      rung ? 0 : listening,
      lingering,
      ...after,
    );
  }

  function* close(): Body {
    for (let w = 0; w < workers; w++) {
      const { stop, submitted } = ringWords(w);
      if (fault === "stop after submitted") {
        yield add(submitted, 1);
        yield notify(submitted);
        yield store(stop, 1);
      } else if (fault === "stop without a wake-up") {
        yield store(stop, 1);
        yield add(submitted, 1);
      } else yield* stopWorker({ stop, submitted });
    }
    return undefined;
  }

  const plain = Object.assign(
    {},
    ...every.flatMap((w) => [
      words(`entry ${w}`, entries),
      words(`quiet ${w}`, entries),
      words(`ended ${w}`, entries),
      words(`arena ${w}`, arena),
    ]),
  );
  return {
    words: {
      atomic: {
        doorbell: 0,
        ...words("submitted", workers),
        ...words("completed", workers),
        ...words("stop", workers),
        ...words("linger", workers),
        ...words("collected", workers),
      },
      plain,
    },
    processes: {
      ...Object.fromEntries(
        every.map((w) => [`worker ${w}`, { start: then(worker, w, 0, 0) }]),
      ),
      engine: {
        start: then(turn, 0, 0, 0, ...every.flatMap(() => [0, 0, 1])),
      },
    },
  };
}
