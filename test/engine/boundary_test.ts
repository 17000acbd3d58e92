/** What callers hand over can be anything; it harms their own request only. */
import assert from "node:assert/strict";
import { QueueFullError } from "../../src/engine/core/errors.ts";
import type { RequestOptions } from "../../src/engine/wall/request_options.ts";
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import type { ServingOptions } from "../../src/engine/wall/serving_options.ts";
import type { Model } from "../../src/graph/model.ts";
import { lstm } from "../../src/models/lstm.ts";
import { seq2seq } from "../../src/models/seq2seq.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import type { Observer } from "../../src/policy/records.ts";
import { serial } from "../../src/policy/baselines/serial.ts";
import { runRequests } from "../run_requests.ts";
import { withWatchedWorkers } from "../watched_workers.ts";
import { ask } from "./ask.ts";

const model = lstm({ hidden: 12, vocabulary: 20, head: "classifier" });
const input = { tokens: [1, 2, 3] };
const expected = runRequests(model, [input])[0];

function create(
  options: Partial<ServingOptions> = {},
): Promise<ServingEngine> {
  return ServingEngine.create({
    models: [model],
    policy: cellular(),
    slotBytes: 2 ** 22,
    ...options,
  });
}

/** An AbortSignal's members, to be replaced by others. */
function signalWith(members: object): AbortSignal {
  return Object.defineProperties({
    aborted: false,
    reason: undefined,
    addEventListener() {},
    removeEventListener() {},
  }, Object.getOwnPropertyDescriptors(members)) as unknown as AbortSignal;
}

const luck = new Error("out of luck");
const throws = () => {
  throw luck;
};

Deno.test("a signal that is no AbortSignal fails its own request", async () => {
  await using engine = await create();
  const mate = ask(engine, model, input);
  for (const signal of [1, "abort", {}, new EventTarget(), throws]) {
    const refused = ask(engine, model, input, {
      signal,
    } as unknown as RequestOptions);
    await assert.rejects(refused, {
      name: "TypeError",
      message: /"signal" is an AbortSignal/,
    });
  }
  assert.deepStrictEqual(await mate, expected);
  assert.deepStrictEqual(await ask(engine, model, input), expected);
});

Deno.test("a signal that throws fails its own request at most", async () => {
  await using engine = await create();
  const run = (members: object) =>
    ask(engine, model, input, { signal: signalWith(members) });
  assert.deepStrictEqual(await run({ removeEventListener: throws }), expected);
  await assert.rejects(run({ addEventListener: throws }), luck);
  await assert.rejects(
    run({
      get aborted() {
        throw luck;
      },
    }),
    luck,
  );
  await assert.rejects(
    run({
      aborted: true,
      get reason() {
        throw luck;
      },
    }),
    luck,
  );
  // A listener that is called while it is added, and again and again.
  const hasty = run({
    reason: luck,
    addEventListener(_type: string, listener: () => void) {
      listener();
      listener();
    },
  });
  await assert.rejects(hasty, luck);
  assert.equal(engine.active, 0);
  assert.deepStrictEqual(await ask(engine, model, input), expected);
});

Deno.test("a signal is left alone once its request has ended", async () => {
  await using engine = await create();
  const listeners = new Set<unknown>();
  const signal = signalWith({
    addEventListener: (_: string, listener: unknown) => listeners.add(listener),
    removeEventListener: (_: string, listener: unknown) =>
      listeners.delete(listener),
  });
  assert.deepStrictEqual(await ask(engine, model, input, { signal }), expected);
  await assert.rejects(ask(engine, model, { tokens: [-1] }, { signal }));
  assert.equal(listeners.size, 0);
});

