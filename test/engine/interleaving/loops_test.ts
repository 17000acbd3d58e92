/** Whole loops of the code beside whole processes of the machines: see conformance_test.ts. */
import assert from "node:assert/strict";
import type { CellProgram } from "../../../src/engine/lowering/cell_program.ts";
import { readKernels } from "../../../src/engine/wall/runtime.ts";
import { SLOT } from "../../../src/engine/tensors/slot_header.ts";
import type { SlotTask } from "../../../src/engine/tensors/slot.ts";
import type { TensorStore } from "../../../src/engine/tensors/tensor_store.ts";
import { runWorker } from "../../../src/engine/wall/worker_loop.ts";
import { WorkerQueue } from "../../../src/engine/wall/worker_queue.ts";
import {
  CONTROL,
  ENTRY,
  entryAddress,
  openControl,
  ringDoorbell,
  stopWorker,
} from "../../../src/engine/wall/worker_ring.ts";
import { createMemory } from "../../../src/kernels/module/memory.ts";
import { instantiateKernels } from "../../../src/kernels/module/module.ts";
import {
  argumentsAt,
  endTeam,
  MEETING,
  STOP,
  type TeamPlace,
} from "../../../src/kernels/team/block.ts";
import { runHelper } from "../../../src/kernels/team/helper.ts";
import { TeamLeader, teamWays } from "../../../src/kernels/team/leader.ts";
import { SPLITTINGS } from "../../../src/kernels/team/splittings.ts";
import { then } from "./automaton.ts";
import type { Machine } from "./machine.ts";
import { ENTRIES, recovery } from "./machines/recovery.ts";
import {
  endTeam as endTeamMachine,
  helper,
  leader,
  type Team,
} from "./machines/team_member.ts";
import { once, record } from "./record.ts";
import { solo, soloFrom } from "./solo.ts";

const KERNELS = await readKernels("shoal.shared");
const MEMORY_BYTES = 4 << 20;
/** Where a test puts what it has, above the kernels' own data. */
const BASE = 2 << 20;

function sharedWords(): { memory: WebAssembly.Memory; words: Int32Array } {
  const memory = createMemory({ bytes: MEMORY_BYTES, shared: true });
  return { memory, words: new Int32Array(memory.buffer) };
}

function firstValues({ words }: Machine): Record<string, number> {
  return { ...words.atomic, ...words.mixed, ...words.plain, ...words.books };
}

/** What a recording cannot see. */
function atomic(lines: readonly string[]): string[] {
  return lines.filter((line) =>
    !/^(read|write|start|gone|listen|event)/.test(line)
  );
}

const control = BASE;
const doorbell = control + 4 * CONTROL.doorbell;
const slot = BASE + (64 << 10);

function controlNames(): Map<number, string> {
  return new Map([
    ...Object.entries(CONTROL).map(([name, word]) =>
      [(control >>> 2) + word, name] as const
    ),
    ...Object.entries(SLOT).map(([name, word]) =>
      [(slot >>> 2) + word, `slot.${name}`] as const
    ),
  ]);
}

/** Steps that are submitted each time that the worker sleeps; all but the last of quiet ones are quiet. */
const LOOPS = [
  { of: "tasks", batches: [1, 1], rings: 2 },
  { of: "quiet tasks", batches: [1, 2], quiet: true, rings: 2 },
  {
    of: "quiet tasks that are void",
    batches: [2],
    abandoned: true,
    quiet: true,
    rings: 2,
  },
  {
    of: "tasks whose rings are kept back",
    batches: [1, 2],
    lingerUs: 1_000_000,
    // The engine saw one by itself, and one was done with another behind it.
    collected: 1,
    rings: 2,
  },
];

