/** Steps of growing requests as they come. That they are the results' bits under every policy: assertEqualBits. */
import assert from "node:assert/strict";
import { constantCost } from "../../src/cost/table_cost.ts";
import { EngineCore } from "../../src/engine/core/engine.ts";
import { PairedExecutor } from "../../src/engine/virtual/paired_executor.ts";
import { Timeline } from "../../src/engine/virtual/timeline.ts";
import { driveVirtual } from "../../src/engine/virtual/virtual_driver.ts";
import { ClosedError, DeadlineError } from "../../src/engine/core/errors.ts";
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import type { ServingOptions } from "../../src/engine/wall/serving_options.ts";
import type { StepResult } from "../../src/engine/wall/step_stream.ts";
import type { OutputTypes } from "../../src/graph/result.ts";
import { CellGraph } from "../../src/graph/cell_graph.ts";
import { SlotPlan } from "../../src/graph/slot_plan.ts";
import type { Model } from "../../src/graph/model.ts";
import { gpt } from "../../src/models/gpt.ts";
import { lstm } from "../../src/models/lstm.ts";
import { seq2seq } from "../../src/models/seq2seq.ts";
import { graph } from "../../src/policy/baselines/graph_batching.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import { seededWeights } from "../../src/tensor/weights.ts";
import { runRequests } from "../run_requests.ts";
import { DEATHS } from "./fuse.ts";
import { kernels, runPaired } from "./harness.ts";
import { unlessItHangs } from "./hang_guard.ts";
import { assertSteps, joinedSteps } from "./joined_steps.ts";
import { withMortalWorkers } from "./mortal_workers.ts";

const model = seq2seq({
  hidden: 8,
  sourceVocabulary: 20,
  eos: null,
  stepsMax: 100_000,
  weights: seededWeights(3),
});
const answers = gpt({
  layers: 2,
  hidden: 16,
  heads: 2,
  vocabulary: 20,
  positionsMax: 64,
  eos: null,
});
const short = { tokens: [1, 2, 3], maxSteps: 7 };
/** Under way for as long as a test needs, unless it is ended. */
const long = { tokens: [4, 5], maxSteps: 100_000 };

function create(options: Partial<ServingOptions> = {}): Promise<ServingEngine> {
  return ServingEngine.create({
    models: [model, answers],
    policy: cellular(),
    slotBytes: 2 ** 24,
    warmUp: false,
    ...options,
  });
}

/** All steps, which have to come to an end. */
async function all<Outputs extends OutputTypes>(
  stream: AsyncIterable<StepResult<Outputs>>,
): Promise<StepResult<Outputs>[]> {
  const steps: StepResult<Outputs>[] = [];
  const read = async () => {
    for await (const step of stream) steps.push(step);
  };
  await unlessItHangs(() => `step ${steps.length}`, read());
  return steps;
}

for (const workers of [0, 1, 2]) {
  Deno.test(`stream() gives the steps of what run() gives, with ${workers} workers`, async () => {
    await using engine = await create({ workers });
    const inputs = Array.from({ length: 12 }, (_, i) => ({
      tokens: Array.from({ length: 1 + i % 5 }, (_, t) => (3 * i + t) % 20),
      maxSteps: 1 + 3 * i,
    }));
    for (const one of [model, answers] as Model<typeof short>[]) {
      const streams = inputs.map((input) => engine.stream(one, input));
      const steps = await Promise.all(streams.map(all));
      const expected = runRequests(one, inputs);
      for (let i = 0; i < inputs.length; i++) {
        assert.equal(steps[i].length, inputs[i].maxSteps);
        assertSteps(steps[i], expected[i], true, `request ${i}`);
        const times = steps[i].map(({ endedMs }) => endedMs);
        assert.deepEqual(times, times.toSorted((a, b) => a - b));
        const { outputs } = await streams[i].result;
        assert.deepStrictEqual(outputs, expected[i]);
      }
    }
    assert.equal(engine.active, 0);
  });
}

Deno.test("stream() ends with the result, and then is over", async () => {
  await using engine = await create({ workers: 0 });
  const stream = engine.stream(model, { tokens: [1], maxSteps: 1 });
  const [step, end, over] = await Promise.all([
    stream.next(),
    stream.next(),
    stream.next(),
  ]);
  assert.equal(step.done, false);
  const { result } = stream;
  assert.deepStrictEqual(end, { done: true, value: await result });
  assert.deepStrictEqual(over, { done: true, value: undefined });
});

