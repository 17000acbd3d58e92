/** Elements as files have them, one after the other, little-endian. */
import { widenBfloat16, widenFloat16 } from "./half.ts";
import {
  bytesOfType,
  type PlainArrays,
  type PlainType,
} from "./plain_tensor.ts";

/** Element types of files: those of plain tensors, and floats that become float32 when they are read. */
export type StoredType = PlainType | "float16" | "bfloat16" | "float64";

/** Bytes that an element takes in a file. */
export function bytesOfStored(type: StoredType): number {
  switch (type) {
    case "float16":
    case "bfloat16":
      return 2;
    case "float64":
      return 8;
  }
  return bytesOfType(type);
}

/** What elements are read into: 16-bit floats are widened, 64-bit floats narrowed, to the nearest. */
export function plainTypeOfStored(type: StoredType): PlainType {
  switch (type) {
    case "float16":
    case "bfloat16":
    case "float64":
      return "float32";
  }
  return type;
}

/**
 * Elements that a file has.
 * @param buffer nobody else's; the result may lie in it
 */
export function storedElements(
  type: StoredType,
  buffer: ArrayBuffer,
): PlainArrays[PlainType] {
  switch (type) {
    case "float16":
      return widenFloat16(new Uint16Array(buffer));
    case "bfloat16":
      return widenBfloat16(new Uint16Array(buffer));
    case "float64":
      return new Float32Array(new Float64Array(buffer));
    case "float32":
      return new Float32Array(buffer);
    case "int8":
      return new Int8Array(buffer);
    case "int16":
      return new Int16Array(buffer);
    case "int32":
      return new Int32Array(buffer);
    case "int64":
      return new BigInt64Array(buffer);
    case "uint8":
      return new Uint8Array(buffer);
    case "uint16":
      return new Uint16Array(buffer);
    case "uint32":
      return new Uint32Array(buffer);
    case "uint64":
      return new BigUint64Array(buffer);
    case "bool":
      return new Uint8Array(buffer).map((byte) => byte === 0 ? 0 : 1);
  }
}
