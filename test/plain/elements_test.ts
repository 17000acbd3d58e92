/** Operators by element: broadcasting, types, functions. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { erf } from "../../src/plain/functions.ts";
import {
  numbersOf,
  plainOf,
  type PlainTensor,
  type PlainType,
} from "../../src/tensor/plain_tensor.ts";
import { propertyRuns } from "../property_runs.ts";
import {
  at,
  floats,
  int64,
  made,
  outputOf,
  shapes,
  tensorOf,
} from "./run_operator.ts";

/** Dims, and those of two tensors that broadcast to them: axes of size 1, or missing in front. */
const broadcast = shapes(0, 4).chain((dims) => {
  const part = fc.tuple(
    fc.nat({ max: dims.length }),
    fc.array(fc.boolean(), { minLength: dims.length, maxLength: dims.length }),
  ).map(([missing, ones]) =>
    dims.map((size, axis) => ones[axis] ? 1 : size).slice(missing)
  );
  return fc.tuple(fc.constant(dims), part, part);
});

/** The index of what a tensor of `own` dims has at an index of a larger one. */
function ownIndex(index: readonly number[], own: readonly number[]): number[] {
  return index.slice(index.length - own.length).map((i, axis) =>
    own[axis] === 1 ? 0 : i
  );
}

const OPERATIONS: Record<string, (a: number, b: number) => number> = {
  Add: (a, b) => a + b,
  Sub: (a, b) => a - b,
  Mul: (a, b) => a * b,
  Max: Math.max,
  Min: Math.min,
  Less: (a, b) => Number(a < b),
  Equal: (a, b) => Number(a === b),
};

Deno.test("two tensors broadcast as the formula of indices says, in every type", () => {
  const types = fc.constantFrom<PlainType>(
    "float32",
    "int8",
    "int32",
    "int64",
    "uint8",
  );
  const drawn = fc.tuple(broadcast, types).chain(([[, a, b], type]) =>
    fc.tuple(
      fc.constantFrom(...Object.keys(OPERATIONS)),
      tensorOf(type, a),
      tensorOf(type, b),
    )
  );
  fc.assert(
    fc.property(drawn, ([op, a, b]) => {
      const got = outputOf(op, [a, b]);
      const rank = Math.max(a.dims.length, b.dims.length);
      const dims = Array.from({ length: rank }, (_, axis) =>
        Math.max(
          a.dims[axis - rank + a.dims.length] ?? 1,
          b.dims[axis - rank + b.dims.length] ?? 1,
        ));
      const isBool = op === "Less" || op === "Equal";
      const expected = made(
        isBool ? "bool" : a.type,
        dims,
        (index) =>
          OPERATIONS[op](
            at(a, ownIndex(index, a.dims)),
            at(b, ownIndex(index, b.dims)),
          ),
      );
      assert.deepEqual(got, expected);
    }),
    { numRuns: propertyRuns(300) },
  );
});

Deno.test("before operator set 7, the second operand lies under the axes from `axis` on", () => {
  const a = floats([2, 3, 2], ...Array(12).keys());
  const b = floats([3], 10, 20, 30);
  const got = outputOf("Add", [a, b], { broadcast: 1, axis: 1 }, { opset: 6 });
  const expected = made(
    "float32",
    a.dims,
    ([i, j, k]) => at(a, [i, j, k]) + at(b, [j]),
  );
  assert.deepEqual(got, expected);
  assert.throws(() => outputOf("Add", [a, b]), /do not broadcast/);
});

