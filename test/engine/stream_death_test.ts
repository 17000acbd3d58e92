/** Threads of an engine with streams die: what was under way is computed again from the state that it had. */
import assert from "node:assert/strict";
import { WorkerError } from "../../src/engine/core/errors.ts";
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import type { Result } from "../../src/graph/result.ts";
import { turn } from "./engine_under_test.ts";
import { DEATHS } from "./fuse.ts";
import { unlessItHangs } from "./hang_guard.ts";
import { type Birth, withMortalWorkers } from "./mortal_workers.ts";
import { aloneFrames, STREAMED } from "./stream_models.ts";

/** Of two cells, so that a death may lie between them. */
const { model, frame } = STREAMED[2];

/** Numbers of frames that do not fail. */
const FRAMES = [0, 1, 2, 3, 4, 6, 7, 8, 9, 10];

function created(lingerMs = 0): Promise<ServingEngine> {
  return ServingEngine.create({
    lingerMs,
    models: [model],
    policy: cellular(),
    workers: 1,
    warmUp: false,
    // Whoever has nothing to do sleeps: the first access is to the first task.
    spinMs: 0,
    patienceMs: 3_600_000,
    onError: () => {},
  });
}

Deno.test("wherever a worker dies, streams give the bits of streams alone", async () => {
  const expected = aloneFrames(model, FRAMES.map(frame));
  for (const death of DEATHS) {
    await withMortalWorkers(async (workers) => {
      await using engine = await created();
      for (let writes = 1; writes <= 10; writes++) {
        const streams = [0, 1, 2].map(() => engine.open(model));
        const worker = workers.at(-1)!;
        for (const [t, number] of FRAMES.entries()) {
          if (t === 4) worker.light(death, writes, "writes");
          const results = await unlessItHangs(
            () => `frame ${t} with a death at write ${writes}`,
            Promise.all(streams.map((stream) => stream.push(frame(number)))),
          );
          for (const { outputs } of results) {
            assert.deepStrictEqual({ ...outputs as Result }, expected[t]);
          }
        }
        assert(worker.dead, `it dies at write ${writes}`);
        for (const stream of streams) await stream.close();
        while (workers.at(-1) === worker) await turn();
      }
    });
  }
});

Deno.test("wherever a worker dies, what is asked of streams between frames is done, and with results that lie", async () => {
  const expected = aloneFrames(model, FRAMES.map(frame));
  for (const death of DEATHS) {
    await withMortalWorkers(async (workers) => {
      await using engine = await created(20);
      for (let writes = 1; writes <= 8; writes++) {
        const worker = workers.at(-1)!;
        const streams = [0, 1, 2].map(() => engine.open(model));
        const push = (from: number, to: number) =>
          streams.flatMap((stream) =>
            FRAMES.slice(from, to).map(async (number, i) => {
              const { outputs } = await stream.push(frame(number));
              assert.deepStrictEqual(
                { ...outputs as Result },
                expected[from + i],
              );
            })
          );
        worker.light(death, writes, "writes");
        const asked = [
          ...push(0, 4),
          streams[0].park(),
          streams[1].snapshot().then((snapshot) => {
            const next = engine.open(model, { snapshot });
            const frames = FRAMES.slice(4).map((number) =>
              next.push(frame(number))
            );
            return Promise.all(frames).then((results) => {
              const { outputs } = results.at(-1)!;
              assert.deepStrictEqual({ ...outputs as Result }, expected.at(-1));
              return next.close();
            });
          }),
          streams[2].park().then(() => streams[2].resume()),
          ...push(4, FRAMES.length),
        ];
        await unlessItHangs(
          () => `what is asked with a death at write ${writes}`,
          Promise.all(asked),
        );
        for (const stream of streams) await stream.close();
        assert(worker.dead, `it dies at write ${writes}`);
        while (workers.at(-1) === worker) await turn();
      }
    });
  }
});

Deno.test("a frame whose worker dies twice leaves the state as it was", async () => {
  const expected = aloneFrames(model, FRAMES.slice(0, 3).map(frame));
  const birth = (index: number): Birth =>
    index === 1
      ? { dies: { death: "throw", accesses: 1, which: "writes" } }
      : {};
  await withMortalWorkers(async (workers) => {
    await using engine = await created();
    const stream = engine.open(model);
    const push = async (number: number) => {
      const { outputs } = await unlessItHangs(
        () => `frame ${number}`,
        stream.push(frame(number)),
      );
      return { ...outputs as Result };
    };
    assert.deepStrictEqual(await push(FRAMES[0]), expected[0]);
    workers[0].light("throw", 1, "writes");
    await assert.rejects(push(FRAMES[9]), WorkerError);
    assert.deepStrictEqual(await push(FRAMES[1]), expected[1]);
    assert.deepStrictEqual(await push(FRAMES[2]), expected[2]);
    assert.equal(stream.frames, 3);
  }, birth);
});
