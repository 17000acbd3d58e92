/** Draws from scores, against a list that is sorted as a whole. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { runPlain } from "../../src/plain/registry.ts";
import { plainOf } from "../../src/tensor/plain_tensor.ts";
import { propertyRuns } from "../property_runs.ts";

/** The whole list in order, then as the settings say. */
function reference(
  scores: Float32Array,
  [temperature, topK, topP, minP]: Float32Array,
  uniform: number,
): number {
  const ids = [...scores.keys()].filter((id) => !Number.isNaN(scores[id]))
    .sort((a, b) => scores[b] - scores[a] || a - b);
  if (ids.length === 0) return 0;
  const most = scores[ids[0]];
  const weights = ids.slice(0, topK > 0 ? topK : ids.length).map((id) =>
    scores[id] === most ? 1 : Math.exp((scores[id] - most) / temperature)
  ).filter((weight) => weight >= minP);
  const left = ids.slice(0, weights.length);
  const whole = weights.reduce((sum, weight) => sum + weight, 0);
  let [count, kept] = [0, 0];
  while (count < left.length && (count === 0 || kept < topP * whole)) {
    kept += weights[count++];
  }
  let sum = 0;
  const at = weights.slice(0, count).findIndex((weight) =>
    uniform * kept < (sum += weight)
  );
  return left[at < 0 ? count - 1 : at];
}

const SCORE = fc.oneof(
  fc.integer({ min: -3, max: 3 }),
  fc.float({ min: -20, max: 20 }),
  fc.constantFrom(NaN, -0, Infinity, -Infinity),
);

Deno.test("a draw is that of the whole list in order", () => {
  const given = fc.record({
    scores: fc.array(SCORE, { minLength: 1, maxLength: 40 }),
    temperature: fc.constantFrom(0.5, 1, 3),
    topK: fc.constantFrom(0, 1, 2, 7, 100),
    topP: fc.constantFrom(1, 0.9, 0.37, 1e-6),
    minP: fc.constantFrom(0, 0, 0.05, 0.5, 1),
    uniform: fc.double({ min: 0, max: 0.999, noNaN: true }),
  });
  fc.assert(
    fc.property(given, ({ scores, temperature, topK, topP, minP, uniform }) => {
      const settings = Float32Array.of(temperature, topK, topP, minP);
      const [id] = runPlain(
        "SampleToken",
        [
          plainOf("float32", [scores.length], scores),
          plainOf("float32", [4], [...settings]),
          plainOf("float32", [1], [uniform]),
        ],
        new Map(),
        { opset: 1, outputs: 1 },
      );
      const rounded = Math.fround(uniform);
      assert.equal(
        Number(id.data[0]),
        reference(Float32Array.from(scores), settings, rounded),
      );
    }),
    { numRuns: propertyRuns(2000) },
  );
});

Deno.test("tokens that are less likely than minP allows are not drawn, with topK and without", () => {
  // Shares beside the likeliest one: 1, 0.61, 0.37.
  const scores = [-0.5, 0, -1];
  const drawn = (topK: number, minP: number) => {
    const [id] = runPlain(
      "SampleToken",
      [
        plainOf("float32", [3], scores),
        plainOf("float32", [4], [1, topK, 1, minP]),
        plainOf("float32", [1], [0.99]),
      ],
      new Map(),
      { opset: 1, outputs: 1 },
    );
    return Number(id.data[0]);
  };
  for (const topK of [0, 3]) {
    assert.deepEqual([0, 0.3, 0.5, 0.7, 1].map((p) => drawn(topK, p)), [
      ...[2, 2, 0, 1, 1],
    ]);
  }
});
