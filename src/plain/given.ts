/** What a plain operator is given: inputs and attributes, checked where they are read. */
import { describe, describeShape } from "../base/describe.ts";
import {
  numbersOf,
  PLAIN_TYPES,
  type PlainTensor,
  type PlainType,
} from "../tensor/plain_tensor.ts";
import type { PlainAttributes } from "./operator.ts";

/** Inputs in order; undefined for one that is left out. */
export type PlainInputs = readonly (PlainTensor | undefined)[];

/** Types that arithmetic is defined for. */
export const NUMBERS: readonly PlainType[] = PLAIN_TYPES.filter((type) =>
  type !== "bool"
);
export const FLOATS: readonly PlainType[] = ["float32"];
export const BOOLS: readonly PlainType[] = ["bool"];
export const INTEGERS: readonly PlainType[] = NUMBERS.filter((type) =>
  type !== "float32"
);
export const INDICES: readonly PlainType[] = ["int64", "int32"];
export const BYTES: readonly PlainType[] = ["uint8", "int8"];

/** What to call an input in messages. */
function inputName(i: number, name: string): string {
  return `input ${i} (${name})`;
}

/** Input i. @throws TypeError when it is left out or none of the types */
export function input(
  inputs: PlainInputs,
  i: number,
  name: string,
  types: readonly PlainType[] = PLAIN_TYPES,
): PlainTensor {
  const given = optional(inputs, i, name, types);
  if (!given) throw new TypeError(`${inputName(i, name)} is missing`);
  return given;
}

/** Input i, undefined when it is left out. @throws TypeError when it is none of the types */
export function optional(
  inputs: PlainInputs,
  i: number,
  name: string,
  types: readonly PlainType[] = PLAIN_TYPES,
): PlainTensor | undefined {
  const given = inputs[i];
  if (given && !types.includes(given.type)) {
    throw new TypeError(
      `${inputName(i, name)} is ${given.type}, expected ${types.join(" or ")}`,
    );
  }
  return given;
}

/** Input i, of floats. */
export function floats(
  inputs: PlainInputs,
  i: number,
  name: string,
): PlainTensor<"float32"> {
  return input(inputs, i, name, FLOATS) as PlainTensor<"float32">;
}

/** Input i, of floats, undefined when it is left out. */
export function optionalFloats(
  inputs: PlainInputs,
  i: number,
  name: string,
): PlainTensor<"float32"> | undefined {
  return optional(inputs, i, name, FLOATS) as
    | PlainTensor<"float32">
    | undefined;
}

/** Numbers of an input of integers, such as axes or sizes; undefined when it is left out. */
export function optionalWhole(
  inputs: PlainInputs,
  i: number,
  name: string,
): number[] | undefined {
  const given = optional(inputs, i, name, INTEGERS);
  return given && numbersOf(given);
}

/** Numbers of an input of integers, such as axes or sizes. */
export function whole(
  inputs: PlainInputs,
  i: number,
  name: string,
): number[] {
  return numbersOf(input(inputs, i, name, INTEGERS));
}

/** The number that an input consists of; undefined when it is left out. */
export function optionalScalar(
  inputs: PlainInputs,
  i: number,
  name: string,
  types: readonly PlainType[] = PLAIN_TYPES,
): number | undefined {
  const given = optional(inputs, i, name, types);
  if (given && given.data.length !== 1) {
    throw new RangeError(
      `${inputName(i, name)} has dims ${
        describeShape(given.dims)
      }, expected one element`,
    );
  }
  return given && Number(given.data[0]);
}

/** The number that an input consists of. */
export function scalar(
  inputs: PlainInputs,
  i: number,
  name: string,
  types: readonly PlainType[] = PLAIN_TYPES,
): number {
  input(inputs, i, name, types);
  return optionalScalar(inputs, i, name, types) as number;
}

/** @throws RangeError when an input's dims are not those */
export function checkDims(
  i: number,
  name: string,
  { dims }: PlainTensor,
  expected: readonly number[],
): void {
  if (
    dims.length !== expected.length ||
    dims.some((size, axis) => size !== expected[axis])
  ) {
    throw new RangeError(
      `${inputName(i, name)} has dims ${describeShape(dims)}, expected ${
        describeShape(expected)
      }`,
    );
  }
}

