/** NumPy's files of one array, format 1 to 3 (numpy.lib.format): a header that is a Python dict, then the elements. */
import { describe, shorten } from "../base/describe.ts";
import { type PlainTensor, plainTensor } from "./plain_tensor.ts";
import {
  bytesOfStored,
  plainTypeOfStored,
  storedElements,
  type StoredType,
} from "./stored_elements.ts";
import { elementCount } from "./tensor.ts";

const MAGIC = "\x93NUMPY";

const TYPES: ReadonlyMap<string, StoredType> = new Map([
  ["<f4", "float32"],
  ["<f8", "float64"],
  ["<f2", "float16"],
  ["<i4", "int32"],
  ["<i8", "int64"],
  ["|i1", "int8"],
  ["|u1", "uint8"],
  ["|b1", "bool"],
]);

/**
 * An array in C order, little-endian; of f16 the same numbers in f32, of f64 the nearest.
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
  if (end > file.length) {
    return fail(
      `its header ends at byte ${end}, the file has ${file.length} (truncated?)`,
    );
  }
  const header = text(start, end);
  const kind = /'descr':\s*'([^']+)'/.exec(header)?.[1] ?? "";
  const stored = TYPES.get(kind) ?? fail(
    `its elements are ${describe(kind)}, expected one of ${
      [...TYPES.keys()].join(", ")
    } (numpy's astype)`,
  );
  if (!/'fortran_order':\s*False/.test(header)) {
    fail("it is in Fortran's order (see numpy.ascontiguousarray)");
  }
  const shape = /'shape':\s*\(([^)]*)\)/.exec(header)?.[1] ??
    fail("it has no shape");
  const sizes = shape.split(",").map((size) => size.trim())
    .filter((size) => size !== "");
  if (!sizes.every((size) => /^\d{1,15}$/.test(size))) {
    fail(`its shape is (${shorten(shape)}), expected whole numbers`);
  }
  const dims = sizes.map(Number);
  const needed = elementCount(dims) * bytesOfStored(stored);
  if (!Number.isSafeInteger(needed) || file.length - end !== needed) {
    fail(
      `it has ${file.length - end} bytes of elements, its shape (${
        dims.join(", ")
      }) needs ${needed}`,
    );
  }
  // Not with slice(), which is a view where the file is a Node Buffer.
  const { buffer } = new Uint8Array(file.subarray(end));
  const data = storedElements(stored, buffer);
  return plainTensor(plainTypeOfStored(stored), dims, data as never);
}
