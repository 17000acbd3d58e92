/** What callers push, and do with results, can be anything; it harms their own frame only. */
import assert from "node:assert/strict";
import {
  cellular,
  defineCell,
  f32,
  row,
  ServingEngine,
  type ServingOptions,
} from "../../src/mod.ts";
import { defineStream } from "../../src/graph/stream_model.ts";

/** Two rows of three. */
const rows = row("f32", [2, 3]);
const cell = defineCell({
  name: "sum",
  inputs: { x: rows, before: rows },
  body: (op, { x, before }) => ({ sum: op.Add(x, before) }),
});
/** Sums of the frames so far, of 2 x 3 numbers. */
const model = defineStream({
  name: "sums",
  cells: [cell],
  inputs: { x: f32(6), y: f32(1) },
  states: { before: { ...f32(6), from: "sum" } },
  outputs: { sum: "f32" },
  frame(graph, { x, before }) {
    const node = graph.node(cell, {
      x: graph.row(x, 0, 6),
      before: graph.row(before, 0, 6),
    });
    graph.result("sum", graph.output(node, "sum"));
  },
});

const created = (options: Partial<ServingOptions> = {}) =>
  ServingEngine.create({
    models: [model],
    policy: cellular(),
    workers: 0,
    warmUp: false,
    ...options,
  });

const six = () => Float32Array.of(1, 2, 3, 4, 5, 6);
const frame = () => ({ x: six(), y: [0] });

Deno.test("what somebody does to a result's shape, no other result has", async () => {
  await using engine = await created();
  const [stream, other] = [engine.open(model), engine.open(model)];
  const { outputs } = await stream.push(frame());
  assert.deepEqual(outputs.sum.shape, [2, 3]);
  try {
    (outputs.sum.shape as number[]).unshift(1);
  } catch (error) {
    assert(error instanceof TypeError, "it cannot be changed");
  }
  for (const one of [stream, other, engine.open(model)]) {
    assert.deepEqual((await one.push(frame())).outputs.sum.shape, [2, 3]);
  }
});

Deno.test("a frame that is longer than it says writes over nobody's state", async () => {
  await using engine = await created();
  const streams = [0, 1, 2, 3].map(() => engine.open(model));
  for (const stream of streams) await stream.push(frame());
  const sly = new Float32Array(4096).fill(9);
  Object.defineProperty(sly, "length", { value: 6 });
  const growing = new Float32Array(
    new ArrayBuffer(24, { maxByteLength: 2 ** 14 }),
  );
  const grows = {
    x: growing,
    get y() {
      (growing.buffer as ArrayBuffer & { resize(bytes: number): void })
        .resize(2 ** 14);
      return [0];
    },
  };
  const detached = six();
  const transfers = {
    x: detached,
    get y() {
      structuredClone(detached, { transfer: [detached.buffer] });
      return [0];
    },
  };
  for (const bad of [{ x: sly, y: [0] }, grows, transfers]) {
    await assert.rejects(streams[0].push(bad), {
      name: "RangeError",
      message: /brings "x", f32\[6\], got (4096|0) elements, whatever it said/,
    });
  }
  for (const stream of streams) {
    const { outputs } = await stream.push(frame());
    assert.deepEqual([...outputs.sum.data], [2, 4, 6, 8, 10, 12]);
  }
});

Deno.test("arrays for results that change a frame, or lie about their length, harm nobody's", async () => {
  await using engine = await created();
  const streams = [0, 1, 2, 3].map(() => engine.open(model));
  for (const stream of streams) await stream.push(frame());
  const growing = new Float32Array(
    new ArrayBuffer(24, { maxByteLength: 2 ** 14 }),
  );
  const options = {
    get into() {
      return {
        get sum() {
          (growing.buffer as ArrayBuffer & { resize(bytes: number): void })
            .resize(2 ** 14);
          return six();
        },
      };
    },
  };
  await assert.rejects(
    streams[0].push({ x: growing, y: [0] }, options),
    { name: "RangeError", message: /brings "x", f32\[6\], got 4096 elements/ },
  );
  for (const Array of [Float32Array, Int32Array]) {
    const sly = new Array(4096);
    Object.defineProperty(sly, "length", { value: 6 });
    await assert.rejects(
      streams[0].push(frame(), { into: { sum: sly as Float32Array } }),
      /"sum" is f32\[6\], got /,
    );
  }
  // One that looks right at first, and is another later.
  const later = six();
  let asked = 0;
  Object.defineProperty(later, "length", { get: () => asked++ ? 1 : 6 });
  await streams[0].push(frame(), { into: { sum: later } });
  assert.deepEqual([...Float32Array.from(later.subarray(0, 6))], [
    2,
    4,
    6,
    8,
    10,
    12,
  ]);
  for (const [i, stream] of streams.entries()) {
    const { outputs } = await stream.push(frame());
    const times = i === 0 ? 3 : 2;
    assert.deepEqual([...outputs.sum.data], [...six()].map((x) => times * x));
  }
});

