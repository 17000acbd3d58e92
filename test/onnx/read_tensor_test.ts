/** Constants in every form that files have them in. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { readModel } from "../../src/onnx/read/read_model.ts";
import {
  isBig,
  newElements,
  PLAIN_TYPES,
  type PlainTensor,
  plainTensor,
  type PlainType,
} from "../../src/tensor/plain_tensor.ts";
import { propertyRuns } from "../property_runs.ts";
import { bytes, integer, text, type WireMessage } from "./wire.ts";
import { ELEMENT, writeModel } from "./write_model.ts";

/** A model whose output is a constant. */
function modelOf(fields: WireMessage): Uint8Array {
  return writeModel({
    graph: {
      outputs: [{ name: "w" }],
      initializers: { w: { fields } },
      nodes: [],
    },
  });
}

function read(fields: WireMessage, external?: Record<string, Uint8Array>) {
  return readModel(modelOf(fields), {
    label: "m.onnx",
    external: (location) => external?.[location],
  });
}

function tensorOf(fields: WireMessage): PlainTensor {
  return read(fields).graph.initializers.get("w")!;
}

/** The field that a type has its elements in. */
function typedField(type: PlainType): number {
  if (type === "float32") return 4;
  if (type === "int64") return 7;
  return type === "uint32" || type === "uint64" ? 11 : 5;
}

/** A tensor of any type whose elements are any bytes. */
const tensors = fc.tuple(
  fc.constantFrom(...PLAIN_TYPES),
  fc.array(fc.nat({ max: 3 }), { maxLength: 3 }),
  fc.uint8Array({ minLength: 27 * 8, maxLength: 27 * 8 }),
).map(([type, dims, drawn]) => {
  const count = dims.reduce((product, size) => product * size, 1);
  const data = newElements(type, count);
  const raw = drawn.slice(0, data.byteLength);
  if (type === "bool") data.set(raw.map((byte) => byte & 1) as never);
  else new Uint8Array(data.buffer).set(raw);
  return plainTensor(type, dims, data as never) as PlainTensor;
});

function typedFields(
  { type, data }: PlainTensor,
  packed: boolean,
): WireMessage {
  const number = typedField(type);
  if (type === "float32") {
    return packed ? [bytes(number, new Uint8Array(data.buffer))] : Array.from(
      data,
      (value) => [number, { float: Number(value) }] as const,
    );
  }
  const values = isBig(data)
    ? Array.from(data)
    : Array.from(data, (value) => BigInt(value));
  if (!packed) return values.map((value) => integer(number, value));
  const written: number[] = [];
  for (const value of values) {
    let left = BigInt.asUintN(64, value);
    for (; left > 127n; left >>= 7n) written.push(Number(left & 127n) | 128);
    written.push(Number(left));
  }
  return [bytes(number, Uint8Array.from(written))];
}

Deno.test("a tensor is the same in raw, packed and single fields", () => {
  fc.assert(
    fc.property(tensors, (tensor) => {
      const head = [
        ...tensor.dims.map((size) => integer(1, size)),
        integer(2, ELEMENT[tensor.type]),
      ];
      const raw = tensorOf([
        ...head,
        bytes(9, new Uint8Array(tensor.data.buffer)),
      ]);
      assert.deepEqual(raw, tensor);
      for (const packed of [true, false]) {
        const fields = typedFields(tensor, packed);
        // A NaN's bits may change on the way through a number.
        if (
          tensor.type === "float32" && tensor.data.some(Number.isNaN as never)
        ) {
          continue;
        }
        assert.deepEqual(tensorOf([...head, ...fields]), tensor);
      }
    }),
    { numRuns: propertyRuns(200) },
  );
});

