/** The serving engine in a thread of its own, without workers: `workers: 0`, and where no memory is shared. */
import assert from "node:assert/strict";
import { CellError } from "../../src/engine/core/errors.ts";
import { CellRunner } from "../../src/engine/tensors/cell_runner.ts";
import { InlineExecutor } from "../../src/engine/wall/inline_executor.ts";
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import type { ServingOptions } from "../../src/engine/wall/serving_options.ts";
import { THIS_ENGINE } from "../../src/kernels/module/features.ts";
import { lstm } from "../../src/models/lstm.ts";
import { seq2seq } from "../../src/models/seq2seq.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import { graph } from "../../src/policy/baselines/graph_batching.ts";
import { serial } from "../../src/policy/baselines/serial.ts";
import { runRequests } from "../run_requests.ts";
import { withWatchedWorkers } from "../watched_workers.ts";
import { fragileChain, fragileRow } from "./fragile_model.ts";

const model = lstm({ hidden: 24, vocabulary: 20, head: "classifier" });
const translation = seq2seq({ hidden: 12, sourceVocabulary: 20 });
const sentences = Array.from({ length: 40 }, (_, i) => ({
  tokens: Array.from({ length: 1 + i % 23 }, (_, t) => (3 * i + t) % 20),
}));
const queries = sentences.map((input, i) => ({ ...input, maxSteps: 1 + i }));

const NEXT_TURN = "../../src/engine/wall/next_turn.ts";

function create(
  options: Partial<ServingOptions> = {},
): Promise<ServingEngine> {
  return ServingEngine.create({
    models: [model, translation],
    policy: cellular(),
    slotBytes: 2 ** 23,
    workers: 0,
    ...options,
  });
}

/** A page that is not cross-origin isolated. */
const notIsolated = {
  engine: { validate: THIS_ENGINE.validate, sharedMemory: false },
};

for (
  const [what, options] of Object.entries({
    "without workers": {},
    "with asserts": { build: "shoal.debug-shared" as const },
    "where no memory is shared": { ...notIsolated, workers: undefined },
    "where no memory is shared, with one worker": {
      ...notIsolated,
      workers: 1,
      threadsPerWorker: 1,
    },
  })
) {
  Deno.test(`ServingEngine ${what} gives the same bits in its own thread`, async () => {
    await withWatchedWorkers(async (workers) => {
      await using engine = await create(options as Partial<ServingOptions>);
      assert.equal(engine.threads, 0);
      const [chains, translations] = await Promise.all([
        Promise.all(sentences.map((input) => engine.run(model, input))),
        Promise.all(queries.map((input) => engine.run(translation, input))),
      ]);
      const outputs = (results: readonly { outputs: unknown }[]) =>
        results.map(({ outputs }) => outputs);
      assert.deepStrictEqual(outputs(chains), runRequests(model, sentences));
      assert.deepStrictEqual(
        outputs(translations),
        runRequests(translation, queries),
      );
      assert.equal(workers.length, 0, "no worker was started");
    });
  });
}

Deno.test("ServingEngine says how many threads it has", async () => {
  await using engine = await create({ workers: 2, threadsPerWorker: 2 });
  assert.equal(engine.threads, 4);
});

Deno.test("ServingEngine refuses several threads where there can be one", async () => {
  for (
    const [options, message] of [
      [
        { ...notIsolated, workers: 2 },
        /workers: 2, .*crossOriginIsolated.*"Cross-Origin-Opener-Policy: same-origin".*"Cross-Origin-Embedder-Policy: require-corp"/,
      ],
      [
        { ...notIsolated, workers: undefined, threadsPerWorker: 2 },
        /workers: 1, threadsPerWorker: 2\. .*crossOriginIsolated/,
      ],
      [
        { workers: 0, threadsPerWorker: 2 },
        /^"threadsPerWorker" is 1 where "workers" is 0: .*; got 2$/,
      ],
    ] as const
  ) {
    const made = create(options as unknown as Partial<ServingOptions>);
    await assert.rejects(made, { name: "RangeError", message });
  }
});

Deno.test("ServingEngine without workers lets others have their turn", async () => {
  let tasks = 0;
  await using engine = await create({
    policy: serial(),
    observer: { task: () => void tasks++ },
  });
  const length = 1000;
  const tokens = Array.from({ length }, (_, t) => t % 20);
  let turns = 0;
  const timer = setInterval(() => turns++, 0);
  const { outputs } = await engine.run(model, { tokens });
  clearInterval(timer);
  assert.deepStrictEqual(outputs, runRequests(model, [{ tokens }])[0]);
  assert(tasks >= length);
  assert(turns > 0, `no timer had its turn during ${tasks} tasks`);
});