Deno.test("a consumer that leaves ends its request, frees its slot, and nobody else notices", async () => {
  // Room for one long request, not for two.
  const plan = new CellGraph(model);
  model.unfold(long, plan);
  const slotBytes = Math.ceil(1.5 * new SlotPlan(plan).bytes);
  await using engine = await create({ workers: 1, slotBytes });
  const [expected] = runRequests(model, [short]);
  /** It waits for rows that a worker had begun for the one before. */
  const begun = async () => {
    const stream = engine.stream(model, long);
    await stream.next();
    return stream;
  };
  for (let round = 0; round < 3; round++) {
    const stream = await unlessItHangs(() => `slot ${round}`, begun());
    const mate = engine.run(model, short);
    await assert.rejects(engine.run(model, long, { whenFull: "refuse" }), {
      name: "QueueFullError",
    });
    let steps = 1;
    for await (const { index } of stream) {
      assert.equal(index, steps);
      if (++steps === 3) break;
    }
    assert.equal(steps, 3);
    assert.equal((await stream.next()).done, true);
    await assert.rejects(stream.result, { name: "AbortError" });
    assert.deepStrictEqual((await mate).outputs, expected);
    assert.equal(engine.active, 0);
  }
});

Deno.test("leaving a stream that nobody asked a step of, or that is over, is no harm", async () => {
  await using engine = await create({ workers: 0 });
  const unasked = engine.stream(model, long);
  await unasked.return();
  await assert.rejects(unasked.result, { name: "AbortError" });
  const waiting = engine.stream(model, long);
  const asked = Array.from({ length: 2 }, () => waiting.next());
  await waiting.return();
  assert.deepEqual(await Promise.all(asked), [
    { done: true, value: undefined },
    { done: true, value: undefined },
  ]);
  const done = engine.stream(model, short);
  await done.result;
  await done.return();
  assert.deepStrictEqual(
    (await done.result).outputs,
    runRequests(model, [short])[0],
  );
  {
    await using left = engine.stream(model, long);
    await left.next();
  }
  assert.equal(engine.active, 0);
});

Deno.test("stream() rejects with the signal's reason behind the steps that were there", async () => {
  await using engine = await create({ workers: 1 });
  const abort = new AbortController();
  const reason = new Error("no longer needed");
  const stream = engine.stream(model, long, { signal: abort.signal });
  assert.equal((await stream.next()).done, false);
  abort.abort(reason);
  assert.equal(engine.active, 0, "it is gone at once");
  await assert.rejects(all(stream), reason);
  await assert.rejects(stream.result, reason);
  assert.equal((await stream.next()).done, true, "an error is thrown once");
  const aborted = AbortSignal.abort(reason);
  await assert.rejects(
    engine.stream(model, long, { signal: aborted }).next(),
    reason,
  );
});

Deno.test("stream() rejects with what run() rejects with", async () => {
  const engine = await create({ workers: 0 });
  await assert.rejects(
    all(engine.stream(model, long, { finishMs: 5 })),
    DeadlineError,
  );
  const bad = engine.stream(model, { tokens: [99] });
  await assert.rejects(bad.next(), RangeError);
  await assert.rejects(bad.result, RangeError);
  const unknown = { deadline: 5 } as never;
  await assert.rejects(engine.stream(model, short, unknown).next(), {
    name: "TypeError",
    message: /stream\(\)/,
  });
  const closed = assert.rejects(all(engine.stream(model, long)), ClosedError);
  await engine.close("reject");
  await closed;
  await assert.rejects(engine.stream(model, short).next(), ClosedError);
});

Deno.test("stream() refuses models that do not grow, and several rows", async () => {
  const chain = lstm({ hidden: 4, vocabulary: 9 });
  const rows = {
    split: (input: unknown) => Array.isArray(input) ? input : undefined,
    join: () => ({}),
  };
  const several = { ...model, rows } as Model;
  await using engine = await create({ models: [chain, several], workers: 0 });
  assert.throws(() => engine.stream(chain, { tokens: [1] }), {
    name: "TypeError",
    message: /"lstm".*run\(\)/,
  });
  assert.throws(() => engine.stream(several, [short, short]), {
    name: "TypeError",
    message: /one row/,
  });
  assert.equal((await all(engine.stream(several, short))).length, 7);
});

