/** The serving engine on real worker threads. No test depends on how long anything takes. */
import assert from "node:assert/strict";
import {
  CellError,
  ClosedError,
  DeadlineError,
  QueueFullError,
} from "../../src/engine/core/errors.ts";
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import type { ServingOptions } from "../../src/engine/wall/serving_options.ts";
import type { Result } from "../../src/graph/result.ts";
import { lstm } from "../../src/models/lstm.ts";
import { seq2seq } from "../../src/models/seq2seq.ts";
import { treeLstm } from "../../src/models/tree_lstm.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import { graph } from "../../src/policy/baselines/graph_batching.ts";
import { serial } from "../../src/policy/baselines/serial.ts";
import { runRequests } from "../run_requests.ts";
import { withWatchedWorkers } from "../watched_workers.ts";
import { fragileChain, fragileRow } from "./fragile_model.ts";
import { ask } from "./ask.ts";

const model = lstm({ hidden: 24, vocabulary: 20, head: "classifier" });
const short = { tokens: [1, 2, 3] };
/** Thousands of steps: under way for as long as a test needs, unless it is cancelled. */
const long = { tokens: Array.from({ length: 4000 }, (_, t) => t % 20) };
const expectedOf = (input: { tokens: number[] }) =>
  runRequests(model, [input])[0];

function create(
  options: Partial<ServingOptions> = {},
): Promise<ServingEngine> {
  return ServingEngine.create({
    models: [model],
    policy: cellular(),
    slotBytes: 2 ** 23,
    ...options,
  });
}

Deno.test("ServingEngine gives each of many requests its own bits, over two workers", async () => {
  await using engine = await create({ workers: 2 });
  const inputs = Array.from({ length: 80 }, (_, i) => ({
    tokens: Array.from({ length: 1 + i % 23 }, (_, t) => (3 * i + t) % 20),
  }));
  const results = await Promise.all(
    inputs.map((input) => ask(engine, model, input)),
  );
  assert.deepStrictEqual(results, runRequests(model, inputs));
  assert.equal(engine.active, 0);
});

Deno.test("ServingEngine without a policy takes our own", async () => {
  const reasons = new Set<string | undefined>();
  await using engine = await ServingEngine.create({
    models: [model],
    slotBytes: 2 ** 23,
    observer: { decided: (_nowNs, { why }) => void reasons.add(why) },
  });
  assert.deepStrictEqual(await ask(engine, model, short), expectedOf(short));
  assert.deepEqual([...reasons], [
    "1 of 1 leave the least waiting",
  ]);
});

Deno.test("ServingEngine gives the same bits when workers share their calls with other threads", async () => {
  const large = lstm({ hidden: 200, vocabulary: 20, head: "classifier" });
  const trees = treeLstm({ hidden: 72, vocabulary: 20 });
  const translation = seq2seq({
    hidden: 40,
    sourceVocabulary: 20,
    targetVocabulary: 300,
    rnn: "gru",
  });
  await using engine = await create({
    models: [large, trees, translation],
    workers: 2,
    threadsPerWorker: 2,
    team: { leastNs: 0, wakeNs: 0 },
  });
  const sentences = Array.from({ length: 20 }, (_, i) => ({
    tokens: Array.from({ length: 1 + i % 7 }, (_, t) => (3 * i + t) % 20),
  }));
  const queries = sentences.map((input) => ({ ...input, maxSteps: 9 }));
  const tree = { tree: [[1, 2], [3, [4, 5]]] };
  const [chains, translations, [root]] = await Promise.all([
    Promise.all(sentences.map((input) => ask(engine, large, input))),
    Promise.all(queries.map((input) => ask(engine, translation, input))),
    Promise.all([ask(engine, trees, tree)]),
  ]);
  assert.deepStrictEqual(chains, runRequests(large, sentences));
  assert.deepStrictEqual(translations, runRequests(translation, queries));
  assert.deepStrictEqual([root], runRequests(trees, [tree]));
});

Deno.test("ServingEngine serves several models at once", async () => {
  const trees = treeLstm({ hidden: 12, vocabulary: 20 });
  const translation = seq2seq({ hidden: 12, sourceVocabulary: 20 });
  await using engine = await create({
    models: [model, trees, translation],
    workers: 2,
  });
  const tree = { tree: [[1, 2], [3, [4, 5]]] };
  const sentence = { tokens: [5, 6], maxSteps: 9 };
  const [a, b, c] = await Promise.all([
    ask(engine, model, short),
    ask(engine, trees, tree),
    ask(engine, translation, sentence),
  ]);
  assert.deepStrictEqual(a, expectedOf(short));
  assert.deepStrictEqual(b, runRequests(trees, [tree])[0]);
  assert.deepStrictEqual(c, runRequests(translation, [sentence])[0]);
});

