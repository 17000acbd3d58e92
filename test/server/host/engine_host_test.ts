/** Models come and go while requests run: every request is answered, by the version that it came for. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { ServingEngine } from "../../../src/engine/wall/serving.ts";
import { gpt } from "../../../src/models/gpt.ts";
import { lstm } from "../../../src/models/lstm.ts";
import { lstmStream } from "../../../src/models/rnn_stream.ts";
import { cellular } from "../../../src/policy/cellular_batching/cellular.ts";
import { EngineHost } from "../../../src/server/host/engine_host.ts";
import type { HostHooks } from "../../../src/server/host/host_options.ts";
import type { HostRunOptions } from "../../../src/server/host/run_options.ts";
import type { Admission } from "../../../src/server/host/admission.ts";
import {
  InputError,
  NotFoundError,
  UnavailableError,
} from "../../../src/server/host/errors.ts";
import type { ServedModel } from "../../../src/server/host/served_model.ts";
import { servedStream } from "../../../src/server/models/served_stream.ts";
import { servedTokens } from "../../../src/server/models/served_tokens.ts";
import { seededWeights } from "../../../src/tensor/weights.ts";
import { unlessItHangs } from "../../engine/hang_guard.ts";

const ENGINE = { workers: 0, warmUp: false } as const;

/** Versions of one name differ in their weights. */
function sentences(version: string): ServedModel {
  const weights = seededWeights(Number(version));
  const model = lstm({ hidden: 6, vocabulary: 10, weights });
  return servedTokens(model, { name: "sentences", version });
}

function gestures(version: string): ServedModel {
  const weights = seededWeights(Number(version));
  const model = lstmStream({ hidden: 6, features: 2, weights });
  return servedStream(model, { name: "gestures", version });
}

function hostOf(models: readonly ServedModel[], admission?: Admission) {
  return EngineHost.create({
    models,
    policy: () => cellular(),
    engine: ENGINE,
    ...(admission && { admission }),
  });
}

const TOKENS = [3, 1, 4, 1, 5];

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve));
}

/** What the sentence comes to alone. */
async function aloneBits(served: ServedModel): Promise<Float32Array> {
  const host = await hostOf([served]);
  const { outputs } = await host.run(served, { tokens: TOKENS });
  await host.close();
  return outputs["h"].data as Float32Array;
}

Deno.test("requests in flight when a model is replaced have the bits of their version", async () => {
  const versions = ["1", "2", "3"].map(sentences);
  const expected = await Promise.all(versions.map(aloneBits));
  assert.notDeepEqual(expected[0], expected[1]);
  const host = await hostOf([versions[0]]);
  const asked: Promise<void>[] = [];
  const ask = () => {
    const served = host.find("sentences");
    const i = versions.indexOf(served);
    asked.push(
      host.run(served, { tokens: TOKENS }).then(({ outputs }) =>
        assert.deepEqual(outputs["h"].data, expected[i])
      ),
    );
    return i;
  };
  const seen: number[] = [];
  for (const served of [versions[1], versions[2], versions[0]]) {
    const changed = host.change(() => [served]);
    // Before, while and after the other engine is made.
    let isDone = false;
    void changed.then(() => isDone = true);
    do {
      seen.push(ask());
      await new Promise((resolve) => setTimeout(resolve));
    } while (!isDone);
  }
  seen.push(ask());
  await Promise.all(asked);
  assert.deepEqual([...new Set(seen)], [0, 1, 2]);
  assert.equal(seen.at(-1), 0);
  await host.close();
});

Deno.test("a request that waits for admission while its model is replaced is answered by it", async () => {
  const [first, second] = ["1", "2"].map(sentences);
  let open = () => {};
  const gate = new Promise<void>((resolve) => open = resolve);
  const host = await hostOf([first], {
    admit: () => gate.then(() => () => {}),
  });
  const asked = host.run(first, { tokens: TOKENS });
  await host.change(() => [second]);
  await assert.rejects(
    host.run(first, { tokens: TOKENS }),
    UnavailableError,
  );
  open();
  assert.deepEqual((await asked).outputs["h"].data, await aloneBits(first));
  await host.close();
});

