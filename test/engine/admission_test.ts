/** Requests that wait to be unfolded: who comes in when, and that nothing else about them changes. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { constantCost } from "../../src/cost/table_cost.ts";
import { ActiveRequest } from "../../src/engine/core/active_request.ts";
import { Admission } from "../../src/engine/core/admission.ts";
import { EngineCore } from "../../src/engine/core/engine.ts";
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import { SimExecutor } from "../../src/engine/virtual/sim_executor.ts";
import { Timeline } from "../../src/engine/virtual/timeline.ts";
import { driveVirtual } from "../../src/engine/virtual/virtual_driver.ts";
import { CellGraph } from "../../src/graph/cell_graph.ts";
import type { Model } from "../../src/graph/model.ts";
import { lstm } from "../../src/models/lstm.ts";
import { gruStream } from "../../src/models/rnn_stream.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import type { Policy } from "../../src/policy/policy.ts";
import { propertyRuns } from "../property_runs.ts";
import { runRequests } from "../run_requests.ts";
import { ask } from "./ask.ts";

const base = lstm({ hidden: 4, vocabulary: 1000 });

/** The model, and which requests were unfolded, by their first token. */
function watched(): { model: Model; unfolded: number[] } {
  const unfolded: number[] = [];
  const model: Model<{ tokens: number[] }> = {
    ...base,
    unfold(input, graph) {
      unfolded.push(input.tokens[0]);
      base.unfold(input, graph);
    },
  };
  return { model, unfolded };
}

interface Ended {
  readonly outcome: string;
  readonly atNs: number;
}

interface Arrival {
  readonly atNs: number;
  readonly deadlineNs?: number;
  readonly cancelAtNs?: number;
}

/** One worker on which a task takes 100 ns; request i brings token i. */
function drive(
  arrivals: readonly Arrival[],
  { model, policy, hasTime }: {
    model: Model;
    policy: Policy;
    hasTime?: () => boolean;
  },
): (Ended | undefined)[] {
  const timeline = new Timeline();
  const executor = new SimExecutor({
    timeline,
    cost: constantCost(100),
    onCompleted: (task, startNs, endNs) =>
      engine.completed(task, startNs, endNs),
  });
  const engine = new EngineCore({
    models: [model],
    policy,
    executor,
    ...(hasTime && { hasTime }),
  });
  const ended: (Ended | undefined)[] = arrivals.map(() => undefined);
  driveVirtual(
    engine,
    timeline,
    arrivals.map(({ atNs, deadlineNs, cancelAtNs }, i) => ({
      model,
      input: { tokens: [i] },
      arrivalNs: atNs,
      ...(deadlineNs !== undefined && { deadlineNs }),
      ...(cancelAtNs !== undefined && { cancelAtNs }),
      onEnd({ outcome }) {
        assert.equal(ended[i], undefined, "a request ends once");
        ended[i] = { outcome, atNs: timeline.nowNs };
      },
    })),
  );
  return ended;
}

const always = () => true;

Deno.test("requests that cannot start yet are not unfolded, and are refused at their deadline all the same", () => {
  const { model, unfolded } = watched();
  // A batch of two runs for 100 ns; of six that come meanwhile two fit behind it.
  const arrivals = [0, 0, 1, 1, 1, 1, 1, 1].map((atNs, i) => ({
    atNs,
    ...(i >= 4 && { deadlineNs: 50 }),
  }));
  const ended = drive(arrivals, {
    model,
    policy: cellular({ batchSizeMax: 2 }),
    hasTime: always,
  });
  assert.deepEqual(unfolded, [0, 1, 2, 3]);
  assert.deepEqual(
    ended.map((end) => end?.outcome),
    [...Array(4).fill("done"), ...Array(4).fill("expired")],
  );
  assert(ended.slice(4).every((end) => end?.atNs === 50));
});

