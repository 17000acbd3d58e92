/**
 * Rows behind the end of their request. The worker leaves them out when it starts their task, the engine
 * voids them when it settles it; either would hide that the other does not, so each is tested alone.
 */
import assert from "node:assert/strict";
import type {
  ActiveRequest,
  Ending,
} from "../../src/engine/core/active_request.ts";
import { EngineCore } from "../../src/engine/core/engine.ts";
import type { Executor, Settlement } from "../../src/engine/core/executor.ts";
import {
  type CellProgram,
  ROWS_PER_CALL,
} from "../../src/engine/lowering/cell_program.ts";
import { CellRunner } from "../../src/engine/tensors/cell_runner.ts";
import {
  abandonSlot,
  failureOf,
  openHeader,
  reportFailure,
  SLOT,
  stepOutcome,
  takeStep,
} from "../../src/engine/tensors/slot_header.ts";
import { TaskRows } from "../../src/engine/tensors/task_rows.ts";
import { readKernels } from "../../src/engine/wall/runtime.ts";
import { NODE } from "../../src/graph/cell_graph.ts";
import { instantiateKernels } from "../../src/kernels/module/module.ts";
import { seq2seq } from "../../src/models/seq2seq.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import type { Task } from "../../src/policy/launch.ts";
import type { TaskRecord } from "../../src/policy/records.ts";

const KERNELS = await readKernels("shoal");

/** What a worker did with a task of the program y = max(0, x), a row of which is i + 1 in and 0 out. */
interface Ran {
  /** Rows of every kernel call. */
  readonly calls: readonly number[];
  readonly ys: readonly number[];
  /** What lies where padding writes to. */
  readonly sink: number;
}

/**
 * Runs a task of `rows` rows, each of a request of its own, with padding behind them.
 * @param end ends requests before the task starts
 */
function run(
  { rows, padding = 0, padsDone = padding > 0 }: {
    rows: number;
    padding?: number;
    padsDone?: boolean;
  },
  end: (words: Int32Array, slotOf: (row: number) => number) => void,
): Ran {
  const memory = new WebAssembly.Memory({ initial: 4 });
  const kernels = instantiateKernels(KERNELS, { memory });
  const base = kernels.shoal_static_end();
  const words = new Int32Array(memory.buffer);
  const floats = new Float32Array(memory.buffer);
  const at = (block: number, row = 0) => base + 1024 * block + 64 * row;
  const [slots, xs, ys, tables, sink, zeros] = [0, 1, 2, 3, 4, 5];
  const all = rows + padding;
  for (let i = 0; i < all; i++) {
    const isPadding = i >= rows;
    if (!isPadding) {
      openHeader(words, at(slots, i), 9);
      floats[at(xs, i) / 4] = i + 1;
    }
    const columns = isPadding
      ? [0, 0, at(zeros), at(sink)]
      : [at(slots, i), i, at(xs, i), at(ys, i)];
    columns.forEach((word, t) => words[at(tables) / 4 + t * all + i] = word);
  }
  end(words, (row) => at(slots, row));
  const program: CellProgram = {
    name: "relu",
    inputBytes: [4],
    outputBytes: [4],
    cachePositions: [],
    localCaches: [],
    ragged: false,
    rowsPerCall: ROWS_PER_CALL,
    calls: [{
      call: "kernel",
      kernel: "relu_f32",
      args: ["rows", 1, { port: 0 }, { port: 1 }],
    }],
    fixedTables: [],
    tableBytes: 0,
    scratchBytes: 0,
  };
  const calls: number[] = [];
  const counting = {
    ...kernels,
    relu_f32(m: number, n: number, a: number, out: number) {
      calls.push(m);
      kernels.relu_f32(m, n, a, out);
    },
  };
  const own = {
    ...{ scratch: at(6), tables: at(7), tokens: at(8) },
    ...{ zeros: at(zeros), sink: at(sink), cacheSink: at(9) },
  };
  new CellRunner(counting, memory, [program], own).run({
    program: 0,
    rows: all,
    tables: at(tables),
    padsDone,
    paddedLength: 0,
  });
  return {
    calls,
    ys: Array.from({ length: rows }, (_, i) => floats[at(ys, i) / 4]),
    sink: floats[at(sink) / 4],
  };
}

/** Every way in which a request is over when a worker begins a row of it. */
const ENDS: Readonly<
  Record<string, (words: Int32Array, slot: number) => void>