for (
  const {
    of,
    batches,
    rings,
    quiet = false,
    abandoned = false,
    lingerUs = 0,
    collected = 0,
  } of LOOPS
) {
  Deno.test(`a worker's loop makes the accesses of the machine's worker, over ${of}`, () => {
    const steps = batches.reduce((sum, count) => sum + count);
    const { memory, words } = sharedWords();
    const tables = slot + 1024;
    const row = slot + 2048;
    const program: CellProgram = {
      name: "nothing",
      inputBytes: [4],
      outputBytes: [4],
      cachePositions: [],
      localCaches: [],
      ragged: false,
      rowsPerCall: 1,
      calls: [],
      fixedTables: [],
      tableBytes: 0,
      scratchBytes: 0,
      stop: { port: 0, token: 7 },
    };
    const free = slot + 4096;
    words[(slot >>> 2) + SLOT.stepsLimit] = steps;
    words[(slot >>> 2) + SLOT.abandoned] = abandoned ? 1 : 0;
    words[(control >>> 2) + CONTROL.linger] = lingerUs;
    words[(control >>> 2) + CONTROL.collected] = collected;
    const tablesBytes = 64;
    let step = 0;
    const batch = [...batches];
    const lines = record(words, {
      names: controlNames(),
      asleep() {
        const count = batch.shift();
        if (count === undefined) words[(control >>> 2) + CONTROL.stop] = 1;
        for (let i = 0; i < (count ?? 0); i++, step++) {
          const at = tables + step * tablesBytes;
          const entry = entryAddress(control, step) >>> 2;
          words[entry + ENTRY.rows] = 1;
          words[entry + ENTRY.tables] = at;
          words[entry + ENTRY.quiet] = quiet && step < steps - 1 ? 1 : 0;
          [slot, 0, row, row, step + 1].forEach((word, t) =>
            words[(at >>> 2) + t] = word
          );
        }
        words[(control >>> 2) + CONTROL.submitted] += count ?? 1;
        return true;
      },
    }, () =>
      runWorker({
        memory,
        kernels: KERNELS,
        programs: [program],
        own: {
          scratch: free,
          tables: free,
          tokens: free,
          zeros: free,
          sink: free,
          cacheSink: free,
        },
        control,
        doorbell,
        spinMs: 0,
        scratch: { address: 0, variants: 0 },
      }).next());

    const machine = recovery({
      submitted: steps,
      stepsLimit: steps,
      stopsAt: 0,
      deaths: 0,
      quiet,
    });
    let step2 = 0;
    const batch2 = [...batches];
    const expected = soloFrom(machine.processes["worker 0"].start, {
      memory: {
        ...firstValues(machine),
        ...(abandoned && { "slot.abandoned": 1 }),
        linger: lingerUs,
        collected,
      },
      asleep(memory) {
        const count = batch2.shift();
        if (count === undefined) memory["stop"] = 1;
        for (let i = 0; i < (count ?? 0); i++, step2++) {
          memory[`entry[${step2 % ENTRIES}]`] = step2 + 1;
          memory[`table[${step2 % ENTRIES}]`] = 1;
        }
        memory["submitted"] += count ?? 1;
        return true;
      },
    });
    assert.deepEqual(once(lines), once(atomic(expected.lines)));
    const rung = lines.filter((line) => line === "notify doorbell").length;
    assert.equal(rung, rings);
  });
}

Deno.test("a worker's queue makes the accesses of the machine's engine, also when the worker dies", () => {
  const { memory, words } = sharedWords();
  const store = {
    words,
    doubles: new Float64Array(memory.buffer),
    tables: { bytes: () => 16, write() {} },
    programId: () => 0,
  } as unknown as TensorStore;
  const task = (id: number) =>
    ({
      id,
      nodes: [0],
      padding: 0,
      padsDone: false,
      paddedLength: 0,
    }) as unknown as SlotTask;
  const lines = record(words, { names: controlNames() }, () => {
    const queue = new WorkerQueue(store, control, 4096);
    queue.poll();
    queue.push(task(1));
    queue.push(task(2));
    queue.pause();
    queue.takeBack();
    openControl(words, control);
    queue.resume();
    ringDoorbell(words, doorbell);
    words[(control >>> 2) + CONTROL.completed] = 2;
    assert.deepEqual(queue.poll().map((done) => done.task.id), [1, 2]);
    stopWorker(words, control);
  });

  const machine = recovery({
    submitted: 2,
    stepsLimit: 5,
    stopsAt: 0,
    deaths: 1,
  });
  const expected = soloFrom(machine.processes["engine"].start, {
    memory: firstValues(machine),
    choices: [1, 0],
    after(line, words) {
      if (line !== "notify doorbell") return;
      words["completed"] = 2;
      words["slot.lastStep"] = 2;
      words["out[1]"] = 1;
      words["out[2]"] = 2;
    },
  });
  assert.deepEqual(
    lines,
    // The doorbell is read by whoever polls, headers by whoever settles.
    atomic(expected.lines).filter((line) => !/load (doorbell|slot)/.test(line)),
  );
});

const ROWS = 64;
const WIDTH = 8;

