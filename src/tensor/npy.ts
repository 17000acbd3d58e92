/** NumPy's files of one array, format 1 to 3 (numpy.lib.format): a header that is a Python dict, then the elements. */
import { describe, shorten } from "../base/describe.ts";
import {
  newElements,
  type PlainTensor,
  plainTensor,
  type PlainType,
} from "./plain_tensor.ts";
import { elementCount } from "./tensor.ts";

const MAGIC = "\x93NUMPY";

const TYPES: Readonly<Record<string, PlainType>> = {
  "<f4": "float32",
  "<f8": "float32",
  "<i4": "int32",
  "<i8": "int64",
  "|i1": "int8",
  "|u1": "uint8",
  "|b1": "bool",
};

/**
 * An array in C order, little-endian; of f64 the nearest f32.
 * @param label what messages call it
 * @throws RangeError when it is none
 */
export function readNpy(file: Uint8Array, label: string): PlainTensor {
  const fail = (what: string): never => {
    throw new RangeError(`Cannot read ${shorten(label)}: ${what}`);
  };
  const text = (from: number, to: number) =>
    String.fromCharCode(...file.subarray(from, Math.min(to, from + 4096)));
  if (text(0, MAGIC.length) !== MAGIC || file.length < 12) {
    return fail("it is no .npy file");
  }
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const isFirst = file[6] === 1;
  const start = isFirst ? 10 : 12;
  const end = start +
    (isFirst ? view.getUint16(8, true) : view.getUint32(8, true));
  const header = text(start, end);
  const kind = /'descr':\s*'([^']+)'/.exec(header)?.[1] ?? "";
  const type = TYPES[kind] ?? fail(`its elements are ${describe(kind)}`);
  if (!/'fortran_order':\s*False/.test(header)) {
    fail("it is in Fortran's order");
  }
  const dims = (/'shape':\s*\(([^)]*)\)/.exec(header)?.[1] ??
    fail("it has no shape")).split(",").map((size) => size.trim())
    .filter((size) => size !== "").map(Number);
  const count = elementCount(dims);
  const size = Number(kind.slice(2));
  if (!Number.isSafeInteger(count) || file.length - end !== count * size) {
    fail(
      `it has ${file.length - end} bytes of elements, its shape (${
        dims.join(", ")
      }) needs ${count * size}`,
    );
  }
  const bytes = file.slice(end).buffer;
  const data = kind === "<f8"
    ? Float32Array.from(new Float64Array(bytes))
    : new (newElements(type, 0).constructor as unknown as new (
      bytes: ArrayBuffer,
    ) => PlainTensor["data"])(bytes);
  return plainTensor(type, dims, data as never);
}
