/** Moves there and back, and by index. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { runPlain } from "../../src/plain/registry.ts";
import {
  numbersOf,
  plainOf,
  type PlainTensor,
  type PlainType,
  scalarOf,
} from "../../src/tensor/plain_tensor.ts";
import { propertyRuns } from "../property_runs.ts";
import {
  at,
  floats,
  int64,
  made,
  outputOf,
  outputsOf,
  shapes,
  tensorOf,
} from "./run_operator.ts";

const types = fc.constantFrom<PlainType>("float32", "int64", "uint8", "bool");

/** A tensor of any type, with one of its axes. */
const withAxis = fc.tuple(types, shapes(1, 4)).chain(([type, dims]) =>
  fc.tuple(tensorOf(type, dims), fc.nat({ max: dims.length - 1 }))
);
const runs = { numRuns: propertyRuns(150) };

Deno.test("Transpose moves by index, and back", () => {
  const drawn = withAxis.chain(([x]) =>
    fc.tuple(
      fc.constant(x),
      fc.shuffledSubarray([...x.dims.keys()], { minLength: x.dims.length }),
    )
  );
  fc.assert(
    fc.property(drawn, ([x, perm]) => {
      const got = outputOf("Transpose", [x], { perm });
      const dims = perm.map((axis) => x.dims[axis]);
      const expected = made(
        x.type,
        dims,
        (index) => at(x, x.dims.map((_, axis) => index[perm.indexOf(axis)])),
      );
      assert.deepEqual(got, expected);
      const back = perm.map((_, axis) => perm.indexOf(axis));
      assert.deepEqual(outputOf("Transpose", [got], { perm: back }), x);
    }),
    runs,
  );
});

Deno.test("Slice takes what a loop over its axis takes", () => {
  const bound = fc.integer({ min: -7, max: 7 });
  fc.assert(
    fc.property(
      withAxis,
      bound,
      bound,
      fc.constantFrom(-3, -2, -1, 1, 2, 3),
      ([x, axis], start, end, step) => {
        const size = x.dims[axis];
        const [from, to] = [start, end].map((i) => i < 0 ? i + size : i);
        const taken: number[] = [];
        // Python's rule: bounds beyond the axis are those of the axis.
        let i = step > 0
          ? Math.max(0, Math.min(size, from))
          : Math.max(-1, Math.min(size - 1, from));
        if (step < 0 && from < 0) i = 0;
        for (; step > 0 ? i < Math.min(to, size) : i > to; i += step) {
          if (i < 0 || i >= size) break;
          taken.push(i);
        }
        const got = outputOf("Slice", [
          x,
          int64(start),
          int64(end),
          int64(axis),
          int64(step),
        ]);
        const expected = made(
          x.type,
          x.dims.with(axis, taken.length),
          (index) => at(x, index.with(axis, taken[index[axis]])),
        );
        assert.deepEqual(got, expected);
      },
    ),
    { numRuns: propertyRuns(400) },
  );
});

Deno.test("Concat joins what Split cuts", () => {
  const drawn = withAxis.chain(([x, axis]) =>
    fc.tuple(
      fc.constant(x),
      fc.constant(axis),
      fc.nat({ max: x.dims[axis] }),
    )
  );
  fc.assert(
    fc.property(drawn, ([x, axis, first]) => {
      const lengths = int64(first, x.dims[axis] - first);
      const parts = outputsOf("Split", [x, lengths], { axis }, { outputs: 2 });
      assert.deepEqual(outputOf("Concat", parts, { axis }), x);
    }),
    runs,
  );
});

Deno.test("Split has parts as attribute, as input, or equal ones, by its version", () => {
  const x = floats([5], 0, 1, 2, 3, 4);
  const lengths = (...given: Parameters<typeof outputsOf>) =>
    outputsOf(...given).map(({ dims }) => dims[0]);
  assert.deepEqual(
    lengths("Split", [x], { split: [2, 3] }, { opset: 11, outputs: 2 }),
    [2, 3],
  );
  assert.deepEqual(
    lengths("Split", [x, int64(4, 1)], {}, { opset: 13, outputs: 2 }),
    [4, 1],
  );
  assert.deepEqual(
    lengths("Split", [x], { num_outputs: 3 }, { outputs: 3 }),
    [2, 2, 1],
  );
  assert.throws(
    () => lengths("Split", [x], {}, { opset: 13, outputs: 2 }),
    /Split: an axis of size 5 has no 2 equal parts/,
  );
});

