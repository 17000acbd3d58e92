/** Requests that find all slots taken: they wait in their order, and nobody is refused who does not ask for it. */
import assert from "node:assert/strict";
import fc from "fast-check";
import type { CostModel } from "../../src/cost/cost_model.ts";
import { constantCost } from "../../src/cost/table_cost.ts";
import { EngineCore } from "../../src/engine/core/engine.ts";
import { QueueFullError } from "../../src/engine/core/errors.ts";
import { PairedExecutor } from "../../src/engine/virtual/paired_executor.ts";
import { SimExecutor } from "../../src/engine/virtual/sim_executor.ts";
import { Timeline } from "../../src/engine/virtual/timeline.ts";
import {
  driveTimeline,
  type VirtualArrival,
} from "../../src/engine/virtual/virtual_driver.ts";
import { defineCell, f32 } from "../../src/graph/cell_builder.ts";
import { CellGraph } from "../../src/graph/cell_graph.ts";
import type { Model } from "../../src/graph/model.ts";
import { SlotPlan } from "../../src/graph/slot_plan.ts";
import { lstm } from "../../src/models/lstm.ts";
import { lstmStream } from "../../src/models/rnn_stream.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { propertyRuns } from "../property_runs.ts";
import { runRequests } from "../run_requests.ts";
import { kernels, runPaired } from "./harness.ts";

const NS = 1000;
/** As large as many small ones. */
const LENGTH_MAX = 300;
const cost: CostModel = { latencyNs: (_cell, rows) => NS + 100 * rows };
const plain = lstm({ hidden: 4, vocabulary: 10, head: "classifier" });

const tokensOf = (length: number) => ({
  tokens: Array.from({ length }, (_, i) => (i + length) % 10),
});
const lengths = [...Array(12).keys()].map((i) => i + 1).concat(LENGTH_MAX);
const answers = new Map(
  runRequests(plain, lengths.map(tokensOf)).map((answer, i) => [
    lengths[i],
    answer,
  ]),
);

function slotBytesOf(length: number): number {
  const graph = new CellGraph(plain);
  plain.unfold(tokensOf(length), graph);
  return new SlotPlan(graph).bytes;
}

/** Room for one of the longest, with what its class of size takes more. */
const ROOM = Math.ceil(9 / 8 * slotBytesOf(LENGTH_MAX));

/** The model, and the lengths of the requests that it has unfolded so far. */
function watchedModel(): { model: Model; unfolded: number[] } {
  const unfolded: number[] = [];
  const model = {
    ...plain,
    unfold(input: { tokens: number[] }, graph: CellGraph) {
      unfolded.push(input.tokens.length);
      plain.unfold(input, graph);
    },
  } as Model;
  return { model, unfolded };
}

for (const [name, { build }] of Object.entries(POLICIES)) {
  if (build().supports(plain) !== undefined) continue;
  Deno.test(`policy "${name}": with slots for one everybody is answered, or leaves when he is to`, () => {
    const request = fc.record({
      length: fc.oneof(
        { weight: 5, arbitrary: fc.integer({ min: 1, max: 12 }) },
        { weight: 1, arbitrary: fc.constant(LENGTH_MAX) },
      ),
      gapNs: fc.nat(20 * NS),
      cancelNs: fc.option(fc.nat(200 * NS), { freq: 4 }),
      finishNs: fc.option(fc.integer({ min: 1, max: 200 * NS }), { freq: 4 }),
    });
    fc.assert(
      fc.property(
        fc.array(request, { minLength: 1, maxLength: 20 }),
        fc.integer({ min: 1, max: 2 }),
        (drawn, workers) => {
          const { model, unfolded } = watchedModel();
          let arrivalNs = 0;
          const arrivals = drawn.map(
            ({ length, gapNs, cancelNs, finishNs }): VirtualArrival => {
              arrivalNs += gapNs;
              return {
                model,
                input: tokensOf(length),
                arrivalNs,
                ...cancelNs !== null && { cancelAtNs: arrivalNs + cancelNs },
                ...finishNs !== null && { finishNs: arrivalNs + finishNs },
              };
            },
          );
          const { endings } = runPaired({
            models: [model],
            policy: build(),
            arrivals,
            cost,
            workers,
            slotBytes: ROOM,
          });
          endings.forEach((ending, i) => {
            const { length, cancelNs, finishNs } = drawn[i];
            if (cancelNs !== null && ending?.outcome === "cancelled") return;
            if (finishNs !== null && ending?.outcome === "expired") return;
            assert.deepEqual(ending, {
              outcome: "done",
              result: answers.get(length),
            });
          });
          assert(unfolded.length <= drawn.length, "each once");
        },
      ),
      { numRuns: propertyRuns(30) },
    );
  });
}

