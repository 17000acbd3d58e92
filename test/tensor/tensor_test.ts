import assert from "node:assert/strict";
import { concatenated, elementCount, tensor } from "../../src/tensor/tensor.ts";

Deno.test("tensor() takes data that fills its shape", () => {
  const data = Float32Array.of(1, 2, 3, 4, 5, 6);
  assert.deepEqual(tensor([2, 3], data), { shape: [2, 3], data });
  assert.equal(elementCount([2, 3]), 6);
  assert.equal(elementCount([]), 1);
});

Deno.test("tensor() names shape and number of elements when they disagree", () => {
  assert.throws(() => tensor([2, 3], new Float32Array(5)), {
    name: "RangeError",
    message: "A tensor of shape [2, 3] has 6 elements, got 5",
  });
});

Deno.test("tensor() refuses sizes that are not positive integers", () => {
  for (const size of [0, -1, 1.5, NaN]) {
    assert.throws(() => tensor([2, size], new Float32Array(0)), {
      name: "RangeError",
      message: `A tensor's sizes are positive integers, got [2, ${size}]`,
    });
  }
});

Deno.test("concatenated() joins tensors in order", () => {
  const a = tensor([2], Float32Array.of(1, 2));
  const b = tensor([1], Float32Array.of(3));
  assert.deepEqual(concatenated(a, b, a), {
    shape: [5],
    data: Float32Array.of(1, 2, 3, 1, 2),
  });
});

Deno.test("tensor() refuses data that are no floats or ids, and shapes that are no lists", () => {
  const wrong: unknown[] = [
    new Float64Array(2),
    new Uint16Array(2),
    [1, 2],
    undefined,
    null,
    Promise.resolve(new Float32Array(2)),
    new Proxy(new Array(1e6).fill(1), {}),
  ];
  for (const data of wrong) {
    assert.throws(() => tensor([2], data as Float32Array), (error: Error) => {
      assert.equal(error.name, "TypeError");
      assert.match(
        error.message,
        /data are a Float32Array, Int32Array, BigInt64Array, Int8Array or Uint8Array, got /,
      );
      return error.message.length < 200;
    });
  }
  for (const shape of [2, "2", null, Int32Array.of(2)]) {
    assert.throws(
      () => tensor(shape as unknown as number[], new Float32Array(2)),
      { name: "TypeError", message: /shape is a list of sizes, got / },
    );
  }
  assert.throws(
    () => tensor(new Array(1e6).fill(1), new Float32Array(2)),
    (error: Error) => error.message.length < 200,
  );
});
