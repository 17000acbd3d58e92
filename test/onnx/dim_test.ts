/** Symbolic sizes: equal ones are recognised, and every operation is the one on numbers. */
import assert from "node:assert/strict";
import fc from "fast-check";
import {
  addDims,
  ceilDivDims,
  describeDim,
  type Dim,
  divideExactly,
  floorDivDims,
  isSameDim,
  leastOf,
  maxDims,
  minDims,
  multiplyDims,
  substituteDim,
  subtractDims,
  symbol,
  symbolsOf,
} from "../../src/onnx/shapes/dim.ts";
import { propertyRuns } from "../property_runs.ts";

const NAMES = ["n", "m", "a b"];
const [n, m] = NAMES.map((name) => symbol(name));

/** A drawn expression: the size, and the number that it is for given symbols. */
interface Drawn {
  dim: Dim;
  at: (values: Record<string, number>) => number;
}

function combined(
  of: (a: Dim, b: Dim) => Dim,
  numbers: (a: number, b: number) => number,
) {
  return (a: Drawn, b: Drawn): Drawn => ({
    dim: of(a.dim, b.dim),
    at: (values) => numbers(a.at(values), b.at(values)),
  });
}

const OPERATIONS = [
  combined(addDims, (a, b) => a + b),
  combined(subtractDims, (a, b) => a - b),
  combined(multiplyDims, (a, b) => a * b),
  combined(maxDims, Math.max),
  combined(minDims, Math.min),
];

const { drawn } = fc.letrec<{ drawn: Drawn }>((tie) => ({
  drawn: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.oneof(
      fc.integer({ min: -9, max: 9 }).map((k): Drawn => ({
        dim: k,
        at: () => k,
      })),
      fc.constantFrom(...NAMES).map((name): Drawn => ({
        dim: symbol(name),
        at: (values) => values[name],
      })),
    ),
    fc.tuple(fc.constantFrom(...OPERATIONS), tie("drawn"), tie("drawn"))
      .map(([operation, a, b]) => operation(a, b)),
    fc.tuple(tie("drawn"), fc.integer({ min: 1, max: 6 }), fc.boolean())
      .map(([a, k, up]): Drawn => ({
        dim: up ? ceilDivDims(a.dim, k) : floorDivDims(a.dim, k),
        at: (values) =>
          up ? Math.ceil(a.at(values) / k) : Math.floor(a.at(values) / k),
      })),
  ),
}));

const values = fc.record(
  Object.fromEntries(
    NAMES.map((name) => [name, fc.integer({ min: 1, max: 50 })]),
  ),
) as fc.Arbitrary<Record<string, number>>;

Deno.test("a size is what its parts come to, and never below its bound", () => {
  fc.assert(
    fc.property(drawn, values, ({ dim, at }, given) => {
      const size = substituteDim(dim, (name) => given[name]);
      // What numbers come to may be -0.
      assert.equal(size, at(given) + 0);
      assert(
        leastOf(dim) <= at(given),
        `${describeDim(dim)} >= ${leastOf(dim)}`,
      );
    }),
    { numRuns: propertyRuns(2000) },
  );
});

Deno.test("an exact quotient is one", () => {
  fc.assert(
    fc.property(drawn, drawn, values, (a, b, given) => {
      const quotient = divideExactly(a.dim, b.dim);
      if (quotient === undefined) return;
      const size = substituteDim(
        multiplyDims(quotient, b.dim),
        (name) => given[name],
      );
      assert.equal(size, a.at(given) + 0);
    }),
    { numRuns: propertyRuns(1000) },
  );
});

Deno.test("a product divided by a factor is the other", () => {
  fc.assert(
    fc.property(drawn, drawn, (a, b) => {
      if (b.dim === 0) return;
      const quotient = divideExactly(multiplyDims(a.dim, b.dim), b.dim);
      assert(quotient !== undefined && isSameDim(quotient, a.dim));
    }),
    { numRuns: propertyRuns(1000) },
  );
});

const SAME: [string, Dim, Dim][] = [
  [
    "(n + 1)(n - 1) = n² - 1",
    multiplyDims(addDims(n, 1), subtractDims(n, 1)),
    subtractDims(multiplyDims(n, n), 1),
  ],
  [
    "4n + 3 halved is 2n + 1",
    floorDivDims(addDims(multiplyDims(n, 4), 3), 2),
    addDims(multiplyDims(n, 2), 1),
  ],
  ["n + m - n = m", subtractDims(addDims(n, m), n), m],
  [
    "max(0, n - 1) = n - 1, as n is at least 1",
    maxDims(0, subtractDims(n, 1)),
    subtractDims(n, 1),
  ],
  ["min(n, n + 2) = n", minDims(n, addDims(n, 2)), n],
  ["max(n, m) = max(m, n)", maxDims(n, m), maxDims(m, n)],
  [
    "floor((n + 5) / 4) = floor((n + 1) / 4) + 1",
    floorDivDims(addDims(n, 5), 4),
    addDims(floorDivDims(addDims(n, 1), 4), 1),
  ],
];

for (const [what, a, b] of SAME) {
  Deno.test(`sizes are recognised: ${what}`, () => {
    assert(isSameDim(a, b), `${describeDim(a)} and ${describeDim(b)}`);
  });
}

Deno.test("sizes show what they are", () => {
  const size = subtractDims(multiplyDims(multiplyDims(n, 2), symbol("a b")), 1);
  assert.equal(describeDim(size), '2*"a b"*n - 1');
  assert.equal(
    describeDim(floorDivDims(subtractDims(n, 1), 2)),
    "floor((n + 1)/(2)) - 1",
  );
  assert.deepEqual([...symbolsOf(floorDivDims(size, 2))].sort(), ["a b", "n"]);
});

Deno.test("a name that looks like a product is none", () => {
  assert(!isSameDim(symbol("n*m"), multiplyDims(n, m)));
});

Deno.test("sizes that grow without end are refused", () => {
  let size = addDims(n, m);
  assert.throws(() => {
    for (let i = 0; i < 60; i++) size = multiplyDims(size, addDims(size, i));
  }, {
    name: "OnnxError",
    message: /terms \(\d+ characters\) is not computed with|beyond any memory/,
  });
  let product: Dim = 1;
  assert.throws(() => {
    for (let i = 0; i < 20; i++) {
      product = multiplyDims(
        product,
        addDims(symbol(`p${i}`), symbol(`q${i}`)),
      );
    }
  }, /a size of 128 terms \(\d+ characters\) is not computed with/);
  assert.throws(() => multiplyDims(2 ** 52, 2), /beyond any memory/);
});