Deno.test("what is padded can be cut out again, and padding is what its mode says", () => {
  const pads = fc.tuple(fc.nat({ max: 3 }), fc.nat({ max: 3 }));
  const modes = fc.constantFrom("constant", "edge", "wrap", "reflect");
  fc.assert(
    fc.property(withAxis, pads, modes, ([x, axis], [before, after], mode) => {
      const padded = outputOf(
        "Pad",
        [x, int64(before, after), undefined, int64(axis)],
        { mode },
      );
      const size = x.dims[axis];
      const back = outputOf("Slice", [
        padded,
        int64(before),
        int64(before + size),
        int64(axis),
      ]);
      assert.deepEqual(back, x);
      const cut = outputOf("Pad", [
        padded,
        int64(-before, -after),
        undefined,
        int64(axis),
      ]);
      assert.deepEqual(cut, x);
      if (before === 0) return;
      // What lies just before the first element.
      const [near, index] = [before - 1, x.dims.map(() => 0)];
      const source = {
        constant: 0,
        edge: at(x, index),
        wrap: at(x, index.with(axis, size - 1)),
        reflect: at(x, index.with(axis, Math.min(1, size - 1))),
      }[mode];
      assert.equal(at(padded, index.with(axis, near)), source);
    }),
    { numRuns: propertyRuns(300) },
  );
});

Deno.test("a mirror goes on as often as it takes", () => {
  const x = floats([3], 0, 1, 2);
  const got = outputOf("Pad", [x, int64(5, 4)], { mode: "reflect" });
  assert.deepEqual(numbersOf(got), [1, 0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2]);
});

Deno.test("a node pads whatever it is given next: pads, axes, sizes and mode", () => {
  const x = floats([3], 0, 1, 2);
  const attributes = new Map([["mode", { kind: "string", value: "edge" }]]);
  const context = { opset: 25, outputs: 1 };
  const padded = (...inputs: PlainTensor[]) => {
    const [{ dims, data }] = runPlain("Pad", inputs, attributes, context);
    return [dims, [...data]];
  };
  for (let again = 0; again < 2; again++) {
    assert.deepEqual(padded(x, int64(1, 0)), [[4], [0, 0, 1, 2]]);
    assert.deepEqual(padded(x, int64(0, 1)), [[4], [0, 1, 2, 2]]);
    assert.deepEqual(padded(floats([2], 5, 6), int64(0, 1)), [[3], [5, 6, 6]]);
    const row = floats([1, 2], 5, 6);
    const one = scalarOf("float32", 0);
    const at = (axis: number) => padded(row, int64(1, 0), one, int64(axis));
    assert.deepEqual(at(0), [[2, 2], [5, 6, 5, 6]]);
    assert.deepEqual(at(1), [[1, 3], [5, 5, 6]]);
  }
  attributes.set("mode", { kind: "string", value: "wrap" });
  assert.deepEqual(padded(x, int64(0, 1)), [[4], [0, 1, 2, 0]]);
});

Deno.test("Tile and Expand repeat by index", () => {
  fc.assert(
    fc.property(
      withAxis,
      fc.integer({ min: 0, max: 3 }),
      ([x, axis], times) => {
        const repeats = x.dims.map((_, at) => at === axis ? times : 1);
        const got = outputOf("Tile", [x, int64(...repeats)]);
        const dims = x.dims.with(axis, x.dims[axis] * times);
        assert.deepEqual(
          got,
          made(
            x.type,
            dims,
            (index) => at(x, index.with(axis, index[axis] % x.dims[axis])),
          ),
        );
        const expanded = outputOf("Expand", [x, int64(3, ...x.dims)]);
        assert.deepEqual(
          expanded,
          made(x.type, [3, ...x.dims], ([, ...index]) => at(x, index)),
        );
      },
    ),
    runs,
  );
});

