/** What has not finished in time ends in time, wherever it is, and nobody else notices. */
import assert from "node:assert/strict";
import { constantCost } from "../../src/cost/table_cost.ts";
import { EngineCore } from "../../src/engine/core/engine.ts";
import type { Ending } from "../../src/engine/core/active_request.ts";
import { DeadlineError } from "../../src/engine/core/errors.ts";
import { SimExecutor } from "../../src/engine/virtual/sim_executor.ts";
import { Timeline } from "../../src/engine/virtual/timeline.ts";
import {
  driveVirtual,
  type VirtualArrival,
} from "../../src/engine/virtual/virtual_driver.ts";
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import { type CellNode, NODE } from "../../src/graph/cell_graph.ts";
import { lstm } from "../../src/models/lstm.ts";
import { seq2seq } from "../../src/models/seq2seq.ts";
import { graph } from "../../src/policy/baselines/graph_batching.ts";
import { serial } from "../../src/policy/baselines/serial.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import type { Policy } from "../../src/policy/policy.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { runRequests } from "../run_requests.ts";
import { runPaired } from "./harness.ts";
import { ask } from "./ask.ts";

const model = lstm({ hidden: 12, vocabulary: 20, head: "classifier" });
const growing = seq2seq({
  hidden: 8,
  sourceVocabulary: 9,
  targetVocabulary: 9,
  eos: null,
});

function sentence(tokens: number) {
  return { tokens: Array.from({ length: tokens }, (_, t) => t % 20) };
}

/** Arrivals whose cells take 1000 ns, whatever the batch: what became of each, and its nodes. */
function run(arrivals: VirtualArrival[], policy: Policy) {
  const nodes = new Map<number, readonly CellNode[]>();
  const { endings, records } = runPaired({
    models: [model, growing],
    policy,
    arrivals,
    cost: constantCost(1000),
    // Its graph loses them.
    observer: {
      request: ({ id, graph }) => void nodes.set(id, [...graph.nodes]),
    },
  });
  return arrivals.map((_, id) => ({
    ending: endings[id] as Ending,
    record: records.find((record) => record.id === id)!,
    nodes: nodes.get(id)!,
  }));
}

/** @returns the message */
function missedFinish(ended: ReturnType<typeof run>[number]): string {
  const { ending, record } = ended;
  assert.equal(ending.outcome, "expired");
  assert.equal(record.outcome, "expired");
  assert(ending.error instanceof DeadlineError);
  assert.equal(ending.error.missed, "finish");
  return ending.error.message;
}

for (const [name, { build }] of Object.entries(POLICIES)) {
  Deno.test(`${name}: a request that has not finished in time is ended, and its batch-mates keep their bits`, () => {
    const inputs = [sentence(20), sentence(8), sentence(20)];
    const ended = run(
      inputs.map((input, i) => ({
        model,
        input,
        arrivalNs: 0,
        ...(i === 0 && { finishNs: 5500 }),
      })),
      build(),
    );
    const [late, ...mates] = ended;
    const message = missedFinish(late);
    const { record, nodes } = late;
    assert.equal(record.endNs, 5500);
    const executed = nodes.filter(({ state }) => state === NODE.done);
    assert.equal(executed.length, record.nodes, "nothing is executed later");
    assert.equal(
      message,
      `Request 0 had not finished by its finishMs, 0.0055 ms: ${
        nodes.every(({ worker }) => worker < 0)
          ? "it had not started"
          : `${record.nodes} of its 21 nodes were done`
      }`,
    );
    assert.deepStrictEqual(
      mates.map(({ ending }) => ending.result),
      runRequests(model, inputs.slice(1)),
    );
  });
}

Deno.test("what ends at its deadline has finished in time", () => {
  const arrival = { model, input: sentence(3), arrivalNs: 0 };
  for (const policy of [serial, cellular]) {
    const [inTime] = run([{ ...arrival, finishNs: 4000 }], policy());
    assert.equal(inTime.ending.outcome, "done");
    const [late] = run([{ ...arrival, finishNs: 3999 }], policy());
    assert.match(missedFinish(late), /3 of its 4 nodes were done/);
  }
});