> = {
  "nobody waits for it any more": abandonSlot,
  "a row of it has failed": (words, slot) =>
    reportFailure(words, slot, { node: 0, call: 0 }),
  "its last step was taken": (words, slot) =>
    takeStep(words, slot, { step: 1, token: 7, stopToken: 7 }),
};

for (const [why, end] of Object.entries(ENDS)) {
  Deno.test(`a worker leaves rows of a request out when ${why}`, () => {
    for (const over of [[0], [1, 3], [4], [0, 1, 2, 3]]) {
      const { calls, ys } = run({ rows: 5 }, (words, slotOf) => {
        for (const row of over) end(words, slotOf(row));
      });
      assert.deepEqual(calls, [5 - over.length], "as many are computed");
      assert.deepEqual(
        ys,
        [1, 2, 3, 4, 5].map((y, i) => over.includes(i) ? 0 : y),
      );
    }
  });

  Deno.test(`a worker computes rows of a padded task into its sink when ${why}`, () => {
    const { calls, ys, sink } = run(
      { rows: 4, padding: 2 },
      (words, slotOf) => end(words, slotOf(3)),
    );
    assert.deepEqual(calls, [6], "the shape is filled");
    assert.deepEqual(ys, [1, 2, 3, 0]);
    // The row that is over has its own input, the padding zeros; whichever is last.
    assert([0, 4].includes(sink));
  });

  Deno.test(`a worker computes nothing of a task, padding neither, when of all its requests ${why}`, () => {
    for (const padding of [0, 3]) {
      const { calls, ys } = run({ rows: 3, padding }, (words, slotOf) => {
        for (let row = 0; row < 3; row++) end(words, slotOf(row));
      });
      assert.deepEqual(calls, []);
      assert.deepEqual(ys, [0, 0, 0]);
    }
  });
}

Deno.test("a task of padding alone is computed", () => {
  assert.deepEqual(run({ rows: 0, padding: 2 }, () => {}).calls, [2]);
});

Deno.test("a step's header says what became of each step, whatever is executed behind the end", () => {
  const words = new Int32Array(16);
  openHeader(words, 0, 5);
  const take = (step: number, token: number) =>
    takeStep(words, 0, { step, token, stopToken: 2 });
  const outcomes = () =>
    [1, 2, 3, 4].map((step) => stepOutcome(words, 0, step));
  take(1, 9);
  assert.deepEqual(outcomes(), ["done", "done", "done", "done"]);
  take(2, 2);
  assert.deepEqual(outcomes(), ["done", "last", "void", "void"]);
  // Executed again after a death, or behind the end.
  take(1, 2);
  take(2, 2);
  take(3, 2);
  assert.deepEqual(outcomes(), ["done", "last", "void", "void"]);
  assert.equal(words[SLOT.lastStep], 2);
});

Deno.test("a request ends at its step limit, not before and not behind it", () => {
  for (const limit of [1, 2, 5]) {
    const words = new Int32Array(16);
    openHeader(words, 0, limit);
    for (let step = 1; step <= 6; step++) {
      takeStep(words, 0, { step, token: 9, stopToken: 2 });
      assert.equal(words[SLOT.lastStep], step < limit ? 0 : limit);
    }
  }
});

Deno.test("a failed request takes no further step, and a static one none at all", () => {
  const words = new Int32Array(16);
  openHeader(words, 0, 5);
  reportFailure(words, 0, { node: 3, call: 0 });
  takeStep(words, 0, { step: 5, token: 2, stopToken: 2 });
  assert.equal(words[SLOT.lastStep], 0);
  openHeader(words, 0, 0);
  takeStep(words, 0, { step: 5, token: 2, stopToken: 2 });
  assert.equal(words[SLOT.lastStep], 0);
});

Deno.test("of several failures of a request the first is heard", () => {
  const words = new Int32Array(16);
  openHeader(words, 0, 5);
  assert.equal(failureOf(words, 0), undefined);
  reportFailure(words, 0, { node: 3, call: 1 });
  reportFailure(words, 0, { node: 4, call: -1 });
  assert.deepEqual(failureOf(words, 0), { node: 3, call: 1 });
});

