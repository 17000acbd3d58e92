/**
 * What engine, workers and helpers do with shared words, searched for interleavings in which it goes wrong;
 * and, as a search that finds nothing might not look, the same with a fault each that must be found.
 * Every access is explained in docs/shared_memory.md. More states: SHOAL_PROPERTY_RUNS above 100.
 */
import assert from "node:assert/strict";
import { propertyRuns } from "../../property_runs.ts";
import type { Machine } from "./machine.ts";
import { failures } from "./machines/failures.ts";
import { growing } from "./machines/growing.ts";
import {
  type Recovery,
  recovery,
  RECOVERY_FAULTS,
} from "./machines/recovery.ts";
import { type Ring, ring, RING_FAULTS } from "./machines/ring.ts";
import { SLOT_FAULTS, slots } from "./machines/slots.ts";
import { type Meeting, meeting } from "./machines/team.ts";
import { TEAM_FAULTS } from "./machines/team_member.ts";
import { type Search, search } from "./search.ts";

/** Whether there is time for more. */
const AT_LENGTH = propertyRuns(100) > 100;

const STATES_MAX = AT_LENGTH ? 8_000_000 : 1_000_000;

function holds(machine: Machine, options: Search = {}): void {
  const { broken } = search(machine, { statesMax: STATES_MAX, ...options });
  if (!broken) return;
  assert.fail([broken.what, ...broken.schedule].join("\n  "));
}

/** The fault is found by what comes of it, or as a race of the words that are watched. */
function breaks(machine: Machine, says: RegExp, options: Search = {}): void {
  const { broken } = search(machine, { watch: [], ...options });
  assert(broken !== undefined, "a fault is found");
  assert.match(broken.what, says);
  assert(broken.schedule.length > 0);
}

/** One test per fault; none is left out. */
function eachFault<Fault extends string>(
  of: string,
  all: readonly Fault[],
  faults: Record<Fault, () => void>,
): void {
  for (const fault of all) {
    Deno.test(`a fault in ${of} is found: ${fault}`, faults[fault]);
  }
}

const STUCK = /can never go on$/;
const RACE = /without knowing that another is done with it$/;

Deno.test("a growing request's steps settle as they ran, whenever it ends, fails or is abandoned", () => {
  const limits = AT_LENGTH ? [[3, 0], [4, 2], [4, 4], [5, 1]] : [[3, 2]];
  for (const [stepsLimit, stopsAt] of limits as [number, number][]) {
    for (const failsAt of AT_LENGTH ? [0, 1, 2, 3] : [0, 1]) {
      holds(
        growing({ submitted: 4, stepsLimit, stopsAt, failsAt, abandons: true }),
      );
    }
  }
});

Deno.test("a fault in the header is found: steps and done are two words", () => {
  breaks(
    growing({
      submitted: 3,
      stepsLimit: 3,
      stopsAt: 2,
      fault: "steps and done are two words",
    }),
    /^step 1 of 2 is settled as/,
  );
});

Deno.test("a fault in the header is found: completed before results", () => {
  breaks(
    growing({
      submitted: 3,
      stepsLimit: 3,
      stopsAt: 0,
      fault: "completed before results",
    }),
    /^what is done was computed/,
  );
});

Deno.test("of two workers that fail a request at once the engine hears one, whole", () => {
  holds(failures());
});

Deno.test("a fault in failing is found: call and node are two words", () => {
  breaks(
    failures({ fault: "call and node are two words" }),
    /^node 1 failed in call 2/,
  );
});

for (
  const fault of [
    "reasons are written by all",
    "reason after the failure",
  ] as const
) {
  Deno.test(`a fault in failing is found: ${fault}`, () => {
    breaks(failures({ fault }), RACE, { watch: ["slot.reason"] });
  });
}

const tight: Ring = {
  tasks: [1, 2, 1, 2],
  entries: 2,
  arena: 3,
  sleeps: "listens",
};

/** As the engine has them: a run's last task is not quiet. */
const quiet: Ring = { ...tight, quiet: [true, true, true, false] };

Deno.test("quiet tasks are heard of with those behind them, and the last in a full ring at once", () => {
  for (const sleeps of ["listens", "waits"] as const) {
    holds(ring({ ...quiet, sleeps }));
    holds(ring({ ...quiet, sleeps, terminates: true }), {
      watch: AT_LENGTH ? ["entry 0[0]", "quiet 0[0]", "arena 0[0]"] : [],
      spurious: true,
    });
    holds(
      ring({
        ...{ tasks: [1, 1, 1, 1], workers: 2, entries: 1, arena: 1, sleeps },
        quiet: [true, true, false, false],
      }),
      { watch: [] },
    );
  }
});

/** Workers keep rings back while the engine comes by itself. */
const lingering: Ring = { ...tight, lingers: true };

Deno.test("rings that are kept back are heard of when nothing else brings the engine", () => {
  holds(ring(lingering), { watch: AT_LENGTH ? ["entry 0[0]"] : [] });
  holds(ring({ ...lingering, quiet: [true, false, true, false] }), {
    watch: [],
  });
  holds(ring({ ...lingering, terminates: true }), {
    watch: [],
    spurious: true,
  });
  holds(
    ring({ ...lingering, tasks: [1, 1, 1], workers: 2, entries: 1, arena: 1 }),
    { watch: [] },
  );
});

