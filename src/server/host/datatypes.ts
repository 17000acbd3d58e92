/** Element types of tensors on the wire: the Open Inference Protocol's, and BF16, which its gRPC form and Triton have. */
import type { Dtype } from "../../tensor/tensor.ts";

/** How elements of a type are held: FP16 and BF16 as their bits, BYTES as byte strings. */
export interface DatatypeArrays {
  /** 0 or 1. */
  BOOL: Uint8Array;
  /** Bytes. */
  UINT8: Uint8Array;
  /** 16 bits. */
  UINT16: Uint16Array;
  /** 32 bits. */
  UINT32: Uint32Array;
  /** 64 bits. */
  UINT64: BigUint64Array;
  /** Signed bytes. */
  INT8: Int8Array;
  /** Signed, 16 bits. */
  INT16: Int16Array;
  /** Signed, 32 bits. */
  INT32: Int32Array;
  /** Signed, 64 bits. */
  INT64: BigInt64Array;
  /** Half precision, as bits. */
  FP16: Uint16Array;
  /** The upper half of a single precision number, as bits. */
  BF16: Uint16Array;
  /** Single precision. */
  FP32: Float32Array;
  /** Double precision. */
  FP64: Float64Array;
  /** Strings of bytes, each of a length of its own. */
  BYTES: readonly Uint8Array[];
}

/** Names of the element types. */
export type Datatype = keyof DatatypeArrays;

/** Those whose elements all have one size. */
export type FixedDatatype = Exclude<Datatype, "BYTES">;

/** Elements of any type. */
export type WireElements = DatatypeArrays[Datatype];

interface FixedArray<T extends FixedDatatype> {
  new (length: number): DatatypeArrays[T];
  new (buffer: ArrayBuffer): DatatypeArrays[T];
  readonly BYTES_PER_ELEMENT: number;
}

/** The array of each type. */
export const DATATYPE_ARRAYS: {
  readonly [T in FixedDatatype]: FixedArray<T>;
} = {
  BOOL: Uint8Array,
  UINT8: Uint8Array,
  UINT16: Uint16Array,
  UINT32: Uint32Array,
  UINT64: BigUint64Array,
  INT8: Int8Array,
  INT16: Int16Array,
  INT32: Int32Array,
  INT64: BigInt64Array,
  FP16: Uint16Array,
  BF16: Uint16Array,
  FP32: Float32Array,
  FP64: Float64Array,
};

/** All of them. */
export const DATATYPES: readonly Datatype[] = [
  ...Object.keys(DATATYPE_ARRAYS) as FixedDatatype[],
  "BYTES",
];

/** Bytes of an element; 0 where each has its own. */
export function datatypeBytes(datatype: Datatype): number {
  return datatype === "BYTES" ? 0 : DATATYPE_ARRAYS[datatype].BYTES_PER_ELEMENT;
}

/** The type on the wire of what rows are made of. */
export const DATATYPE_OF: Readonly<Record<Dtype, FixedDatatype>> = {
  f32: "FP32",
  i32: "INT32",
  i64: "INT64",
  i8: "INT8",
  u8: "UINT8",
  bool: "BOOL",
};
