/** Recurrent layers and attention, against steps written out by other operators. */
import assert from "node:assert/strict";
import { Prng } from "../../src/base/prng.ts";
import { plainOf, type PlainTensor } from "../../src/tensor/plain_tensor.ts";
import { difference } from "../onnx/node_cases.ts";
import {
  at,
  floats,
  int64,
  made,
  outputOf,
  outputsOf,
  type ShortAttribute,
} from "./run_operator.ts";

const prng = new Prng(7);
const random = (...dims: number[]): PlainTensor =>
  made("float32", dims, () => prng.float() * 2 - 1);

/** @throws when elements differ by more than rounding */
function assertClose(got: PlainTensor, expected: PlainTensor, what = "") {
  assert.equal(difference(got, expected, 1e-6, 1e-6), undefined, what);
}

const op = (name: string, ...inputs: PlainTensor[]) => outputOf(name, inputs);
const slice = (x: PlainTensor, axis: number, first: number, end: number) =>
  outputOf("Slice", [x, int64(first), int64(end), int64(axis)]);
const squeezed = (x: PlainTensor, axis: number) =>
  outputOf("Squeeze", [x, int64(axis)]);

const [STEPS, BATCH, INPUT, HIDDEN] = [4, 3, 2, 3];

/** A layer's weights: of one direction, gates along axis 1. */
function weights(gates: number) {
  return {
    w: random(1, gates * HIDDEN, INPUT),
    r: random(1, gates * HIDDEN, HIDDEN),
    b: random(1, 2 * gates * HIDDEN),
  };
}

type Weights = ReturnType<typeof weights>;

/** Gate `i` of a step before its function, by MatMul and Add: x W + h R + both biases. */
function gate(
  { w, r, b }: Weights,
  i: number,
  x: PlainTensor,
  h: PlainTensor,
  gates: number,
) {
  const [from, end] = [i * HIDDEN, (i + 1) * HIDDEN];
  const of = (m: PlainTensor) =>
    op("Transpose", squeezed(slice(m, 1, from, end), 0));
  const bias = (first: number) =>
    squeezed(slice(b, 1, first + from, first + end), 0);
  return {
    x: op("Add", op("MatMul", x, of(w)), bias(0)),
    h: op("Add", op("MatMul", h, of(r)), bias(gates * HIDDEN)),
  };
}

const sum = ({ x, h }: { x: PlainTensor; h: PlainTensor }) => op("Add", x, h);
const one = floats([], 1);

/** Steps of an LSTM, GRU or RNN by elementwise operators; `linear` is linear_before_reset. */
const STEPPERS: Record<
  string,
  {
    gates: number;
    attributes?: Record<string, ShortAttribute>;
    step: (
      weights: Weights,
      x: PlainTensor,
      h: PlainTensor,
      c: PlainTensor,
    ) => [h: PlainTensor, c: PlainTensor];
  }
> = {
  RNN: {
    gates: 1,
    step: (weights, x, h, c) => [
      op("Tanh", sum(gate(weights, 0, x, h, 1))),
      c,
    ],
  },
  LSTM: {
    gates: 4,
    step: (weights, x, h, c) => {
      const of = (i: number, f: string) =>
        op(f, sum(gate(weights, i, x, h, 4)));
      const next = op(
        "Add",
        op("Mul", of(2, "Sigmoid"), c),
        op("Mul", of(0, "Sigmoid"), of(3, "Tanh")),
      );
      return [op("Mul", of(1, "Sigmoid"), op("Tanh", next)), next];
    },
  },
  GRU: {
    gates: 3,
    attributes: { linear_before_reset: 1 },
    step: (weights, x, h, c) => {
      const [z, r] = [0, 1].map((i) =>
        op("Sigmoid", sum(gate(weights, i, x, h, 3)))
      );
      const last = gate(weights, 2, x, h, 3);
      const n = op("Tanh", op("Add", last.x, op("Mul", r, last.h)));
      const kept = op("Mul", z, h);
      return [op("Add", op("Mul", op("Sub", one, z), n), kept), c];
    },
  },
};