Deno.test("tasks go through a small ring and arena in order, and nobody sleeps through a wake-up", () => {
  for (const sleeps of ["listens", "waits"] as const) {
    holds(ring({ ...tight, sleeps }));
    holds(ring({ ...tight, sleeps, terminates: true }), {
      watch: AT_LENGTH ? ["entry 0[0]", "ended 0[0]", "arena 0[0]"] : [],
      spurious: true,
    });
    const shared = { workers: 2, entries: 1, arena: 2, sleeps } as const;
    if (AT_LENGTH) holds(ring({ ...shared, tasks: [1, 2, 1, 1] }));
    else holds(ring({ ...shared, tasks: [1, 1, 1] }), { watch: [] });
  }
});

eachFault(
  "the ring",
  RING_FAULTS,
  (() => {
    const found = (
      fault: typeof RING_FAULTS[number],
      says: RegExp,
      options: Partial<Ring> = {},
    ) =>
    () => {
      for (const sleeps of ["listens", "waits"] as const) {
        breaks(ring({ ...tight, ...options, sleeps, fault }), says);
      }
    };
    return {
      "submitted before the entry": found(
        "submitted before the entry",
        /^the tables are those of task/,
      ),
      "worker notified before submitted": found(
        "worker notified before submitted",
        STUCK,
      ),
      "completed before the times": found(
        "completed before the times",
        /^the times are those of task/,
      ),
      "doorbell rung before completed": found(
        "doorbell rung before completed",
        STUCK,
      ),
      "engine notified before the doorbell": found(
        "engine notified before the doorbell",
        STUCK,
      ),
      "doorbell read after poll": found("doorbell read after poll", STUCK),
      "doorbell not rung": found("doorbell not rung", STUCK),
      "doorbell not rung by the last in the ring": found(
        "doorbell not rung by the last in the ring",
        STUCK,
        quiet,
      ),
      "quiet looked at after completed": () => {
        for (const sleeps of ["listens", "waits"] as const) {
          breaks(
            ring({
              ...quiet,
              sleeps,
              fault: "quiet looked at after completed",
            }),
            RACE,
            { watch: ["quiet 0[0]"] },
          );
        }
      },
      "linger looked at before completed": () =>
        breaks(
          ring({ ...lingering, fault: "linger looked at before completed" }),
          STUCK,
        ),
      "linger ended without a look": () =>
        breaks(
          ring({ ...lingering, fault: "linger ended without a look" }),
          STUCK,
        ),
      "completed looked at before linger is ended": () =>
        breaks(
          ring({
            ...lingering,
            fault: "completed looked at before linger is ended",
          }),
          STUCK,
        ),
      "arena given back at submission": found(
        "arena given back at submission",
        /^the tables are those of task|task$/,
      ),
      "ring of any length": found(
        "ring of any length",
        /^the (tables|times) are those of task/,
        { tasks: [1, 1, 1, 1], arena: 4 },
      ),
      "stop after submitted": found(
        "stop after submitted",
        /^an entry that is executed was filled/,
      ),
      "stop looked at only before sleeping": found(
        "stop looked at only before sleeping",
        /^an entry that is executed was filled/,
      ),
      "stop without a wake-up": found("stop without a wake-up", STUCK),
    };
  })(),
);

Deno.test("a slot is given to another request once nobody writes to it", () => {
  holds(slots());
});

eachFault("slots", SLOT_FAULTS, {
  "released at departure": () =>
    breaks(slots({ fault: "released at departure" }), /^the input is that of/),
  "header not opened": () =>
    breaks(slots({ fault: "header not opened" }), /^row 0 is that of/),
  "opened after its first task": () =>
    breaks(
      slots({ fault: "opened after its first task" }),
      RACE,
      { watch: ["slot.abandoned"] },
    ),
  "result read after release": () =>
    breaks(slots({ fault: "result read after release" }), /^row 0 is that of/),
});

Deno.test("a worker may die anywhere: its steps are neither lost nor doubled", () => {
  const request: Recovery = {
    submitted: 3,
    stepsLimit: 3,
    stopsAt: 2,
    deaths: 1,
  };
  holds(recovery(request));
  holds(recovery({ ...request, abandons: true }), { watch: [] });
  holds(recovery({ ...request, quiet: true }), { watch: [] });
  if (!AT_LENGTH) return;
  holds(recovery({ ...request, stopsAt: 0, abandons: true }));
  holds(recovery({ ...request, stopsAt: 0, abandons: true, quiet: true }));
  holds(
    recovery({ submitted: 4, stepsLimit: 4, stopsAt: 3, deaths: 1 }),
  );
  holds(recovery({ ...request, deaths: 2 }));
  holds(
    recovery({ submitted: 5, stepsLimit: 4, stopsAt: 0, deaths: 2 }),
    { watch: [] },
  );
});

