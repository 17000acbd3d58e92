/** Runs a plain operator with attributes written short, and draws its inputs. */
import fc from "fast-check";
import type { PlainAttribute, PlainContext } from "../../src/plain/operator.ts";
import { runPlain } from "../../src/plain/registry.ts";
import {
  plainOf,
  type PlainTensor,
  type PlainType,
} from "../../src/tensor/plain_tensor.ts";

/** A number is an int, a list one of ints. */
export type ShortAttribute =
  | number
  | string
  | readonly number[]
  | { float: number }
  | { floats: readonly number[] }
  | { strings: readonly string[] }
  | { tensor: PlainTensor };

function attributeOf(given: ShortAttribute): PlainAttribute {
  if (typeof given === "number") return { kind: "int", value: given };
  if (typeof given === "string") return { kind: "string", value: given };
  if (Array.isArray(given)) return { kind: "ints", value: given };
  const [[kind, value]] = Object.entries(given);
  return { kind, value };
}

/** All outputs; of the newest operator set by default. */
export function outputsOf(
  op: string,
  inputs: readonly (PlainTensor | undefined)[],
  attributes: Record<string, ShortAttribute> = {},
  context: Partial<PlainContext> = {},
): PlainTensor[] {
  return runPlain(
    op,
    inputs,
    new Map(
      Object.entries(attributes).map(([name, given]) => [
        name,
        attributeOf(given),
      ]),
    ),
    { opset: 28, outputs: 1, ...context },
  );
}

/** The first output. */
export function outputOf(
  ...given: Parameters<typeof outputsOf>
): PlainTensor {
  return outputsOf(...given)[0];
}

/** A tensor of whole numbers in a file's order. */
export const floats = (dims: readonly number[], ...values: number[]) =>
  plainOf("float32", dims, values);
export const int64 = (...values: number[]) =>
  plainOf("int64", [values.length], values);

/** Dims of some axes, none of them long. */
export function shapes(
  least: number,
  most: number,
  smallest = 1,
): fc.Arbitrary<number[]> {
  return fc.array(fc.integer({ min: smallest, max: 4 }), {
    minLength: least,
    maxLength: most,
  });
}

/**
 * Tensors of small whole numbers: sums of their products are exact, whatever their order.
 */
export function tensorOf<T extends PlainType>(
  type: T,
  dims: readonly number[],
): fc.Arbitrary<PlainTensor<T>> {
  const count = dims.reduce((product, size) => product * size, 1);
  const isSigned = !type.startsWith("u") && type !== "bool";
  const most = type === "bool" ? 1 : 8;
  return fc.array(fc.integer({ min: isSigned ? -8 : 0, max: most }), {
    minLength: count,
    maxLength: count,
  }).map((values) => plainOf(type, dims, values));
}

/** Indices of all elements, in row-major order. */
export function indicesOf(dims: readonly number[]): number[][] {
  return dims.reduce<number[][]>(
    (found, size) =>
      found.flatMap((index) =>
        Array.from({ length: size }, (_, i) => [...index, i])
      ),
    [[]],
  );
}

/** An element by its index. */
export function at(
  { dims, data }: PlainTensor,
  index: readonly number[],
): number {
  const position = index.reduce((sum, i, axis) => sum * dims[axis] + i, 0);
  return Number(data[position]);
}

/** A tensor made element by element. */
export function made<T extends PlainType>(
  type: T,
  dims: readonly number[],
  element: (index: number[]) => number,
): PlainTensor<T> {
  return plainOf(type, dims, indicesOf(dims).map(element));
}