Deno.test("turns are those of messages where there are no immediates, as in browsers", async () => {
  const { setImmediate } = globalThis;
  Object.assign(globalThis, { setImmediate: undefined });
  try {
    const again = `${import.meta.resolve(NEXT_TURN)}?messages`;
    const { nextTurn }: typeof import("../../src/engine/wall/next_turn.ts") =
      await import(again);
    let turns = 0;
    const timer = setInterval(() => turns++, 0);
    for (let i = 0; i < 1000; i++) {
      await new Promise<void>((resolve) => nextTurn(resolve));
    }
    clearInterval(timer);
    assert(turns > 0, "no timer had its turn");
  } finally {
    Object.assign(globalThis, { setImmediate });
  }
});

Deno.test("ServingEngine without workers ends rows that fail, and no others", async () => {
  await using engine = await create({ models: [fragileChain, model] });
  const good = [0, 1, 2].map((i) => fragileRow(false, i));
  const bad = [fragileRow(false, 0), fragileRow(true, 1), fragileRow(false, 2)];
  const [first, second, third] = await Promise.allSettled([
    engine.run(fragileChain, good),
    engine.run(fragileChain, bad),
    engine.run(model, sentences[5]),
  ]);
  assert(first.status === "fulfilled");
  assert.deepStrictEqual(
    first.value.outputs,
    runRequests(fragileChain, [good])[0],
  );
  assert(second.status === "rejected" && second.reason instanceof CellError);
  assert.equal(third.status, "fulfilled");
});

Deno.test("ServingEngine without workers refuses what a closed one refuses, and ends what is rejected", async () => {
  const engine = await create();
  const running = sentences.map((input) => engine.run(model, input));
  const ended = Promise.allSettled(running);
  await engine.close("reject");
  for (const { status } of await ended) assert.equal(status, "rejected");
  await assert.rejects(engine.run(model, sentences[0]), {
    name: "ClosedError",
  });
});

Deno.test("an engine whose kernels cannot be called gives up", async () => {
  const { prototype } = InlineExecutor;
  const { push } = prototype;
  // A task of a cell that nobody lowered: the runner has no program for it.
  prototype.push = function (task) {
    push.call(
      this,
      Object.create(task, { cell: { value: unknownCell(task) } }),
    );
  };
  try {
    const engine = await create();
    await assert.rejects(engine.run(model, sentences[0]), TypeError);
    await assert.rejects(engine.run(model, sentences[0]), TypeError);
    await engine.close();
  } finally {
    prototype.push = push;
  }
});

Deno.test("an engine that has failed computes nothing more of what is queued", async () => {
  const { prototype } = CellRunner;
  const { run } = prototype;
  let runs = 0;
  prototype.run = function (task) {
    runs++;
    return run.call(this, task);
  };
  try {
    const policy = graph({ windowNs: 0 });
    const { schedule } = policy;
    let launched = false;
    policy.schedule = function (view) {
      // The whole run is queued by now.
      if (launched) throw new Error("the policy gives up");
      const decision = schedule.call(this, view);
      launched = decision.kind === "launch";
      return decision;
    };
    const engine = await create({ policy, warmUp: false });
    const tokens = new Int32Array(500);
    await assert.rejects(engine.run(model, { tokens }), /gives up/);
    const before = runs;
    for (let turn = 0; turn < 20; turn++) {
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    assert(runs <= before + 1, `${runs - before} tasks for nobody`);
    await engine.close();
  } finally {
    prototype.run = run;
  }
});

Deno.test("a runtime that shares memory and lacks Atomics.waitAsync is named as that", async () => {
  const { waitAsync } = Atomics;
  Object.assign(Atomics, { waitAsync: undefined });
  try {
    await assert.rejects(create({ workers: 2 }), {
      name: "RangeError",
      message: /got workers: 2, .*Atomics\.waitAsync/,
    });
  } finally {
    Object.assign(Atomics, { waitAsync });
  }
});

Deno.test("where memory is shared and there are no workers, as in service workers, the engine has its own thread", async () => {
  const globals = globalThis as unknown as Record<string, unknown>;
  const { Worker: worker, process } = globals;
  // Without either of them it is a runtime that has no threads: neither the Web's nor Node's.
  Object.assign(globals, { Worker: undefined, process: undefined });
  try {
    await using engine = await create({ workers: undefined });
    assert.equal(engine.threads, 0);
    const { outputs } = await engine.run(model, sentences[9]);
    assert.deepStrictEqual(outputs, runRequests(model, [sentences[9]])[0]);
    await assert.rejects(create({ workers: 2 }), {
      name: "RangeError",
      message: /got workers: 2, .*service worker/,
    });
  } finally {
    Object.assign(globals, { Worker: worker, process });
  }
});

function unknownCell({ cell }: { cell: object }): object {
  return { ...cell };
}