Deno.test("a row of nobody appends to caches of nobody", () => {
  const words = new Int32Array(64);
  const addresses = new Uint32Array(words.buffer);
  const program = {
    ...{ inputBytes: [4], outputBytes: [4, 4], cachePositions: [8, 8] },
    ...{ ragged: false },
  } as unknown as CellProgram;
  const own = { zeros: 1000, sink: 2000, cacheSink: 3000 };
  // Header, node, input, two outputs, keys, values, position and seen of two caches; the slot is at 0x80.
  const columns = [128, 0, 11, 12, 13, 14, 15, 3, 4, 16, 17, 5, 6];
  abandonSlot(words, 128);
  // Another one that is alive: otherwise nothing is computed.
  const both = columns.flatMap((word, t) => [word, t === 0 ? 192 : word]);
  both.forEach((word, i) => addresses[i] = word);
  const rows = new TaskRows(program, { words, addresses }, own);
  assert.equal(rows.leaveOut(0, 2, true), 2);
  assert.deepEqual(
    columns.map((_, t) => addresses[2 * t]),
    [0, 0, 11, 2000, 2000, 3000, 3000, 3, 4, 3000, 3000, 5, 6],
  );
  assert.deepEqual(
    columns.map((_, t) => addresses[2 * t + 1]),
    [192, ...columns.slice(1)],
  );
});

/** An executor that executes nothing, and takes every row for done: the engine has to know better. */
class Credulous implements Executor {
  readonly workers = 1;
  readonly pushed: Task[] = [];
  /** Numbers of requests whose slots were freed, and the tasks under way then. */
  readonly released: { id: number; underWay: number }[] = [];

  /** @param last number of the growing step that is the last, from 1 on */
  constructor(readonly last: number) {}

  admit(): void {}
  grew(): void {}
  abandon(): void {}
  push(task: Task): void {
    this.pushed.push(task);
  }
  settle(...[, node, request]: Parameters<Executor["settle"]>): Settlement {
    if (!node.cell.stop) return "done";
    return request.stepsSettled + 1 === this.last ? "last" : "done";
  }
  result() {
    return {};
  }
  release({ id }: ActiveRequest): void {
    this.released.push({ id, underWay: this.pushed.length });
  }
}

/** A request of one token that is over before all of its submitted steps are settled. */
function settled(last: number, cancelAfter = Infinity) {
  const executor = new Credulous(last);
  const records: TaskRecord[] = [];
  const endings: Ending[] = [];
  const model = seq2seq({ hidden: 4, sourceVocabulary: 9, eos: null });
  const engine = new EngineCore({
    models: [model],
    policy: cellular({ maxTasksToSubmit: 6 }),
    executor,
    observer: { task: (_task, record) => void records.push(record) },
  });
  const request = engine.submit({
    model,
    input: { tokens: [1], maxSteps: 20 },
    arrivalNs: 0,
    onEnd: (ending) => void endings.push(ending),
  });
  const { graph } = request;
  engine.pump(0);
  let states: number[] = [];
  for (let nowNs = 1; executor.pushed.length > 0; nowNs++) {
    if (nowNs > cancelAfter) engine.cancel(request, nowNs, new Error("enough"));
    engine.completed(executor.pushed.shift()!, nowNs, nowNs);
    // Once the engine is pumped, what is over has no nodes any more.
    states = graph.nodes.map(({ state }) => state);
    engine.pump(nowNs);
  }
  return { executor, records, endings, request, states };
}

Deno.test("the engine voids what is settled behind the last step, whatever the executor says", () => {
  const { records, endings, request, states, executor } = settled(2);
  assert.deepEqual(endings.map(({ outcome }) => outcome), ["done"]);
  // The encoder's step and two of the decoder.
  assert.equal(request.nodesDone, 3);
  const { done } = NODE;
  assert.deepEqual(states.slice(0, 3), [done, done, done]);
  assert(states.length > 4, "steps were submitted ahead");
  assert(states.slice(3).every((state) => state !== done));
  assert.deepEqual(
    records.map(({ rows }) => rows),
    records.map((_, i) => i < 3 ? 1 : 0),
  );
  assert.deepEqual(
    records.map(({ speculative }) => speculative),
    records.map((_, i) => i < 3 ? 0 : 1),
  );
  assert.deepEqual(executor.released, [{ id: request.id, underWay: 0 }]);
});

Deno.test("the engine voids what is settled behind a cancellation, and frees the slot behind all of it", () => {
  const { records, endings, request, executor } = settled(20, 2);
  assert.deepEqual(endings.map(({ outcome }) => outcome), ["cancelled"]);
  assert.equal(request.nodesDone, 2);
  assert.deepEqual(
    records.map(({ rows }) => rows),
    records.map((_, i) => i < 2 ? 1 : 0),
  );
  assert(records.length > 3);
  assert.deepEqual(executor.released, [{ id: request.id, underWay: 0 }]);
});