Deno.test("integers wrap around, and are divided towards 0", () => {
  const run = (op: string, type: PlainType, a: bigint, b: bigint) =>
    outputOf(op, [plainOf(type, [], [a]), plainOf(type, [], [b])]).data[0];
  assert.equal(run("Add", "uint8", 200n, 100n), 44);
  // Products that f64 has no room for.
  assert.equal(run("Mul", "int32", 2147483647n, 2147483647n), 1);
  assert.equal(run("Mul", "uint32", 4294967295n, 3n), 4294967293);
  assert.equal(run("Mul", "int64", 2n ** 62n, 4n), 0n);
  assert.equal(run("Sub", "int64", -(2n ** 63n), 1n), 2n ** 63n - 1n);
  assert.equal(run("Div", "int32", -7n, 2n), -3);
  assert.equal(run("Div", "int64", -7n, 2n), -3n);
  assert.equal(run("Mod", "int32", -7n, 3n), 2);
  assert.equal(run("Mod", "int64", 7n, -3n), -2n);
  assert.equal(run("Pow", "int64", 3n, 39n), 3n ** 39n);
  assert.equal(run("Pow", "int32", 2n, 33n), 0);
  assert.throws(() => run("Div", "int32", 1n, 0n), /^RangeError: Div: .* by 0/);
  for (const type of ["int64", "int32", "uint8"] as const) {
    const [one, zero] = [plainOf(type, [], [1]), plainOf(type, [], [0])];
    for (const fmod of [0, 1]) {
      assert.throws(() => outputOf("Mod", [one, zero], { fmod }), /by 0/);
    }
  }
});

Deno.test("floats are rounded once, to f32", () => {
  const third = floats([1], 1 / 3);
  const [value] = third.data;
  assert.equal(
    outputOf("Mul", [third, third]).data[0],
    Math.fround(value * value),
  );
  assert.equal(outputOf("Exp", [third]).data[0], Math.fround(Math.exp(value)));
});

Deno.test("powers of 1 are 1, and of -1 to an infinity, as in C and NumPy", () => {
  const run = (base: number, exponent: number) =>
    outputOf("Pow", [floats([], base), floats([], exponent)]).data[0];
  for (const exponent of [NaN, Infinity, -Infinity, 0, 2.5]) {
    assert.equal(run(1, exponent), 1);
  }
  assert.equal(run(-1, Infinity), 1);
  assert.equal(run(-1, -Infinity), 1);
  assert.equal(run(-1, NaN), NaN);
  assert.equal(run(-1, 0.5), NaN);
  assert.equal(run(2, Infinity), Infinity);
});

Deno.test("NaN goes through Max, Min, Clip, Relu", () => {
  const nan = floats([1], NaN);
  const one = floats([1], 1);
  for (const inputs of [[nan, one], [one, nan]]) {
    assert.deepEqual(numbersOf(outputOf("Max", inputs)), [NaN]);
    assert.deepEqual(numbersOf(outputOf("Min", inputs)), [NaN]);
  }
  const bound = floats([], 0);
  assert.deepEqual(numbersOf(outputOf("Clip", [nan, bound])), [NaN]);
  assert.deepEqual(numbersOf(outputOf("Relu", [nan])), [NaN]);
  // Which is not above any number.
  assert.deepEqual(numbersOf(outputOf("ThresholdedRelu", [nan])), [0]);
});

Deno.test("Clip has bounds as attributes or inputs, by its version; the upper one wins", () => {
  const x = floats([3], -2, 0, 2);
  const [low, high] = [floats([], -1), floats([], 1)];
  const attributes = { min: { float: -1 }, max: { float: 1 } };
  const clipped = [-1, 0, 1];
  assert.deepEqual(
    numbersOf(outputOf("Clip", [x], attributes, { opset: 6 })),
    clipped,
  );
  assert.deepEqual(numbersOf(outputOf("Clip", [x, low, high])), clipped);
  assert.deepEqual(
    numbersOf(outputOf("Clip", [x, undefined, high])),
    [-2, 0, 1],
  );
  assert.deepEqual(numbersOf(outputOf("Clip", [x, high, low])), [-1, -1, -1]);
  const big = int64(-5, 5);
  const bound = plainOf("int64", [], [0]);
  assert.deepEqual(numbersOf(outputOf("Clip", [big, bound])), [0, 5]);
});

Deno.test("Cast cuts floats off, wraps integers and asks bools whether there is anything", () => {
  const cast = (to: number, x = floats([4], -1.7, 0, 0.4, 300)) =>
    numbersOf(outputOf("Cast", [x], { to }));
  assert.deepEqual(cast(7), [-1, 0, 0, 300]);
  assert.deepEqual(cast(3), [-1, 0, 0, 44]);
  assert.deepEqual(cast(9), [1, 0, 1, 1]);
  // Half precision is computed in float32, and not rounded to.
  assert.deepEqual(cast(10, floats([1], 1e6)), [1e6]);
  assert.deepEqual(cast(7, floats([2], NaN, 1e30)), [-(2 ** 63), -(2 ** 63)]);
  assert.throws(() => cast(8), /^RangeError: Cast: attribute to is string/);
});