/** An engine with little room, what its requests have come to, and in which order. */
function started(slotBytes: number, model: Model | undefined = plain) {
  const timeline = new Timeline();
  const stream = lstmStream({ hidden: 4, features: 2 });
  const models = [model, stream];
  const executor = new PairedExecutor({
    timeline,
    models,
    kernels,
    slotBytes,
    cost: constantCost(NS),
    onCompleted: (task, startNs, endNs) =>
      engine.completed(task, startNs, endNs),
  });
  const policy = cellular({ batchSizeMax: 8 });
  const engine = new EngineCore({ models, policy, executor });
  const ended: string[] = [];
  const ask = (
    label: string,
    length: number,
    whenFull?: "wait" | "refuse",
    input: unknown = tokensOf(length),
  ) =>
    engine.submit({
      model,
      input,
      arrivalNs: timeline.nowNs,
      whenFull,
      onEnd: ({ outcome, error }) =>
        void ended.push(`${label} ${error?.name ?? outcome}`),
    });
  const finish = () => {
    engine.pump(timeline.nowNs);
    driveTimeline(engine, timeline);
    assert.equal(engine.active, 0);
    return ended.splice(0);
  };
  return { engine, ask, finish, stream, timeline };
}

Deno.test("what is large gets its room though there would be some for what is small and came later", () => {
  const { ask, finish } = started(ROOM);
  ask("first", 1);
  ask("large", LENGTH_MAX);
  for (let i = 0; i < 20; i++) ask(`small ${i}`, 1);
  const [first, second, ...others] = finish();
  assert.deepEqual([first, second], ["first done", "large done"]);
  assert.deepEqual(others, others.map((_, i) => `small ${i} done`));
});

Deno.test("who waits for room is unfolded once, and who waits behind him not before his turn", () => {
  const { model, unfolded } = watchedModel();
  const { ask, finish } = started(ROOM, model);
  for (let i = 0; i < 5; i++) ask(`${i}`, LENGTH_MAX - i);
  assert.deepEqual(unfolded, [LENGTH_MAX, LENGTH_MAX - 1]);
  assert.deepEqual(finish(), Array.from({ length: 5 }, (_, i) => `${i} done`));
  assert.equal(unfolded.length, 5);
});

Deno.test("one that waits for room may leave, and those behind it come in", () => {
  const { engine, ask, finish, timeline } = started(ROOM);
  ask("first", LENGTH_MAX);
  const waiting = ask("leaves", LENGTH_MAX);
  ask("small", 1);
  engine.cancel(waiting, timeline.nowNs, new TypeError("I am late"));
  assert.equal(waiting.graph.nodes.length > 0, true, "until all have heard");
  assert.deepEqual(finish(), ["leaves TypeError", "first done", "small done"]);
  assert.equal(waiting.graph.nodes.length, 0);
});