Deno.test("who iterates slowly, or not at all, holds nobody up", async () => {
  await using engine = await create({ workers: 1 });
  const slow = engine.stream(model, short);
  const [expected] = runRequests(model, [short]);
  assert.deepStrictEqual((await engine.run(model, short)).outputs, expected);
  // Nothing was asked of the first one: its steps wait for whoever does.
  assert.deepStrictEqual((await slow.result).outputs, expected);
  assert.equal(engine.active, 0);
  assertSteps(await all(slow), expected, true, "the slow one");
});

Deno.test("a step is told when it is done; where a policy holds a batch's results, at its end", () => {
  const times = (policy: ReturnType<typeof cellular>) => {
    const toldNs: number[] = [];
    let endedNs = 0;
    const { steps } = runPaired({
      models: [model],
      policy,
      arrivals: [{ model, input: short, arrivalNs: 0 }],
      cost: { latencyNs: () => 1000 },
      observer: { request: (_, { endNs }) => void (endedNs = endNs) },
      onStep: (_step, endNs) => toldNs.push(endNs),
    });
    assert.equal(steps[0].length, 7);
    return { toldNs, endedNs };
  };
  const early = times(cellular());
  assert.deepEqual(
    early.toldNs,
    [4, 5, 6, 7, 8, 9, 10].map((step) => 1000 * step),
  );
  assert.equal(early.endedNs, 10_000);
  const late = times(graph());
  assert.deepEqual(late.toldNs, Array(7).fill(late.endedNs));
});

Deno.test("a step that is heard of behind the request's finishNs is not told", () => {
  const told: number[] = [];
  const outcomes: string[] = [];
  const timeline = new Timeline();
  const executor = new PairedExecutor({
    timeline,
    models: [model],
    kernels,
    cost: constantCost(1000),
    // As on the wall clock, where nobody looks at the time while a task ends.
    onCompleted: (task, startNs, endNs) =>
      engine.completed(task, startNs, endNs > 5000 ? endNs + 3000 : endNs),
  });
  const engine = new EngineCore({
    models: [model],
    policy: cellular({ maxTasksToSubmit: 1 }),
    executor,
  });
  driveVirtual(engine, timeline, [{
    model,
    input: short,
    arrivalNs: 0,
    finishNs: 8000,
    onStep: (_step, endNs) => told.push(endNs),
    onEnd: ({ outcome }) => outcomes.push(outcome),
  }]);
  assert.deepEqual(told, [4000, 5000]);
  assert.deepEqual(outcomes, ["expired"]);
});

Deno.test("a step that cannot be copied out ends its own request alone", () => {
  const input = { tokens: [1], maxSteps: 4 };
  const failed = runPaired({
    models: [model],
    policy: cellular(),
    arrivals: [0, 1].map(() => ({ model, input, arrivalNs: 0 })),
    cost: { latencyNs: () => 1000 },
    executor(executor) {
      const { result } = executor;
      executor.result = (request, rows) => {
        if (request.id === 0 && rows && request.stepsSettled === 2) {
          throw new RangeError("no memory");
        }
        return result.call(executor, request, rows);
      };
    },
  });
  assert.deepEqual(failed.endings.map((ending) => ending?.outcome), [
    "failed",
    "done",
  ]);
  assert.equal(failed.steps[0].length, 1);
  assert.deepStrictEqual(
    joinedSteps(failed.steps[1]),
    failed.endings[1]?.result,
  );
});

Deno.test("steps go on where a dead worker left them", async () => {
  const input = { tokens: [3, 1], maxSteps: 20 };
  const [expected] = runRequests(model, [input]);
  for (const death of DEATHS) {
    await withMortalWorkers(async (workers) => {
      const engine = await create({
        workers: 1,
        patienceMs: 3_600_000,
        onError: () => {},
      });
      for (const accesses of [3, 11, 30]) {
        const alive = workers.find(({ ended, dead }) => !ended && !dead)!;
        alive.light(death, accesses, "writes");
        const steps = await all(engine.stream(model, input));
        assertSteps(steps, expected, true, `${death} at ${accesses}`);
        assert(alive.dead, "it died");
      }
      await engine.close();
    });
  }
});
