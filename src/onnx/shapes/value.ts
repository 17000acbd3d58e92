/** What is known of a value before anything runs. */
import {
  isBig,
  numbersOf,
  plainOf,
  type PlainTensor,
  type PlainType,
} from "../../tensor/plain_tensor.ts";
import { elementCount } from "../../tensor/tensor.ts";
import type { DeclaredDim } from "../ir.ts";
import { describeDim, type Dim, substituteDim, symbol } from "./dim.ts";

/** A value of a graph. */
export interface InferredValue {
  /** Element type; null where it is not known. */
  readonly type: PlainType | null;
  /** Sizes, the slowest axis first; null where not even their number is known. */
  readonly dims: readonly Dim[] | null;
  /** The value itself, where it is the same in every run. */
  readonly constant?: PlainTensor;
  /**
   * Elements of a small tensor of integers (shape arithmetic), in order; null for one that is not known. Absent
   * where none is known.
   */
  readonly elements?: readonly (Dim | null)[];
  /** Of a sequence: names of the tensors in it, where they are known. */
  readonly tensors?: readonly string[];
}

/** Elements that are followed one by one; shapes have no more axes. */
export const ELEMENTS_MAX = 64;

/** Of which nothing is known. */
export const UNKNOWN: InferredValue = { type: null, dims: null };

/** A value that is the same in every run. */
export function constantValue(constant: PlainTensor): InferredValue {
  const { type, dims, data } = constant;
  return {
    type,
    dims,
    constant,
    ...(data.length <= ELEMENTS_MAX && isInteger(type) && {
      // Bounds like 2^63 - 1 are no sizes; who knows what they mean looks at the constant.
      elements: numbersOf(constant).map((one) =>
        Number.isSafeInteger(one) ? one : null
      ),
    }),
  };
}

/** Whether elements of a type can be sizes. */
export function isInteger(type: PlainType | null): boolean {
  return type !== null && type !== "float32";
}

/**
 * A small tensor of integers by its elements, a constant where all are numbers. One that its type or a number cannot
 * hold is not known: integers wrap around.
 * @param dims as many as elements, or a scalar's
 */
export function elementsValue(
  type: PlainType,
  dims: readonly number[],
  given: readonly (Dim | null)[],
): InferredValue {
  const elements = given.map((one) =>
    typeof one === "number" && !isHeld(type, one) ? null : one
  );
  if (elements.length !== elementCount(dims)) {
    throw new RangeError(
      `${elements.length} elements do not fill [${dims.join(", ")}]`,
    );
  }
  if (elements.length > ELEMENTS_MAX || elements.every((one) => one === null)) {
    return { type, dims };
  }
  const numbers = elements.filter((one) => typeof one === "number");
  return {
    type,
    dims,
    elements,
    ...(numbers.length === elements.length && {
      constant: plainOf(type, dims, numbers),
    }),
  };
}

function isHeld(type: PlainType, one: number): boolean {
  return Number.isSafeInteger(one) &&
    numbersOf(plainOf(type, [], [one]))[0] === one;
}

/** The single element of a constant; undefined for anything else. */
export function scalarOf(value: InferredValue | undefined): number | undefined {
  const data = value?.constant?.data;
  if (data === undefined || data.length !== 1) return undefined;
  return isBig(data) ? Number(data[0]) : data[0];
}

/** As messages show a shape, e.g. `[batch, 3]`. */
export function describeDims(dims: readonly Dim[] | null): string {
  return dims === null ? "any shape" : `[${dims.map(describeDim).join(", ")}]`;
}

/** A size of a value that is not known, and not said to be the same as another. */
export function openDim(value: string, axis: number, least: number): Dim {
  return symbol(`?${value}.${axis}`, least);
}

/**
 * Sizes as declared: a name is a symbol, what is open one of its own. Some exporters name all that is open "?".
 * @param most what named sizes are never above, where that is known
 */
export function dimsOfDeclared(
  value: string,
  dims: readonly DeclaredDim[] | null,
  most: ReadonlyMap<string, number> = new Map(),
): readonly Dim[] | null {
  return dims?.map((size, axis) => {
    if (typeof size === "number") return size;
    return size === null || size.startsWith("?")
      ? openDim(value, axis, 1)
      : symbol(size, 1, most.get(size));
  }) ?? null;
}

/** Sizes where symbols are given; undefined where one is not, or the number of axes is not known. */
export function sizesAt(
  { dims }: InferredValue,
  given: ReadonlyMap<string, number>,
): number[] | undefined {
  const sizes = dims?.map((dim) =>
    substituteDim(dim, (name) => given.get(name))
  );
  return sizes?.every((size) => typeof size === "number") ? sizes : undefined;
}