Deno.test("the oldest waiting request is next; the newest, once the oldest has used half its time", () => {
  const policy = () => cellular({ batchSizeMax: 1, maxTasksToSubmit: 1 });
  const arrivals = [0, 0, 1, 2, 3];
  const orderOf = (deadlineNs: number): number[] => {
    const { model, unfolded } = watched();
    drive(arrivals.map((atNs) => ({ atNs, deadlineNs })), {
      model,
      policy: policy(),
      hasTime: always,
    });
    return unfolded;
  };
  assert.deepEqual(orderOf(1000), [0, 1, 2, 3, 4]);
  // One is done at 100, when request 2 has used 99 of its 189; at 190 the others are too late.
  assert.deepEqual(orderOf(190), [0, 1, 4]);
  // At 100 of 205 the oldest goes on, at 200 it is the newest's turn.
  assert.deepEqual(orderOf(205), [0, 1, 2, 4]);
});

/** A request that may wait, with a copy of so many bytes. */
function waiting(model: Model, id: number, bytes = 0): ActiveRequest {
  const request = new ActiveRequest(
    ...[id, model, new CellGraph<ActiveRequest>(model), 0] as const,
    ...[Infinity, Infinity, undefined, undefined] as const,
  );
  request.waiting = { input: undefined, bytes };
  return request;
}

Deno.test("a model of which many wait does not keep another one out where there is time for one", () => {
  const other = lstm({ hidden: 4, vocabulary: 10 });
  let time = 0;
  const admission = new Admission([base, other], () => 2, () => time-- > 0);
  for (let id = 0; id < 20; id++) admission.wait(waiting(base, id));
  admission.wait(waiting(other, 20));
  const entered: number[] = [];
  for (let turn = 0; turn < 4; turn++) {
    time = 1;
    const request = admission.next(0)!;
    admission.leave(request);
    admission.entered(request);
    assert.equal(admission.next(0), undefined, "no time");
    // It begins at once: there is room for another one.
    admission.began(request);
    entered.push(request.id);
  }
  assert.deepEqual(entered, [0, 20, 1, 2]);
});

Deno.test("inputs that wait are bounded in bytes as well, but for a single one", () => {
  const admission = new Admission([base], () => 1, () => true, 100);
  const [first, second, third] = [300, 60, 41]
    .map((bytes, id) => waiting(base, id, bytes));
  admission.wait(first);
  assert.throws(() => admission.wait(second), {
    name: "QueueFullError",
    message: /hold 300 bytes of input, one of 60 more .* waitingBytes, 100/,
  });
  admission.leave(first);
  admission.wait(second);
  assert.throws(() => admission.wait(third), { name: "QueueFullError" });
  admission.leave(second);
  admission.wait(third);
});

Deno.test("a flood of inputs that wait is refused beyond waitingBytes, and served below", async () => {
  await using engine = await ServingEngine.create({
    models: [base],
    policy: cellular({ batchSizeMax: 1, maxTasksToSubmit: 1 }),
    waitingBytes: 2 ** 16,
    workers: 0,
  });
  const tokens = Int32Array.from({ length: 1000 }, (_, i) => i);
  const ends = await Promise.allSettled(
    Array.from({ length: 100 }, () => engine.run(base, { tokens })),
  );
  const refused = ends.filter(({ status }) => status === "rejected");
  assert(refused.length >= 70 && refused.length < 90, `${refused.length}`);
  for (const end of refused) {
    assert.equal((end as PromiseRejectedResult).reason.name, "QueueFullError");
  }
  assert.equal((await engine.run(base, { tokens })).outputs.h.shape[0], 4);
});

Deno.test("nobody comes in for whom there is no time, and it is told that somebody waits", () => {
  let time = false;
  const admission = new Admission([base], () => 1, () => time);
  const request = waiting(base, 0);
  assert.equal(admission.next(0), undefined);
  assert(!admission.isHeld, "nobody waits");
  admission.wait(request);
  assert.equal(admission.next(0), undefined);
  assert(admission.isHeld);
  time = true;
  assert.equal(admission.next(0)?.id, 0);
  assert(!admission.isHeld);
});

