import assert from "node:assert/strict";
import { tensor } from "../../src/tensor/tensor.ts";
import {
  checkedWeights,
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

Deno.test("checkedWeights() names model and tensor of what is not a weight", () => {
  const wrong: [unknown, string, RegExp][] = [
    [
      undefined,
      "TypeError",
      /is a tensor, a shape with a Float32Array, got undefined/,
    ],
    [null, "TypeError", /got null/],
    [[1, 2, 3, 4], "TypeError", /got \[1,2,3,4\]/],
    [Float32Array.of(1, 2, 3, 4), "TypeError", /got Float32Array of 4/],
    [Promise.resolve(w), "TypeError", /got a promise: load weights before/],
    [
      { shape: [2, 2], data: new Float64Array(4) },
      "TypeError",
      /data that are Float64Array of 4/,
    ],
    [
      { shape: [2, 2], data: new Int32Array(4) },
      "TypeError",
      /data that are Int32Array of 4/,
    ],
    [
      { shape: [2, 2], data: [1, 2, 3, 4] },
      "TypeError",
      /data that are \[1,2,3,4\]/,
    ],
    [
      { shape: [2, 2], data: new Float32Array(3) },
      "RangeError",
      /has 3 elements, its shape \[2, 2\] needs 4/,
    ],
    [
      { shape: [4], data: new Float32Array(4) },
      "RangeError",
      /has shape \[4\], the model needs \[2, 2\]/,
    ],
    [
      { shape: [2.5, 2], data: new Float32Array(5) },
      "RangeError",
      /sizes that are no positive integers, \[2\.5, 2\]/,
    ],
    [
      tensor([2, 2], Float32Array.of(1, NaN, 3, 4)),
      "RangeError",
      /holds NaN at element 1/,
    ],
  ];
  for (const [given, name, message] of wrong) {
    const source = checkedWeights("net", () => given as typeof w);
    assert.throws(() => source("layer.W", [2, 2], 2), (error: Error) => {
      assert.equal(error.name, name);
      assert.match(error.message, /^Tensor "layer\.W" of model "net" /);
      assert.match(error.message, message);
      return true;
    });
  }
  assert.equal(checkedWeights("net", () => w)("layer.W", [2, 2], 2), w);
  for (const source of [new Map(), {}, 5, null]) {
    assert.throws(() => checkedWeights("net", source as () => typeof w), {
      name: "TypeError",
      message: /^"weights" of model "net" is a function /,
    });
  }
});

Deno.test("sources of weights refuse what they cannot be made of", () => {
  for (const seed of [1.5, NaN, "1", undefined]) {
    assert.throws(() => seededWeights(seed as number), {
      name: "RangeError",
      message: /^The seed of seededWeights\(\) is an integer, got /,
    });
  }
  for (const tensors of [undefined, {}, [["w", w]]]) {
    assert.throws(
      () => namedWeights(tensors as unknown as Map<string, typeof w>, "f"),
      { name: "TypeError", message: /takes a Map of tensors by name, got / },
    );
  }
  assert.throws(() => namedWeights(new Map(), 5 as unknown as string), {
    name: "TypeError",
    message: "The label of namedWeights() is a text, got 5",
  });
  const names = Array.from({ length: 1e4 }, (_, i) => [`t${i}`, w] as const);
  assert.throws(
    () => namedWeights(new Map(names), "f".repeat(1e6))("u", [2, 2], 2),
    (error: Error) => error.message.length < 300,
  );
});
