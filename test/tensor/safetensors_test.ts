import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import {
  readPlainSafetensors,
  readSafetensors,
} from "../../src/tensor/safetensors.ts";
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
    { a: { dtype: "I16", shape: [2], data_offsets: [0, 4] } },
    /tensor "a" is I16, expected F32, F16, BF16, F64/,
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
    /tensor "a" has shape \[0\], expected positive sizes/,
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

Deno.test("readSafetensors() reads ranges in whatever order, and an ArrayBuffer", () => {
  const swapped = file({
    a: { dtype: "F32", shape: [1], data_offsets: [8, 12] },
    b: { dtype: "F32", shape: [2], data_offsets: [0, 8] },
  }, bytesOf(1, 2, 3));
  const buffer = new Uint8Array(swapped).buffer;
  const shared = new SharedArrayBuffer(swapped.length);
  new Uint8Array(shared).set(swapped);
  for (const given of [swapped, buffer, shared, new Uint8Array(shared)]) {
    const tensors = readSafetensors(given, "w");
    assert.deepEqual(tensors.get("a")!.data, Float32Array.of(3));
    assert.deepEqual(tensors.get("b")!.data, Float32Array.of(1, 2));
    assert(tensors.get("b")!.data.buffer instanceof ArrayBuffer);
  }
  for (const given of [undefined, null, "w", [1], new Float32Array(9), {}]) {
    assert.throws(() => readSafetensors(given as Uint8Array, "w.file"), {
      name: "TypeError",
      message:
        /^Cannot read weights from w\.file: a file is a Uint8Array or an ArrayBuffer, got /,
    });
  }
});

Deno.test("readSafetensors() refuses ranges that overlap or leave bytes out", () => {
  const at = (start: number, end: number) => ({
    dtype: "F32",
    shape: [(end - start) / 4],
    data_offsets: [start, end],
  });
  const refused: [Record<string, unknown>, RegExp][] = [
    [
      { a: at(0, 12), b: at(0, 12) },
      /"b" starts at byte 0 .* inside another tensor, which ends at 12/,
    ],
    [{ a: at(0, 8), b: at(4, 12) }, /"b" starts at byte 4/],
    [
      { a: at(0, 4), b: at(8, 12) },
      /bytes 4 to 8 of the data are of no tensor/,
    ],
    [{ a: at(4, 12) }, /bytes 0 to 4 of the data/],
    [{ a: at(0, 8) }, /bytes 8 to 12 of the data/],
    [{}, /bytes 0 to 12 of the data/],
  ];
  for (const [header, message] of refused) {
    assert.throws(() => readSafetensors(file(header, bytesOf(1, 2, 3)), "w"), {
      name: "RangeError",
      message,
    });
  }
  // What many names would make of one range.
  const many = Object.fromEntries(
    Array.from({ length: 1000 }, (_, i) => [`t${i}`, at(0, 4000)]),
  );
  assert.throws(
    () => readSafetensors(file(many, new Uint8Array(4000)), "w"),
    /inside another tensor/,
  );
});