Deno.test("options of a request are read once, and a getter that throws fails the request", async () => {
  await using engine = await create();
  let reads = 0;
  const result = await ask(engine, model, input, {
    get deadlineMs() {
      return ++reads === 1 ? 600_000 : -1;
    },
  });
  assert.deepStrictEqual(result, expected);
  const thrown = ask(engine, model, input, {
    get deadlineMs(): number {
      throw luck;
    },
  });
  await assert.rejects(thrown, luck);
  await assert.rejects(
    ask(engine, model, input, { deadline: 5 } as RequestOptions),
    /run\(\) has no option "deadline"; it takes signal, deadlineMs, finishMs, whenFull, batches, label, stepsFixed/,
  );
  assert.deepStrictEqual(await ask(engine, model, input), expected);
});

const translation = seq2seq({
  hidden: 8,
  sourceVocabulary: 9,
  targetVocabulary: 9,
  eos: null,
});
const query = { tokens: [1, 2, 3], maxSteps: 4 };
const translated = runRequests(translation, [query])[0];

/** The translation, whose growth does something else first. */
function growing(before: () => unknown): Model {
  return {
    ...translation,
    name: "growing",
    grow(node, graph) {
      const returned = before();
      translation.grow!(node, graph);
      return returned as void;
    },
  };
}

Deno.test("growth may call the engine, abort, and close", async () => {
  const inner: Promise<unknown>[] = [];
  const abort = new AbortController();
  const calls: Record<string, () => void> = {
    run: () => inner.push(ask(engine, model, input)),
    abort: () => abort.abort(luck),
    throw: throws,
    close: () => inner.push(engine.close()),
    nothing: () => {},
  };
  let call = "nothing";
  const busy = growing(() => calls[call]());
  const engine = await create({ models: [model, busy, translation] });
  const mates = [ask(engine, translation, query), ask(engine, model, input)];

  call = "run";
  assert.deepStrictEqual(await ask(engine, busy, query), translated);
  assert.equal(inner.length, 3, "once for each step that grew");
  for (const result of await Promise.all(inner)) {
    assert.deepStrictEqual(result, expected);
  }
  call = "abort";
  const aborted = ask(engine, busy, query, { signal: abort.signal });
  await assert.rejects(aborted, luck);
  call = "throw";
  await assert.rejects(ask(engine, busy, query), luck);
  call = "close";
  assert.deepStrictEqual(await ask(engine, busy, query), translated);
  assert.deepStrictEqual(await Promise.all(mates), [translated, expected]);
  await Promise.all(inner);
  await assert.rejects(ask(engine, model, input), { name: "ClosedError" });
});

Deno.test("observers may throw, reject, call the engine, and abort", async () => {
  const reported: unknown[] = [];
  const inner: Promise<unknown>[] = [];
  const abort = new AbortController();
  const observer: Observer = {
    decided: throws,
    waited: throws,
    task() {
      if (inner.length < 5) inner.push(ask(engine, model, input));
      abort.abort(luck);
    },
    request: () => Promise.reject(luck) as unknown as void,
  };
  const engine = await create({
    observer,
    onError: (error) => {
      reported.push(error);
      if (reported.length % 2) throw error;
      return Promise.reject(error) as unknown as void;
    },
  });
  const cancelled = assert.rejects(
    ask(engine, model, { tokens: Array(1000).fill(1) }, {
      signal: abort.signal,
    }),
    luck,
  );
  assert.deepStrictEqual(await ask(engine, model, input), expected);
  await cancelled;
  for (const result of await Promise.all(inner)) {
    assert.deepStrictEqual(result, expected);
  }
  await engine.close();
  assert(reported.length > 0);
  assert(reported.every((error) => error === luck));
});

Deno.test("refused requests take no number", async () => {
  const ids: number[] = [];
  await using engine = await create({
    observer: { request: (_, { id }) => ids.push(id) },
  });
  for (let i = 0; i < 3; i++) {
    await assert.rejects(ask(engine, model, { tokens: [99] }), RangeError);
    assert.deepStrictEqual(await ask(engine, model, input), expected);
  }
  assert.deepEqual(ids, [0, 1, 2]);
});