Deno.test("open streams go on through changes, with the bits of their version", async () => {
  const [first, second, other] = [gestures("1"), gestures("2"), sentences("1")];
  const frames = Array.from({ length: 400 }, (_, i) => ({
    x: [Math.sin(i), Math.cos(i)],
  }));
  const many = { pendingMax: frames.length };
  const alone = async (served: ServedModel) => {
    const host = await hostOf([served]);
    const session = host.open(served, many);
    const results = await Promise.all(
      frames.map((frame) => session.push(frame)),
    );
    await host.close();
    return results.map(({ outputs }) => [...outputs["h"].data]);
  };
  const expected = await alone(first);
  assert.notDeepEqual(expected, await alone(second));

  const host = await hostOf([first]);
  const session = host.open(host.find("gestures"), many);
  const pushed: Promise<number[]>[] = [];
  const push = (count: number) => {
    for (let i = 0; i < count; i++) {
      pushed.push(
        session.push(frames[pushed.length]).then(({ outputs }) => [
          ...outputs["h"].data as Float32Array,
        ]),
      );
    }
  };
  /** Pushes in every turn, so that frames come in every state of a change. */
  const pushing = async (change: Promise<void>) => {
    let isDone = false;
    void change.then(() => isDone = true);
    while (!isDone) {
      if (pushed.length < 180) push(1);
      await Promise.resolve();
      if (pushed.length % 5 === 0) await new Promise((r) => setTimeout(r));
    }
  };
  push(30);
  // It stays: it moves to the engine that has another model beside it.
  await pushing(host.change((models) => [...models, other]));
  push(2);
  await until(() => host.engines === 1);
  // It is replaced: it keeps its own.
  const replaced = host.change(() => [second, other]);
  push(2);
  await replaced;
  push(frames.length - pushed.length - 2);
  assert.equal(host.find("gestures"), second);
  push(2);
  assert.deepEqual(await Promise.all(pushed), expected);
  assert.equal(session.frames, frames.length);
  assert.equal(host.engines, 2);
  await session.close();
  await until(() => host.engines === 1);
  await host.close();
});

Deno.test("a growing request's steps are told, and leaving ends it", async () => {
  const model = gpt({
    ...{ layers: 1, hidden: 8, heads: 2, vocabulary: 20, positionsMax: 64 },
    eos: null,
  });
  const served = servedTokens(model, { name: "writer" });
  const endings: string[] = [];
  const host = await EngineHost.create({
    models: [served],
    policy: () => cellular(),
    engine: ENGINE,
    observers: [{ ended: (_, { outcome }) => void endings.push(outcome) }],
  });
  const input = { tokens: [3], maxSteps: 9 };
  const steps = host.stream(served, input);
  const tokens: number[] = [];
  for (;;) {
    const { done, value } = await steps.next();
    if (done) {
      assert.deepEqual([...value.outputs["tokens"].data], tokens);
      break;
    }
    tokens.push(...value.outputs["tokens"]?.data as Int32Array);
  }
  assert.equal(tokens.length, 9);
  for await (const _ of host.stream(served, { tokens: [3], maxSteps: 60 })) {
    break;
  }
  while (host.active > 0) await new Promise((resolve) => setTimeout(resolve));
  assert.deepEqual(endings, ["done", "failed"]);
  await assert.rejects(
    host.stream(served, { tokens: [99] }).next(),
    InputError,
  );
  await host.close();
});

Deno.test("who asks for no further step keeps no engine, and has those that are there", async () => {
  const model = gpt({
    ...{ layers: 1, hidden: 8, heads: 2, vocabulary: 20, positionsMax: 64 },
    eos: null,
  });
  const served = servedTokens(model, { name: "writer" });
  const host = await hostOf([served]);
  const steps = host.stream(served, { tokens: [3], maxSteps: 9 });
  await steps.next();
  await unlessItHangs(() => "the host's end", host.close());
  let told = 1;
  for await (const _ of steps) told++;
  assert.equal(told, 9);
});

