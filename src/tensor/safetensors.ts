import { fileBytes } from "../base/bytes.ts";
import { describe, describeShape, isList, shorten } from "../base/describe.ts";
import { repeatedName } from "../base/json_names.ts";
import type { PlainTensor } from "./plain_tensor.ts";
import {
  bytesOfStored,
  plainTypeOfStored,
  storedElements,
  type StoredType,
} from "./stored_elements.ts";
import { type Tensor, tensor } from "./tensor.ts";

interface Entry {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data_offsets: readonly [start: number, end: number];
}

const KEYS = ["dtype", "shape", "data_offsets"];

/** As in the format's own implementation. */
const HEADER_BYTES_MAX = 100_000_000n;

/** Axes of a tensor; no library has more. */
const AXES_MAX = 64;

/** Characters that a message repeats of the file's name, and of a tensor's. */
const NAME_SHOWN = 60;

/** Element types that are read, by the names that the format has for them. */
const DTYPES: Readonly<Record<string, StoredType>> = {
  F64: "float64",
  F32: "float32",
  F16: "float16",
  BF16: "bfloat16",
  I64: "int64",
  I32: "int32",
  I16: "int16",
  I8: "int8",
  U64: "uint64",
  U32: "uint32",
  U16: "uint16",
  U8: "uint8",
  BOOL: "bool",
};

/** Those of weights. */
const FLOATS: readonly string[] = ["F32", "F16", "BF16", "F64"];

/**
 * Reads the weights of a `.safetensors` file, all of them floats: F16 and BF16 are widened, exactly, F64 is narrowed to
 * the nearest.
 *
 * Format: u64 little-endian length of the header, JSON header (name -> dtype, shape, data_offsets
 * relative to the end of the header), raw data. The tensors' ranges cover the data: every byte is of one
 * tensor, in whatever order, so that what is read never takes more than twice the room of the file.
 * @param file the whole file
 * @param label what to call the file in messages
 * @returns copies of the tensors, by name; "__metadata__" is left out
 * @throws RangeError or TypeError naming the file and the tensor when it is truncated or malformed, or a tensor has no
 * floats or no elements
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { readSafetensors } from "@shoal/core";
 *
 * // What another library writes, usually read from a file: a tensor [2] of f32.
 * const header = new TextEncoder().encode(
 *   JSON.stringify({ bias: { dtype: "F32", shape: [2], data_offsets: [0, 8] } }),
 * );
 * const file = new Uint8Array(8 + header.length + 8);
 * new DataView(file.buffer).setBigUint64(0, BigInt(header.length), true);
 * file.set(header, 8);
 * file.set(new Uint8Array(Float32Array.of(0.5, -1).buffer), 8 + header.length);
 *
 * const tensors = readSafetensors(file, "model.safetensors");
 * assert.deepEqual(tensors.get("bias")?.data, Float32Array.of(0.5, -1));
 * ```
 */
export function readSafetensors(
  file: Uint8Array | ArrayBufferLike,
  label: string,
): Map<string, Tensor> {
  const check = ({ dtype, shape }: Entry) => {
    if (!FLOATS.includes(dtype)) {
      return `is ${shorten(dtype, NAME_SHOWN)}, expected ${FLOATS.join(", ")}`;
    }
    return shape.includes(0)
      ? `has shape ${describeShape(shape)}, expected positive sizes`
      : undefined;
  };
  const tensors = read(file, label, check);
  return new Map(
    [...tensors].map(([name, { dims, data }]) =>
      [name, tensor(dims, data as Float32Array)] as const
    ),
  );
}

/**
 * Reads all tensors of a `.safetensors` file, of any element type and any sizes; floats as `readSafetensors` does.
 * @param file the whole file
 * @param label what to call the file in messages
 * @returns copies of the tensors, by name; "__metadata__" is left out
 * @throws RangeError or TypeError naming the file and the tensor when it is truncated or malformed, or its elements are
 * of a type that is not read (floats of 8 bits and less)
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { readPlainSafetensors } from "@shoal/core/onnx";
 *
 * const header = new TextEncoder().encode(
 *   JSON.stringify({ ids: { dtype: "I8", shape: [3], data_offsets: [0, 3] } }),
 * );
 * const file = new Uint8Array(8 + header.length + 3);
 * new DataView(file.buffer).setBigUint64(0, BigInt(header.length), true);
 * file.set(header, 8);
 * file.set([1, 2, 255], 8 + header.length);
 *
 * const { type, dims, data } = readPlainSafetensors(file, "w").get("ids")!;
 * assert.deepEqual([type, dims, [...data]], ["int8", [3], [1, 2, -1]]);
 * ```
 */
export function readPlainSafetensors(
  file: Uint8Array | ArrayBufferLike,
  label: string,
): Map<string, PlainTensor> {
  return read(
    file,
    label,
    ({ dtype }) =>
      Object.hasOwn(DTYPES, dtype)
        ? undefined
        : `is ${shorten(dtype, NAME_SHOWN)}, which is not read`,
  );
}