/** @throws RangeError when an input has fewer axes, or more */
export function checkRank(
  i: number,
  name: string,
  { dims }: PlainTensor,
  least: number,
  most = Infinity,
): void {
  if (dims.length < least || dims.length > most) {
    throw new RangeError(
      `${inputName(i, name)} has dims ${describeShape(dims)}, expected ${
        least === most
          ? `${least} axes`
          : most === Infinity
          ? `at least ${least} axes`
          : `${least} to ${most} axes`
      }`,
    );
  }
}

function attribute(
  attributes: PlainAttributes,
  name: string,
  ...kinds: string[]
): unknown {
  const given = attributes.get(name);
  if (given && !kinds.includes(given.kind)) {
    throw new TypeError(
      `attribute ${name} is of kind ${given.kind}, expected ${
        kinds.join(" or ")
      }`,
    );
  }
  return given?.value;
}

/** An integer attribute, `otherwise` when it is not there. @throws TypeError when it is of another kind */
export function int(
  attributes: PlainAttributes,
  name: string,
  otherwise: number,
): number {
  return optionalInt(attributes, name) ?? otherwise;
}

/** An integer attribute, undefined when it is not there. */
export function optionalInt(
  attributes: PlainAttributes,
  name: string,
): number | undefined {
  return attribute(attributes, name, "int") as number | undefined;
}

/** An integer attribute. @throws TypeError when it is not there */
export function requiredInt(attributes: PlainAttributes, name: string): number {
  const given = optionalInt(attributes, name);
  if (given === undefined) throw new TypeError(`attribute ${name} is missing`);
  return given;
}

/** A flag: an integer attribute that is 0 or not. */
export function flag(
  attributes: PlainAttributes,
  name: string,
  otherwise = false,
): boolean {
  return int(attributes, name, Number(otherwise)) !== 0;
}

/** A float attribute; defaults are rounded to f32, as a file would have them. */
export function float(
  attributes: PlainAttributes,
  name: string,
  otherwise: number,
): number {
  return optionalFloat(attributes, name) ?? Math.fround(otherwise);
}

/** A float attribute, undefined when it is not there. */
export function optionalFloat(
  attributes: PlainAttributes,
  name: string,
): number | undefined {
  return attribute(attributes, name, "float") as number | undefined;
}

/** A list of integers, undefined when it is not there. */
export function ints(
  attributes: PlainAttributes,
  name: string,
): readonly number[] | undefined {
  return attribute(attributes, name, "ints") as readonly number[] | undefined;
}

/** A list of floats, undefined when it is not there. */
export function floatList(
  attributes: PlainAttributes,
  name: string,
): readonly number[] | undefined {
  return attribute(attributes, name, "floats") as readonly number[] | undefined;
}

/** A list of texts, undefined when it is not there. */
export function texts(
  attributes: PlainAttributes,
  name: string,
): readonly string[] | undefined {
  return attribute(attributes, name, "strings") as
    | readonly string[]
    | undefined;
}

/** A tensor, undefined when it is not there. */
export function tensorAttribute(
  attributes: PlainAttributes,
  name: string,
): PlainTensor | undefined {
  return attribute(attributes, name, "tensor") as PlainTensor | undefined;
}

/** A text, the first of `choices` when it is not there. @throws RangeError when it is none of them */
export function choice<Text extends string>(
  attributes: PlainAttributes,
  name: string,
  choices: readonly Text[],
): Text {
  const given = attribute(attributes, name, "string") ?? choices[0];
  if (!choices.includes(given as Text)) {
    throw new RangeError(
      `attribute ${name} is ${describe(given)}, expected ${
        choices.join(" or ")
      }`,
    );
  }
  return given as Text;
}

/** A text attribute. @throws TypeError when it is not there */
export function stringOf(attributes: PlainAttributes, name: string): string {
  const given = attribute(attributes, name, "string");
  if (given === undefined) throw new TypeError(`attribute ${name} is missing`);
  return given as string;
}