Deno.test("what is not there, does not fit or comes too late is refused by name", async () => {
  const host = await hostOf([sentences("1"), sentences("2")]);
  assert.equal(host.find("sentences").version, "2");
  assert.equal(host.find("sentences", "1").version, "1");
  assert.throws(() => host.find("none"), NotFoundError);
  assert.throws(() => host.find("sentences", "3"), NotFoundError);
  const served = host.find("sentences");
  await assert.rejects(host.run(served, { tokens: [10] }), InputError);
  await assert.rejects(
    host.change((models) => [...models, sentences("1")]),
    RangeError,
  );
  await host.change(() => []);
  await assert.rejects(host.run(served, { tokens: [1] }), UnavailableError);
  await host.change(() => [served]);
  await host.run(served, { tokens: [1] });
  const asked = host.run(served, { tokens: TOKENS });
  const closed = host.close();
  await assert.rejects(host.run(served, { tokens: [1] }), UnavailableError);
  await asked;
  await closed;
  assert.equal(host.state, "closed");
});

Deno.test("requests, streams and changes in any order: all are answered right", async () => {
  const versions = ["1", "2", "3"].map(sentences);
  const expected = await Promise.all(versions.map(aloneBits));
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom("ask", "swap", "turn", "empty"), {
        maxLength: 20,
      }),
      async (actions) => {
        const host = await hostOf([versions[0]]);
        const asked: Promise<void>[] = [];
        const changes: Promise<void>[] = [];
        let next = 0;
        for (const action of actions) {
          if (action === "turn") {
            await new Promise((resolve) => setTimeout(resolve));
          } else if (action === "ask") {
            const served = host.models.at(-1);
            if (served === undefined) continue;
            const i = versions.indexOf(served);
            asked.push(
              host.run(served, { tokens: TOKENS }).then(({ outputs }) =>
                assert.deepEqual(outputs["h"].data, expected[i])
              ),
            );
          } else {
            const served = versions[++next % versions.length];
            const models = action === "empty" ? [] : [served];
            changes.push(host.change(() => models));
          }
        }
        await Promise.all([...asked, ...changes]);
        await host.close();
      },
    ),
    { numRuns: 20 },
  );
});

Deno.test("observers and a broken onError harm nobody", async () => {
  const models = [sentences("1")];
  const [served] = models;
  const bits = await aloneBits(served);
  const reported: unknown[] = [];
  const endings: string[] = [];
  const tasks: number[] = [];
  const thrown = new Error("an observer's");
  const host = await EngineHost.create({
    models,
    policy: () => cellular(),
    engine: ENGINE,
    onError(error) {
      reported.push(error);
      throw error;
    },
    observers: [
      {
        engine() {
          throw thrown;
        },
        arrived: () => {
          throw thrown;
        },
        // As a function that writes somewhere may be.
        started: () => Promise.reject(thrown) as unknown as void,
        ended: () => {
          throw thrown;
        },
      },
      {
        engine: () => ({
          task() {
            throw thrown;
          },
        }),
      },
      {
        engine: () => ({ task: () => void tasks.push(1) }),
        ended: (_request, { outcome }) => void endings.push(outcome),
      },
    ],
  });
  const { outputs } = await host.run(served, { tokens: TOKENS });
  assert.deepEqual(outputs["h"].data, bits);
  assert.deepEqual(endings, ["done"]);
  assert.equal(tasks.length, TOKENS.length);
  assert.equal(host.statistics.of(served).executions, TOKENS.length);
  await host.close();
  assert.deepEqual(new Set(reported), new Set([thrown]));
  assert.equal(reported.length, 4 + TOKENS.length);
});

