/** Live streams of a serving engine: what stays from frame to frame, in which order, and what ends a frame alone. */
import assert from "node:assert/strict";
import {
  CellError,
  cellular,
  ClosedError,
  DeadlineError,
  graph,
  gruStream,
  lstm,
  lstmStream,
  type Policy,
  QueueFullError,
  type RunResult,
  ServingEngine,
  type ServingOptions,
  type StreamModel,
} from "../../src/mod.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import { fragileStream, TABLE_ROWS } from "./stream_models.ts";

const model = lstmStream({ hidden: 5, features: 3, classes: 2 });
const gru = gruStream({ hidden: 4, features: 3 });

function created(
  options: Partial<ServingOptions> = {},
): Promise<ServingEngine> {
  return ServingEngine.create({
    models: [model, gru],
    policy: cellular(),
    workers: 0,
    warmUp: false,
    ...options,
  });
}

/** Frame `t` of stream `seed`. */
function frameOf(t: number, seed = 0): { x: Float32Array } {
  const x = Float32Array.from([1, 2, 3], (k) => Math.sin(k * (t + 1) + seed));
  return { x };
}

function times<T>(count: number, make: (t: number) => T): T[] {
  return Array.from({ length: count }, (_, t) => make(t));
}

function bitsOf({ outputs }: Pick<RunResult, "outputs">): number[][] {
  return Object.values(outputs).map((one) => [...(one as Tensor).data]);
}

/** What a stream gives that is alone in an engine. */
async function alone(
  model: StreamModel<"x">,
  frames: readonly { x: Float32Array }[],
): Promise<number[][][]> {
  await using engine = await created();
  const stream = engine.open(model);
  const results: number[][][] = [];
  for (const frame of frames) results.push(bitsOf(await stream.push(frame)));
  return results;
}

for (const workers of [0, 1, 2]) {
  Deno.test(`a stream gives what requests do that bring the state (workers: ${workers})`, async () => {
    await using engine = await created({ workers });
    const stream = engine.open(model);
    let state: Record<string, Float32Array> = {};
    for (let t = 0; t < 6; t++) {
      const frame = frameOf(t);
      const { outputs } = await stream.push(frame);
      const once = await engine.run(model, { ...frame, ...state });
      const { h, c, logits } = once.outputs as unknown as Record<
        string,
        Tensor
      >;
      assert.deepEqual({ ...outputs }, { h, logits });
      state = { h: h.data, c: c.data };
    }
    assert.equal(stream.frames, 6);
  });
}

Deno.test("frames of one stream are done in order, those of many share batches", async () => {
  const sizes: number[] = [];
  await using engine = await created({
    observer: { task: (_, { rows }) => void sizes.push(rows) },
  });
  const frames = times(8, (t) => frameOf(t));
  const streams = times(20, (i) => engine.open(i % 2 ? gru : model));
  const done = await Promise.all(streams.map(async (stream) => {
    // All at once: the stream keeps what waits.
    const results = await Promise.all(
      frames.map((frame) => stream.push(frame)),
    );
    return results.map(bitsOf);
  }));
  const [even, odd] = [await alone(model, frames), await alone(gru, frames)];
  done.forEach((results, i) => assert.deepEqual(results, i % 2 ? odd : even));
  assert(Math.max(...sizes) >= 10, `batches of ${sizes}`);
});

Deno.test("a frame that waits is the caller's no more", async () => {
  await using engine = await created();
  const stream = engine.open(model);
  const frame = frameOf(0);
  const results = times(3, (t) => {
    frame.x.set(frameOf(t).x);
    const result = stream.push(frame);
    frame.x.fill(NaN);
    return result;
  });
  assert.deepEqual(
    (await Promise.all(results)).map(bitsOf),
    await alone(model, times(3, (t) => frameOf(t))),
  );
});

Deno.test("results go into the caller's arrays", async () => {
  await using engine = await created();
  const stream = engine.open(model);
  const into = { h: new Float32Array(5) };
  const { outputs } = await stream.push(frameOf(0), { into });
  assert.equal(outputs.h.data, into.h);
  assert.deepEqual(bitsOf({ outputs }), [
    [...into.h],
    [...outputs.logits!.data],
  ]);
  const [first] = await alone(model, [frameOf(0)]);
  assert.deepEqual([...into.h], first[0]);
  // @ts-expect-error: there is no such result.
  const other = stream.push(frameOf(1), { into: { k: into.h } });
  await assert.rejects(other, /no result|has "k"; there are h, logits/);
  await assert.rejects(
    stream.push(frameOf(1), { into: { h: new Float32Array(4) } }),
    RangeError,
  );
});

