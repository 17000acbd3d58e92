import assert from "node:assert/strict";
import { erf, gelu, geluTanh, sigmoid, silu } from "./reference/activation.ts";
import { release } from "./builds.ts";
import { ulpError } from "./ulp.ts";

const BATCH = 1 << 14;
/** Every STRIDE-th f32 is tried; prime, so that all exponents and lanes come up. */
const STRIDE = 2053;

const { kernels, memory, base } = release;
const table = (base + 15) & ~15;
const values = table + 16;

/** Applies an elementwise kernel in place to up to BATCH numbers. */
function apply(
  name:
    | "exp_f32"
    | "sigmoid_f32"
    | "tanh_f32"
    | "erf_f32"
    | "gelu_f32"
    | "gelu_tanh_f32"
    | "silu_f32",
  input: Float32Array,
): Float32Array {
  new Uint32Array(memory.buffer, table, 1)[0] = values;
  const view = new Float32Array(memory.buffer, values, input.length);
  view.set(input);
  kernels[name](1, input.length, table, table);
  return view.slice();
}

Deno.test("functions give a number the same bits wherever it stands in a row", () => {
  // Rows go by sixteens, eights, fours and the rest, each in code of its own.
  const input = Float32Array.from(
    { length: 64 },
    (_, i) => [0, -0, Infinity, -Infinity, NaN][i - 20] ?? (i - 31) * 1.37,
  );
  for (
    const name of [
      "exp_f32",
      "sigmoid_f32",
      "tanh_f32",
      "erf_f32",
      "gelu_f32",
      "gelu_tanh_f32",
      "silu_f32",
    ] as const
  ) {
    const alone = Array.from(input, (x) => apply(name, Float32Array.of(x))[0]);
    for (const count of [3, 4, 7, 8, 12, 15, 16, 31, 32, 44, 47, 64]) {
      const row = apply(name, input.subarray(0, count));
      row.forEach((value, i) =>
        assert.ok(Object.is(value, alone[i]), `${name}(${input[i]}), ${count}`)
      );
    }
  }
});

const functions = [
  { name: "exp_f32", reference: Math.exp, ulps: 1 },
  { name: "sigmoid_f32", reference: sigmoid, ulps: 2 },
  { name: "tanh_f32", reference: Math.tanh, ulps: 5 },
  { name: "erf_f32", reference: erf, ulps: 3 },
] as const;

for (const { name, reference, ulps } of functions) {
  Deno.test(`${name} stays within ${ulps} ulp of float64 over all of f32`, () => {
    const bits = new Uint32Array(BATCH);
    let next = 0;
    while (next < 2 ** 32) {
      let count = 0;
      for (; count < BATCH && next < 2 ** 32; next += STRIDE) {
        bits[count++] = next;
      }
      const input = new Float32Array(bits.buffer, 0, count);
      const got = apply(name, input);
      for (let i = 0; i < count; ++i) {
        const x = input[i];
        if (Number.isNaN(x)) {
          assert.ok(Number.isNaN(got[i]));
          continue;
        }
        const error = ulpError(got[i], reference(x));
        if (!(error <= ulps)) {
          assert.fail(`${name}(${x}) is ${got[i]}, off by ${error} ulp`);
        }
      }
    }
  });
}

// Near 0 a weight's relative error counts, not the result's ulp: bounds are relative to |x|.
for (
  const { name, reference, bound } of [
    { name: "gelu_f32", reference: gelu, bound: 2 ** -22 },
    { name: "gelu_tanh_f32", reference: geluTanh, bound: 2 ** -21 },
    { name: "silu_f32", reference: silu, bound: 2 ** -22 },
  ] as const
) {
  Deno.test(`${name} stays within 2^${Math.log2(bound)} of |x| over all of f32`, () => {
    const bits = new Uint32Array(BATCH);
    let next = 0;
    while (next < 2 ** 32) {
      let count = 0;
      for (; count < BATCH && next < 2 ** 32; next += STRIDE) {
        bits[count++] = next;
      }
      const input = new Float32Array(bits.buffer, 0, count);
      const got = apply(name, input);
      input.forEach((x, i) => {
        if (!Number.isFinite(x)) return;
        const error = Math.abs(got[i] - reference(x));
        // Results below the normal numbers are rounded to their grid.
        if (!(error <= bound * Math.abs(x) + 2 ** -149)) {
          assert.fail(`${name}(${x}) is ${got[i]}, off by ${error}`);
        }
      });
    }
  });
}

Deno.test("exp, sigmoid and tanh end where they should", () => {
  const input = Float32Array.of(0, -0, Infinity, -Infinity, NaN, 1e30, -1e30);
  assert.deepEqual([...apply("exp_f32", input)], [
    1,
    1,
    Infinity,
    0,
    NaN,
    Infinity,
    0,
  ]);
  assert.deepEqual([...apply("sigmoid_f32", input)], [
    0.5,
    0.5,
    1,
    0,
    NaN,
    1,
    0,
  ]);
  assert.deepEqual([...apply("tanh_f32", input)], [0, -0, 1, -1, NaN, 1, -1]);
});

Deno.test("gelu and silu end where they should", () => {
  const input = Float32Array.of(0, -0, Infinity, -Infinity, NaN, 1e30, -1e30);
  for (const name of ["gelu_f32", "gelu_tanh_f32", "silu_f32"] as const) {
    const got = apply(name, input);
    // Far below zero there is nothing left but the sign; of minus infinity times 0 nothing, as in ONNX.
    assert.deepEqual(
      [...got],
      [0, -0, Infinity, NaN, NaN, Math.fround(1e30), -0],
      name,
    );
  }
});

Deno.test("tanh and sigmoid never leave their range", () => {
  const input = Float32Array.from(
    { length: BATCH },
    (_, i) => 3 + i * 8 / BATCH,
  );
  assert.ok(apply("tanh_f32", input).every((y) => y <= 1));
  assert.ok(apply("tanh_f32", input.map((x) => -x)).every((y) => y >= -1));
  assert.ok(apply("sigmoid_f32", input).every((y) => y <= 1));
});