Deno.test("what moves keeps all of its 64 bits, and so does what fills", () => {
  const big = [2n ** 62n + 1n, -(2n ** 62n) - 1n];
  const x = plainOf("int64", [2, 1], big);
  const wide = outputOf("Expand", [x, int64(2, 2)]);
  assert.deepEqual([...wide.data], [big[0], big[0], big[1], big[1]]);
  const fill = plainOf("int64", [], [-(2n ** 40n) - 3n]);
  const padded = outputOf("Pad", [x, int64(1, 0, 0, 0), fill]);
  assert.deepEqual([...padded.data], [fill.data[0], ...big]);
});

Deno.test("Gather reads by index, negative ones from the back, and refuses others", () => {
  const drawn = withAxis.chain(([x, axis]) =>
    fc.tuple(
      fc.constant(x),
      fc.constant(axis),
      shapes(0, 2).chain((dims) => {
        const count = dims.reduce((a, b) => a * b, 1);
        const size = x.dims[axis];
        return fc.array(fc.integer({ min: -size, max: size - 1 }), {
          minLength: count,
          maxLength: count,
        }).map((indices) => plainOf("int64", dims, indices));
      }),
    )
  );
  fc.assert(
    fc.property(drawn, ([x, axis, indices]) => {
      const got = outputOf("Gather", [x, indices], { axis });
      const more = indices.dims.length;
      const dims = x.dims.toSpliced(axis, 1, ...indices.dims);
      const expected = made(x.type, dims, (index) => {
        const i = at(indices, index.slice(axis, axis + more));
        const from = i < 0 ? i + x.dims[axis] : i;
        return at(x, index.toSpliced(axis, more, from));
      });
      assert.deepEqual(got, expected);
      assert.throws(
        () => outputOf("Gather", [x, int64(x.dims[axis])], { axis }),
        /Gather: index \d of \d elements/,
      );
    }),
    runs,
  );
});

Deno.test("what is scattered is gathered again", () => {
  const drawn = withAxis.chain(([x, axis]) =>
    fc.tuple(
      fc.constant(x),
      fc.constant(axis),
      fc.shuffledSubarray([...Array(x.dims[axis]).keys()], {
        minLength: x.dims[axis],
      }),
    )
  );
  fc.assert(
    fc.property(drawn, ([x, axis, order]) => {
      const indices = made("int64", x.dims, (index) => order[index[axis]]);
      const zeros = made(x.type, x.dims, () => 0);
      const scattered = outputOf("ScatterElements", [zeros, indices, x], {
        axis,
      });
      assert.deepEqual(
        outputOf("GatherElements", [scattered, indices], { axis }),
        x,
      );
      // By whole tuples: every element on its own.
      const tuples = made(
        "int64",
        [...x.dims, x.dims.length],
        (index) => index[index.at(-1) as number],
      );
      assert.deepEqual(outputOf("GatherND", [x, tuples]), x);
      assert.deepEqual(outputOf("ScatterND", [zeros, tuples, x]), x);
    }),
    runs,
  );
});

Deno.test("updates of one element meet in their order", () => {
  const data = floats([2], 10, 20);
  const indices = plainOf("int64", [3, 1], [0, 0, 1]);
  const updates = floats([3], 2, 3, 4);
  const run = (reduction: string) =>
    numbersOf(outputOf("ScatterND", [data, indices, updates], { reduction }));
  assert.deepEqual(run("none"), [3, 4]);
  assert.deepEqual(run("add"), [15, 24]);
  assert.deepEqual(run("mul"), [60, 80]);
  assert.deepEqual(run("max"), [10, 20]);
  assert.deepEqual(run("min"), [2, 4]);

  const whole = plainOf("int32", [1], [2 ** 31 - 1]);
  const joined = (reduction: string) =>
    numbersOf(outputOf("ScatterND", [
      whole,
      plainOf("int64", [1, 1], [0]),
      whole,
    ], { reduction }));
  // Wrapped around, as everywhere.
  assert.deepEqual(joined("mul"), [1]);
  assert.deepEqual(joined("add"), [-2]);
});

Deno.test("TopK has NaN last, wherever it lies", () => {
  const x = floats([6], 3, NaN, -Infinity, Infinity, NaN, -0);
  for (
    const [largest, expected] of [
      [1, [3, 0, 5, 2, 1, 4]],
      [0, [2, 5, 0, 3, 1, 4]],
    ] as const
  ) {
    const [, indices] = outputsOf("TopK", [x, int64(6)], { largest });
    assert.deepEqual(numbersOf(indices), expected);
  }
});