Deno.test("a caller's reason is his own, and an admission's mistake no input's", async () => {
  const served = sentences("1");
  const reason = new TypeError("left");
  const mistake = new RangeError("my books");
  let isBroken = false;
  const outcomes: unknown[] = [];
  const host = await hostOf([served], {
    admit() {
      if (isBroken) throw mistake;
      return () => {};
    },
    ended: (_request, { outcome, error }) => void outcomes.push(outcome, error),
  });
  const leaving = new AbortController();
  const long = { tokens: new Int32Array(5000) };
  const left = host.run(served, long, { signal: leaving.signal });
  left.catch(() => {});
  await until(() => host.active > 0);
  leaving.abort(reason);
  await assert.rejects(left, (error) => error === reason);
  isBroken = true;
  await assert.rejects(
    host.run(served, { tokens: TOKENS }),
    (error) => error === mistake,
  );
  assert.deepEqual(outcomes, ["failed", reason, "refused", mistake]);
  await host.close();
});

Deno.test("a policy that is none is said to be none", async () => {
  await assert.rejects(
    EngineHost.create({
      models: [sentences("1")],
      policy: () => undefined as unknown as ReturnType<typeof cellular>,
      engine: ENGINE,
    }),
    { name: "TypeError", message: /"policy" is what a policy's function/ },
  );
});

Deno.test("a deadline that is no time is refused, for requests as for frames", async () => {
  const models = [sentences("1"), gestures("1")];
  const host = await hostOf(models);
  const [words, frames] = models;
  const session = host.open(frames);
  const options = { finishMs: NaN };
  for (
    const asked of [
      host.run(words, { tokens: TOKENS }, options),
      session.push({ x: [1, 2] }, options),
    ]
  ) {
    await assert.rejects(asked, { name: "InputError", message: /got NaN$/ });
  }
  await host.close();
});

Deno.test("options of a request that there are not are refused, also where the engine has them", async () => {
  const models = [sentences("1"), gestures("1")];
  const host = await hostOf(models);
  const [words, frames] = models;
  const session = host.open(frames);
  for (const options of [{ deadlineMs: 5 }, { finishMS: 5 }, { key: 5 }]) {
    const given = options as HostRunOptions;
    const asked = [
      host.run(words, { tokens: TOKENS }, given),
      host.stream(words, { tokens: TOKENS }, given).next(),
      session.push({ x: [1, 2] }, given),
    ];
    for (const one of asked) {
      await assert.rejects(one, {
        name: "TypeError",
        message: /has no option "\w+"; it takes .*finishMs|"key" is a string/,
      });
    }
  }
  await host.close();
});

Deno.test("hooks that there are not are no host without them", async () => {
  const served = sentences("1");
  await using engine = await ServingEngine.create({
    models: [served.model],
    ...ENGINE,
  });
  for (const hooks of [{ admision: {} }, { admission: {} }, { observers: 5 }]) {
    assert.throws(
      () => EngineHost.around(engine, [served], hooks as HostHooks),
      {
        name: "TypeError",
        message: /has no option "admision"|"admission" is|"observers" is/,
      },
    );
  }
});

Deno.test("settings of engines may be of a class, and those that there are not are refused", async () => {
  class Settings {
    readonly warmUp = false;
    get workers() {
      return 0;
    }
    get queueMax() {
      return 1;
    }
  }
  const served = sentences("1");
  const created = (engine: object) =>
    EngineHost.create({ models: [served], policy: () => cellular(), engine });
  const host = await created(new Settings());
  const asked = [1, 2, 3].map((id) => host.run(served, { tokens: [id] }));
  const outcomes = await Promise.allSettled(asked);
  assert.deepEqual(outcomes.map(({ status }) => status), [
    "fulfilled",
    "rejected",
    "rejected",
  ]);
  await host.close();
  for (const wrong of [{ wokers: 0 }, { observer: {} }, { policy: {} }]) {
    await assert.rejects(created(wrong), {
      name: "TypeError",
      message: /^"engine" of a host has no option ".*"; it takes .*workers/,
    });
  }
});
