/** Elements as bytes (Triton's extension "binary_tensor_data"): little-endian, row-major, without padding. */
import { shorten } from "../../base/describe.ts";
import {
  type Datatype,
  DATATYPE_ARRAYS,
  type WireElements,
} from "../host/datatypes.ts";
import type { WireTensor } from "../host/served_model.ts";
import { HttpError } from "../http/http_error.ts";

/** Bytes of the length that goes before each element of BYTES. */
const LENGTH_BYTES = 4;

/** Elements of BYTES of a request: one of four bytes becomes an object of two hundred. */
const STRINGS_MAX = 2 ** 20;

/** Browsers, Deno, Node and Bun run on nothing else; said here, where it would matter. */
const IS_LITTLE = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

/**
 * @param count elements; of a type of one size, as many as the bytes are
 * @param bytes anywhere in a buffer: they are copied, so that arrays lie where they may
 * @throws HttpError 400 when these are no such elements
 */
export function elementsOfBytes(
  what: string,
  datatype: Datatype,
  count: number,
  bytes: Uint8Array,
): WireElements {
  if (datatype === "BYTES") return readStrings(what, count, bytes);
  checkOrder();
  if (datatype === "BOOL") {
    for (let i = 0; i < bytes.length; i++) {
      if (bytes[i] <= 1) continue;
      throw new HttpError(
        400,
        `${what} is BOOL, bytes of 0 or 1, got ${bytes[i]} at ${i}`,
      );
    }
  }
  return new DATATYPE_ARRAYS[datatype](
    bytes.buffer.slice(
      bytes.byteOffset,
      bytes.byteOffset + bytes.byteLength,
    ) as ArrayBuffer,
  );
}

/** The bytes of a tensor's elements; those of an array of one size are not copied. */
export function bytesOfElements(
  { datatype, data }: WireTensor,
): Uint8Array<ArrayBuffer> {
  if (datatype === "BYTES") return writeStrings(data as readonly Uint8Array[]);
  checkOrder();
  const { buffer, byteOffset, byteLength } = data as Float32Array<ArrayBuffer>;
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/**
 * @param what a tensor, or a request, of all of whose tensors these are
 * @throws HttpError 400 on more elements of BYTES than a request may bring
 */
export function checkStrings(what: string, count: number): void {
  if (count <= STRINGS_MAX) return;
  throw new HttpError(
    400,
    `${what} has up to ${STRINGS_MAX} strings of BYTES, got ${count}`,
  );
}

function readStrings(
  what: string,
  count: number,
  bytes: Uint8Array,
): Uint8Array[] {
  const fail = (why: string): never => {
    throw new HttpError(
      400,
      `${shorten(what)} is BYTES, each with its length in front: ${why}`,
    );
  };
  checkStrings(what, count);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const strings: Uint8Array[] = [];
  let at = 0;
  while (at < bytes.length) {
    if (at + LENGTH_BYTES > bytes.length) fail("the last length is cut off");
    if (strings.length === count) fail(`there are more than ${count}`);
    const length = view.getUint32(at, true);
    at += LENGTH_BYTES;
    if (length > bytes.length - at) {
      fail(`element ${strings.length} is cut off`);
    }
    strings.push(bytes.slice(at, at + length));
    at += length;
  }
  if (strings.length !== count) {
    fail(`there are ${strings.length}, not ${count}`);
  }
  return strings;
}

function writeStrings(strings: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const size = strings.reduce(
    (sum, { length }) => sum + LENGTH_BYTES + length,
    0,
  );
  const bytes = new Uint8Array(size);
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const string of strings) {
    view.setUint32(at, string.length, true);
    bytes.set(string, at + LENGTH_BYTES);
    at += LENGTH_BYTES + string.length;
  }
  return bytes;
}

function checkOrder(): void {
  if (!IS_LITTLE) {
    throw new Error("Binary tensors are little-endian, unlike this machine");
  }
}
