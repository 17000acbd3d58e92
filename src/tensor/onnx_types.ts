/** Element types by their number in ONNX files: `TensorProto.DataType` of onnx.proto. */
import type { PlainType } from "./plain_tensor.ts";

/** Type of the plain tensor that each is read into; float16, bfloat16 and float64 become float32. */
const TYPES: ReadonlyMap<number, readonly [name: string, plain: PlainType]> =
  new Map([
    [1, ["float32", "float32"]],
    [2, ["uint8", "uint8"]],
    [3, ["int8", "int8"]],
    [4, ["uint16", "uint16"]],
    [5, ["int16", "int16"]],
    [6, ["int32", "int32"]],
    [7, ["int64", "int64"]],
    [9, ["bool", "bool"]],
    [10, ["float16", "float32"]],
    [11, ["float64", "float32"]],
    [12, ["uint32", "uint32"]],
    [13, ["uint64", "uint64"]],
    [16, ["bfloat16", "float32"]],
  ]);

/** Names of the types that are not read. */
const OTHERS: ReadonlyMap<number, string> = new Map([
  [0, "undefined"],
  [8, "string"],
  [14, "complex64"],
  [15, "complex128"],
  [17, "float8e4m3fn"],
  [18, "float8e4m3fnuz"],
  [19, "float8e5m2"],
  [20, "float8e5m2fnuz"],
  [21, "uint4"],
  [22, "int4"],
  [23, "float4e2m1"],
  [24, "float8e8m0"],
  [25, "uint2"],
  [26, "int2"],
]);

/** What elements of a type are read into; undefined for a type that is not read. */
export function plainTypeOf(dataType: number): PlainType | undefined {
  return TYPES.get(dataType)?.[1];
}

/** A type's name, as messages have it. */
export function dataTypeName(dataType: number): string {
  return TYPES.get(dataType)?.[0] ?? OTHERS.get(dataType) ??
    `data type ${dataType}`;
}
