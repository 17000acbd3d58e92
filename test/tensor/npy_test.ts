/** Files as numpy.save writes them. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { readNpy } from "../../src/tensor/npy.ts";

/** A file of format 1; the header as it is, unless `claimed` says that it is longer. */
function file(
  header: string,
  elements: ArrayBufferView,
  claimed = header.length,
): Uint8Array {
  const { buffer, byteOffset, byteLength } = elements;
  const bytes = new Uint8Array(10 + header.length + byteLength);
  bytes.set(new TextEncoder().encode(header), 10);
  bytes.set(new Uint8Array(buffer, byteOffset, byteLength), 10 + header.length);
  bytes.set([0x93, ...new TextEncoder().encode("NUMPY"), 1, 0], 0);
  new DataView(bytes.buffer).setUint16(8, claimed, true);
  return bytes;
}

const header = (descr: string, shape: string, order = "False") =>
  `{'descr': '${descr}', 'fortran_order': ${order}, 'shape': (${shape}), }\n`;

Deno.test("readNpy() reads what numpy writes, from a Buffer, too", () => {
  const read: [string, ArrayBufferView, string, number[]][] = [
    ["<f4", Float32Array.of(1.5, -2), "float32", [1.5, -2]],
    ["<f8", Float64Array.of(1.5, -2), "float32", [1.5, -2]],
    ["<f2", Uint16Array.of(0x3e00, 0xc000), "float32", [1.5, -2]],
    ["<i4", Int32Array.of(7, -7), "int32", [7, -7]],
    ["|u1", Uint8Array.of(7, 255), "uint8", [7, 255]],
    // A bool is 0 or 1, whatever byte a writer has left.
    ["|b1", Uint8Array.of(0, 7), "bool", [0, 1]],
  ];
  for (const [descr, elements, type, expected] of read) {
    const bytes = file(header(descr, "2, 1"), elements);
    for (const given of [bytes, Buffer.from(bytes)]) {
      const tensor = readNpy(given, "x.npy");
      assert.deepEqual(
        [tensor.type, tensor.dims, Array.from(tensor.data, Number)],
        [type, [2, 1], expected],
      );
    }
  }
  const { dims } = readNpy(file(header("<f4", ""), new Float32Array(1)), "x");
  assert.deepEqual(dims, []);
});

Deno.test("readNpy() says what is wrong with a file", () => {
  const four = new Float32Array(4);
  const refused: [Uint8Array, RegExp][] = [
    [new Uint8Array(20), /^Cannot read x.npy: it is no .npy file$/],
    [file(header("<f4", "4,"), four, 60_000), /ends at byte 60010.*truncated/],
    [file(header(">f4", "4,"), four), /are ">f4", expected one of <f4, <f8/],
    [file(header("<f4", "4,", "True"), four), /Fortran's order.*contiguous/],
    [file(header("<f4", "5,"), four), /16 bytes of elements, .* needs 20/],
    [
      file(header("<f4", "-2, -2"), four),
      /shape is \(-2, -2\), expected whole/,
    ],
    [file(header("<f4", "0x4,"), four), /shape is \(0x4,\), expected whole/],
    [file(header("<f4", "1.5,"), four), /shape is \(1.5,\), expected whole/],
    [
      file(header("<f4", `0, ${Array(40).fill(2 ** 49).join(", ")}`), four),
      /16 bytes of elements, .* needs (0|NaN)/,
    ],
  ];
  for (const [bytes, message] of refused) {
    assert.throws(() => readNpy(bytes, "x.npy"), {
      name: "RangeError",
      message,
    });
  }
});