Deno.test("ServingEngine rejects with the signal's reason before, while and not after a request runs", async () => {
  await using engine = await create();
  const reason = new Error("no longer needed");
  await assert.rejects(
    ask(engine, model, short, { signal: AbortSignal.abort(reason) }),
    reason,
  );
  assert.equal(engine.active, 0, "nothing was queued");

  const running = new AbortController();
  const cancelled = ask(engine, model, long, { signal: running.signal });
  const mate = ask(engine, model, short);
  await mate;
  assert.equal(engine.active, 1, "the long request is under way");
  running.abort(reason);
  assert.equal(engine.active, 0, "it is gone at once");
  await assert.rejects(cancelled, reason);
  assert.deepStrictEqual(await mate, expectedOf(short));

  const late = new AbortController();
  const done = await ask(engine, model, short, { signal: late.signal });
  late.abort(reason);
  assert.deepStrictEqual(done, expectedOf(short));
  assert.deepStrictEqual(await ask(engine, model, short), expectedOf(short));
});

Deno.test("ServingEngine cancels a request that waits for its batch", async () => {
  await using engine = await create({ policy: graph({ windowNs: 10e9 }) });
  const abort = new AbortController();
  const waiting = ask(engine, model, short, { signal: abort.signal });
  abort.abort();
  await assert.rejects(waiting, { name: "AbortError" });
  assert.equal(engine.active, 0);
});

Deno.test("ServingEngine refuses a request that cannot start before its deadline", async () => {
  await using engine = await create({ policy: serial() });
  const abort = new AbortController();
  const first = ask(engine, model, long, { signal: abort.signal });
  const timely = ask(engine, model, short, { deadlineMs: 600_000 });
  // The worker is taken until the signal, which waits for the deadline.
  await assert.rejects(
    ask(engine, model, short, { deadlineMs: 0.001 }),
    (error) =>
      error instanceof DeadlineError &&
      error.missed === "start" &&
      error.message ===
        "Request 2 had not started by its deadlineMs, 0.001 ms",
  );
  abort.abort();
  await assert.rejects(first, { name: "AbortError" });
  assert.deepStrictEqual(await timely, expectedOf(short));
});

Deno.test("ServingEngine refuses options of a request that make no sense", async () => {
  await using engine = await create();
  for (const deadlineMs of [0, -1, NaN]) {
    await assert.rejects(ask(engine, model, short, { deadlineMs }), {
      name: "RangeError",
      message: `"deadlineMs" is positive, got ${deadlineMs}`,
    });
    await assert.rejects(
      ask(engine, model, short, { finishMs: deadlineMs }),
      {
        name: "RangeError",
        message: `"finishMs" is positive, got ${deadlineMs}`,
      },
    );
  }
  for (const stepsFixed of [0, 1.5, NaN]) {
    await assert.rejects(ask(engine, model, short, { stepsFixed }), {
      name: "RangeError",
      message: `"stepsFixed" is a positive integer, got ${stepsFixed}`,
    });
  }
});

Deno.test("ServingEngine refuses what its queue has no room for, and serves later requests", async () => {
  await using engine = await create({ queueMax: 2 });
  const accepted = [ask(engine, model, long), ask(engine, model, short)];
  await assert.rejects(
    ask(engine, model, short),
    (error) =>
      error instanceof QueueFullError &&
      /2 requests are in the system, queueMax is 2/.test(error.message),
  );
  assert.deepStrictEqual(await Promise.all(accepted), [
    expectedOf(long),
    expectedOf(short),
  ]);
  assert.deepStrictEqual(await ask(engine, model, short), expectedOf(short));
});

Deno.test("ServingEngine refuses a request that its slots have no room for, and serves others", async () => {
  await using engine = await create({ slotBytes: 4096 });
  const mate = ask(engine, model, short);
  await assert.rejects(ask(engine, model, long), {
    name: "RangeError",
    message: /needs a slot of \d+ bytes, all slots have 4096/,
  });
  assert.deepStrictEqual(await mate, expectedOf(short));
});