for (const [name, { gates, attributes, step }] of Object.entries(STEPPERS)) {
  Deno.test(`${name} is its steps, one after the other`, () => {
    const layer = weights(gates);
    const x = random(STEPS, BATCH, INPUT);
    let h = random(BATCH, HIDDEN);
    let c = random(BATCH, HIDDEN);
    const first = (state: PlainTensor) =>
      outputOf("Unsqueeze", [state, int64(0)]);
    const inputs = [x, layer.w, layer.r, layer.b, undefined, first(h)];
    if (name === "LSTM") inputs.push(first(c));
    const [y, last, cell] = outputsOf(name, inputs, attributes, { outputs: 3 });
    assert.deepEqual(y.dims, [STEPS, 1, BATCH, HIDDEN]);
    for (let t = 0; t < STEPS; t++) {
      [h, c] = step(layer, squeezed(slice(x, 0, t, t + 1), 0), h, c);
      assertClose(
        squeezed(squeezed(slice(y, 0, t, t + 1), 0), 0),
        h,
        `step ${t}`,
      );
    }
    assertClose(squeezed(last, 0), h);
    if (name === "LSTM") assertClose(squeezed(cell, 0), c);
  });

  Deno.test(`${name} goes backwards over the reversed sequence, and both ways at once`, () => {
    const [one, two] = [weights(gates), weights(gates)];
    const x = random(STEPS, BATCH, INPUT);
    const lengths = plainOf("int32", [BATCH], [4, 2, 1]);
    const reversed = (sequence: PlainTensor) =>
      outputOf("ReverseSequence", [
        sequence,
        outputOf("Cast", [lengths], { to: 7 }),
      ], { time_axis: 0, batch_axis: 1 });
    const run = (
      x: PlainTensor,
      { w, r, b }: Weights,
      direction: string,
      more: Record<string, ShortAttribute> = {},
    ) =>
      outputsOf(name, [x, w, r, b, lengths], { direction, ...more }, {
        outputs: 2,
      });
    const [backward, backwardState] = run(x, two, "reverse");
    const [mirrored, mirroredState] = run(reversed(x), two, "forward");
    assert.deepEqual(
      squeezed(backward, 1),
      reversed(squeezed(mirrored, 1)),
    );
    assert.deepEqual(backwardState, mirroredState);
    const joined = (key: keyof Weights) =>
      outputOf("Concat", [one[key], two[key]], { axis: 0 });
    const both = { w: joined("w"), r: joined("r"), b: joined("b") };
    const [y, state] = run(x, both, "bidirectional");
    const [forward, forwardState] = run(x, one, "forward");
    assert.deepEqual(
      y,
      outputOf("Concat", [forward, backward], { axis: 1 }),
    );
    assert.deepEqual(
      state,
      outputOf("Concat", [forwardState, backwardState], { axis: 0 }),
    );
    const batchFirst = outputOf("Transpose", [x], { perm: [1, 0, 2] });
    const [turned, turnedState] = run(batchFirst, both, "bidirectional", {
      layout: 1,
    });
    assert.deepEqual(
      turned,
      outputOf("Transpose", [y], { perm: [2, 0, 1, 3] }),
    );
    assert.deepEqual(
      turnedState,
      outputOf("Transpose", [state], { perm: [1, 0, 2] }),
    );
  });

  Deno.test(`${name} stops at each sequence's own length`, () => {
    const { w, r, b } = weights(gates);
    const x = random(STEPS, BATCH, INPUT);
    const lengths = plainOf("int32", [BATCH], [4, 2, 0]);
    const [y, state] = outputsOf(name, [x, w, r, b, lengths], {}, {
      outputs: 2,
    });
    const [short] = outputsOf(name, [slice(x, 0, 0, 2), w, r, b]);
    for (let i = 0; i < HIDDEN; i++) {
      for (let t = 0; t < 2; t++) {
        assert.equal(at(y, [t, 0, 1, i]), at(short, [t, 0, 1, i]));
      }
      assert.equal(at(y, [2, 0, 1, i]), 0);
      assert.equal(at(state, [0, 1, i]), at(short, [1, 0, 1, i]));
      assert.equal(at(state, [0, 2, i]), 0);
    }
  });
}

Deno.test("gates are clipped before their functions, which are named, with alphas and betas in order", () => {
  const x = floats([1, 1, 1], 10);
  const [w, r] = [floats([1, 1, 1], 1), floats([1, 1, 1], 0)];
  const run = (attributes: Record<string, ShortAttribute>) =>
    at(outputOf("RNN", [x, w, r], attributes), [0, 0, 0, 0]);
  const affine = {
    activations: { strings: ["Affine"] },
    activation_alpha: { floats: [2] },
    activation_beta: { floats: [1] },
  };
  assert.equal(run(affine), 21);
  assert.equal(run({ ...affine, clip: { float: 3 } }), 7);
  assert.equal(run({ activations: { strings: ["relu"] } }), 10);
  assert.throws(
    () => run({ activations: { strings: ["Gelu"] } }),
    /RNN: attribute activations has Gelu/,
  );
});