Deno.test("a state that is a result as well goes into the caller's arrays from where it lies now", async () => {
  const wide = gruStream({ hidden: 40, features: 3 });
  await using engine = await created({ models: [wide] });
  const streams = times(2, () => engine.open(wide));
  const into = { h: new Float32Array(40) };
  for (let t = 0; t < 6; t++) {
    // It comes back to another place.
    if (t === 3) {
      await Promise.all(streams.map((stream) => stream.park()));
      await streams[1].resume();
    }
    const [fresh, given] = await Promise.all([
      streams[0].push(frameOf(t)),
      streams[1].push(frameOf(t), { into }),
    ]);
    assert.equal(given.outputs.h.data, into.h);
    assert.deepEqual(bitsOf(given), bitsOf(fresh));
  }
});

Deno.test("reset, park, resume and snapshot are done between frames, in the order of the calls", async () => {
  await using engine = await created();
  const frames = times(4, (t) => frameOf(t));
  const expected = await alone(model, frames);
  const stream = engine.open(model);
  const first = stream.push(frames[0]);
  const again = stream.reset().then(() => stream.frames);
  const restart = stream.push(frames[0]);
  const second = stream.push(frames[1]);
  const snapshot = stream.snapshot();
  const parked = stream.park();
  const third = stream.push(frames[2]);
  const resumed = stream.resume();
  assert.deepEqual(
    (await Promise.all([first, restart, second, third])).map(bitsOf),
    [expected[0], ...expected.slice(0, 3)],
  );
  assert.equal(await again, 0);
  await Promise.all([parked, resumed]);
  assert.equal(stream.parked, false);

  const copy = engine.open(model, { snapshot: await snapshot });
  assert.equal(copy.frames, 2);
  await stream.park();
  assert.equal(stream.parked, true);
  const after = await Promise.all([copy.push(frames[2]), stream.snapshot()]);
  assert.deepEqual(bitsOf(after[0]), expected[2]);
  const late = engine.open(model, { snapshot: after[1] });
  assert.deepEqual(bitsOf(await late.push(frames[3])), expected[3]);
  assert.deepEqual(bitsOf(await stream.push(frames[3])), expected[3]);
});

Deno.test("a cancelled or late frame leaves the state as it was", async () => {
  const frames = times(3, (t) => frameOf(t));
  const expected = await alone(model, frames);
  // A policy that leaves frames waiting lets deadlines pass.
  const policy = graph({ batchSizeMax: 8, windowNs: 20e6 });
  await using engine = await created({ policy });
  const stream = engine.open(model, { deadlineMs: 10_000 });
  assert.deepEqual(bitsOf(await stream.push(frames[0])), expected[0]);
  const late = stream.push(frameOf(9), { deadlineMs: 1 });
  await assert.rejects(late, DeadlineError);
  const controller = new AbortController();
  const reason = new Error("changed my mind");
  const cancelled = [
    stream.push(frameOf(8), { signal: controller.signal }),
    stream.push(frameOf(7), { signal: controller.signal }),
  ];
  const next = stream.push(frames[1]);
  controller.abort(reason);
  for (const one of cancelled) {
    await assert.rejects(one, (error) => error === reason);
  }
  assert.deepEqual(bitsOf(await next), expected[1]);
  assert.deepEqual(bitsOf(await stream.push(frames[2])), expected[2]);
  assert.equal(stream.frames, 3);
});

Deno.test("a frame of several cells that fails half-way leaves all states as they were", async () => {
  for (const workers of [0, 1]) {
    await using engine = await created({ models: [fragileStream], workers });
    const stream = engine.open(fragileStream);
    const others = times(3, () => engine.open(fragileStream));
    const push = async (id: number) => {
      const frame = { x: [1, 2], id: [id] };
      const [result] = await Promise.all([
        stream.push(frame).then(bitsOf, (error) => error),
        ...others.map((other) => other.push({ ...frame, id: [0] })),
      ]);
      return result;
    };
    assert.deepEqual(await push(0), [[2, 4], [11, 22]]);
    assert(await push(TABLE_ROWS) instanceof CellError);
    assert(await push(-1) instanceof CellError);
    assert.deepEqual(await push(1), [[5, 8], [13, 26]]);
    assert.equal(stream.frames, 2);
    assert.deepEqual(
      bitsOf(await others[0].push({ x: [0, 0], id: [2] })),
      [[9, 14], [24, 48]],
    );
  }
});