Deno.test("ServingEngine refuses bad input before anything is queued", async () => {
  await using engine = await create();
  const mate = ask(engine, model, short);
  await assert.rejects(ask(engine, model, { tokens: [1, 20] }), {
    name: "RangeError",
    message: /tokens\[1\] of a request to "lstm" is 20/,
  });
  const other = lstm({ hidden: 4, vocabulary: 5 });
  await assert.rejects(ask(engine, other, { tokens: [1] }), {
    name: "RangeError",
    message: /Model "lstm" is not one of this engine's models/,
  });
  assert.equal(engine.active, 1);
  assert.deepStrictEqual(await mate, expectedOf(short));
});

Deno.test("ServingEngine fails a request whose cell fails, and that request alone", async () => {
  await using engine = await create({
    models: [fragileChain],
    workers: 2,
    threadsPerWorker: 2,
    team: { leastNs: 0, wakeNs: 0 },
  });
  const inputs = Array.from({ length: 40 }, (_, i) =>
    Array.from(
      { length: 1 + i % 9 },
      (_, t) => fragileRow(i % 5 === 4 && t === i % 3, i + t),
    ));
  const settled = await Promise.allSettled(
    inputs.map((input) => ask(engine, fragileChain, input)),
  );
  const failing = inputs.map((input) =>
    input.some((row) => row[0] === fragileRow(true, 0)[0])
  );
  const healthy = inputs.filter((_, i) => !failing[i]);
  const expected = runRequests(fragileChain, healthy);
  const served: Result[] = [];
  settled.forEach((end, i) => {
    if (end.status === "fulfilled") {
      assert(!failing[i], `request ${i} should fail`);
      served.push(end.value);
    } else {
      assert(failing[i], `request ${i} should not fail: ${end.reason}`);
      assert(end.reason instanceof CellError);
      assert.match(end.reason.message, /Cell "fragile" failed on node \d+/);
    }
  });
  assert.deepStrictEqual(served, expected);
});

Deno.test("ServingEngine keeps more tasks than a worker's ring holds", async () => {
  await using engine = await create({ policy: serial(), taskBytes: 1024 });
  assert.deepStrictEqual(await ask(engine, model, long), expectedOf(long));
});

Deno.test("ServingEngine ends with a clear error when tasks are larger than it was made for", async () => {
  const engine = await create({ taskBytes: 16 });
  await assert.rejects(ask(engine, model, short), {
    name: "RangeError",
    message:
      /A task of 1 rows needs \d+ bytes of tables; give the engine more taskBytes \(now 16\)/,
  });
  await assert.rejects(ask(engine, model, short), /taskBytes/);
  await engine.close();
});

Deno.test("ServingEngine serves the models that it was given, whatever becomes of their list while it starts", async () => {
  const later = lstm({ hidden: 3, vocabulary: 20, head: "classifier" });
  const models = [model];
  const creating = create({ models });
  models.splice(0, 1, later);
  const engine = await creating;
  await assert.rejects(ask(engine, later, short), /is not one of this engine/);
  assert.deepStrictEqual(await ask(engine, model, short), expectedOf(short));
  await engine.close();
});

Deno.test("ServingEngine executes a task whose tables just fit, whatever number of bytes that is", async () => {
  const none = await create({ taskBytes: 1 });
  const refusal = await ask(none, model, short).catch((error) => error.message);
  await none.close();
  const taskBytes = Number(/needs (\d+) bytes/.exec(refusal)?.[1]);
  assert.notEqual(taskBytes % 16, 0, "no whole lines of an arena");
  await using engine = await create({ taskBytes });
  assert.deepStrictEqual(await ask(engine, model, short), expectedOf(short));
});

Deno.test("ServingEngine.close() finishes what is in the system, and takes nothing more", async () => {
  const engine = await create();
  const pending = [ask(engine, model, long), ask(engine, model, short)];
  const closing = engine.close();
  const refused = ask(engine, model, short);
  await assert.rejects(refused, ClosedError);
  await closing;
  assert.deepStrictEqual(await Promise.all(pending), [
    expectedOf(long),
    expectedOf(short),
  ]);
  await engine.close();
  await assert.rejects(ask(engine, model, short), {
    name: "ClosedError",
    message: "The engine is closed",
  });
});

Deno.test('ServingEngine.close("reject") rejects what is in the system', async () => {
  const engine = await create();
  const pending = [ask(engine, model, long), ask(engine, model, long)];
  const rejected = pending.map((request) =>
    assert.rejects(request, {
      name: "ClosedError",
      message: "The engine was closed",
    })
  );
  await engine.close("reject");
  await Promise.all(rejected);
});