Deno.test("arrays for results are written by no set of their own, which would be given the engine's memory", async () => {
  const wide = row("f32", [64]);
  const doubled = defineCell({
    name: "doubled",
    inputs: { x: wide },
    body: (op, { x }) => ({ y: op.Add(x, x), most: op.ArgMax(x) }),
  });
  const wideModel = defineStream({
    name: "wide",
    cells: [doubled],
    inputs: { x: f32(64) },
    states: { before: { ...f32(64), from: "y" } },
    outputs: { y: "f32", most: "i32" },
    frame(graph, { x }) {
      const node = graph.node(doubled, { x: graph.row(x, 0, 64) });
      graph.result("y", graph.output(node, "y"));
      graph.result("most", graph.output(node, "most"));
    },
  });
  await using engine = await created({ models: [wideModel] });
  const given: unknown[] = [];
  const set = { value: (from: unknown) => void given.push(from) };
  const y = Object.defineProperty(new Float32Array(64), "set", set);
  const most = Object.defineProperty(Int32Array.of(7), "set", set);
  const x = new Float32Array(64).fill(2);
  await engine.open(wideModel).push({ x }, { into: { y, most } });
  assert.deepEqual(given, []);
  assert.deepEqual([y[0], y[63], most[0]], [4, 4, 0]);
});

Deno.test("what is pushed in a callback goes behind the push that it is called in", async () => {
  let inner: Promise<unknown> | undefined;
  let hook: (() => void) | undefined;
  await using engine = await created({
    workers: 1,
    lingerMs: 1000,
    observer: {
      request() {
        const called = hook;
        hook = undefined;
        called?.();
      },
    },
  });
  const [a, b] = [engine.open(model), engine.open(model)];
  await a.push(frame());
  const ended: string[] = [];
  // Its result lies there, and is told of in the next push.
  const lying = b.push(frame());
  await new Promise((resolve) => setTimeout(resolve, 50));
  hook = () => inner = a.push(frame()).then(() => ended.push("second"));
  const outer = a.push(frame()).then(() => ended.push("first"));
  await Promise.all([outer, lying]);
  await inner;
  assert.deepEqual(ended, inner ? ["first", "second"] : ["first"]);
});

Deno.test("arrays for results are those of the time of the push, in a callback, too", async () => {
  let hook: (() => void) | undefined;
  await using engine = await created({
    observer: {
      request() {
        const called = hook;
        hook = undefined;
        called?.();
      },
    },
  });
  const [a, b] = [engine.open(model), engine.open(model)];
  const [first, second] = [new Float32Array(6), new Float32Array(6)];
  const into: Record<string, Float32Array> = { sum: first };
  const pushed: Promise<unknown>[] = [];
  hook = () => {
    pushed.push(b.push(frame(), { into }));
    into["sum"] = second;
    pushed.push(b.push(frame(), { into }));
    into["none"] = second;
    pushed.push(assert.rejects(b.push(frame(), { into }), /has "none"/));
  };
  await a.push(frame());
  await Promise.all(pushed);
  assert.deepEqual([first, second], [six(), six().map((x) => 2 * x)]);
});