/** A team of two in memory, and a call for it. */
function team() {
  const { memory, words } = sharedWords();
  const place: TeamPlace = {
    address: BASE,
    threads: 2,
    rowsMax: 128,
    scratchBytes: 0,
  };
  const data = BASE + (1 << 20);
  for (let i = 0; i < ROWS; i++) {
    words[(data >>> 2) + i] = words[(data >>> 2) + ROWS + i] = data +
      4096 + 64 * i;
  }
  const call = [ROWS, WIDTH, data, data + 4 * ROWS] as const;
  const at = (offset: number) => (BASE + offset) >>> 2;
  const names = new Map<number, string>();
  for (
    const name of [
      "calls",
      "sleepers",
      "ended",
      "gate",
      "leaderSleeps",
      "failed",
    ] as const
  ) names.set(at(MEETING[name]), name);
  for (let thread = 0; thread < 2; thread++) {
    names.set(at(MEETING.counters + 64 * thread), `counters[${thread}]`);
  }
  const ways = teamWays({ leastNs: 0, spinLoads: 1, endSpinLoads: 1 });
  return { memory, words, place, call, at, names, ways };
}

const PAIR: Team = { threads: 2, partsPerThread: 4, calls: 1, exact: true };

/** A helper that entered the call, and leaves while the leader sleeps, or stays and the team is ended. */
const COMPANY = ["nobody", "leaves", "ended"] as const;

for (const company of COMPANY) {
  Deno.test(`a leader makes the accesses of the machine's leader; in the call with it: ${company}`, () => {
    const { memory, words, place, call, at, names, ways } = team();
    const kernels = instantiateKernels(KERNELS, { memory });
    const gate = at(MEETING.gate);
    const lines = record(words, {
      names,
      after(line) {
        if (company !== "nobody" && line.startsWith("add calls += 1 -> 0")) {
          words[gate] += 1;
        }
      },
      asleep() {
        if (company === "leaves") words[gate] -= 1;
        else endTeam(memory, place);
        return true;
      },
    }, () => {
      const real = new TeamLeader(kernels, memory, place, ways);
      if (company === "ended") {
        assert.throws(() => real.kernels.relu_f32(...call), /was ended/);
      } else {
        real.kernels.relu_f32(...call);
        real.close();
      }
    });

    const ending: string[] = [];
    const expected = soloFrom(then(leader(PAIR), 1), {
      memory: { gate: 0, calls: 0 },
      after(line, memory) {
        if (company !== "nobody" && line.startsWith("add calls += 1 -> 0")) {
          memory["gate"] += 1;
        }
      },
      asleep(memory) {
        if (company === "leaves") memory["gate"] -= 1;
        else ending.push(...solo(endTeamMachine(), { memory }).lines);
        return true;
      },
    });
    // The recording has the end of the team in its place.
    const asleep = expected.lines.findIndex((line) => /sleeps$/.test(line));
    const all = expected.lines.toSpliced(asleep + 1, 0, ...ending);
    assert.deepEqual(lines, atomic(all));
  });
}

for (const ends of ["leader", "engine"] as const) {
  Deno.test(`a helper makes the accesses of the machine's helper; the team is ended by its ${ends}`, () => {
    const { memory, words, place, call, at, names, ways } = team();
    let slept = 0;
    const lines = record(words, {
      names,
      asleep() {
        slept++;
        if (slept === 1) {
          argumentsAt(memory, place).set(call);
          words[at(MEETING.kernel)] = SPLITTINGS.findIndex(
            ({ name }) => name === "relu_f32",
          );
          words[at(MEETING.gate)] = 1;
        } else if (ends === "leader") {
          words[at(MEETING.kernel)] = STOP;
          words[at(MEETING.gate)] = 1;
        } else words[at(MEETING.ended)] = 1;
        words[at(MEETING.calls)] += 1;
        return true;
      },
    }, () =>
      runHelper({
        memory,
        kernels: KERNELS,
        place,
        thread: 1,
        ways,
        scratch: { address: 0, variants: 0 },
      }).next());

    let slept2 = 0;
    const expected = soloFrom(then(helper(PAIR), 1, 0), {
      memory: { gate: 0, calls: 0, ended: 0, kernel: 1 },
      asleep(memory) {
        slept2++;
        if (slept2 === 1) memory["gate"] = 1;
        else if (ends === "leader") {
          memory["kernel"] = 2;
          memory["gate"] = 1;
        } else memory["ended"] = 1;
        memory["calls"] += 1;
        return true;
      },
    });
    assert.deepEqual(lines, atomic(expected.lines));
  });
}