Deno.test('ServingEngine.close("reject") still rejects what an earlier close would finish', async () => {
  const engine = await create({ policy: graph({ windowNs: 10e9 }) });
  const rejected = assert.rejects(ask(engine, model, short), ClosedError);
  const closing = engine.close();
  await engine.close("reject");
  await rejected;
  await closing;
});

Deno.test("ServingEngine.create() leaves no worker behind when it fails", async () => {
  await withWatchedWorkers(async (workers) => {
    const trees = treeLstm({ hidden: 4, vocabulary: 5 });
    await assert.rejects(
      create({ models: [trees], policy: graph(), workers: 2 }),
      /Policy "graph" cannot batch model "treelstm"/,
    );
    assert.deepEqual(workers.map(({ ended }) => ended), [true, true]);
    for (const count of [-1, 1.5, 1025]) {
      await assert.rejects(create({ workers: count }), {
        name: "RangeError",
        message: `"workers" is an integer from 0 to 1024, got ${count}`,
      });
    }
    await assert.rejects(create({ threadsPerWorker: 0 }), {
      name: "RangeError",
      message: '"threadsPerWorker" is an integer from 1 to 256, got 0',
    });
    await assert.rejects(create({ team: { spinLoads: -1 } }), {
      name: "RangeError",
      message: '"spinLoads" is at least 0, got -1',
    });
    await assert.rejects(create({ slotBytes: 2 ** 32 }), {
      name: "RangeError",
      message:
        /more than the 4 GiB that WebAssembly addresses, less a page; give the engine fewer workers \(now \d+\), fewer slotBytes/,
    });
    await assert.rejects(create({ models: [] }), {
      name: "RangeError",
      message: "An engine needs a model that has a cell, got none",
    });
    assert.equal(workers.length, 2, "no other worker was started");
  });
});

Deno.test("ServingEngine ends its workers and their helpers when it is closed", async () => {
  await withWatchedWorkers(async (workers) => {
    const engine = await create({ workers: 2, threadsPerWorker: 3 });
    await ask(engine, model, short);
    assert.equal(workers.length, 6);
    assert(workers.every(({ ended }) => !ended));
    await engine.close();
    assert(workers.every(({ ended }) => ended));
  });
});

for (const who of [0, 1]) {
  const what = ["worker", "helper"][who];
  Deno.test(`ServingEngine replaces a ${what} that was ended from outside`, async () => {
    await withWatchedWorkers(async (workers) => {
      const errors: Error[] = [];
      const engine = await create({
        workers: 2,
        threadsPerWorker: 2,
        onError: (error) => errors.push(error),
      });
      const pending = [ask(engine, model, long), ask(engine, model, long)];
      workers[who].terminate();
      assert.deepStrictEqual(await Promise.all(pending), [
        expectedOf(long),
        expectedOf(long),
      ]);
      assert.deepStrictEqual(
        await ask(engine, model, short),
        expectedOf(short),
      );
      await engine.close();
      assert(workers.every(({ ended }) => ended));
      assert(errors.length <= 1, "it died once");
    });
  });
}

Deno.test("ServingEngine holds no timer while it is idle", async () => {
  const { setTimeout, clearTimeout } = globalThis;
  const timers = new Set<unknown>();
  let set = 0;
  const patched = (run: () => void, delayMs?: number) => {
    set++;
    const id = setTimeout(() => {
      timers.delete(id);
      run();
    }, delayMs);
    timers.add(id);
    return id;
  };
  Object.assign(globalThis, {
    setTimeout: patched,
    clearTimeout(id?: number) {
      timers.delete(id);
      clearTimeout(id);
    },
  });
  try {
    const engine = await create({ policy: graph({ windowNs: 1e6 }) });
    await ask(engine, model, short, { deadlineMs: 600_000 });
    assert(set > 0, "a window and a deadline take a timer");
    assert.equal(timers.size, 0);
    await engine.close();
  } finally {
    Object.assign(globalThis, { setTimeout, clearTimeout });
  }
});

Deno.test("two engines work side by side on one model", async () => {
  await using one = await create({ policy: cellular() });
  await using other = await create({ policy: serial() });
  const [a, b] = await Promise.all(
    [one, other].map((engine) =>
      Promise.all([ask(engine, model, short), ask(engine, model, long)])
    ),
  );
  assert.deepStrictEqual(a, [expectedOf(short), expectedOf(long)]);
  assert.deepStrictEqual(b, a);
});
