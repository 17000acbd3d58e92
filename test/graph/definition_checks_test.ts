/** What definitions of cells and weights of operators may not be. */
import assert from "node:assert/strict";
import {
  type CellDefinition,
  defineCell,
  f32,
  i32,
  image,
  type Operators,
} from "../../src/graph/cell_builder.ts";
import type { CacheRef, Value } from "../../src/graph/operator.ts";
import { elementCount, type Tensor, tensor } from "../../src/tensor/tensor.ts";

const SPEC = { keyWidth: 2, valueWidth: 2, positionsMax: 4 };
const good = {
  name: "cell",
  inputs: { x: f32(2) },
  body: (op: Operators, { x }: { x: Value }) => ({
    y: op.Relu(x),
    i: op.ArgMax(x),
  }),
};

function refuses(definition: unknown, message: RegExp): void {
  assert.throws(
    () => defineCell(definition as CellDefinition<string, string>),
    (error: Error) => {
      assert(error instanceof TypeError || error instanceof RangeError);
      assert.match(error.message, message);
      return error.message.length < 300;
    },
  );
}

Deno.test("defineCell() names what a definition does not have, or has of another type", () => {
  defineCell(good);
  const changes: [Record<string, unknown>, RegExp][] = [
    [
      { imputs: {} },
      /^A cell's definition has no field "imputs"; it takes name, phase/,
    ],
    [{ name: undefined }, /^The name of a cell is a text .* got undefined/],
    [{ name: "n".repeat(1e6) }, /^The name of a cell is a text of up to 100/],
    [{ phase: "decode" }, /^"phase" of cell "cell" .* got "decode"/],
    [{ recurrent: 1 }, /^"recurrent" of cell "cell" is true or false, got 1/],
    [{ priority: "1" }, /^"priority" of cell "cell" is a number, got "1"/],
    [{ body: {} }, /^"body" of cell "cell" is a function, got \{\}/],
    [{ inputs: null }, /^"inputs" of cell "cell" is an object, got null/],
    [
      { inputs: { x: 2 } },
      /^Input "x" of cell "cell" takes an object with fields/,
    ],
    [
      { inputs: { x: { dtype: "f32", width: 2, size: 3 } } },
      /"x" .* has no field "size"/,
    ],
    [
      { inputs: { x: { dtype: "f64", width: 2 } } },
      /"x" of cell "cell" is of type f32, .*, q8, got "f64"/,
    ],
    [
      { inputs: { x: { ...image(1, 2, 1), width: 3 } } },
      /"x" of cell "cell" is f32\[3\], its image 1 x 2 x 1/,
    ],
    [
      { inputs: { ["p".repeat(1e6)]: f32(2) } },
      /^The name of "inputs" of cell/,
    ],
    [
      { caches: { c: { ...SPEC, size: 1 } } },
      /^Cache "c" of cell "cell" has no field "size"/,
    ],
    [
      { caches: { c: { ...SPEC, keyWidth: "2" } } },
      /keyWidth of cache "c" is a positive integer, got "2"/,
    ],
    [
      { stop: { output: "i", tokn: 1 } },
      /^"stop" of cell "cell" has no field "tokn"/,
    ],
    [
      { stop: { output: "i", token: 1.5 } },
      /^"stop\.token" of cell "cell" .* got 1\.5/,
    ],
    [
      { stop: { output: "i", token: undefined } },
      /^"stop\.token" .* got undefined/,
    ],
    [{ stop: { output: {}, token: 1 } }, /stops on \{\}, which is not one/],
    [
      { body: () => Promise.resolve({}) },
      /^The body of cell "cell" returns its outputs by name, got \[object Promise\]/,
    ],
    [{ body: () => undefined }, /^The body of cell "cell" .* got undefined/],
  ];
  for (const [change, message] of changes) {
    refuses({ ...good, ...change }, message);
  }
  for (const definition of [undefined, null, 5, [good]]) {
    refuses(
      definition,
      /^A cell's definition takes an object with fields, got /,
    );
  }
});

const zeros = (...shape: number[]) =>
  tensor(shape, new Float32Array(elementCount(shape)));

