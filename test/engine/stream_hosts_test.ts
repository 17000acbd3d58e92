/** Streams whose callers do what they may not, or end in the middle: nobody else notices, and nothing hangs or spins. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import {
  cellular,
  ClosedError,
  gruStream,
  type PipeOptions,
  ServingEngine,
} from "../../src/mod.ts";
import { Session } from "../../src/engine/core/session.ts";
import { orderedResults } from "../../src/engine/wall/ordered_results.ts";

const narrow = gruStream({ hidden: 4, features: 3 });
const wide = gruStream({ hidden: 64, features: 3 });

function created(): Promise<ServingEngine> {
  return ServingEngine.create({
    models: [narrow, wide],
    policy: cellular(),
    workers: 0,
    warmUp: false,
  });
}

function frameOf(t: number): { x: Float32Array } {
  return { x: Float32Array.of(t, 1, -t) };
}

for (const model of [narrow, wide]) {
  const width = model === narrow ? 4 : 64;

  Deno.test(`an array for results that was transferred meanwhile fails its frame alone (${width} floats)`, async () => {
    await using engine = await created();
    const [stream, other] = [engine.open(model), engine.open(model)];
    const h = new Float32Array(width);
    const pushed = stream.push(frameOf(0), { into: { h } });
    const besides = other.push(frameOf(0));
    structuredClone(h, { transfer: [h.buffer] });
    await assert.rejects(pushed, {
      name: "TypeError",
      message: /"into".*"h" is f32\[\d+\], and no longer when it was done/,
    });
    const { outputs } = await besides;
    assert.equal(stream.frames, 0);
    assert.deepEqual((await stream.push(frameOf(0))).outputs, outputs);
  });
}

Deno.test("arrays for results are those of the time of the push, read once", async () => {
  await using engine = await created();
  const stream = engine.open(narrow);
  let reads = 0;
  const h = new Float32Array(4);
  const into = {
    get h(): Float32Array {
      if (reads++ > 0) throw new Error("read twice");
      return h;
    },
  };
  const { outputs } = await stream.push(frameOf(0), { into });
  assert.equal(outputs.h.data, h);

  const changed = { h };
  const pushed = stream.push(frameOf(1), { into: changed });
  changed.h = new Float32Array(1);
  assert.equal((await pushed).outputs.h.data, h);
});

Deno.test("a row that waits is copied, also where it is a Buffer, whose slice() is none", () => {
  const row = Buffer.of(1, 2, 3);
  const session = new Session(narrow, 2, false);
  for (let t = 0; t < 2; t++) {
    const copies = session.copyOf([row]);
    row.fill(0);
    assert.deepEqual(copies.map((copy) => [...copy]), [[1, 2, 3]]);
    session.giveBack(copies);
    row.set([1, 2, 3]);
  }
});

Deno.test("a snapshot may be a Buffer in the middle of another one's memory", async () => {
  await using engine = await created();
  const stream = engine.open(narrow);
  await stream.push(frameOf(0));
  const snapshot = await stream.snapshot();
  const padded = new Uint8Array(snapshot.length + 8);
  padded.set(snapshot, 8);
  const again = engine.open(narrow, {
    snapshot: Buffer.from(padded.buffer, 8),
  });
  assert.equal(again.frames, 1);
  assert.deepEqual(
    (await again.push(frameOf(1))).outputs,
    (await stream.push(frameOf(1))).outputs,
  );
});

function* made() {
  yield frameOf(0);
  yield frameOf(1);
  throw new Error("no more");
}

Deno.test("pipe: frames that came before their iterator threw have results, also where it is synchronous", async () => {
  await using engine = await created();
  for (const isAsync of [false, true]) {
    const stream = engine.open(narrow);
    const frames = isAsync
      ? async function* () {
        yield* made();
      }()
      : made();
    let results = 0;
    await assert.rejects(async () => {
      for await (const _ of stream.pipe(frames)) results++;
    }, /no more/);
    assert.equal(results, 2);
  }
});

Deno.test("pipe: who breaks off, or has an error, does not wait for a frame that may never come", async () => {
  await using engine = await created();
  const stream = engine.open(narrow);
  async function* live(second?: { x: number[] }) {
    yield frameOf(0);
    if (second) yield second;
    await new Promise(() => {});
  }
  for await (const _ of stream.pipe(live())) break;
  await assert.rejects(async () => {
    for await (const _ of stream.pipe(live({ x: [1] })));
  }, RangeError);
});

Deno.test("an error is not hidden by what the iterator's return() throws; that of one who breaks off is told", async () => {
  const inputs = {
    [Symbol.iterator]: () => ({
      next: () => ({ done: false, value: 1 }),
      return: () => {
        throw new Error("of return()");
      },
    }),
  };
  const fail = () => Promise.reject(new Error("of push()"));
  await assert.rejects(async () => {
    for await (const _ of orderedResults(inputs, fail, 1));
  }, /of push/);
  await assert.rejects(async () => {
    for await (const _ of orderedResults(inputs, () => Promise.resolve(1), 1)) {
      break;
    }
  }, /of return/);
});

Deno.test("an iterator whose result is no object is told so, as by for await, behind the results that were there", async () => {
  for (const none of [undefined, null, 5]) {
    let asked = 0;
    const frames = {
      [Symbol.asyncIterator]: () => ({
        next: () =>
          Promise.resolve(asked++ < 2 ? { value: frameOf(asked) } : none),
      }),
    };
    await using engine = await created();
    let results = 0;
    await assert.rejects(async () => {
      for await (const _ of engine.open(narrow).pipe(frames as never)) {
        results++;
      }
    }, {
      name: "TypeError",
      message: `Iterator result ${none} is not an object`,
    });
    assert.equal(results, 2);
  }
});

Deno.test("what whoever iterates throws into a pipe ends it, and is no frame's error", async () => {
  await using engine = await created();
  const heard: Error[] = [];
  const results = engine.open(narrow).pipe(made(), {
    onError: (error) => heard.push(error),
  });
  await results.next();
  await assert.rejects(
    results.throw(new Error("from outside")),
    /from outside/,
  );
  assert.deepEqual(await results.next(), { done: true, value: undefined });
  assert.deepEqual(heard, []);
});

Deno.test("pipe: what onError throws ends the iteration, where it is async, too", async () => {
  await using engine = await created();
  const stream = engine.open(narrow);
  const frames = [frameOf(0), { x: [1] }, frameOf(1)];
  const reason = new Error("of onError");
  const throwing = () => {
    throw reason;
  };
  const hooks = [throwing, () => Promise.reject(reason)];
  for (const onError of hooks) {
    let results = 0;
    await assert.rejects(async () => {
      for await (const _ of stream.pipe(frames, { onError })) results++;
    }, (error) => error === reason);
    assert.equal(results, 1);
  }
});

Deno.test("pipe ends when its stream or engine is closed, whoever hears of errors", async () => {
  const FRAMES_MAX = 10_000;
  for (const closes of ["stream", "engine"] as const) {
    await using engine = await created();
    const stream = engine.open(narrow);
    let asked = 0;
    const endless = Iterator.from({
      next: () => ({ done: ++asked > FRAMES_MAX, value: frameOf(asked) }),
    });
    const heard: Error[] = [];
    const options: PipeOptions = { onError: (error) => heard.push(error) };
    let results = 0;
    await assert.rejects(async () => {
      for await (const _ of stream.pipe(endless, options)) {
        if (++results === 3) {
          void (closes === "stream" ? stream : engine).close();
        }
      }
    }, ClosedError);
    assert(results >= 3);
    assert(asked < 100, `${asked} frames asked for`);
    assert.deepEqual(heard, []);
  }
});
