/** Values in place of the file's, as tensors: whoever gives numbers alone leaves type and sizes to the file. */
import { describe, describeShape, isList } from "../base/describe.ts";
import {
  numbersOf,
  plainOf,
  type PlainTensor,
} from "../tensor/plain_tensor.ts";
import { elementCount } from "../tensor/tensor.ts";
import type { OnnxGraph, ValueInfo } from "./ir.ts";
import { type Place, quoted } from "./place.ts";
import { type GivenSizes, NO_TYPE } from "./sizes.ts";

/** What takes a value's place: a tensor, or, of an input, the number of all of its elements or each of them, row-major; true is 1. */
export type GivenConstant =
  | PlainTensor
  | number
  | boolean
  | readonly (number | boolean)[];

/** By name: weights that a file leaves out, inputs that are the same in every request. */
export type GivenConstants = ReadonlyMap<string, GivenConstant>;

/** @throws OnnxError naming the input that numbers do not fit, or a name that is none */
export function constantTensors(
  { inputs }: OnnxGraph,
  given: GivenConstants,
  sizes: GivenSizes,
  place: Place,
): Map<string, PlainTensor> {
  return new Map(
    Array.from(given, ([name, value]) => {
      if (isTensor(value)) return [name, value];
      const numbers = isList(value) ? value : [value];
      const at = place.in(`constant ${quoted(name)}`);
      const odd = numbers.find((x) =>
        typeof x !== "number" && typeof x !== "boolean"
      );
      if (odd !== undefined) {
        at.fail(`it is a tensor, a number or numbers, got ${describe(odd)}`);
      }
      const input = inputs.find((each) => each.name === name);
      if (input === undefined) {
        const names = inputs.map(({ name }) => name);
        return at.fail(({ constants }) =>
          "there is no such input to say what its type and sizes are; " +
          `give ${constants(names)}`
        );
      }
      return [name, filled(input, numbers.map(Number), sizes, at)];
    }),
  );
}

const isTensor = (value: GivenConstant): value is PlainTensor =>
  typeof value === "object" && value !== null && "dims" in value;

function filled(
  input: ValueInfo,
  numbers: readonly number[],
  sizes: GivenSizes,
  at: Place,
): PlainTensor {
  const { type } = input;
  if (type === null) return at.fail(NO_TYPE);
  const dims = dimsOf(input, numbers.length, sizes);
  const count = elementCount(dims);
  const isOne = numbers.length === 1;
  if (!isOne && numbers.length !== count) {
    at.fail(
      `it is ${
        describeShape(dims)
      }, ${count} numbers or one for all, got ${numbers.length}`,
    );
  }
  const odd = numbers.find((x) => !holds(type, x));
  if (odd !== undefined) {
    at.fail(`the input is ${type}, which has no ${describe(odd)}`);
  }
  return plainOf(
    type,
    dims,
    isOne ? new Array<number>(count).fill(numbers[0]) : numbers,
  );
}

/** Whether a type's elements can be a number; floats are rounded to it. */
function holds(type: PlainTensor["type"], x: number): boolean {
  if (type === "float32") return Number.isFinite(Math.fround(x));
  if (type === "bool") return x === 0 || x === 1;
  return Number.isSafeInteger(x) && numbersOf(plainOf(type, [], [x]))[0] === x;
}

/** Sizes that the file, or an option, says; an open one is what makes as many elements as there are numbers, others are 1. */
function dimsOf(
  { name, dims }: ValueInfo,
  count: number,
  { sizes = {}, shapes = {} }: GivenSizes,
): readonly number[] {
  if (Object.hasOwn(shapes, name)) return shapes[name];
  if (dims === null) return count === 1 ? [] : [count];
  const known = dims.map((size) =>
    typeof size === "string" && Object.hasOwn(sizes, size) ? sizes[size] : size
  );
  const open = known.findLastIndex((size) => typeof size !== "number");
  const made = known.map((size) => typeof size === "number" ? size : 1);
  const each = elementCount(made);
  return open < 0 || count % each !== 0 ? made : made.with(open, count / each);
}