Deno.test("readSafetensors() refuses headers that no file has", () => {
  const one = { dtype: "F32", shape: [1], data_offsets: [0, 4] };
  const refused: [unknown, RegExp][] = [
    [
      { a: { ...one, shape: [2 ** 31, 2 ** 31] } },
      /its shape .* needs 18446744073709552000/,
    ],
    [{ a: { ...one, shape: new Array(100).fill(2 ** 50) } }, /described as/],
    [{ a: { ...one, shape: [2 ** 53] } }, /described as/],
    [{ a: { ...one, extra: 1 } }, /described as .*expected dtype/],
    [{ a: 5 }, /"a" is described as 5/],
    [{ a: null }, /"a" is described as null/],
    [{ a: [one] }, /"a" is described as \[/],
    ['{"__proto__": 5}', /"__proto__" is described as 5/],
    [
      '{"a": {"__proto__": {}, "dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}',
      /"a" is described as/,
    ],
    [{ ["n".repeat(1e6)]: 5 }, /^.{1,200}$/],
    [{ a: "v".repeat(1e6) }, /^.{1,250}$/],
    [{ a: { ...one, dtype: "d".repeat(1e6) } }, /^.{1,200}$/],
    ["[".repeat(1e6), /the header is not JSON/],
    [
      '{"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}, ' +
      '"\\u0061": {"dtype": "F32", "shape": [1, 1], "data_offsets": [0, 4]}}',
      /the header has "a" twice/,
    ],
    [
      '{"a": {"dtype": "F32", "shape": [1], "shape": [], "data_offsets": [0, 4]}}',
      /the header has "shape" twice/,
    ],
  ];
  for (const [header, message] of refused) {
    assert.throws(() => readSafetensors(file(header, bytesOf(1)), "w"), {
      name: "RangeError",
      message,
    });
  }
  const named = readSafetensors(
    file(`{"__proto__": ${JSON.stringify(one)}}`, bytesOf(7)),
    "w",
  );
  assert.deepEqual(named.get("__proto__")!.data, Float32Array.of(7));
  for (const claimed of [100_000_001n, 2n ** 53n + 8n, 2n ** 64n - 1n]) {
    const bytes = new Uint8Array(64);
    new DataView(bytes.buffer).setBigUint64(0, claimed, true);
    assert.throws(() => readSafetensors(bytes, "w"), {
      name: "RangeError",
      message: new RegExp(`claims ${claimed} bytes, more than the 100000000`),
    });
  }
});

/** Tensors by name, and the file that holds them in the order of `ranks`. */
const anyFile = fc.uniqueArray(
  fc.record({
    name: fc.string({ maxLength: 8 }).filter((name) => name !== "__metadata__"),
    shape: fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 3 }),
    rank: fc.nat(),
  }),
  { selector: ({ name }) => name, maxLength: 6 },
).map((tensors) => {
  const expected = new Map<string, Float32Array>();
  const header = new Map<string, unknown>();
  const data: number[] = [];
  for (const { name, shape } of [...tensors].sort((a, b) => a.rank - b.rank)) {
    const count = shape.reduce((product, size) => product * size, 1);
    const start = 4 * data.length;
    for (let i = 0; i < count; i++) data.push(data.length + 0.5);
    expected.set(name, Float32Array.from(data.slice(start / 4)));
    header.set(name, {
      dtype: "F32",
      shape,
      data_offsets: [start, 4 * data.length],
    });
  }
  // Not an object: "__proto__" is a name as well.
  const entries = tensors.map(({ name }) =>
    `${JSON.stringify(name)}:${JSON.stringify(header.get(name))}`
  );
  const text = new TextEncoder().encode(`{${entries.join()}}`);
  const bytes = new Uint8Array(8 + text.length + 4 * data.length);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(text.length), true);
  bytes.set(text, 8);
  bytes.set(bytesOf(...data), 8 + text.length);
  return { expected, bytes };
});

Deno.test("readSafetensors() reads back what was written", () => {
  fc.assert(
    fc.property(anyFile, ({ expected, bytes }) => {
      const tensors = readSafetensors(bytes, "w");
      assert.equal(tensors.size, expected.size);
      for (const [name, data] of expected) {
        assert.deepEqual(tensors.get(name)!.data, data);
      }
    }),
    { numRuns: propertyRuns(200) },
  );
});

Deno.test("readSafetensors() reads what was damaged or says so, and never more than the file", () => {
  const damage = fc.array(
    fc.tuple(
      fc.nat(),
      fc.oneof(fc.constantFrom(...'0123456789,:[]{}"'), fc.nat(255)),
    ),
    { minLength: 1, maxLength: 4 },
  );
  fc.assert(
    fc.property(anyFile, damage, fc.nat(12), ({ bytes }, changes, cut) => {
      const broken = bytes.slice(0, Math.max(0, bytes.length - cut));
      for (const [at, value] of changes) {
        if (broken.length === 0) break;
        broken[at % broken.length] = typeof value === "number"
          ? value
          : value.charCodeAt(0);
      }
      let read = 0;
      try {
        for (const { data } of readSafetensors(broken, "w").values()) {
          read += data.byteLength;
        }
      } catch (error) {
        assert(error instanceof RangeError || error instanceof TypeError);
        assert(error.message.length < 400);
      }
      assert(read <= broken.length, `${read} of ${broken.length} bytes`);
    }),
    { numRuns: propertyRuns(500) },
  );
});