Deno.test("16-bit floats are widened, 64-bit floats narrowed, and the model says so", () => {
  const halves = Uint16Array.of(0x3c00, 0xc000, 0x0001);
  const cases: [WireMessage, number[], RegExp][] = [
    [
      [integer(2, ELEMENT.float16), bytes(9, new Uint8Array(halves.buffer))],
      [1, -2, 2 ** -24],
      /of float16 as float32, the first "w"/,
    ],
    [
      [
        integer(2, ELEMENT.float16),
        ...Array.from(halves, (bits) => integer(5, bits)),
      ],
      [1, -2, 2 ** -24],
      /of float16 as float32/,
    ],
    [
      [
        integer(2, ELEMENT.bfloat16),
        ...[0x3f80, 0xc000, 0x7f80].map((bits) => integer(5, bits)),
      ],
      [1, -2, Infinity],
      /of bfloat16 as float32/,
    ],
    [
      [
        integer(2, ELEMENT.float64),
        ...[0.1, -2, 1e300].map((double) => [10, { double }] as const),
      ],
      [Math.fround(0.1), -2, Infinity],
      /of float64 as float32/,
    ],
    [
      [
        integer(2, ELEMENT.float64),
        bytes(9, new Uint8Array(Float64Array.of(0.1, -2, 1e300).buffer)),
      ],
      [Math.fround(0.1), -2, Infinity],
      /of float64 as float32/,
    ],
  ];
  for (const [fields, expected, note] of cases) {
    const { graph, notes } = read([integer(1, 3), ...fields]);
    assert.deepEqual(
      graph.initializers.get("w"),
      plainTensor("float32", [3], Float32Array.from(expected)),
    );
    assert.equal(notes.length, 1);
    assert.match(notes[0], note);
  }
});

Deno.test("a bool is 0 or 1, whatever byte stands for true", () => {
  assert.deepEqual(
    tensorOf([
      integer(1, 3),
      integer(2, ELEMENT.bool),
      bytes(9, Uint8Array.of(0, 1, 7)),
    ]),
    plainTensor("bool", [3], Uint8Array.of(0, 1, 1)),
  );
});

function external(entries: Record<string, string>): WireMessage {
  return [
    integer(1, 2),
    integer(2, ELEMENT.float32),
    ...Object.entries(entries).map(([key, value]) =>
      [13, { message: [text(1, key), text(2, value)] }] as const
    ),
    integer(14, 1),
  ];
}

Deno.test("a tensor is read from a file beside the model, at any offset", () => {
  const file = new Uint8Array(19);
  file.set(new Uint8Array(Float32Array.of(1.5, -2).buffer), 7);
  for (const length of [{}, { length: "8" }] as Record<string, string>[]) {
    const { graph } = read(
      external({ location: "data/w.bin", offset: "7", ...length }),
      { "data/w.bin": file },
    );
    assert.deepEqual(
      graph.initializers.get("w")?.data,
      Float32Array.of(1.5, -2),
    );
  }
});

Deno.test("a tensor outside of the model's folder is refused before anything is opened", () => {
  for (
    const location of [
      ...["", ".", "..", "../w", "a/../../w", "a/..", "/etc/passwd", "a//b"],
      ...["C:\\w", "C:/w", "..\\w", "file:///w", "http://x/w", "%2e%2e/w"],
      ...[".. /w", "a/. ./w", "w\0", "w?", "//host/w", "./w"],
    ]
  ) {
    assert.throws(
      () =>
        readModel(modelOf(external({ location })), {
          label: "m.onnx",
          external: () => assert.fail(`opened ${location}`),
        }),
      /^OnnxError: Cannot load m.onnx: initializer "w": .* is not a path inside the model's folder$/s,
      location,
    );
  }
});

const EIGHT = { location: "w.bin" };