Deno.test("what a stream may do wrong is an error of its own", async () => {
  const other = lstm({ hidden: 4, vocabulary: 10 });
  await using engine = await created({ models: [model, gru, other] });
  const expected = await alone(model, [frameOf(0)]);
  const stream = engine.open(model, { pendingMax: 2 });
  // deno-lint-ignore no-explicit-any -- what types forbid
  const push = (frame: any, options?: any) => stream.push(frame, options);
  await assert.rejects(push({ x: new Float32Array(2) }), RangeError);
  await assert.rejects(push({ x: new Float64Array(3) }), TypeError);
  await assert.rejects(push({ x: [1, 2, "3"] }), TypeError);
  await assert.rejects(push({}), /brings "x", f32\[3\]/);
  await assert.rejects(push({ x: [1, 2, 3], h: [] }), /has no row "h"/);
  await assert.rejects(push(null), TypeError);
  await assert.rejects(push(frameOf(0), { deadlineMs: 0 }), RangeError);
  const many = await Promise.allSettled(times(4, () => push(frameOf(0))));
  assert.deepEqual(many.map(({ status }) => status), [
    "fulfilled",
    "fulfilled",
    "fulfilled",
    "rejected",
  ]);
  const { reason } = many[3] as PromiseRejectedResult;
  assert(reason instanceof QueueFullError);
  assert.match(reason.message, /pendingMax is 2/);
  await stream.reset();
  assert.deepEqual(bitsOf(await push(frameOf(0))), expected[0]);

  // deno-lint-ignore no-explicit-any -- what types forbid
  const open = (model: any, options?: any) => () => engine.open(model, options);
  assert.throws(open(other), /no model of streams/);
  assert.throws(open(fragileStream), /not one of this engine's models/);
  assert.throws(open(model, { pendingMax: 0 }), RangeError);
  const snapshot = await stream.snapshot();
  assert.throws(open(gru, { snapshot }), /is of model "lstm-stream"/);
  assert.throws(open(model, { snapshot: [...snapshot] }), TypeError);
  for (let at = 0; at < snapshot.length; at++) {
    const damaged = snapshot.slice();
    damaged[at] ^= 0x10;
    assert.throws(open(model, { snapshot: damaged }), /damaged/);
    const cut = snapshot.subarray(0, at);
    assert.throws(open(model, { snapshot: cut }), /damaged/);
  }

  await stream.close();
  await stream.close();
  assert(stream.closed);
  for (const late of [push(frameOf(0)), stream.park(), stream.reset()]) {
    await assert.rejects(late, ClosedError);
  }
});

Deno.test("slots: a stream without room is refused, others go on, parked ones come back", async () => {
  await using engine = await created({ models: [model], slotBytes: 4096 });
  const streams = [];
  for (;;) {
    try {
      streams.push(engine.open(model));
    } catch (error) {
      assert(error instanceof QueueFullError);
      // There is no request that could end.
      assert.match(
        error.message,
        /in use by requests in flight and open streams/,
      );
      break;
    }
  }
  assert(streams.length > 2);
  const [first, second] = streams;
  await first.push(frameOf(0));
  await first.park();
  const guest = engine.open(model);
  await assert.rejects(first.push(frameOf(1)), QueueFullError);
  await assert.rejects(first.resume(), QueueFullError);
  await second.push(frameOf(0));
  await guest.close();
  const expected = await alone(model, times(2, (t) => frameOf(t)));
  assert.deepEqual(bitsOf(await first.push(frameOf(1))), expected[1]);
});

Deno.test("more streams than slots: idle ones that may be parked make room", async () => {
  await using engine = await created({ models: [model], slotBytes: 4096 });
  const fixed = engine.open(model);
  await fixed.push(frameOf(0));
  const streams = times(40, () => engine.open(model, { parkIdle: true }));
  const expected = await alone(model, times(4, (t) => frameOf(t)));
  for (let t = 0; t < 4; t++) {
    for (const stream of streams) {
      assert.deepEqual(bitsOf(await stream.push(frameOf(t))), expected[t]);
    }
  }
  const parked = streams.map((stream) => stream.parked);
  assert(parked.includes(true) && !fixed.parked);
  // The longest idle go first.
  assert.equal(parked.lastIndexOf(true) + 1, parked.indexOf(false));
});

Deno.test("a stream that was fed is parked after one that was not", async () => {
  await using engine = await created({ models: [model], slotBytes: 4096 });
  const fed = engine.open(model, { parkIdle: true });
  const idle = engine.open(model, { parkIdle: true });
  await fed.push(frameOf(0));
  while (!fed.parked && !idle.parked) engine.open(model);
  assert(idle.parked && !fed.parked);
});

Deno.test("pipe gives results in order and looks no further ahead than it says", async () => {
  await using engine = await created();
  const stream = engine.open(model);
  const frames = times(10, (t) => frameOf(t));
  let asked = 0;
  let given = 0;
  async function* source() {
    for (const frame of frames) {
      asked++;
      assert(asked <= given + 3, `${asked} asked for, ${given} given`);
      yield await Promise.resolve(frame);
    }
  }
  const results: number[][][] = [];
  for await (const result of stream.pipe(source(), { ahead: 2 })) {
    given++;
    results.push(bitsOf(result));
  }
  assert.deepEqual(results, await alone(model, frames));

  let isReturned = false;
  const endless = {
    *[Symbol.iterator]() {
      try {
        for (;;) yield frameOf(0);
      } finally {
        isReturned = true;
      }
    },
  };
  for await (const _ of stream.pipe(endless)) break;
  assert(isReturned);
  const bad = [frameOf(0), { x: new Float32Array(1) }, frameOf(1)];
  const errors: number[] = [];
  let left = 0;
  for await (
    const _ of stream.pipe(bad, { onError: (_, i) => errors.push(i) })
  ) left++;
  assert.deepEqual([left, errors], [2, [1]]);
  await assert.rejects(async () => {
    for await (const _ of stream.pipe(bad));
  }, RangeError);
});

Deno.test("close: frames that were pushed are finished, or rejected", async () => {
  const engine = await created();
  const finished = engine.open(model);
  const done = Promise.all(times(5, (t) => finished.push(frameOf(t))));
  const closed = finished.close();
  await assert.rejects(finished.push(frameOf(5)), ClosedError);
  assert.equal((await done).length, 5);
  await closed;

  const rejected = engine.open(model);
  const ends = times(5, (t) => rejected.push(frameOf(t)));
  await Promise.all([
    rejected.close("reject"),
    ...ends.map((end) => assert.rejects(end, ClosedError)),
  ]);

  const open = engine.open(model);
  const last = times(3, (t) => open.push(frameOf(t)));
  const snapshot = open.snapshot();
  await engine.close();
  assert.equal((await Promise.all(last)).length, 3);
  assert((await snapshot).length > 0);
  assert(open.closed);
  await assert.rejects(open.push(frameOf(0)), ClosedError);
  await open.close();

  const other = await created();
  const dropped = other.open(model);
  const frames = times(3, (t) => dropped.push(frameOf(t)));
  await Promise.all([
    other.close("reject"),
    ...frames.map((end) => assert.rejects(end, ClosedError)),
  ]);
  assert.throws(() => other.open(model), ClosedError);
});

Deno.test("a stream that is closed while its engine is ends with its frames", async () => {
  const engine = await created();
  const stream = engine.open(model);
  let done = 0;
  const pushed = times(3, (t) => stream.push(frameOf(t)).then(() => done++));
  const ended = engine.close();
  await stream.close();
  assert.equal(stream.frames, 3);
  await Promise.all([...pushed, ended]);
  assert.equal(done, 3);
});

Deno.test("an engine that gives up takes its streams along", async () => {
  const broken: Policy = {
    ...cellular(),
    schedule() {
      throw new Error("no idea");
    },
  };
  await using engine = await created({ policy: broken });
  const stream = engine.open(model);
  const ends = [
    stream.push(frameOf(0)),
    stream.push(frameOf(1)),
    stream.snapshot(),
    stream.push(frameOf(2)),
  ];
  for (const end of ends) await assert.rejects(end, /no idea/);
  await assert.rejects(stream.push(frameOf(0)), /no idea/);
  await stream.close();
});

Deno.test("what is asked of a stream in a callback behind which the engine gives up is refused", async () => {
  const inner: Promise<unknown>[] = [];
  const broken: Policy = {
    ...cellular(),
    completed() {
      throw new Error("no idea");
    },
  };
  await using engine = await created({
    policy: broken,
    observer: {
      task() {
        inner.push(stream.park(), stream.snapshot(), stream.reset());
        inner.push(stream.push(frameOf(1)));
        closed = stream.close();
      },
    },
  });
  let closed: Promise<void> | undefined;
  const stream = engine.open(model);
  await assert.rejects(stream.push(frameOf(0)), /no idea/);
  assert.equal(inner.length, 4);
  for (const end of inner) await assert.rejects(end, /no idea/);
  await closed;
});