Deno.test("steps of a request that has ended are not launched any more", () => {
  const [late] = run(
    [{ model, input: sentence(20), arrivalNs: 0, finishNs: 5500 }],
    cellular({ maxTasksToSubmit: 2 }),
  );
  missedFinish(late);
  const { nodes } = late;
  assert.equal(nodes.filter(({ state }) => state === NODE.waiting).length, 15);
});

Deno.test("a request that grows is ended while it does", () => {
  const input = { tokens: [1, 2, 3], maxSteps: 40 };
  for (const policy of [cellular(), graph({ windowNs: 0 }), serial()]) {
    const [late] = run(
      [{ model: growing, input, arrivalNs: 0, finishNs: 10_500 }],
      policy,
    );
    assert.match(
      missedFinish(late),
      /10 nodes were done, and it was still growing/,
    );
  }
});

Deno.test("a result that is held until its run has ended comes too late", () => {
  const inputs = [sentence(1), sentence(9)];
  const arrivals = inputs.map((input, i) => ({
    model,
    input,
    arrivalNs: 0,
    ...(i === 0 && { finishNs: 5000 }),
  }));
  const [late, mate] = run(arrivals, graph({ batchSizeMax: 2, windowNs: 0 }));
  missedFinish(late);
  assert.equal(late.record.endNs, 5000);
  assert.equal(mate.ending.outcome, "done");
});

Deno.test("a result that comes too late is not delivered, whenever the engine hears of it", () => {
  const headless = lstm({ hidden: 12, vocabulary: 20 });
  // Of the short request of two: its own last task, or, held until the run has ended, that of the other.
  for (
    const { policy, endNs } of [
      { policy: cellular, endNs: 150 },
      { policy: () => graph({ windowNs: 0 }), endNs: 350 },
    ]
  ) {
    for (const finishNs of [endNs, endNs - 1]) {
      const timeline = new Timeline();
      const executor = new SimExecutor({
        timeline,
        cost: constantCost(100),
        // As if the engine had been busy when the deadline passed and the task ended.
        onCompleted: (task, startNs, endNs) =>
          engine.completed(task, startNs, endNs + 50),
      });
      const engine = new EngineCore({
        models: [headless],
        policy: policy(),
        executor,
      });
      let outcome: string | undefined;
      driveVirtual(engine, timeline, [
        {
          ...{ model: headless, input: sentence(1), arrivalNs: 0, finishNs },
          onEnd: (ending) => outcome = ending.outcome,
        },
        { model: headless, input: sentence(3), arrivalNs: 0 },
      ]);
      assert.equal(outcome, finishNs === endNs ? "done" : "expired");
    }
  }
});

Deno.test("of two deadlines the one that is missed first ends the request", () => {
  const busy = { model, input: sentence(9), arrivalNs: 0 };
  const missed = (deadlineNs: number, finishNs: number) => {
    const [, request] = run(
      [busy, { model, input: sentence(1), arrivalNs: 0, deadlineNs, finishNs }],
      serial(),
    );
    return [
      (request.ending.error as DeadlineError).missed,
      request.record.endNs,
    ];
  };
  assert.deepEqual(missed(500, 800), ["start", 500]);
  assert.deepEqual(missed(800, 500), ["finish", 500]);
  // It starts at 10,000.
  assert.deepEqual(missed(10_500, 11_500), ["finish", 11_500]);
});