const REFUSED: Record<string, [WireMessage, RegExp]> = {
  "a file that is not there": [
    external({ location: "other.bin" }),
    /its data are in the file "other.bin", which was not given/,
  ],
  "a range behind a file's end": [
    external({ ...EIGHT, offset: "9" }),
    /end at byte 17 of "w.bin", which has 16 \(truncated\?\)/,
  ],
  "a length that does not fit": [
    external({ ...EIGHT, length: "12" }),
    /external data have 12 bytes, type and dims need 8/,
  ],
  "an offset that is no number": [
    external({ ...EIGHT, offset: "-8" }),
    /offset is "-8", expected a number/,
  ],
  "data in two places": [
    [...external(EIGHT), bytes(9, new Uint8Array(8))],
    /data in the model and in another file/,
  ],
  "typed data beside those of another file": [
    [...external(EIGHT), bytes(4, new Uint8Array(8))],
    /data in the model and in another file/,
  ],
  "too few bytes": [
    [integer(1, 3), integer(2, 1), bytes(9, new Uint8Array(8))],
    /it has 8 bytes, its dims need 3 elements of 4/,
  ],
  "too few elements": [
    [integer(1, 3), integer(2, 7), integer(7, 1)],
    /it has 1 elements, its dims \[3\] need 3/,
  ],
  "too many elements": [
    [integer(1, 1), integer(2, 7), integer(7, 1), integer(7, 2)],
    /it has 2 elements, its dims \[1\] need 1/,
  ],
  "dims beyond any memory": [
    [
      ...Array(20).fill(integer(1, 2 ** 52)),
      integer(2, 1),
      [4, { float: 0 }],
    ],
    /it has 1 elements, its dims .* need Infinity/,
  ],
  "a dim below 0": [
    [integer(1, -1), integer(2, 1)],
    /dims are whole numbers from 0, got \[-1\]/,
  ],
  "65 dims": [
    [...Array(65).fill(integer(1, 1)), integer(2, 1)],
    /it has 65 dims, more than 64/,
  ],
  "strings": [
    [integer(1, 1), integer(2, 8), text(6, "a")],
    /elements are of string, which is not read/,
  ],
  "8-bit floats": [
    [integer(1, 1), integer(2, 17), bytes(9, Uint8Array.of(1))],
    /elements are of float8e4m3fn, which is not read/,
  ],
  "a type that does not exist": [
    [integer(1, 1), integer(2, 99), bytes(9, Uint8Array.of(1))],
    /elements are of data type 99, which is not read/,
  ],
  "an element that the type does not have": [
    [integer(1, 2), integer(2, 3), integer(5, 1), integer(5, 128)],
    /element 1 is 128, which is no int8/,
  ],
  "a truth value of 2": [
    [integer(1, 1), integer(2, 9), integer(5, 2)],
    /element 0 is 2, which is no bool/,
  ],
  "elements in another type's field": [
    [integer(1, 1), integer(2, 1), integer(7, 1)],
    /elements of float32 are in field 4, but there is field 7/,
  ],
  "raw and typed data": [
    [integer(1, 1), integer(2, 6), integer(5, 1), bytes(9, new Uint8Array(4))],
    /it has both raw and typed data/,
  ],
  "a segment": [
    [integer(2, 1), [3, { message: [] }]],
    /tensors in segments are not read/,
  ],
  "floats that are cut off": [
    [integer(1, 1), integer(2, 1), bytes(4, new Uint8Array(5))],
    /field 4 has 5 bytes of numbers of 4/,
  ],
  "an integer that is cut off": [
    [integer(1, 1), integer(2, 7), bytes(7, Uint8Array.of(128))],
    /field 7 ends inside a number/,
  ],
};

for (const [what, [fields, message]] of Object.entries(REFUSED)) {
  Deno.test(`a tensor is refused with ${what}`, () => {
    assert.throws(
      () => read(fields, { "w.bin": new Uint8Array(16) }),
      (error) => {
        assert(error instanceof RangeError);
        assert.match(error.message, /^Cannot load m.onnx: initializer "w": /);
        assert.match(error.message, message);
        return true;
      },
    );
  });
}

Deno.test("a flood of tensors over one file is refused", () => {
  const tensor = { fields: external(EIGHT) };
  const model = (tensors: number) =>
    writeModel({
      graph: {
        outputs: [{ name: "w0" }],
        initializers: Object.fromEntries(
          Array.from({ length: tensors }, (_, i) => [`w${i}`, tensor]),
        ),
        nodes: [],
      },
    });
  const external_ = () => new Uint8Array(16);
  readModel(model(8), { external: external_ });
  assert.throws(
    () => readModel(model(9), { external: external_ }),
    /initializer "w8": tensors take more than 4 times the 16 bytes of "w.bin"/,
  );
});