/** @param check says what is wrong with a tensor that is not wanted */
function read(
  file: Uint8Array | ArrayBufferLike,
  label: string,
  check: (entry: Entry) => string | undefined,
): Map<string, PlainTensor> {
  const name = typeof label === "string" ? label : describe(label);
  const fail = (what: string): never => {
    throw new RangeError(
      `Cannot read weights from ${shorten(name, NAME_SHOWN)}: ${what}`,
    );
  };
  const bytes = bytesOf(file, shorten(name, NAME_SHOWN));
  if (bytes.byteLength < 8) {
    fail(`${bytes.byteLength} bytes are too few for a safetensors header`);
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const claimed = view.getBigUint64(0, true);
  if (claimed > HEADER_BYTES_MAX) {
    fail(
      `the header claims ${claimed} bytes, more than the ${HEADER_BYTES_MAX} that the format allows`,
    );
  }
  const dataStart = 8 + Number(claimed);
  if (dataStart > bytes.byteLength) {
    fail(
      `the header claims ${claimed} bytes, the file has ${bytes.byteLength} (truncated?)`,
    );
  }
  const data = bytes.subarray(dataStart);
  const entries = entriesOf(bytes.subarray(8, dataStart), check, fail);
  checkCover(entries, data.byteLength, fail);
  const tensors = new Map<string, PlainTensor>();
  for (const [name, entry] of entries) {
    const { dtype, shape, data_offsets: [start, end] } = entry;
    // Copied: the data of a safetensors file need not be aligned. Not with slice(), which is a
    // view where `data` is a Node Buffer.
    const { buffer } = new Uint8Array(data.subarray(start, end));
    const stored = DTYPES[dtype];
    tensors.set(
      name,
      {
        type: plainTypeOfStored(stored),
        dims: shape,
        data: storedElements(stored, buffer),
      } as PlainTensor,
    );
  }
  return tensors;
}

function bytesOf(file: Uint8Array | ArrayBufferLike, label: string) {
  const bytes = fileBytes(file);
  if (bytes) return bytes;
  throw new TypeError(
    `Cannot read weights from ${label}: a file is a Uint8Array or an ArrayBuffer, got ${
      describe(file)
    }`,
  );
}

/** The tensors that a header names, each with as many bytes as its shape needs. */
function entriesOf(
  bytes: Uint8Array,
  check: (entry: Entry) => string | undefined,
  fail: (what: string) => never,
): [name: string, entry: Entry][] {
  let header: unknown;
  let text: string;
  try {
    // Copied: decoders refuse shared memory.
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
      .decode(new Uint8Array(bytes));
    header = JSON.parse(text);
  } catch (error) {
    return fail(
      `the header is not JSON (${shorten((error as Error).message)})`,
    );
  }
  if (!isRecord(header)) {
    return fail(`the header is ${describe(header)}, expected an object`);
  }
  // The format has no name twice; parsers keep the last one, and would leave a tensor out.
  const twice = repeatedName(text);
  if (twice !== undefined) {
    fail(`the header has "${shorten(twice.name, NAME_SHOWN)}" twice`);
  }
  const entries: [string, Entry][] = [];
  for (const [name, entry] of Object.entries(header)) {
    if (name === "__metadata__") continue;
    const what = `tensor "${shorten(name, NAME_SHOWN)}"`;
    if (!isEntry(entry)) {
      return fail(
        `${what} is described as ${describe(entry)}, ` +
          `expected dtype, shape of whole numbers, data_offsets`,
      );
    }
    const wrong = check(entry);
    if (wrong !== undefined) fail(`${what} ${wrong}`);
    const [start, end] = entry.data_offsets;
    const needed = entry.shape.reduce(
      (product, size) => product * size,
      bytesOfStored(DTYPES[entry.dtype]),
    );
    // Where a product is no longer exact, no file has as many bytes.
    if (end - start !== needed || !Number.isSafeInteger(needed)) {
      fail(
        `${what} has ${end - start} bytes, its shape ${
          describeShape(entry.shape)
        } needs ${needed}`,
      );
    }
    entries.push([name, entry]);
  }
  return entries;
}

/** Every byte of the data is of one tensor. */
function checkCover(
  entries: readonly (readonly [name: string, entry: Entry])[],
  dataBytes: number,
  fail: (what: string) => never,
): void {
  const inOrder = [...entries].sort(([, a], [, b]) =>
    a.data_offsets[0] - b.data_offsets[0]
  );
  let covered = 0;
  for (const [name, { data_offsets: [start, end] }] of inOrder) {
    const what = `tensor "${shorten(name, NAME_SHOWN)}"`;
    if (end > dataBytes) {
      fail(
        `${what} ends at byte ${end} of the data, of which the file has ${dataBytes} (truncated?)`,
      );
    }
    if (start < covered) {
      fail(
        `${what} starts at byte ${start} of the data, inside another tensor, which ends at ${covered}`,
      );
    }
    if (start > covered) {
      fail(`bytes ${covered} to ${start} of the data are of no tensor`);
    }
    covered = end;
  }
  if (covered < dataBytes) {
    fail(`bytes ${covered} to ${dataBytes} of the data are of no tensor`);
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !isList(value);
}

function isEntry(value: unknown): value is Entry {
  if (!isRecord(value)) return false;
  const { dtype, shape, data_offsets: offsets } = value;
  return typeof dtype === "string" &&
    isList(shape) && shape.length <= AXES_MAX &&
    shape.every((size) => Number.isSafeInteger(size) && Number(size) >= 0) &&
    isList(offsets) && offsets.length === 2 &&
    offsets.every((at) => Number.isSafeInteger(at) && Number(at) >= 0) &&
    Object.keys(value).every((key) => KEYS.includes(key));
}