Deno.test("more streams than a policy could start, always with frames, do not keep a request out", () => {
  const model = gruStream({ hidden: 2, features: 1 });
  const input = { x: [0] };
  const timeline = new Timeline();
  const executor = new SimExecutor({
    timeline,
    cost: constantCost(100),
    onCompleted: (task, startNs, endNs) =>
      engine.completed(task, startNs, endNs),
  });
  const engine = new EngineCore({
    models: [model],
    policy: cellular({ batchSizeMax: 1 }),
    executor,
    hasTime: always,
  });
  const ended: string[] = [];
  const frames = Array.from({ length: 8 }, () => {
    const session = engine.sessions.open(model, 10);
    return Array.from({ length: 10 }, () => ({
      model,
      session,
      input,
      arrivalNs: 0,
      onEnd: () => ended.push("frame"),
    }));
  });
  const onEnd = () => ended.push("request");
  driveVirtual(engine, timeline, [
    ...frames.flat(),
    { model, input, arrivalNs: 1, onEnd },
  ]);
  assert.equal(ended.length, 81);
  // Behind the frames that were there, one of each stream.
  assert.equal(ended.indexOf("request"), 8);
});

Deno.test("everything is unfolded at once where nobody says that it may wait", () => {
  const { model, unfolded } = watched();
  const policy = cellular({ batchSizeMax: 1 });
  drive(Array(5).fill({ atNs: 0, deadlineNs: 50 }), { model, policy });
  assert.deepEqual(unfolded, [0, 1, 2, 3, 4]);
  const all = watched();
  drive(Array(5).fill({ atNs: 0, deadlineNs: 50 }), {
    model: all.model,
    policy: { ...cellular({ batchSizeMax: 1 }), lookahead: undefined } as never,
    hasTime: always,
  });
  assert.deepEqual(all.unfolded, [0, 1, 2, 3, 4]);
});

Deno.test("without deadlines and cancellations, waiting to be unfolded changes no request's time", () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(300), { minLength: 1, maxLength: 30 }),
      fc.integer({ min: 1, max: 4 }),
      (gaps, batchSizeMax) => {
        let atNs = 0;
        const arrivals = gaps.map((gap) => ({ atNs: atNs += gap }));
        const policy = () => cellular({ batchSizeMax });
        assert.deepEqual(
          drive(arrivals, {
            model: watched().model,
            policy: policy(),
            hasTime: always,
          }),
          drive(arrivals, { model: watched().model, policy: policy() }),
        );
      },
    ),
    { numRuns: propertyRuns(100) },
  );
});

Deno.test("every request ends once, waiting or not, cancelled or expired", () => {
  const arrival = fc.record({
    gapNs: fc.nat(60),
    deadlineNs: fc.option(fc.integer({ min: 1, max: 400 })),
    cancelNs: fc.option(fc.nat(400), { freq: 4 }),
  });
  fc.assert(
    fc.property(
      fc.array(arrival, { minLength: 1, maxLength: 30 }),
      fc.array(fc.boolean(), { minLength: 1, maxLength: 9 }),
      (drawn, times) => {
        let atNs = 0;
        const arrivals = drawn.map(({ gapNs, deadlineNs, cancelNs }) => {
          atNs += gapNs;
          return {
            atNs,
            ...(deadlineNs !== null && { deadlineNs: atNs + deadlineNs }),
            ...(cancelNs !== null && { cancelAtNs: atNs + cancelNs }),
          };
        });
        let asked = 0;
        const ended = drive(arrivals, {
          model: watched().model,
          policy: cellular({ batchSizeMax: 2 }),
          // Now and then there is no time; completions bring the next look.
          hasTime: () => times[asked++ % times.length] || asked % 3 === 0,
        });
        ended.forEach((end, i) => {
          assert(end !== undefined);
          const { deadlineNs, cancelAtNs } = arrivals[i];
          if (end.outcome === "expired") assert(end.atNs >= deadlineNs!);
          if (end.outcome === "cancelled") {
            assert(cancelAtNs !== undefined && end.atNs >= cancelAtNs);
          }
        });
      },
    ),
    { numRuns: propertyRuns(200) },
  );
});