Deno.test("TopK sorts stably, both ways", () => {
  fc.assert(
    fc.property(
      withAxis.filter(([{ type }]) => type !== "bool"),
      fc.boolean(),
      ([x, axis], isLargest) => {
        const size = x.dims[axis];
        const [values, indices] = outputsOf("TopK", [x, int64(size)], {
          axis,
          largest: Number(isLargest),
        }, { outputs: 2 });
        assert.deepEqual(
          outputOf("GatherElements", [x, indices], { axis }),
          values,
        );
        for (let i = 0; i + 1 < size; i++) {
          const lane = x.dims.map(() => 0);
          const [a, b] = [i, i + 1].map((k) => at(values, lane.with(axis, k)));
          const [p, q] = [i, i + 1].map((k) => at(indices, lane.with(axis, k)));
          assert.ok(a === b ? p < q : isLargest ? a > b : a < b);
        }
      },
    ),
    runs,
  );
});

Deno.test("space goes into depth and back, in both orders", () => {
  const x = made(
    "float32",
    [1, 8, 2, 3],
    ([, c, y, z]) => 100 * c + 10 * y + z,
  );
  for (const mode of ["DCR", "CRD"]) {
    const wide = outputOf("DepthToSpace", [x], { blocksize: 2, mode });
    assert.deepEqual(wide.dims, [1, 2, 4, 6]);
    assert.deepEqual(
      outputOf("SpaceToDepth", [wide], { blocksize: 2, mode }),
      x,
    );
  }
  assert.throws(
    () => outputOf("DepthToSpace", [x], { blocksize: 3 }),
    /DepthToSpace: attribute blocksize is 3/,
  );
});

Deno.test("Unique counts, and finds its way back", () => {
  const x = floats([6], 2, 1, 1, 3, 4, 3);
  const [y, first, inverse, counts] = outputsOf("Unique", [x], { sorted: 0 }, {
    outputs: 4,
  }).map(numbersOf);
  assert.deepEqual(y, [2, 1, 3, 4]);
  assert.deepEqual(first, [0, 1, 3, 4]);
  assert.deepEqual(inverse, [0, 1, 1, 2, 3, 2]);
  assert.deepEqual(counts, [1, 2, 2, 1]);
});

Deno.test("Unique has each number once beside NaN, which is last", () => {
  const number = fc.constantFrom(NaN, -1, 0, 1, 2, 3);
  fc.assert(
    fc.property(fc.array(number, { minLength: 1, maxLength: 12 }), (given) => {
      const x = floats([given.length], ...given);
      const [y, first, inverse, counts] = outputsOf("Unique", [x], {}, {
        outputs: 4,
      }).map(numbersOf);
      const numbers = [...new Set(given)].toSorted((a, b) =>
        Number.isNaN(a) ? 1 : Number.isNaN(b) ? -1 : a - b
      );
      assert.deepEqual(y, numbers);
      assert.deepEqual(
        first,
        y.map((one) => given.findIndex((other) => Object.is(one, other))),
      );
      assert.deepEqual(inverse.map((i) => y[i]), given);
      assert.deepEqual(
        counts,
        y.map((one) => given.filter((other) => Object.is(one, other)).length),
      );
    }),
    runs,
  );
});

Deno.test("Range of 64 bits has as many numbers as fit, whatever f64 rounds", () => {
  const run = (...bounds: bigint[]) =>
    outputOf("Range", bounds.map((bound) => plainOf("int64", [], [bound])))
      .data;
  const high = 2n ** 53n;
  assert.deepEqual(
    run(high, high + 3n, 1n),
    BigInt64Array.of(high, high + 1n, high + 2n),
  );
  const small = fc.bigInt({ min: -20n, max: 20n });
  fc.assert(
    fc.property(
      small,
      small,
      small.filter((step) => step !== 0n),
      (a, b, step) => {
        const numbers: bigint[] = [];
        for (let at = a; step > 0n ? at < b : at > b; at += step) {
          numbers.push(
            at,
          );
        }
        assert.deepEqual(run(a, b, step), BigInt64Array.from(numbers));
      },
    ),
    runs,
  );
});
