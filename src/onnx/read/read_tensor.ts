/**
 * `TensorProto` of onnx.proto. What is copied is never larger than eight times the file: every element takes at least
 * a byte there, or four of them share one and take one here.
 */
import { describeShape } from "../../base/describe.ts";
import { widenBfloat16, widenFloat16 } from "../../tensor/half.ts";
import { dataTypeName, plainTypeOf } from "../../tensor/onnx_types.ts";
import {
  newElements,
  type PlainArrays,
  type PlainTensor,
  type PlainType,
} from "../../tensor/plain_tensor.ts";
import {
  bytesOfStored,
  storedElements,
  type StoredType,
} from "../../tensor/stored_elements.ts";
import { elementCount } from "../../tensor/tensor.ts";
import type { Place } from "../place.ts";
import type { ReadContext } from "./context.ts";
import type { Message } from "./message.ts";
import {
  narrowBytes,
  narrowElements,
  narrowTypeOf,
} from "./narrow_integers.ts";

const DIMS = 1;
const DATA_TYPE = 2;
const SEGMENT = 3;
const FLOAT_DATA = 4;
const INT32_DATA = 5;
const STRING_DATA = 6;
const INT64_DATA = 7;
const RAW_DATA = 9;
const DOUBLE_DATA = 10;
const UINT64_DATA = 11;
const DATA_LOCATION = 14;
const EXTERNAL = 1;

/** Axes of a tensor; no library has more. */
export const AXES_MAX = 64;

/** The field with a type's elements, if they are not raw. */
const TYPED_FIELDS: Record<StoredType, number> = {
  float16: INT32_DATA,
  bfloat16: INT32_DATA,
  float32: FLOAT_DATA,
  float64: DOUBLE_DATA,
  int8: INT32_DATA,
  int16: INT32_DATA,
  int32: INT32_DATA,
  int64: INT64_DATA,
  uint8: INT32_DATA,
  uint16: INT32_DATA,
  uint32: UINT64_DATA,
  uint64: UINT64_DATA,
  bool: INT32_DATA,
};

const ALL_TYPED = [
  FLOAT_DATA,
  INT32_DATA,
  STRING_DATA,
  INT64_DATA,
  DOUBLE_DATA,
  UINT64_DATA,
];

/**
 * Reads a tensor.
 * @param message whose place names it
 * @param name for the notes
 * @throws OnnxError when its elements are of a type that is not read, or not as many as its dims need
 */
export function readTensor(
  message: Message,
  name: string,
  context: ReadContext,
): PlainTensor {
  const { place } = message;
  const code = message.int(DATA_TYPE);
  const narrow = narrowTypeOf(code);
  const type = narrow?.type ?? plainTypeOf(code);
  if (type === undefined) {
    return place.fail(
      `its elements are of ${dataTypeName(code)}, which is not read`,
    );
  }
  const stored = dataTypeName(code);
  if (message.has(SEGMENT)) place.fail("tensors in segments are not read");
  const dims = dimsOf(message);
  const count = elementCount(dims);
  const needed = narrow ? narrowBytes(narrow, count) : count;
  const data = elementsOf(
    message,
    narrow ? "uint8" : stored as StoredType,
    needed,
    context,
  );
  if (data.length !== needed) {
    place.fail(
      `it has ${data.length} ${narrow ? "bytes" : "elements"}, its dims ${
        describeShape(dims)
      } need ${needed}`,
    );
  }
  if (stored !== type) context.takenAs(stored, type, name);
  if (narrow === undefined) return { type, dims, data } as PlainTensor;
  const { bits } = narrow;
  const integers = narrowElements(narrow, data as Uint8Array, count);
  return { type, dims, data: integers, bits } as PlainTensor;
}

function dimsOf(message: Message): number[] {
  const { place } = message;
  const dims = Array.from(message.bigints(DIMS), Number);
  if (dims.length > AXES_MAX) {
    place.fail(`it has ${dims.length} dims, more than ${AXES_MAX}`);
  }
  if (!dims.every((size) => Number.isSafeInteger(size) && size >= 0)) {
    place.fail(
      `its dims are whole numbers from 0, got ${describeShape(dims)}`,
    );
  }
  return dims;
}

function elementsOf(
  message: Message,
  type: StoredType,
  count: number,
  context: ReadContext,
): PlainArrays[PlainType] {
  const { place } = message;
  const size = bytesOfStored(type);
  const given = ALL_TYPED.filter((field) => message.has(field));
  const raw = message.chunk(RAW_DATA);
  if (message.int(DATA_LOCATION) === EXTERNAL) {
    if (raw !== undefined || given.length > 0) {
      place.fail("it has data in the model and in another file");
    }
    const { buffer } = context.external.read(message, count * size);
    return storedElements(type, buffer);
  }
  if (raw !== undefined && (raw.length > 0 || given.length === 0)) {
    if (given.length > 0) place.fail("it has both raw and typed data");
    if (raw.length !== count * size) {
      place.fail(
        `it has ${raw.length} bytes, its dims need ${count} elements of ${size}`,
      );
    }
    return storedElements(type, new Uint8Array(raw).buffer);
  }
  const field = TYPED_FIELDS[type];
  const other = given.find((number) => number !== field);
  if (other !== undefined) {
    place.fail(
      `elements of ${type} are in field ${field}, but there is field ${other}`,
    );
  }
  return typedElements(message, field, type);
}

function typedElements(
  message: Message,
  field: number,
  type: StoredType,
): PlainArrays[PlainType] {
  const { place } = message;
  switch (field) {
    case FLOAT_DATA:
      return message.floats(field);
    case DOUBLE_DATA:
      return new Float32Array(message.doubles(field));
    case INT64_DATA:
      return message.bigints(field);
    case UINT64_DATA: {
      const wide = new BigUint64Array(message.bigints(field).buffer);
      return type === "uint64"
        ? wide
        : narrowed("uint32", Array.from(wide, Number), place);
    }
  }
  const values = message.int32s(field);
  switch (type) {
    case "int32":
      return values;
    case "float16":
      return widenFloat16(narrowed("uint16", values, place));
    case "bfloat16":
      return widenBfloat16(narrowed("uint16", values, place));
  }
  return narrowed(type as NarrowType, values, place);
}

/** Types whose elements a file may have in a wider one. */
type NarrowType = "int8" | "int16" | "uint8" | "uint16" | "uint32" | "bool";

/** Numbers that the file has in a wider type. */
function narrowed<T extends NarrowType>(
  type: T,
  values: ArrayLike<number>,
  place: Place,
): PlainArrays[T] {
  const out = newElements(type, values.length);
  for (let i = 0; i < values.length; i++) {
    out[i] = values[i];
    if (out[i] !== values[i] || type === "bool" && values[i] > 1) {
      place.fail(`element ${i} is ${values[i]}, which is no ${type}`);
    }
  }
  return out;
}
