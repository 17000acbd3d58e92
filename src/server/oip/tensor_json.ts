/**
 * Elements as JSON: one flat list, or lists in lists as the shape has them. Integers of 64 bits are written and read with
 * all their digits; NaN and the infinities are strings (base/json_numbers.ts), on the way in also the words, which Python
 * writes.
 */
import { describe, describeShape } from "../../base/describe.ts";
import { jsonNumbers, specialNumber } from "../../base/json_numbers.ts";
import {
  type Datatype,
  DATATYPE_ARRAYS,
  type FixedDatatype,
  type WireElements,
} from "../host/datatypes.ts";
import type { WireTensor } from "../host/served_model.ts";
import { HttpError } from "../http/http_error.ts";
import { pieceTurn } from "../http/piece_turns.ts";
import { checkStrings } from "./tensor_bytes.ts";
import { elementCount } from "../../tensor/tensor.ts";

const FLOATS: readonly Datatype[] = ["FP32", "FP64"];

/**
 * @param what the tensor, for messages
 * @throws HttpError 400 when these are not as many elements of the type as the shape has
 */
export function elementsOfJson(
  what: string,
  datatype: Datatype,
  shape: readonly number[],
  value: unknown,
): WireElements {
  if (datatype === "FP16" || datatype === "BF16") {
    throw new HttpError(
      400,
      `${what} is ${datatype}, which is sent as binary data only`,
    );
  }
  const list = flattened(what, shape, value);
  const count = elementCount(shape);
  if (list.length !== count) {
    throw new HttpError(
      400,
      `${what} has shape ${
        describeShape(shape)
      }, ${count} elements, got ${list.length}`,
    );
  }
  if (datatype === "BYTES") {
    checkStrings(what, count);
    return list.map((element) => stringOf(what, element));
  }
  return FLOATS.includes(datatype)
    ? floatsOf(what, datatype as "FP32" | "FP64", list)
    : integersOf(what, datatype, list);
}

/** Elements that are written in one turn: some 0.3 ms. */
const PIECE = 2048;

/** A tensor's elements as a JSON array, a turn of the event loop for each piece. */
export async function jsonOfElements(tensor: WireTensor): Promise<string> {
  const { name, datatype, data } = tensor;
  if (datatype === "FP16" || datatype === "BF16") {
    throw new HttpError(
      400,
      `Output "${name}" is ${datatype}, which is sent as binary data only`,
    );
  }
  const count = Math.max(1, Math.ceil(data.length / PIECE));
  const pieces: string[] = [];
  for (let i = 0; i < count; i++) {
    await pieceTurn(count - i);
    const piece = data.slice(i * PIECE, (i + 1) * PIECE) as WireElements;
    pieces.push(textOf(datatype, piece));
  }
  return `[${pieces.join()}]`;
}

/** Without brackets. */
function textOf(datatype: Datatype, data: WireElements): string {
  if (datatype === "BYTES") {
    const decoder = new TextDecoder();
    const strings = data as readonly Uint8Array[];
    return strings.map((bytes) => JSON.stringify(decoder.decode(bytes))).join();
  }
  if (datatype === "BOOL") {
    return Array.from(data as Uint8Array, (value) => value !== 0).join();
  }
  return jsonNumbers(data as Float32Array);
}

/** Elements in one list. Lists in lists have to have the shape's sizes. */
function flattened(
  what: string,
  shape: readonly number[],
  value: unknown,
): readonly unknown[] {
  if (!Array.isArray(value)) {
    throw new HttpError(
      400,
      `"data" of ${what} is an array, got ${describe(value)}`,
    );
  }
  if (!value.some(Array.isArray)) return value;
  let level: readonly unknown[] = [value];
  for (const size of shape) {
    const inner: unknown[] = [];
    for (const list of level) {
      if (!Array.isArray(list) || list.length !== size) {
        throw new HttpError(
          400,
          `"data" of ${what} is one list, or lists in lists of ${
            describeShape(shape)
          }`,
        );
      }
      for (const element of list) inner.push(element);
    }
    level = inner;
  }
  return level;
}

function floatsOf(
  what: string,
  datatype: "FP32" | "FP64",
  list: readonly unknown[],
): WireElements {
  const data = new DATATYPE_ARRAYS[datatype](list.length);
  for (let i = 0; i < list.length; i++) {
    const element = list[i];
    if (typeof element === "number") data[i] = element;
    else if (typeof element === "bigint") data[i] = Number(element);
    else {
      data[i] = specialNumber(element) ?? failAt(what, datatype, element, i);
    }
  }
  return data;
}

function integersOf(
  what: string,
  datatype: FixedDatatype,
  list: readonly unknown[],
): WireElements {
  const data = new DATATYPE_ARRAYS[datatype](list.length) as Int32Array;
  const isBig = (data as unknown) instanceof BigInt64Array ||
    (data as unknown) instanceof BigUint64Array;
  const isBool = datatype === "BOOL";
  for (let i = 0; i < list.length; i++) {
    const element = list[i];
    const value = isBool && typeof element === "boolean"
      ? Number(element)
      : element;
    const isInteger = typeof value === "bigint" || Number.isSafeInteger(value);
    if (!isInteger) failAt(what, datatype, element, i);
    const given = value as number | bigint;
    data[i] = (isBig ? BigInt(given) : Number(given)) as number;
    // deno-lint-ignore eqeqeq -- a bigint and a number of one value
    if (data[i] != given || (isBool && data[i] > 1)) {
      failAt(what, datatype, element, i);
    }
  }
  return data;
}

function stringOf(what: string, element: unknown): Uint8Array {
  if (typeof element === "string") return new TextEncoder().encode(element);
  throw new HttpError(
    400,
    `${what} is BYTES, strings, got ${describe(element)}`,
  );
}

function failAt(
  what: string,
  datatype: Datatype,
  element: unknown,
  at: number,
): never {
  throw new HttpError(
    400,
    `${what} is ${datatype}, got ${describe(element)} at ${at}`,
  );
}
