import assert from "node:assert/strict";
import { tensor } from "../../src/tensor/tensor.ts";
import {
  checkFinite,
  namedWeights,
  seededWeights,
} from "../../src/tensor/weights.ts";

const w = tensor([2, 2], Float32Array.of(1, 2, 3, 4));

Deno.test("seededWeights() depend on seed and name alone, within 1/sqrt(fanIn)", () => {
  const source = seededWeights(3);
  const before = source("a", [4, 5], 16);
  source("b", [7], 16);
  assert.deepEqual(source("a", [4, 5], 16), before);
  assert.deepEqual(seededWeights(3)("a", [4, 5], 16), before);
  assert.notDeepEqual(seededWeights(4)("a", [4, 5], 16), before);
  assert.notDeepEqual(source("b", [4, 5], 16), before);
  assert(before.data.every((x) => Math.abs(x) <= 0.25));
  assert.deepEqual(before.shape, [4, 5]);
});

Deno.test("namedWeights() hands out tensors of the shape asked for", () => {
  assert.equal(namedWeights(new Map([["w", w]]), "file")("w", [2, 2], 2), w);
});

Deno.test("namedWeights() names what is missing and what there is", () => {
  const source = namedWeights(
    new Map([["w", w], ["v", w]]),
    "model.safetensors",
  );
  assert.throws(() => source("u", [2, 2], 2), {
    name: "RangeError",
    message: 'model.safetensors has no tensor "u"; it has w, v',
  });
});

Deno.test("namedWeights() names both shapes when they differ", () => {
  const source = namedWeights(new Map([["w", w]]), "file");
  for (const shape of [[4], [2, 3], [2, 2, 1]]) {
    assert.throws(() => source("w", shape, 2), {
      name: "RangeError",
      message: `Tensor "w" of file has shape [2, 2], the model needs [${
        shape.join(", ")
      }]`,
    });
  }
});

Deno.test("checkFinite() names tensor, value and element", () => {
  for (const bad of [NaN, Infinity, -Infinity]) {
    const weights = tensor([3], Float32Array.of(0, bad, 1));
    const thrown = {
      name: "RangeError",
      message: `Tensor "w" holds ${bad} at element 1; weights must be finite`,
    };
    assert.throws(() => checkFinite("w", weights), thrown);
    const source = namedWeights(new Map([["w", weights]]), "file");
    assert.throws(() => source("w", [3], 1), thrown);
  }
  checkFinite("w", w);
});
