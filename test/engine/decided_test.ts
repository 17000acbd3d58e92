/** A decision is data: what it was when it was answered, whatever becomes of the policy's objects and lists later. */
import assert from "node:assert/strict";
import { constantCost } from "../../src/cost/table_cost.ts";
import type { Model } from "../../src/graph/model.ts";
import { lstm } from "../../src/models/lstm.ts";
import { seq2seq } from "../../src/models/seq2seq.ts";
import { graph } from "../../src/policy/baselines/graph_batching.ts";
import { serial } from "../../src/policy/baselines/serial.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import type { Launch, Note, Step, Token } from "../../src/policy/launch.ts";
import type { Policy } from "../../src/policy/policy.ts";
import { staticChain } from "../policy/static_chain.ts";
import { DecisionLog } from "../../src/report/decision_log.ts";
import { told } from "../policy/told.ts";
import type { EngineCore } from "../../src/engine/core/engine.ts";
import { simulatedEngine } from "../../src/engine/virtual/simulated_engine.ts";
import type { Timeline } from "../../src/engine/virtual/timeline.ts";
import {
  driveTimeline,
  driveVirtual,
} from "../../src/engine/virtual/virtual_driver.ts";
import { runSimulated } from "./harness.ts";
import { runRequests } from "../run_requests.ts";

type Loose<T> = { -readonly [K in keyof T]: T[K] };

/** Decides as another policy does, ahead of its worker, with one launch object and its lists for everything. */
function frugal(inner: Policy): Policy {
  const launch = {} as Loose<Launch>;
  const tokens: Token[] = [];
  const notes: Note[] = [];
  let launches = 0;
  const nodes: Step["nodes"][number][][] = [];
  const requests: Launch["steps"][number]["nodes"][number]["graph"]["owner"][] =
    [];
  return {
    ...inner,
    schedule(view) {
      const workers = view.workers.map((worker) => ({ ...worker, queued: 0 }));
      const decision = inner.schedule({ ...view, workers });
      if (decision.kind !== "launch") return decision;
      const { steps, tail, ...rest } = decision.launch;
      const before = launch.steps as Step[] | undefined ?? [];
      before.length = 0;
      steps.forEach((step, i) => {
        const list = nodes[i] ??= [];
        list.length = 0;
        list.push(...step.nodes);
        before.push({ cell: step.cell, nodes: list });
      });
      requests.length = 0;
      requests.push(...tail?.requests ?? []);
      tokens[0] = { id: `${launches++}`, access: "write" };
      notes[0] = { op: "push", requests: [], why: tokens[0].id };
      Object.assign(launch, rest, { steps: before, tokens, notes });
      launch.tail = undefined;
      if (tail) launch.tail = { cells: tail.cells, requests };
      return { kind: "launch", launch };
    },
  };
}

Deno.test("a policy may use its launch and its lists again", () => {
  const sentences = Array.from({ length: 12 }, (_, i) => ({
    tokens: Array.from({ length: 1 + i % 4 }, (_, t) => (3 * i + t) % 10),
  }));
  const cases: [Model, unknown[]][] = [
    [lstm({ hidden: 8, vocabulary: 10, head: "classifier" }), sentences],
    [
      seq2seq({ hidden: 8, sourceVocabulary: 10, targetVocabulary: 10 }),
      sentences.map(({ tokens }, i) => ({ tokens, maxSteps: 1 + i % 3 })),
    ],
  ];
  for (const [model, inputs] of cases) {
    const expected = runRequests(model, inputs);
    for (const inner of [serial, () => graph({ windowNs: 0 }), cellular]) {
      assert.deepStrictEqual(
        runRequests(model, inputs, { policy: frugal(inner()), gapNs: 700 }),
        expected,
        inner().name,
      );
    }
  }
});

Deno.test("a log of decisions keeps the notes of each", () => {
  const log = new DecisionLog("frugal");
  const model = staticChain({ cells: ["A"] });
  runSimulated({
    policy: frugal(serial()),
    models: [model],
    cost: constantCost(1),
    observer: { decided: (...decision) => log.decided(...decision) },
    arrivals: [0, 1, 2].map((arrivalNs) => ({ model, input: {}, arrivalNs })),
  });
  const notes = [...log.launches.values()].flatMap(({ notes }) => notes);
  assert.deepEqual(notes.map(({ why }) => why), ["0", "1", "2"]);
});

Deno.test("a policy that loses a request is named where its simulation ends", () => {
  const model = staticChain({ cells: ["A"] });
  const request = { model, input: {}, arrivalNs: 0 };
  const drivers: ((engine: EngineCore, timeline: Timeline) => void)[] = [
    (engine, timeline) => driveVirtual(engine, timeline, [request]),
    (engine, timeline) => {
      timeline.at(0, 1, () => void engine.submit(request));
      driveTimeline(engine, timeline);
    },
  ];
  for (const drive of drivers) {
    const { engine, timeline } = simulatedEngine({
      models: [model],
      policy: { ...serial(), enqueue() {} },
      cost: constantCost(1),
      observer: {},
    });
    assert.throws(() => drive(engine, timeline), {
      message: 'Policy "serial" leaves 1 requests waiting for nothing',
    });
  }
});

Deno.test("a policy that does nothing but wait ends its simulation", () => {
  let asked = 0;
  const dozing: Policy = {
    ...serial(),
    schedule: ({ nowNs }) => {
      asked++;
      return { kind: "wait", untilNs: nowNs + 1 };
    },
  };
  const models = [staticChain({ cells: ["A"] })];
  const simulate = (requests: { arrivalNs: number; deadlineNs?: number }[]) =>
    told({ policy: { ...dozing }, models, cost: constantCost(1), requests });
  assert.throws(() => simulate([{ arrivalNs: 0 }, { arrivalNs: 5 }]), {
    message:
      'Policy "serial" leaves 2 requests waiting, and does nothing but wait, 1000000 times now',
  });
  assert(asked < 1.1e6);
  // As long as something is to come it may.
  const deadlineNs = 1_200_000;
  const ended = simulate([{ arrivalNs: 0, deadlineNs }, {
    arrivalNs: 1_100_000,
    deadlineNs,
  }]);
  assert.deepEqual(ended, []);
});

Deno.test("what a policy writes to the workers that it is shown is not believed", () => {
  const model = staticChain({ cells: ["A", "B"] });
  for (const change of [-1, 1, NaN]) {
    const inner = serial();
    const policy: Policy = {
      ...inner,
      schedule(view) {
        const decision = inner.schedule(view);
        if (decision.kind === "launch") {
          const { worker } = decision.launch;
          (view.workers[worker] as { queued: number }).queued += change;
        }
        return decision;
      },
    };
    const { engine, timeline } = simulatedEngine({
      models: [model],
      policy,
      cost: constantCost(10),
      workers: 2,
      observer: {},
    });
    const requests = [0, 0, 5, 50].map((arrivalNs) => ({
      ...{ model, input: {}, arrivalNs },
      onEnd: () => ends.push(timeline.nowNs),
    }));
    const ends: number[] = [];
    driveVirtual(engine, timeline, requests);
    assert.deepEqual(ends, [20, 20, 40, 70]);
    assert.equal(engine.tasksInFlight, 0);
  }
});