Deno.test("a frame that pushes another one when it is read is done first, in a callback, too", async () => {
  const ended: string[] = [];
  let hook: (() => void) | undefined;
  await using engine = await created({
    observer: {
      request() {
        const called = hook;
        hook = undefined;
        called?.();
      },
    },
  });
  const stream = engine.open(model);
  const pushed: Promise<unknown>[] = [];
  const push = (name: string, given: Parameters<typeof stream.push>[0]) =>
    pushed.push(
      stream.push(given).then(
        () => ended.push(name),
        ({ message }) => ended.push(`${name}: ${message}`),
      ),
    );
  const pushing = (y: number[]) => ({
    get x() {
      push("second", frame());
      return six();
    },
    y,
  });
  push("first", pushing([0]));
  await Promise.all(pushed);
  hook = () => push("first", pushing([0]));
  push("before", frame());
  await pushed[pushed.length - 1];
  await Promise.all(pushed);
  hook = () => push("none", pushing([]));
  push("before", frame());
  await pushed[pushed.length - 1];
  await Promise.all(pushed);
  assert.deepEqual(ended, [
    ...["first", "second", "before", "first", "second", "before"],
    'none: A frame of "sums" brings "y", f32[1], got 0 elements',
    "second",
  ]);
});

Deno.test("a pipe whose frames are refused lets others have their turn", async () => {
  await using engine = await created({ workers: 1, queueMax: 1 });
  const [a, b] = [engine.open(model), engine.open(model)];
  const taken = a.push(frame());
  let isFree = false;
  void taken.then(() => isFree = true);
  let refused = 0;
  function* frames() {
    // Frames without end until there is room: refused in one turn, there never is.
    while (refused < 1e5) yield frame();
  }
  for await (const _ of b.pipe(frames(), { onError: () => refused++ })) break;
  assert(isFree, `${refused} were refused`);
  await taken;
});

Deno.test("a frame that is pushed in a callback before its stream is closed there is done", async () => {
  let inner: Promise<unknown>[] | undefined;
  await using engine = await created({
    observer: {
      request() {
        inner ??= [
          stream.push(frame()),
          stream.close(),
          assert.rejects(stream.push(frame()), /The stream is closed/),
        ];
      },
    },
  });
  const stream = engine.open(model);
  await stream.push(frame());
  assert(stream.closed);
  const [{ outputs }] = await Promise.all(inner!) as [
    Awaited<ReturnType<typeof stream.push>>,
  ];
  assert.deepEqual([...outputs.sum.data], [2, 4, 6, 8, 10, 12]);
});

Deno.test("a state begins as its model said, whatever becomes of the array that said it", async () => {
  class Sly extends Float32Array {
    override slice(): Float32Array<ArrayBuffer> {
      return this as unknown as Float32Array<ArrayBuffer>;
    }
  }
  const initial = new Sly(6).fill(1);
  const begun = defineStream({
    ...model.stream,
    name: "begun",
    cells: [cell],
    states: { before: { ...f32(6), from: "sum", initial } },
    outputs: { sum: "f32" },
    frame: model.stream.frame,
  });
  await using engine = await created({ models: [begun] });
  const stream = engine.open(begun);
  initial.fill(9);
  await stream.reset();
  const { outputs } = await stream.push(frame());
  assert.deepEqual([...outputs.sum.data], [2, 3, 4, 5, 6, 7]);
});

Deno.test("pipe takes what for await takes: an iterator of another kind may be undefined", async () => {
  await using engine = await created();
  const frames = {
    [Symbol.asyncIterator]: undefined,
    [Symbol.iterator]: () => [frame()][Symbol.iterator](),
  };
  let results = 0;
  const stream = engine.open(model);
  for await (const _ of stream.pipe(frames as never)) results++;
  assert.equal(results, 1);
});

Deno.test("nothing waits in a stream whose engine has ended", async () => {
  const engine = await created({
    policy: {
      ...cellular(),
      schedule() {
        throw new Error("out of luck");
      },
    },
  });
  const stream = engine.open(model);
  await Promise.allSettled([0, 1, 2].map(() => stream.push(frame())));
  assert.equal(stream.pending, 0);
  await engine.close();
});

Deno.test("pipe refuses what gives no frames one after the other", async () => {
  await using engine = await created();
  const stream = engine.open(model);
  for (const none of [undefined, null, 5, "ab", {}, Promise.resolve([])]) {
    assert.throws(
      () => stream.pipe(none as never),
      /pipe\(\) takes frames one after the other, .*, got /,
    );
  }
});