Deno.test("operators refuse weights that are no floats, or not as many as their shape says", () => {
  const inputs = { x: f32(2), h: f32(2), id: i32(), p: image(2, 2, 2) };
  type Inputs = Record<keyof typeof inputs, Value>;
  const uses: Record<
    string,
    (op: Operators, at: Inputs, w: Tensor) => unknown
  > = {
    "Gather table": (op, { id }, w) => op.Gather(w, id),
    "Gemm weight": (op, { x }, w) => op.Gemm(x, w),
    "Gemm bias": (op, { x }, w) => op.Gemm(x, zeros(2, 2), w),
    "LSTM W": (op, { x, h }, w) => op.LSTM(x, h, h, { w, r: zeros(8, 2) }),
    "GRU R": (op, { x, h }, r) => op.GRU(x, h, { w: zeros(6, 2), r }),
    "TreeLSTMLeaf W": (op, { x }, w) => op.TreeLSTMLeaf(x, { w }),
    "TreeLSTMNode U": (op, { h }, u) => op.TreeLSTMNode([h], [h], { u }),
    "Constant": (op, _, w) => op.Constant(w),
    "LayerNormalization scale": (op, { x }, scale) =>
      op.LayerNormalization(x, { scale }),
    "Conv weight": (op, { p }, w) => op.Conv(p, w),
    "ConvTranspose weight": (op, { p }, w) => op.ConvTranspose(p, w),
    "BatchNormalization mean": (op, { p }, mean) => {
      const [scale, shift, variance] = [zeros(2), zeros(2), zeros(2)];
      op.BatchNormalization(p, { scale, shift, mean, variance });
    },
  };
  const wrong: [unknown, RegExp][] = [
    [
      { shape: [2, 2], data: new Float64Array(4) },
      /is a tensor, .* got data that are Float64Array of 4$/,
    ],
    [
      { shape: [2, 2], data: new Int32Array(4) },
      /got data that are Int32Array of 4$/,
    ],
    [
      { shape: [2, 2], data: new Float32Array(3) },
      /has 3 elements, its shape \[2, 2\] needs 4$/,
    ],
    [{ shape: [2, 2] }, /got data that are undefined$/],
    [Promise.resolve(zeros(2, 2)), /got a promise/],
  ];
  for (const [what, use] of Object.entries(uses)) {
    for (const [weight, message] of wrong) {
      if (what === "Constant" && weight instanceof Promise) continue;
      assert.throws(
        () =>
          defineCell({
            name: "w",
            inputs,
            body(op, ports) {
              use(op, ports, weight as Tensor);
              return { y: ports.x };
            },
          }),
        (error: Error) => {
          assert.match(error.message, new RegExp(`^Cell "w": ${what} `));
          assert.match(error.message, message);
          return true;
        },
      );
    }
  }
});

Deno.test("operators refuse attributes and weights that they do not have", () => {
  const inputs = { x: f32(2), p: image(2, 2, 2) };
  type Inputs = Record<keyof typeof inputs, Value>;
  const uses: [string, (op: Operators, at: Inputs) => unknown, RegExp?][] = [
    [
      "LSTM",
      (op, { x }) =>
        op.LSTM(
          x,
          x,
          x,
          { w: zeros(8, 2), r: zeros(8, 2), bias: zeros(16) } as never,
        ),
    ],
    [
      "Attention",
      (op, { x }) => op.Attention(x, { k: x, v: x }, { head: 1 } as never),
    ],
    [
      "LayerNormalization",
      (op, { x }) =>
        op.LayerNormalization(x, { scale: zeros(2), shift: zeros(2) } as never),
    ],
    [
      "Conv",
      (op, { p }) => op.Conv(p, zeros(2, 2, 1, 1), { stride: 2 } as never),
    ],
    ["MaxPool", (op, { p }) => op.MaxPool(p, { kernel: 2 } as never)],
    [
      "Conv",
      (op, { p }) => op.Conv(p, zeros(2, 2, 1, 1), { pads: [1, 1] as never }),
      /Pads must be integers >= 0, four of them, got \[1,1\]/,
    ],
    [
      "ConvTranspose",
      (op, { p }) =>
        op.ConvTranspose(p, zeros(2, 2, 1, 1), { outputPadding: 0.5 }),
      /Output padding must be integers >= 0/,
    ],
    [
      "Attention",
      (op, { x }) => op.Attention(x, { k: x, v: x }, { heads: 1, scale: NaN }),
      /finite scale .* got NaN/,
    ],
  ];
  for (const [operator, use, message] of uses) {
    assert.throws(
      () =>
        defineCell({
          name: "w",
          tokensMax: 3,
          inputs,
          body(op, ports) {
            use(op, ports);
            return { y: ports.x };
          },
        }),
      {
        message: message ??
          new RegExp(`^Cell "w": ${operator} has no attribute ".*"; it takes `),
      },
    );
  }
});

Deno.test("operators work on caches of their own cell only", () => {
  let alien: CacheRef | undefined;
  const define = (use: (op: Operators, x: Value, own: CacheRef) => void) =>
    defineCell({
      name: "keeps",
      inputs: { x: f32(2) },
      caches: { own: SPEC },
      body(op, { x }, { own }) {
        use(op, x, own);
        return { y: op.Relu(x) };
      },
    });
  define((_op, _x, own) => alien = own);
  const uses: ((op: Operators, x: Value, cache: CacheRef) => unknown)[] = [
    (op, x, cache) => op.CacheAppend(x, x, cache),
    (op, x, cache) => op.Attention(x, cache, { heads: 1 }),
    (op, x, cache) => op.AdditiveAttention(x, cache, zeros(2)),
  ];
  for (const use of uses) {
    define((op, x, own) => use(op, x, own));
    const strange: ((own: CacheRef) => CacheRef)[] = [
      () => alien!,
      (own) => ({ ...own, index: 7 }),
    ];
    for (const cacheOf of strange) {
      assert.throws(
        () => define((op, x, own) => use(op, x, cacheOf(own))),
        {
          name: "TypeError",
          message: /^Cell "keeps": the cache of \w+ is not one of this cell$/,
        },
      );
    }
  }
});

Deno.test("BatchNormalization takes as many channels as there are", () => {
  const channels = 200_000;
  const ones = tensor([channels], new Float32Array(channels).fill(1));
  defineCell({
    name: "wide",
    inputs: { p: image(1, 1, channels) },
    body: (op, { p }) => ({
      y: op.BatchNormalization(p, {
        ...{ scale: ones, shift: ones, mean: ones, variance: ones },
      }),
    }),
  });
});