Deno.test("functions of a model that return a promise fail the request", async () => {
  const asked = { ...model, check: () => Promise.reject(luck) };
  const unfolded = {
    ...model,
    async unfold(given: typeof input, graph: Parameters<Model["unfold"]>[1]) {
      await undefined;
      model.unfold(given, graph);
    },
  };
  const grown = growing(() => Promise.reject(luck));
  await using engine = await create({
    models: [asked as unknown as Model, unfolded, grown, model],
  });
  const mate = ask(engine, model, input);
  const cases: [string, Model, unknown][] = [
    ["check", asked as unknown as Model, input],
    ["unfold", unfolded, input],
    ["grow", grown, query],
  ];
  for (const [name, broken, given] of cases) {
    await assert.rejects(ask(engine, broken, given), {
      name: "TypeError",
      message: new RegExp(`"${name}" of model "\\w+" returned a promise`),
    });
  }
  assert.deepStrictEqual(await mate, expected);
});

Deno.test("options of an engine are checked before anything is started", async () => {
  const cases: [object, RegExp][] = [
    [{ wokers: 2 }, /ServingEngine has no option "wokers"; it takes .*workers/],
    [{ queueMax: NaN }, /"queueMax" is a positive integer, got NaN/],
    [{ queueMax: 0 }, /"queueMax" is a positive integer, got 0/],
    [{ workers: "2" }, /"workers" is an integer from 0 to \d+, got "2"/],
    [{ workers: 1e12 }, /"workers" is an integer from 0 to \d+, got 1000000/],
    [{ slotBytes: -1 }, /"slotBytes" is an integer from 1 to \d+, got -1/],
    [{ slotBytes: NaN }, /"slotBytes" is an integer from 1 to \d+, got NaN/],
    [{ taskBytes: 0.5 }, /"taskBytes" is an integer from 1 to \d+, got 0.5/],
    [{ spinMs: "1" }, /"spinMs" is at least 0, got "1"/],
    [{ niceness: -1 }, /"niceness" is an integer from 0 to 19, got -1/],
    [{ patienceMs: 0 }, /"patienceMs" is positive, got 0/],
    [{ warmUp: 1 }, /"warmUp" is a boolean, got 1/],
    [{ build: "shoal" }, /"build" is one of shoal.shared, .*, got "shoal"/],
    [{ team: { leastNS: 1 } }, /"team" has no option "leastNS"; it takes/],
    [{ observer: 5 }, /"observer" is an object, got 5/],
    [{ observer: { task: 5 } }, /"task" of "observer" is a function/],
    [{ onError: {} }, /"onError" is a function, got \{\}/],
    [{ policy: cellular }, /"policy" is what a policy's function returns/],
    [{ policy: "lazy" }, /"policy" is what .*, got "lazy"/],
    [{ models: undefined }, /"models" are an array of models, got undefined/],
    [{ models: model }, /"models" are an array of models, got \{/],
    [{ models: [] }, /An engine needs a model that has a cell, got none/],
    [{ models: [lstm] }, /models\[0\]: a model is an object/],
    [{ models: [{ ...model, cells: [] }] }, /the "cells" of model "lstm"/],
    [{ models: [{ ...model, check: 1 }] }, /"check" of model "lstm"/],
    [{ models: [{ ...model, unfold: 1 }] }, /"unfold" of model "lstm"/],
    [{ models: [{ ...model, grow: 1 }] }, /"grow" of model "lstm"/],
    [{ models: [{ ...model, brings: 1 }] }, /"brings" of model "lstm"/],
    [
      { models: [{ ...model, brings() {}, grow() {} }] },
      /"brings" of model "lstm" is of requests that do not grow/,
    ],
    [{ models: [{ ...model, shape: "tree" }] }, /the "shape" of model "lstm"/],
    [
      { models: [{ ...model, outputs: ["h"] }] },
      /the "outputs" of model "lstm"/,
    ],
  ];
  await withWatchedWorkers(async (workers) => {
    for (const [options, message] of cases) {
      await assert.rejects(create(options), (error: Error) => {
        assert(error instanceof RangeError || error instanceof TypeError);
        assert.match(error.message, message);
        assert(error.message.length < 600, error.message);
        return true;
      });
    }
    assert.equal(workers.length, 0);
  });
});

Deno.test("who makes an engine with new is told how it is made", () => {
  const Engine = ServingEngine as unknown as new (options?: object) => object;
  for (const options of [undefined, {}, { models: [model] }]) {
    assert.throws(() => new Engine(options), {
      name: "TypeError",
      message: /is made by await ServingEngine\.create\(options\), not by new/,
    });
  }
});

Deno.test("windows and deadlines beyond what a timer takes do not come at once", async () => {
  const { setTimeout } = globalThis;
  const delays: number[] = [];
  const patched = (run: () => void, delayMs: number) => {
    delays.push(delayMs);
    return setTimeout(run, delayMs);
  };
  await using engine = await create({ policy: serial() });
  const abort = new AbortController();
  const first = ask(engine, model, { tokens: Array(2000).fill(1) }, {
    signal: abort.signal,
  });
  Object.assign(globalThis, { setTimeout: patched });
  try {
    const waiting = ask(engine, model, input, { deadlineMs: 2 ** 40 });
    const forever = ask(engine, model, input, { deadlineMs: Infinity });
    abort.abort(luck);
    await assert.rejects(first, luck);
    assert.deepStrictEqual(await waiting, expected);
    assert.deepStrictEqual(await forever, expected);
  } finally {
    Object.assign(globalThis, { setTimeout });
  }
  assert(delays.length > 0 && delays.every((delay) => delay < 2 ** 31));
});

Deno.test("an engine whose slots are full tells who asks not to wait, and serves later requests", async () => {
  await using engine = await create({ slotBytes: 20_000 });
  const long = { tokens: Array(1000).fill(1) };
  const [alone] = runRequests(model, [long]);
  const settled = await Promise.allSettled(
    Array.from(
      { length: 40 },
      () => ask(engine, model, long, { whenFull: "refuse" }),
    ),
  );
  const refused = settled.filter(({ status }) => status === "rejected");
  assert(refused.length > 0 && refused.length < settled.length);
  for (const end of settled) {
    if (end.status === "fulfilled") assert.deepStrictEqual(end.value, alone);
    else {
      assert(end.reason instanceof QueueFullError, String(end.reason));
      assert.match(end.reason.message, /Slot memory is full: no room for/);
    }
  }
  assert.deepStrictEqual(await ask(engine, model, long), alone);
});

Deno.test("what is asked for in a callback before the engine is closed there is done", async () => {
  const inner: Promise<unknown>[] = [];
  const engine = await create({
    observer: {
      request() {
        if (inner.length > 0) return;
        inner.push(ask(engine, model, input), engine.close());
        inner.push(assert.rejects(ask(engine, model, input), /is closed/));
      },
    },
  });
  assert.deepStrictEqual(await ask(engine, model, input), expected);
  const [answer] = await Promise.all(inner);
  assert.deepStrictEqual(answer, expected);
});

Deno.test("what is no model at all is refused as such", async () => {
  await using engine = await create();
  for (const none of [undefined, null, 5, {}, Promise.resolve(model)]) {
    const what = /to one of the engine's models, got /;
    const given = none as unknown as typeof model;
    await assert.rejects(ask(engine, given, input), what);
    await assert.rejects(engine.stream(given, input).next(), what);
    assert.throws(() => engine.open(given as never), what);
  }
});

Deno.test("an input may be used again once run() has returned, in a callback, too", async () => {
  const tokens = Int32Array.from(input.tokens);
  let inner: Promise<unknown> | undefined;
  await using engine = await create({
    observer: {
      request() {
        inner ??= ask(engine, model, { tokens });
        tokens.fill(0);
      },
    },
  });
  await ask(engine, model, input);
  assert.deepStrictEqual(await inner, expected);
});