Deno.test("Attention is MatMul, softmax, MatMul; keys of the past come first, causal ones only look back", () => {
  const [q, k, v] = [
    random(2, 4, 3, 5),
    random(2, 2, 3, 5),
    random(2, 2, 3, 6),
  ];
  const [pastKey, pastValue] = [random(2, 2, 2, 5), random(2, 2, 2, 6)];
  const [y, keys, values, probabilities] = outputsOf(
    "Attention",
    [q, k, v, undefined, pastKey, pastValue],
    { is_causal: 1, qk_matmul_output_mode: 3 },
    { outputs: 4 },
  );
  assert.deepEqual(keys, outputOf("Concat", [pastKey, k], { axis: 2 }));
  assert.deepEqual(values, outputOf("Concat", [pastValue, v], { axis: 2 }));
  // Heads of queries share those of keys two by two.
  const shared = (x: PlainTensor) =>
    outputOf("Gather", [x, int64(0, 0, 1, 1)], { axis: 1 });
  const turned = outputOf("Transpose", [shared(keys)], { perm: [0, 1, 3, 2] });
  const scores = op(
    "Mul",
    op("MatMul", q, turned),
    floats([], 1 / Math.sqrt(5)),
  );
  const mask = made(
    "float32",
    [3, 5],
    ([query, key]) => key <= query + 2 ? 0 : -Infinity,
  );
  const soft = op("Softmax", op("Add", scores, mask));
  assertClose(probabilities, soft);
  assertClose(y, op("MatMul", soft, shared(values)));
  // The same in three dimensions, and with the mask given.
  const flat = (x: PlainTensor) =>
    outputOf("Reshape", [
      outputOf("Transpose", [x], { perm: [0, 2, 1, 3] }),
      int64(2, x.dims[2], -1),
    ]);
  const heads = { q_num_heads: 4, kv_num_heads: 2 };
  const [again] = outputsOf(
    "Attention",
    [flat(q), flat(k), flat(v), mask, pastKey, pastValue],
    heads,
  );
  assertClose(again, flat(y));
  const allowed = made(
    "bool",
    [3, 5],
    ([query, key]) => Number(key <= query + 2),
  );
  const [third] = outputsOf(
    "Attention",
    [flat(q), flat(k), flat(v), allowed, pastKey, pastValue],
    heads,
  );
  assert.deepEqual(third, again);
});

Deno.test("a query without keys gets zeros; a window is as wide as it says", () => {
  const [q, k, v] = [
    random(1, 1, 4, 2),
    random(1, 1, 4, 2),
    random(1, 1, 4, 2),
  ];
  const none = plainOf("bool", [1, 4], [0, 0, 0, 0]);
  const [y, , , shown] = outputsOf("Attention", [q, k, v, none], {
    qk_matmul_output_mode: 3,
  }, { outputs: 4 });
  assert.deepEqual(shown, made("float32", [1, 1, 4, 4], () => 0));
  assert.deepEqual(y, made("float32", [1, 1, 4, 2], () => 0));
  const windowed = outputOf("Attention", [q, k, v], {
    left_window_size: 1,
    right_window_size: 0,
  });
  const mask = made(
    "bool",
    [4, 4],
    ([query, key]) => Number(key <= query && key >= query - 1),
  );
  assert.deepEqual(windowed, outputOf("Attention", [q, k, v, mask]));
});

Deno.test("a rotary embedding turns pairs, and back", () => {
  const x = random(2, 3, 4, 8);
  const angles = random(4, 4);
  const [cos, sin] = [op("Cos", angles), op("Sin", angles)];
  const positions = plainOf("int64", [2, 4], [0, 1, 2, 3, 3, 2, 1, 0]);
  for (const interleaved of [0, 1]) {
    const run = (x: PlainTensor, sin: PlainTensor) =>
      outputOf("RotaryEmbedding", [x, cos, sin, positions], { interleaved });
    const turned = run(x, sin);
    assert.notDeepEqual(turned, x);
    assertClose(run(turned, op("Neg", sin)), x);
    // By hand: head 1 of sample 1, token 2, which is at position 1.
    const [a, b] = interleaved ? [2, 3] : [1, 5];
    const [u, w] = [at(x, [1, 1, 2, a]), at(x, [1, 1, 2, b])];
    const [c, s] = [at(cos, [1, 1]), at(sin, [1, 1])];
    assert.equal(at(turned, [1, 1, 2, a]), Math.fround(c * u - s * w));
  }
});
