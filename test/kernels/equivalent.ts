/**
 * What a kernel case computes, as a small ONNX graph over plain tensors. Benches hand it to
 * peers and compare results; layouts are ONNX's (images NCHW, weights unpacked).
 */

/** Element types by their ONNX names. */
export interface ElementArrays {
  f32: Float32Array;
  u8: Uint8Array;
  i8: Int8Array;
  i32: Int32Array;
  i64: BigInt64Array;
}

/** Name of an element type. */
export type ElementType = keyof ElementArrays;

/** A graph input, output or constant without its values; f32 by default. */
export interface PlainValue {
  name: string;
  shape: readonly number[];
  type?: ElementType;
}

/** A value with its numbers. */
export interface PlainTensor extends PlainValue {
  data: ElementArrays[ElementType];
}

/** An operator. */
export interface OnnxNode {
  opType: string;
  /** Default domain if absent. */
  domain?: string;
  /** Input names in the operator's order; "" leaves an optional input out. */
  inputs: readonly string[];
  /** Output names in the operator's order; "" leaves an optional output out. */
  outputs: readonly string[];
  /** Integers, lists of integers, texts, and `{ float }`. */
  attributes?: Readonly<
    Record<string, number | readonly number[] | string | { float: number }>
  >;
}

/** Bits of our results, by their names in the case. */
export type OwnResult = (name: string) => Uint32Array;

/** A graph, its inputs, and how our results compare with its outputs. */
export interface Equivalent {
  nodes: readonly OnnxNode[];
  constants: readonly PlainTensor[];
  inputs: readonly PlainTensor[];
  /** `of`: our result in this output's layout. */
  outputs: readonly (PlainValue & { of(own: OwnResult): ArrayLike<number> })[];
  /** Largest difference allowed, relative to the expected number or 1, whichever is greater. */
  tolerance: number;
  /** Layout changes to and from NCHW are part of our run: a peer with another layout is out. */
  nchw?: true;
}

/** A result of f32 as it is. */
export function floatsOf(name: string): (own: OwnResult) => Float32Array {
  return (own) => {
    const bits = own(name);
    return new Float32Array(bits.buffer, bits.byteOffset, bits.length);
  };
}

/** A result of i32 as it is. */
export function integersOf(name: string): (own: OwnResult) => Int32Array {
  return (own) => {
    const bits = own(name);
    return new Int32Array(bits.buffer, bits.byteOffset, bits.length);
  };
}

/** Per image [rows][columns] to [columns][rows]. */
export function transposed(
  data: ArrayLike<number>,
  rows: number,
  columns: number,
): Float32Array {
  const size = rows * columns;
  return Float32Array.from(data, (_, i) => {
    const at = i % size;
    return data[i - at + at % rows * columns + Math.floor(at / rows)];
  });
}
