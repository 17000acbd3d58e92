/** src/kernels/team/{crew,helper,leader}.ts, access by access: what is done with a team's meeting words. */
import {
  add,
  at,
  cas,
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

export const TEAM_FAULTS = [
  "gate closed without compare-exchange",
  "entered without compare-exchange",
  "leader does not wait",
  "leaderSleeps looked at before leaving",
  "sleepers counted after the sleep",
  "counters not opened",
  "arguments written behind the open gate",
  "parts taken without an add",
  "ended written after its wake-ups",
  "calls not advanced at the end",
  "gate not notified at the end",
  "negative gate entered",
  "ended looked at before the gate",
] as const;

export type TeamFault = typeof TEAM_FAULTS[number];

export interface Team {
  /** Threads, the leader included. */
  readonly threads: number;
  readonly partsPerThread: number;
  readonly calls: number;
  /** A helper's part may fail. */
  readonly fails?: boolean;
  /** With looks at the gate that decide nothing but how long a helper spins. */
  readonly exact?: boolean;
  readonly fault?: TeamFault;
}

/** Taken from the gate when a team ends: more than there are threads. */
const CLOSED_FOR_GOOD = 2 ** 20;
/** What the word `kernel` says. */
const RUNS = 1;
const STOP = 2;
const FAILED = 1;
const ERROR_BYTES = 7;

function* setCounters(team: Team, taken: number): Body<void> {
  for (let thread = 0; thread < team.threads; thread++) {
    yield store(at("counters", thread), taken);
  }
}

/**
 * Takes parts of the open call until none is left, from the counter of the thread that is `i` behind it
 * on. `after`: where it goes on, with `number`, and whether a part failed.
 */
function worker(
  team: Team,
  after: (thread: number, number: number, failed: number) => Body,
): (thread: number, number: number, i: number) => Body {
  const { threads, partsPerThread, fault } = team;
  return function* work(thread, number, i) {
    if (i === threads) return then(after, thread, number, 0);
    const owner = (thread + i) % threads;
    const counter = at("counters", owner);
    const call = yield read("args");
    let taken: number;
    if (fault === "parts taken without an add") {
      taken = yield load(counter);
      yield store(counter, taken + 1);
    } else taken = yield add(counter, 1, partsPerThread);
    if (taken >= partsPerThread) return then(work, thread, number, i + 1);
    const part = owner * partsPerThread + taken;
    ensure((yield read("args")) === call, "the call stays as it is");
    ensure((yield count(at("computed", part))) === 1, "a part is done once");
    if (team.fails && thread > 0 && (yield choose(2)) === 1) {
      return then(after, thread, number, 1);
    }
    yield write(at("part", part), call);
    return then(work, thread, number, i);
  };
}

/** A helper, and what it saw of `calls`. */
export function helper(team: Team): (thread: number, seen: number) => Body {
  const { fault } = team;
  const late = fault === "sleepers counted after the sleep";
  const work = worker(team, leave);

  /** Spins for as long as it likes. */
  function* spin(thread: number, seen: number): Body {
    const now = yield load("calls");
    if (now !== seen) return then(called, thread, now);
    if (team.exact) yield load("gate");
    if ((yield choose(2)) === 1) return then(spin, thread, seen);
    if (!late) yield add("sleepers", 1);
    return then(sleep, thread, seen);
  }

  function* sleep(thread: number, seen: number): Body {
    const now = yield load("calls");
    if (now !== seen) {
      if (!late) yield add("sleepers", -1);
      return then(called, thread, now);
    }
    yield wait("calls", seen);
    if (late) {
      yield add("sleepers", 1);
      yield add("sleepers", -1);
    }
    return then(sleep, thread, seen);
  }

  function* called(thread: number, seen: number): Body {
    if ((yield load("ended")) !== 0) return;
    return then(join, thread, seen);
  }

  function* join(thread: number, seen: number): Body {
    const inside = yield load("gate");
    const over = fault === "negative gate entered" ? inside === 0 : inside <= 0;
    if (over) return then(spin, thread, seen);
    if (fault === "entered without compare-exchange") yield add("gate", 1);
    else if ((yield cas("gate", inside, inside + 1)) !== inside) {
      return then(join, thread, seen);
    }
    if ((yield read("kernel")) !== STOP) return then(work, thread, seen, 0);
    yield* goOut();
    return undefined;
  }

  function* leave(thread: number, seen: number, failed: number): Body {
    if (failed) {
      yield* setCounters(team, team.partsPerThread);
      if ((yield cas("failed", 0, FAILED)) === 0) {
        yield write("errorBytes", ERROR_BYTES);
      }
    }
    yield* goOut();
    return then(spin, thread, seen);
  }

  function* goOut(): Body<void> {
    if (fault === "leaderSleeps looked at before leaving") {
      const sleeps = yield load("leaderSleeps");
      yield add("gate", -1);
      if (sleeps === 1) yield notify("gate");
    } else {
      yield add("gate", -1);
      if ((yield load("leaderSleeps")) === 1) yield notify("gate");
    }
  }

  return spin;
}

/** Ends a team, the leader included, from a thread that is none of its own. */
export function* endTeam(fault?: TeamFault): Body<void> {
  const late = fault === "ended written after its wake-ups";
  if (!late) yield store("ended", 1);
  if (fault !== "calls not advanced at the end") yield add("calls", 1);
  yield notify("calls");
  yield add("gate", -CLOSED_FOR_GOOD);
  if (fault !== "gate not notified at the end") yield notify("gate");
  if (late) yield store("ended", 1);
}

/** Ends the helpers: the leader does, between calls. */
function* close(): Body<void> {
  yield write("kernel", STOP);
  yield store("gate", 1);
  yield add("calls", 1);
  yield notify("calls");
}

/** A leader that makes its calls and then ends the helpers, or leaves where it finds the team ended. */
export function leader(team: Team): (call: number) => Body {
  const { threads, fault } = team;
  const parts = threads * team.partsPerThread;
  const work = worker(team, awaitHelpers);

  function* share(call: number): Body {
    if (call > team.calls) {
      yield* close();
      return;
    }
    if (fault !== "arguments written behind the open gate") {
      yield write("args", call);
    }
    const sleepers = yield load("sleepers");
    const wakes = sleepers > 0 && (yield choose(2)) === 1;
    // Better left whole.
    if (!wakes && sleepers === threads - 1) return then(share, call + 1);
    yield write("kernel", RUNS);
    yield write("failed", 0);
    for (let part = 0; part < parts; part++) {
      yield count(at("computed", part), -(yield look(at("computed", part))));
    }
    if (fault !== "counters not opened") yield* setCounters(team, 0);
    yield store("gate", 1);
    yield add("calls", 1);
    if (wakes) yield notify("calls");
    if (fault === "arguments written behind the open gate") {
      yield write("args", call);
    }
    return then(work, 0, call, 0);
  }

  function* closeGate(): Body<boolean> {
    if ((yield load("gate")) !== 1) return false;
    if (fault === "gate closed without compare-exchange") {
      yield store("gate", 0);
      return true;
    }
    return (yield cas("gate", 1, 0)) === 1;
  }

  function* awaitHelpers(_thread: number, call: number): Body {
    if (fault === "leader does not wait") {
      yield store("gate", 0);
      return then(finish, call);
    }
    if (yield* closeGate()) return then(finish, call);
    if ((yield choose(2)) === 1) return then(awaitHelpers, 0, call);
    yield store("leaderSleeps", 1);
    return then(sleep, call);
  }

  /** `ended` is looked at behind the gate: a gate that it has closed would else be slept on. */
  function* sleep(call: number): Body {
    const early = fault === "ended looked at before the gate";
    if (early && (yield load("ended")) === 1) return;
    const inside = yield load("gate");
    if (!early && (yield load("ended")) === 1) return;
    if (inside !== 1) yield wait("gate", inside);
    else if ((yield cas("gate", 1, 0)) === 1) {
      yield store("leaderSleeps", 0);
      return then(finish, call);
    }
    return then(sleep, call);
  }

  function* finish(call: number): Body {
    if ((yield load("failed")) !== 0) {
      ensure((yield read("errorBytes")) === ERROR_BYTES, "the error is whole");
      return then(share, call + 1);
    }
    for (let part = 0; part < parts; part++) {
      const value = yield read(at("part", part));
      ensure(value === call, `part ${part} is that of call ${call}`);
    }
    return then(share, call + 1);
  }

  return share;
}
