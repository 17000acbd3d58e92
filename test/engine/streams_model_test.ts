/**
 * Streams of serving engines: opened, fed, parked, resumed, snapshotted, reset and closed at random among others, in
 * the engine's own thread and in worker threads that may die, each gives the bits of a stream alone.
 */
import assert from "node:assert/strict";
import process from "node:process";
import fc from "fast-check";
import { CellError, QueueFullError } from "../../src/engine/core/errors.ts";
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import type { StreamSession } from "../../src/engine/wall/stream_session.ts";
import { FrameGraph } from "../../src/graph/frame_graph.ts";
import type { StreamModel } from "../../src/graph/stream_model.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { elements, type TensorData } from "../../src/tensor/tensor.ts";
import { propertyRuns } from "../property_runs.ts";
import { anyOptions, seldom } from "./arbitraries.ts";
import { turn } from "./engine_under_test.ts";
import { DEATHS } from "./fuse.ts";
import { unlessItHangs } from "./hang_guard.ts";
import { type MortalWorker, withMortalWorkers } from "./mortal_workers.ts";
import { aloneFrames, STREAMED } from "./stream_models.ts";
import { anyStreamOp } from "./stream_ops.ts";
import { calmOptions } from "./calm_options.ts";
import {
  type AnyStream,
  type Request,
  type StreamOp,
  StreamPlayer,
  type StreamWorld,
} from "./stream_player.ts";

/** Deadlines that are missed now and then. */
const LATE_MS = 0.05;

class ServedStream implements AnyStream {
  readonly #stream: StreamSession;
  readonly #outputs: FrameGraph["outputs"];
  #pushed = 0;

  constructor(stream: StreamSession) {
    this.#stream = stream;
    this.#outputs = new FrameGraph(stream.model).outputs;
  }

  get frames(): number {
    return this.#stream.frames;
  }

  get pending(): number {
    return this.#stream.pending;
  }

  push(
    frame: Parameters<AnyStream["push"]>[0],
    late: boolean,
    onEnd: Parameters<AnyStream["push"]>[2],
  ): () => void {
    const controller = new AbortController();
    const into = this.#into();
    this.#stream.push(frame, {
      signal: controller.signal,
      ...(late && { deadlineMs: LATE_MS }),
      ...(into && { into }),
    }).then(
      ({ outputs }) => {
        for (const [name, data] of Object.entries(into ?? {})) {
          assert.equal(outputs[name].data, data);
        }
        onEnd({ result: outputs });
      },
    ).catch((error) => onEnd({ error }));
    return () => controller.abort();
  }

  /** Arrays for the results of every other frame, or some of them. */
  #into(): Record<string, TensorData> | undefined {
    const count = this.#pushed++;
    if (count % 2 === 0) return undefined;
    const some = this.#outputs.slice(0, 1 + count % this.#outputs.length);
    return Object.fromEntries(
      some.map(({ name, dtype, width }) => [name, elements(dtype, width)]),
    );
  }

  ask(what: Request, onEnd: (error?: unknown) => void): void {
    const stream = this.#stream;
    const asked = what === "reject" ? stream.close("reject") : stream[what]();
    asked.then(() => onEnd(), onEnd);
  }

  snapshot(onEnd: Parameters<AnyStream["snapshot"]>[0]): void {
    this.#stream.snapshot().then(onEnd, (error) => onEnd(undefined, error));
  }
}

class ServedWorld implements StreamWorld {
  readonly pendingMax = 3;
  readonly isTight: boolean;
  readonly #engine: ServingEngine;
  #opened = 0;

  constructor(engine: ServingEngine, slotBytes: number) {
    this.#engine = engine;
    this.isTight = slotBytes < 2 ** 20;
  }

  open(model: StreamModel, snapshot?: Uint8Array): AnyStream {
    const { pendingMax } = this;
    // Every other one makes room for others, where there is none.
    const parkIdle = this.#opened++ % 2 === 1;
    return new ServedStream(
      this.#engine.open(model, {
        ...{ pendingMax, parkIdle },
        ...(snapshot && { snapshot }),
      }),
    );
  }
}

/** One frame as an ordinary request beside them: its results are those of a stream's first frame. */
async function runBeside(
  engine: ServingEngine,
  number: number,
  isTight: boolean,
): Promise<void> {
  const { model, frame, fails } = STREAMED[number % STREAMED.length];
  try {
    const { outputs } = await engine.run(model, frame(number));
    const [expected] = aloneFrames(model, [frame(number)]);
    for (const [name, tensor] of Object.entries(expected)) {
      assert.deepStrictEqual(outputs[name], tensor);
    }
  } catch (error) {
    const isFull = isTight && error instanceof QueueFullError;
    if (!isFull && !(fails(number) && error instanceof CellError)) throw error;
  }
}

