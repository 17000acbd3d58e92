import assert from "node:assert/strict";
import {
  numbersOf,
  plainOf,
  plainTensor,
  type PlainType,
  scalarOf,
  withDims,
  zerosOf,
} from "../../src/tensor/plain_tensor.ts";
import { dataTypeName, plainTypeOf } from "../../src/tensor/onnx_types.ts";

Deno.test("plain tensors have scalars and empty axes", () => {
  assert.deepEqual(numbersOf(scalarOf("int64", 7n)), [7]);
  assert.deepEqual(zerosOf("bool", [2, 0]).data, new Uint8Array(0));
  const data = Int8Array.of(1, 2);
  const made = plainTensor("int8", [2, 1], data);
  assert.equal(made.data, data);
  assert.deepEqual(withDims(made, [2]), { type: "int8", dims: [2], data });
});

Deno.test("plain tensors of numbers written out take their type's form", () => {
  assert.deepEqual(
    plainOf("int64", [2], [1, -2]).data,
    BigInt64Array.of(1n, -2n),
  );
  assert.deepEqual(plainOf("float32", [1], [0.1]).data, Float32Array.of(0.1));
});

Deno.test("plain tensors refuse what does not fit, in words", () => {
  const refused = (
    type: unknown,
    dims: unknown,
    data: unknown,
    message: RegExp,
  ) =>
    assert.throws(
      () => plainTensor(type as PlainType, dims as number[], data as never),
      message,
    );
  refused("float16", [1], new Float32Array(1), /one of float32, .*"float16"/);
  refused("float32", 3, new Float32Array(3), /list of sizes, got 3/);
  refused("int8", [1], new Uint8Array(1), /are an Int8Array, got Uint8Array/);
  refused("int8", [-1], new Int8Array(1), /from 0, got \[-1\]/);
  refused("int8", [2, 3], new Int8Array(5), /has 6 elements, got 5/);
});

Deno.test("types of ONNX files have plain ones, or a name to refuse them by", () => {
  assert.equal(plainTypeOf(1), "float32");
  assert.equal(plainTypeOf(10), "float32");
  assert.equal(plainTypeOf(7), "int64");
  assert.equal(plainTypeOf(8), undefined);
  assert.equal(dataTypeName(8), "string");
  assert.equal(dataTypeName(99), "data type 99");
});