Deno.test("who asks not to wait is refused while others have the slots, and leaves nothing", () => {
  const { ask, finish } = started(ROOM);
  ask("first", LENGTH_MAX);
  assert.throws(() => ask("hasty", LENGTH_MAX, "refuse"), (error) => {
    assert(error instanceof QueueFullError);
    assert.match(error.message, /^Slot memory is full: no room for a slot of/);
    return true;
  });
  ask("patient", LENGTH_MAX);
  assert.deepEqual(finish(), ["first done", "patient done"]);
  ask("hasty", LENGTH_MAX, "refuse");
  assert.deepEqual(finish(), ["hasty done"]);
  assert.throws(() => ask("?", 1, "later" as "wait"), {
    name: "RangeError",
    message: '"whenFull" is one of wait, refuse, got "later"',
  });
});

Deno.test("who asks not to wait does not go ahead of one that waits, however small he is", () => {
  const { ask, finish } = started(ROOM);
  ask("first", 1);
  ask("small", 1, "refuse");
  ask("patient", LENGTH_MAX);
  assert.throws(() => ask("hasty", 1, "refuse"), {
    name: "QueueFullError",
    message: /^Slot memory is full, and others wait for room/,
  });
  assert.deepEqual(finish(), ["first done", "small done", "patient done"]);
});

Deno.test("where only streams have the room nobody waits for it: they may stay for ever", () => {
  const { engine, ask, finish, stream } = started(ROOM);
  ask("before", LENGTH_MAX);
  assert.deepEqual(finish(), ["before done"]);
  const open = [];
  for (;;) {
    try {
      open.push(engine.sessions.open(stream, 1));
    } catch {
      break;
    }
  }
  assert.throws(() => ask("refused", LENGTH_MAX), QueueFullError);
  for (const session of open) engine.sessions.close(session);
  ask("first", LENGTH_MAX);
  assert.deepEqual(finish(), ["first done"]);
});

Deno.test("what is unfolded at once, as it cannot be copied, stands behind those that found no room before", () => {
  class Tokens {
    readonly tokens = tokensOf(LENGTH_MAX).tokens;
  }
  const { ask, finish } = started(ROOM);
  ask("first", LENGTH_MAX);
  ask("second", LENGTH_MAX);
  const third = ask("third", LENGTH_MAX, "wait", new Tokens());
  assert.equal(third.graph.nodes.length > 0, true, "it was unfolded");
  assert.deepEqual(finish(), ["first done", "second done", "third done"]);
});

Deno.test("what a request was unfolded into when its model threw is nobody's graph", () => {
  const cell = defineCell({
    name: "double",
    inputs: { x: f32(1) },
    body: (op, { x }) => ({ y: op.Add(x, x) }),
  });
  const model: Model<number> = {
    name: "twice twice",
    cells: [cell],
    shape: "chain",
    check() {},
    brings: (x) => [Float32Array.of(x)],
    unfold(x, graph) {
      const row = graph.row(graph.rows([x]), 0, 1);
      const once = graph.node(cell, { x: row });
      if (x < 0) throw new TypeError("not today");
      const y = graph.node(cell, { x: graph.output(once, "y") });
      graph.result("y", graph.output(y, "y"));
    },
  };
  const timeline = new Timeline();
  const executor = new SimExecutor({
    timeline,
    cost,
    onCompleted: (task, startNs, endNs) =>
      engine.completed(task, startNs, endNs),
  });
  const ended: string[] = [];
  const engine = new EngineCore({
    models: [model],
    policy: cellular({ batchSizeMax: 1 }),
    executor,
    hasTime: () => true,
    observer: {
      request: (_, { nodes, outcome }) =>
        void ended.push(`${outcome} ${nodes}`),
    },
  });
  const run = (inputs: number[]) => {
    for (const input of inputs) engine.submit({ model, input, arrivalNs: 0 });
    engine.pump(timeline.nowNs);
    driveTimeline(engine, timeline);
    return ended.splice(0);
  };
  // Unfolded while the others have all graphs that there are.
  const first = run([1, 2, 3, -1]);
  assert.deepEqual(first.toSorted(), [
    "done 2",
    "done 2",
    "done 2",
    "failed 0",
  ]);
  assert.deepEqual(run([4, 5, 6, 7, 8, 9]), Array(6).fill("done 2"));
});