/** A thing to do, and turns of the event loop after it; or the death of a thread, or a request beside the streams. */
interface Command {
  readonly op: StreamOp;
  readonly run: number | null;
  readonly turns: number;
  readonly kill: number | null;
}

const anyCommands: fc.Arbitrary<Command[]> = fc.array(
  fc.record({
    op: anyStreamOp,
    turns: fc.oneof(fc.constant(0), fc.nat(8)),
    run: seldom(fc.nat(40)),
    kill: fc.oneof(
      { weight: 60, arbitrary: fc.constant(null) },
      { weight: 1, arbitrary: fc.integer({ min: 1, max: 200 }) },
    ),
  }),
  { minLength: 1, maxLength: 50, size: "max" },
);

/** Of threads that are alive one dies at its n-th access to shared memory from now. */
function kill(workers: readonly MortalWorker[], accesses: number): void {
  const alive = workers.filter(({ ended, dead }) => !ended && !dead);
  const thread = alive[accesses % Math.max(1, alive.length)];
  thread?.light(DEATHS[accesses % DEATHS.length], accesses);
}

interface Setting {
  readonly workers: number;
  readonly slotBytes: number;
  readonly lingerMs?: number;
  readonly taskBytes?: number;
}

/** @returns frames done */
async function play(
  policy: string,
  options: Record<string, unknown>,
  { workers, slotBytes, lingerMs = 0, taskBytes = 2 ** 20 }: Setting,
  commands: readonly Command[],
): Promise<number> {
  let done = 0;
  await withMortalWorkers(async (threads) => {
    const engine = await ServingEngine.create({
      models: STREAMED.map(({ model }) => model),
      policy: POLICIES[policy].build(calmOptions(options)),
      workers,
      slotBytes,
      lingerMs,
      taskBytes,
      warmUp: false,
      onError: () => {},
      patienceMs: 3_600_000,
    });
    try {
      const world = new ServedWorld(engine, slotBytes);
      const player = new StreamPlayer(world);
      const beside: Promise<void>[] = [];
      let killed = false;
      for (const { op, turns, run, kill: accesses } of commands) {
        // One death: the task that a thread had begun twice is given up.
        if (accesses !== null && !killed) {
          kill(threads, accesses);
          killed = true;
        }
        player.play(op);
        if (run !== null) {
          const one = runBeside(engine, run, world.isTight);
          // Heard of below.
          one.catch(() => {});
          beside.push(one);
        }
        for (let i = 0; i < turns; i++) await turn();
      }
      player.end();
      await engine.close();
      await Promise.all(beside);
      // What promises are resolved with is heard of later.
      await turn();
      player.check();
      done = player.done;
    } finally {
      await engine.close("reject");
    }
  });
  return done;
}

/** SHOAL_PROPERTY_SEED plays the same again. */
const seed = Number(
  process.env["SHOAL_PROPERTY_SEED"] ?? Math.floor(Math.random() * 2 ** 31),
);

const SETTINGS: readonly Setting[] = [
  { workers: 0, slotBytes: 2048 },
  { workers: 0, slotBytes: 2 ** 20 },
  { workers: 1, slotBytes: 2 ** 20 },
  { workers: 2, slotBytes: 2048 },
  { workers: 1, slotBytes: 2 ** 20, lingerMs: 5 },
  { workers: 2, slotBytes: 2 ** 20, lingerMs: 1000 },
  // Of tables of large batches one task's fit.
  { workers: 1, slotBytes: 2 ** 20, taskBytes: 1024, lingerMs: 5 },
];

for (const name of Object.keys(POLICIES)) {
  Deno.test(`${name}: streams among others give the bits of a stream alone (served)`, async () => {
    let done = 0;
    await fc.assert(
      fc.asyncProperty(
        anyOptions(name),
        fc.constantFrom(...SETTINGS),
        anyCommands,
        async (options, setting, commands) => {
          const what = () => `policy "${name}", ${JSON.stringify(setting)}`;
          done += await unlessItHangs(
            what,
            play(name, options, setting, commands),
          );
        },
      ),
      { numRuns: propertyRuns(12), seed },
    );
    assert(done > 0, "frames are done");
  });
}

Deno.test("500 streams of a serving engine, at random", async () => {
  const commands = fc.sample(
    fc.record({ op: anyStreamOp, turns: fc.constantFrom(0, 0, 0, 1) }),
    { numRuns: 3000, seed: 16 },
  );
  const opens = Array.from({ length: 500 }, (_, value) => ({
    op: { does: "open" as const, who: 0, value },
    turns: 0,
  }));
  const done = await play(
    "cellular",
    { batchSizeMax: 64 },
    { workers: 1, slotBytes: 2 ** 20 },
    [...opens, ...commands].map((command) => ({
      ...command,
      run: null,
      kill: null,
    })),
  );
  assert(done > 500, `${done} frames done`);
});