Deno.test("a request that waits to be unfolded is refused, and waits for half of its time at most", () => {
  const timeline = new Timeline();
  const executor = new SimExecutor({
    timeline,
    cost: constantCost(100),
    onCompleted: (task, startNs, endNs) =>
      engine.completed(task, startNs, endNs),
  });
  const engine = new EngineCore({
    models: [model],
    policy: cellular({ batchSizeMax: 1, maxTasksToSubmit: 1 }),
    executor,
    hasTime: () => true,
  });
  const ended: string[] = [];
  driveVirtual(
    engine,
    timeline,
    [0, 0, 1, 2, 3].map((arrivalNs, i) => ({
      model,
      input: sentence(1),
      arrivalNs,
      finishNs: i === 0 ? Infinity : 450,
      onEnd: ({ outcome, error }) =>
        ended.push(
          `${i} ${outcome} at ${timeline.nowNs}` +
            (error ? `: ${error.message}` : ""),
        ),
    })),
  );
  const late = (i: number, how: string) =>
    `${i} expired at 450: Request ${i} had not finished by its ` +
    `finishMs, ${(451 - i) / 1e6} ms: ${how}`;
  // At 200 the oldest that waits is unfolded; at 400 it has used half of its time, and it is the newest's turn.
  assert.deepEqual(ended, [
    "0 done at 200",
    "1 done at 400",
    late(2, "0 of its 2 nodes were done"),
    late(3, "it waited for its turn to be unfolded"),
    late(4, "it had not started"),
  ]);
});

Deno.test("ServingEngine ends a request that has not finished in time", async () => {
  // Unfolded at once, and then several times as long as the deadline on any machine.
  const large = seq2seq({ hidden: 256, sourceVocabulary: 20, eos: null });
  await using engine = await ServingEngine.create({
    models: [large],
    policy: cellular(),
  });
  const input = { tokens: [1, 2, 3], maxSteps: 4 };
  const long = ask(engine, large, { ...input, maxSteps: 16_000 }, {
    finishMs: 200,
  });
  const mate = ask(engine, large, input, { finishMs: 600_000 });
  await assert.rejects(
    long,
    (error) =>
      error instanceof DeadlineError && error.missed === "finish" &&
      /^Request 0 had not finished by its finishMs, 200 ms: \d+ nodes were done, and it was still growing$/
        .test(error.message),
  );
  assert.deepStrictEqual(await mate, runRequests(large, [input])[0]);
  assert.equal(engine.active, 0);
});

Deno.test("of two deadlines that have passed unnoticed, the earlier one is named", () => {
  // The engine hears of nothing until the long task has ended.
  const busy = { model, input: sentence(1), arrivalNs: 0 };
  const late = { model, input: sentence(1), arrivalNs: 0 };
  for (const [deadlineNs, finishNs] of [[200, 100], [100, 200]]) {
    const timeline = new Timeline();
    const executor = new SimExecutor({
      timeline,
      cost: constantCost(1000),
      onCompleted: (task, startNs, endNs) =>
        engine.completed(task, startNs, endNs),
    });
    const engine = new EngineCore({
      models: [model],
      policy: serial(),
      executor,
    });
    let missed: string | undefined;
    engine.submit(busy);
    engine.pump(0);
    engine.submit({
      ...{ ...late, deadlineNs, finishNs },
      onEnd: ({ error }) => missed = (error as DeadlineError).missed,
    });
    engine.pump(500);
    assert.equal(missed, finishNs < deadlineNs ? "finish" : "start");
  }
});

Deno.test("a deadline that is no time is refused", () => {
  const arrival = { model, input: sentence(1), arrivalNs: 0 };
  for (const name of ["deadlineNs", "finishNs"]) {
    assert.throws(
      () => run([{ ...arrival, [name]: NaN }], serial()),
      new RegExp(`RangeError: "${name}" is a time .* got NaN`),
    );
  }
});

Deno.test("of an engine that is given up who hears of an end may cancel others", () => {
  const timeline = new Timeline();
  const engine = new EngineCore({
    models: [model],
    policy: cellular(),
    executor: new SimExecutor({
      timeline,
      cost: constantCost(100),
      onCompleted: () => {},
    }),
  });
  const ended: string[] = [];
  const requests: ReturnType<EngineCore["submit"]>[] = [];
  for (const id of [0, 1, 2]) {
    requests.push(engine.submit({
      ...{ model, input: sentence(2), arrivalNs: 0 },
      onEnd({ outcome }) {
        ended.push(`${id} ${outcome}`);
        for (const other of requests) engine.cancel(other, 1, new Error());
      },
    }));
  }
  engine.abandonAll(1, new Error("no worker is left"));
  assert.deepEqual(ended, ["0 failed", "1 failed", "2 failed"]);
});