Deno.test("an input may be used again once run() has returned, waiting or not", async () => {
  await using engine = await ServingEngine.create({
    models: [base],
    policy: cellular({ batchSizeMax: 1 }),
    slotBytes: 2 ** 22,
  });
  const shared = { tokens: new Int32Array(40) };
  const inputs = Array.from(
    { length: 30 },
    (_, i) => ({ tokens: Array.from({ length: 40 }, (_, t) => (i + t) % 9) }),
  );
  const running = inputs.map(({ tokens }) => {
    shared.tokens.set(tokens);
    return ask(engine, base, shared);
  });
  shared.tokens.fill(0);
  assert.deepStrictEqual(
    await Promise.all(running),
    runRequests(base, inputs),
  );
});

Deno.test("nor does it matter in what memory it lies, or of what class it is", async () => {
  class Sentence {
    constructor(readonly ids: number[]) {}
    read(): number[] {
      return this.ids;
    }
  }
  const classy: Model<Sentence> = {
    name: "classy",
    cells: base.cells,
    shape: base.shape,
    check(input: unknown): asserts input is Sentence {
      const check: (input: unknown) => void = base.check;
      check({ tokens: (input as Sentence).read() });
    },
    unfold: (input, graph) => base.unfold({ tokens: input.read() }, graph),
  };
  await using engine = await ServingEngine.create({
    models: [base, classy],
    policy: cellular({ batchSizeMax: 1 }),
    slotBytes: 2 ** 22,
  });
  const shared = new Int32Array(new SharedArrayBuffer(160));
  const inputs = Array.from(
    { length: 30 },
    (_, i) => ({ tokens: Array.from({ length: 40 }, (_, t) => (i + t) % 9) }),
  );
  const running = inputs.flatMap(({ tokens }) => {
    shared.set(tokens);
    return [
      ask(engine, base, { tokens: shared }),
      ask(engine, classy, new Sentence(tokens)),
    ];
  });
  shared.fill(0);
  assert.deepStrictEqual(
    await Promise.all(running),
    runRequests(base, inputs).flatMap((answer) => [answer, answer]),
  );
});

Deno.test("models that are served together take turns under cellular, whatever their cells' priorities", () => {
  const low = lstm({ hidden: 4, vocabulary: 9 });
  const high: Model = {
    ...base,
    name: "high",
    cells: base.cells.map((cell) => ({ ...cell, priority: 9 })),
    unfold({ tokens }, graph) {
      const [step] = high.cells;
      const ids = graph.ids(tokens);
      const node = graph.node(step, {
        token: graph.id(ids, 0),
        h: graph.zeros(4),
        c: graph.zeros(4),
      });
      graph.result("h", graph.output(node, "h"));
    },
  };
  const timeline = new Timeline();
  const served: string[] = [];
  const executor = new SimExecutor({
    timeline,
    cost: constantCost(100),
    onCompleted: (task, startNs, endNs) =>
      engine.completed(task, startNs, endNs),
  });
  const engine = new EngineCore({
    models: [low, high],
    policy: cellular({ batchSizeMax: 1, maxTasksToSubmit: 1 }),
    executor,
    observer: { request: (_, { model }) => served.push(model) },
  });
  driveVirtual(
    engine,
    timeline,
    Array.from({ length: 12 }, (_, i) => ({
      model: i % 2 ? high : low,
      input: { tokens: [1] },
      arrivalNs: 0,
    })),
  );
  for (let i = 0; i < 12; i += 2) {
    assert.deepEqual(served.slice(i, i + 2).sort(), ["high", "lstm"]);
  }
});
