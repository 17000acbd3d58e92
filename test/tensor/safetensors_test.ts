import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import fc from "fast-check";
import { readSafetensors } from "../../src/tensor/safetensors.ts";
import { propertyRuns } from "../property_runs.ts";

/** A file with the given header and data. */
function file(header: unknown, data = new Uint8Array(0)): Uint8Array {
  const text = typeof header === "string" ? header : JSON.stringify(header);
  const bytes = new Uint8Array(8 + text.length + data.length);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(text.length), true);
  bytes.set(new TextEncoder().encode(text), 8);
  bytes.set(data, 8 + text.length);
  return bytes;
}

function bytesOf(...values: number[]): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Float32Array.from(values).buffer);
}

const two = {
  __metadata__: { source: "a test" },
  a: { dtype: "F32", shape: [1, 2], data_offsets: [0, 8] },
  b: { dtype: "F32", shape: [3], data_offsets: [8, 20] },
};
const good = file(two, bytesOf(1, 2, 3, 4, 5));

Deno.test("readSafetensors() reads tensors by name, whatever the alignment of the data", () => {
  for (let shift = 0; shift < 4; shift++) {
    const shifted = file(
      JSON.stringify(two) + " ".repeat(shift),
      bytesOf(1, 2, 3, 4, 5),
    );
    const tensors = readSafetensors(shifted, "w");
    assert.deepEqual([...tensors.keys()], ["a", "b"]);
    assert.deepEqual(tensors.get("a"), {
      shape: [1, 2],
      data: Float32Array.of(1, 2),
    });
    assert.deepEqual(tensors.get("b")!.data, Float32Array.of(3, 4, 5));
  }
});

Deno.test("readSafetensors() reads a Buffer and a view into a larger one", () => {
  const larger = new Uint8Array(good.length + 7);
  larger.set(good, 7);
  for (const bytes of [Buffer.from(good), larger.subarray(7)]) {
    assert.deepEqual(readSafetensors(bytes, "w"), readSafetensors(good, "w"));
  }
});

Deno.test("readSafetensors() refuses a file that was truncated anywhere", () => {
  fc.assert(
    fc.property(fc.nat(good.length - 1), (length) => {
      assert.throws(() => readSafetensors(good.subarray(0, length), "w.file"), {
        name: "RangeError",
        message: /^Cannot read weights from w\.file: .*(too few|truncated)/,
      });
    }),
    {
      numRuns: propertyRuns(100),
      examples: [[0], [7], [8], [good.length - 1]],
    },
  );
});

const malformed: Record<string, [header: unknown, message: RegExp]> = {
  "is not JSON": ["{", /the header is not JSON/],
  "is no object": [[1], /the header is \[1\], expected an object/],
  "is null": ["null", /the header is null, expected an object/],
  "holds another type": [
    { a: { dtype: "F16", shape: [2], data_offsets: [0, 4] } },
    /tensor "a" is F16, expected F32/,
  ],
  "lacks offsets": [
    { a: { dtype: "F32", shape: [2] } },
    /tensor "a" is described as .*expected dtype, shape .* data_offsets/,
  ],
  "has an offset before the data": [
    { a: { dtype: "F32", shape: [2], data_offsets: [-4, 4] } },
    /tensor "a" is described as .*-4/,
  ],
  "has a size of 0": [
    { a: { dtype: "F32", shape: [0], data_offsets: [0, 0] } },
    /tensor "a" is described as .*positive integers/,
  ],
  "has a fractional size": [
    { a: { dtype: "F32", shape: [0.5, 2], data_offsets: [0, 4] } },
    /tensor "a" is described as/,
  ],
  "says of a shape what its data do not hold": [
    { a: { dtype: "F32", shape: [2, 2], data_offsets: [0, 8] } },
    /tensor "a" has 8 bytes, its shape \[2, 2\] needs 16/,
  ],
};

for (const [what, [header, message]] of Object.entries(malformed)) {
  Deno.test(`readSafetensors() refuses a header that ${what}`, () => {
    assert.throws(() => readSafetensors(file(header, bytesOf(1, 2)), "w"), {
      name: "RangeError",
      message,
    });
  });
}