Deno.test("Cast of 64 bits is that of their numbers, at every edge", () => {
  const edges = [0n, 1n, 2n ** 31n, 2n ** 32n, 2n ** 53n, 2n ** 63n];
  const near = edges.flatMap((edge) => [edge - 1n, edge, edge + 1n]);
  const all = near.flatMap((value) => [value, -value]);
  const arrays = { int64: BigInt64Array, uint64: BigUint64Array };
  for (const type of ["int64", "uint64"] as const) {
    // The first is not the buffer's.
    const data = arrays[type].from([7n, ...all]).subarray(1);
    const x = { type, dims: [all.length], data } as PlainTensor;
    const given = Array.from(data, BigInt);
    const cast = (to: number) => numbersOf(outputOf("Cast", [x], { to }));
    assert.deepEqual(cast(1), given.map((big) => Math.fround(Number(big))));
    assert.deepEqual(cast(9), given.map((big) => Number(big !== 0n)));
    assert.deepEqual(
      cast(6),
      given.map((big) => Number(BigInt.asIntN(32, big))),
    );
    assert.deepEqual(
      cast(2),
      given.map((big) => Number(BigInt.asUintN(8, big))),
    );
    assert.deepEqual(
      cast(12),
      given.map((big) => Number(BigInt.asUintN(32, big))),
    );
  }
});

Deno.test("Cast to and from 64 bits rounds once, and takes all that uint64 holds", () => {
  const cast = (x: PlainTensor, to: number) => outputOf("Cast", [x], { to });
  // Just above the middle of two floats; the nearest f64 is the middle, of which the even one is below.
  const above = 2n ** 60n + 2n ** 36n + 1n;
  const next = 2 ** 60 + 2 ** 37;
  const edges = [above, -above, above - 1n, above - 2n, 2n ** 63n - 1n];
  assert.deepEqual(
    numbersOf(cast(plainOf("int64", [5], edges), 1)),
    [next, -next, 2 ** 60, 2 ** 60, 2 ** 63],
  );
  assert.deepEqual(
    numbersOf(cast(plainOf("uint64", [2], [2n ** 64n - 1n, 8n * above]), 1)),
    [2 ** 64, 8 * next],
  );
  const large = 2 ** 64 - 2 ** 40;
  assert.deepEqual(
    cast(floats([3], large, 2 ** 63, 5.5), 13).data,
    BigUint64Array.of(BigInt(large), 2n ** 63n, 5n),
  );
  const one = plainOf("uint64", [1], [BigInt(large)]);
  assert.deepEqual(outputOf("ReduceL2", [one]).data, one.data);
});

Deno.test("the error function is that of the tables", () => {
  // Abramowitz & Stegun, table 7.1, to ten digits.
  for (
    const [x, expected] of [
      [0.1, 0.1124629160],
      [0.5, 0.5204998778],
      [1, 0.8427007929],
      [2, 0.9953222650],
    ]
  ) {
    assert.ok(Math.abs(erf(x) - expected) < 1e-10, `erf ${x}`);
    assert.equal(erf(-x), -erf(x));
  }
  assert.equal(erf(0), 0);
  assert.equal(erf(Infinity), 1);
  assert.ok(Number.isNaN(erf(NaN)));
});

Deno.test("Round takes the even one of two, Mod of floats needs its attribute before 28", () => {
  const x = floats([4], -1.5, 0.5, 1.5, 2.5);
  assert.deepEqual(numbersOf(outputOf("Round", [x])).map(Math.abs), [
    2,
    0,
    2,
    2,
  ]);
  const two = floats([1], 2);
  assert.deepEqual(
    numbersOf(outputOf("Mod", [x, two], { fmod: 1 }, { opset: 13 })),
    [-1.5, 0.5, 1.5, 0.5],
  );
  assert.throws(
    () => outputOf("Mod", [x, two], {}, { opset: 13 }),
    /Mod: input 0 \(A\) is float32/,
  );
  assert.deepEqual(numbersOf(outputOf("Mod", [x, two])), [0.5, 0.5, 1.5, 0.5]);
});