eachFault(
  "recovery",
  RECOVERY_FAULTS,
  (() => {
    const found = (
      fault: typeof RECOVERY_FAULTS[number],
      says: RegExp,
      options: Search = {},
    ) =>
    () =>
      breaks(
        recovery({ submitted: 3, stepsLimit: 3, stopsAt: 0, deaths: 1, fault }),
        says,
        options,
      );
    return {
      "steps are counted": found("steps are counted", /is settled as|is whole/),
      "reset before the thread is gone": found(
        "reset before the thread is gone",
        /^a task's tables are as the engine wrote them/,
      ),
      "completed not read a last time": found(
        "completed not read a last time",
        /^inputs of step/,
      ),
      "tables not written again": found(
        "tables not written again",
        /^a task's tables are as the engine wrote them/,
      ),
      "reset after the fresh thread began": found(
        "reset after the fresh thread began",
        /^a task's tables are as the engine wrote them/,
      ),
      "reset wipes the doorbell": found("reset wipes the doorbell", RACE, {
        watch: ["doorbell"],
      }),
      "nobody looks after recovery": found(
        "nobody looks after recovery",
        STUCK,
      ),
      "begun kept from an earlier task": found(
        "begun kept from an earlier task",
        /^step 3 was begun/,
      ),
    };
  })(),
);

const pair: Meeting = {
  threads: 2,
  partsPerThread: 1,
  calls: 2,
  ends: "leader",
};

/** Words of a call; those of the meeting are watched where there is time. */
const CALL: Search = AT_LENGTH
  ? {}
  : { watch: ["kernel", "args", "errorBytes", "part[1]"] };

Deno.test("a team computes every part of a call once, and its leader waits for those that were taken", () => {
  holds(meeting(pair), { watch: [], spurious: true });
  holds(meeting({ ...pair, partsPerThread: 2 }), { watch: [] });
  holds(meeting({ ...pair, fails: true }), CALL);
  holds(meeting({ ...pair, threads: 3, calls: 1 }), {
    watch: AT_LENGTH ? ["args", "part[0]", "part[1]", "part[2]"] : [],
  });
  if (AT_LENGTH) holds(meeting({ ...pair, threads: 3 }), { watch: ["args"] });
});

Deno.test("everybody leaves a team that the engine ends, whoever has died and whatever they were at", () => {
  const ended: Meeting = { ...pair, calls: 1, ends: "engine" };
  holds(meeting(ended), { watch: [], spurious: true });
  holds(meeting(ended), AT_LENGTH ? {} : { watch: ["gate", "args"] });
  for (const dies of ["leader", "helper"] as const) {
    holds(meeting({ ...ended, dies }), AT_LENGTH ? {} : { watch: ["args"] });
    if (AT_LENGTH) holds(meeting({ ...ended, calls: 2, dies }), CALL);
  }
  if (AT_LENGTH) holds(meeting({ ...ended, threads: 3 }), { watch: [] });
});

eachFault(
  "the team",
  TEAM_FAULTS,
  (() => {
    const found = (
      fault: typeof TEAM_FAULTS[number],
      says: RegExp,
      options: Partial<Meeting> = {},
    ) =>
    () => breaks(meeting({ ...pair, ...options, fault }), says);
    const engine = { ends: "engine", calls: 1 } as const;
    const helperDies = { ...engine, dies: "helper" } as const;
    return {
      "gate closed without compare-exchange": found(
        "gate closed without compare-exchange",
        /^the call stays as it is|^part . is/,
      ),
      "entered without compare-exchange": found(
        "entered without compare-exchange",
        /^the call stays as it is/,
      ),
      "leader does not wait": found(
        "leader does not wait",
        /^the call stays as it is/,
      ),
      "leaderSleeps looked at before leaving": found(
        "leaderSleeps looked at before leaving",
        STUCK,
      ),
      "sleepers counted after the sleep": found(
        "sleepers counted after the sleep",
        /^1 helpers sleep, 0 are counted/,
      ),
      "counters not opened": found("counters not opened", /^part . is/),
      "arguments written behind the open gate": found(
        "arguments written behind the open gate",
        /^the call stays as it is|^part . is/,
      ),
      "parts taken without an add": found(
        "parts taken without an add",
        /^a part is done once/,
      ),
      "ended written after its wake-ups": found(
        "ended written after its wake-ups",
        STUCK,
        engine,
      ),
      "calls not advanced at the end": found(
        "calls not advanced at the end",
        STUCK,
        engine,
      ),
      "gate not notified at the end": found(
        "gate not notified at the end",
        STUCK,
        helperDies,
      ),
      "negative gate entered": found(
        "negative gate entered",
        /^the call stays as it is/,
        { ...helperDies, calls: 2 },
      ),
      "ended looked at before the gate": found(
        "ended looked at before the gate",
        STUCK,
        engine,
      ),
    };
  })(),
);

Deno.test("a counterexample can be read", () => {
  const { broken } = search(
    failures({ fault: "call and node are two words" }),
  );
  assert.deepEqual(broken?.schedule.slice(-4), [
    "worker 2: store failedCall = 2",
    "engine: load completed 1 -> 1",
    "engine: load failed -> 1",
    "engine: load failedCall -> 2",
  ]);
});