/** A file of one tensor. */
function one(
  dtype: string,
  shape: number[],
  data: ArrayBufferView,
): Uint8Array {
  const { buffer, byteLength } = data;
  return file(
    { t: { dtype, shape, data_offsets: [0, byteLength] } },
    new Uint8Array(buffer as ArrayBuffer),
  );
}

Deno.test("readSafetensors() reads floats of 16 and 64 bits as f32", () => {
  const cases: [string, ArrayBufferView, number[]][] = [
    ["F16", Uint16Array.of(0x3c00, 0xc000, 0x7c00), [1, -2, Infinity]],
    ["BF16", Uint16Array.of(0x3f80, 0xc000, 0x7f80), [1, -2, Infinity]],
    ["F64", Float64Array.of(0.1, -2, 1e300), [Math.fround(0.1), -2, Infinity]],
  ];
  for (const [dtype, data, expected] of cases) {
    assert.deepEqual(readSafetensors(one(dtype, [3], data), "w").get("t"), {
      shape: [3],
      data: Float32Array.from(expected),
    });
  }
});

Deno.test("readPlainSafetensors() reads tensors of all types and sizes", () => {
  const cases: [string, string, ArrayBufferView][] = [
    ["F32", "float32", Float32Array.of(0.5, -1)],
    ["I64", "int64", BigInt64Array.of(-1n, 2n ** 62n)],
    ["I32", "int32", Int32Array.of(-1, 7)],
    ["I16", "int16", Int16Array.of(-1, 7)],
    ["I8", "int8", Int8Array.of(-1, 7)],
    ["U64", "uint64", BigUint64Array.of(1n, 2n ** 63n)],
    ["U32", "uint32", Uint32Array.of(1, 2 ** 31)],
    ["U16", "uint16", Uint16Array.of(1, 40_000)],
    ["U8", "uint8", Uint8Array.of(1, 200)],
    ["BOOL", "bool", Uint8Array.of(0, 1)],
  ];
  for (const [dtype, type, data] of cases) {
    const tensors = readPlainSafetensors(one(dtype, [2, 1], data), "w");
    assert.deepEqual(tensors.get("t"), { type, dims: [2, 1], data });
  }
  const scalar = one("F32", [], Float32Array.of(3));
  assert.deepEqual(readPlainSafetensors(scalar, "w").get("t")?.dims, []);
  const none = one("I8", [3, 0], new Int8Array(0));
  assert.deepEqual(readPlainSafetensors(none, "w").get("t")?.dims, [3, 0]);
  assert.throws(
    () => readPlainSafetensors(one("F8_E4M3", [1], Uint8Array.of(0)), "w"),
    /tensor "t" is F8_E4M3, which is not read/,
  );
  assert.throws(
    () => readPlainSafetensors(one("constructor", [1], Uint8Array.of(0)), "w"),
    /tensor "t" is constructor, which is not read/,
  );
});

Deno.test("a changed file of tensors is read or refused by name", () => {
  const whole = file({
    a: { dtype: "F16", shape: [2, 1], data_offsets: [0, 4] },
    b: { dtype: "I64", shape: [1], data_offsets: [4, 12] },
  }, new Uint8Array(12));
  fc.assert(
    fc.property(
      fc.array(
        fc.tuple(fc.nat(whole.length - 1), fc.integer({ min: 0, max: 255 })),
        { minLength: 1, maxLength: 3 },
      ),
      fc.nat(whole.length),
      (changes, length) => {
        const changed = new Uint8Array(whole);
        for (const [at, byte] of changes) changed[at] = byte;
        for (const given of [changed, changed.subarray(0, length)]) {
          try {
            readPlainSafetensors(given, "w");
          } catch (error) {
            assert.equal((error as Error).name, "RangeError");
            assert.match(
              (error as Error).message,
              /^Cannot read weights from w/,
            );
          }
        }
      },
    ),
    { numRuns: propertyRuns(1000) },
  );
});

Deno.test("weights may be brought by another realm", () => {
  const bytes = runInNewContext(
    "Uint8Array.of(2, 0, 0, 0, 0, 0, 0, 0, 123, 125)",
  );
  assert(!(bytes instanceof Uint8Array));
  assert.equal(readSafetensors(bytes, "w").size, 0);
  assert.equal(readSafetensors(bytes.buffer, "w").size, 0);
});
