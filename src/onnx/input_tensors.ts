/** What a request brings, checked against what the file says. */
import { describe, describeShape, isList, listed } from "../base/describe.ts";
import { knownOptions } from "../base/options.ts";
import {
  type DataOf,
  type Dtype,
  elementCount,
  holds,
  isShape,
  type Tensor,
  type TensorData,
} from "../tensor/tensor.ts";
import { quoted } from "./place.ts";

/** An input of a model, all sizes known but one at most. */
export interface InputSpec {
  /** As in the file. */
  readonly name: string;
  /** Type of its elements. */
  readonly dtype: Dtype;
  /** Sizes of its axes, the slowest first; of a free one the most. */
  readonly shape: readonly number[];
  /** The axis of which a request has as much as it likes, up to that: as the file calls it, the same for all inputs. */
  readonly free?: { readonly axis: number; readonly name: string };
}

/** An input's numbers: a tensor of the shape that the model has, or its elements alone, row-major. */
export type InputTensor = Tensor<TensorData> | TensorData;

/** Inputs by name. */
export type OnnxInput = Readonly<Record<string, InputTensor>>;

const ARRAYS: Readonly<Record<Dtype, string>> = {
  f32: "Float32Array",
  i32: "Int32Array",
  i64: "BigInt64Array",
  i8: "Int8Array",
  u8: "Uint8Array",
  bool: "Uint8Array",
};

/** A shape as messages and listings have it: `[1, sequence <= 128]`. */
export function shapeText({ shape, free }: InputSpec): string {
  const sizes = shape.map((size, axis) =>
    axis === free?.axis ? `${free.name} <= ${size}` : `${size}`
  );
  return `[${sizes.join(", ")}]`;
}

/**
 * @throws TypeError or RangeError naming model, input, expected and given shape
 */
export function checkInputs(
  model: string,
  specs: readonly InputSpec[],
  input: unknown,
): void {
  if (!isKnown(specs, input)) {
    const names = specs.map(({ name }) => name);
    knownOptions(`Input of ${quoted(model)}`, input, names, "tensor");
  }
  const given = input as Readonly<Record<string, unknown>>;
  let length: { of: string; is: number } | undefined;
  for (const spec of specs) {
    const value = given[spec.name];
    if (value === undefined) {
      throw new TypeError(
        `${describeSpec(model, spec)}, which is missing; it takes ${
          listed(specs.map(({ name }) => name))
        }`,
      );
    }
    const shape = shapeOf(value);
    const data = dataOf(value);
    if (!holds(spec.dtype, data)) {
      throw new TypeError(
        `${describeSpec(model, spec)}, got ${describe(data ?? value)}`,
      );
    }
    const elements = (data as DataOf<Dtype>).length;
    const expected = shapeOfCount(spec, elements);
    if (shape !== undefined && !isShape(shape, expected)) {
      throw new RangeError(
        `${describeSpec(model, spec)}, got ${describeShape(shape)}`,
      );
    }
    if (elements !== elementCount(expected)) {
      throw new RangeError(
        `${describeSpec(model, spec)}, got ${elements} elements`,
      );
    }
    if (!spec.free) continue;
    const { free: { axis, name } } = spec;
    const is = expected[axis];
    if (length !== undefined && length.is !== is) {
      throw new RangeError(
        `${describeSpec(model, spec)}, got ${is} of ${quoted(name)}, of which ${
          quoted(length.of)
        } has ${length.is}`,
      );
    }
    length ??= { of: spec.name, is };
  }
}

/** The shape of so many elements, if there is one. */
function shapeOfCount(
  { shape, free }: InputSpec,
  elements: number,
): readonly number[] {
  if (free === undefined) return shape;
  const length = elements / elementCount(shape.with(free.axis, 1));
  const isLength = Number.isInteger(length) && length >= 1 &&
    length <= shape[free.axis];
  return isLength ? shape.with(free.axis, length) : shape;
}

/** Size of the free axis in a checked input. */
export function lengthOf(
  specs: readonly InputSpec[],
  input: OnnxInput,
): number {
  const spec = specs.find(({ free }) => free !== undefined)!;
  const { length } = elementsOf(input[spec.name]);
  return shapeOfCount(spec, length)[spec.free!.axis];
}

/** What a model's input is, as messages have it: every request is checked, and few have something to be told. */
function describeSpec(model: string, spec: InputSpec): string {
  return `Input ${quoted(spec.name)} of ${quoted(model)} is ${
    ARRAYS[spec.dtype]
  } ${spec.free ? shapeText(spec) : describeShape(spec.shape)}`;
}

/** Whether it is an object that has nothing but inputs of the model. */
function isKnown(specs: readonly InputSpec[], input: unknown): boolean {
  if (typeof input !== "object" || input === null || isList(input)) {
    return false;
  }
  return Object.keys(input).every((key) =>
    specs.some(({ name }) => name === key)
  );
}

/** Elements of a checked input. */
export function elementsOf(value: InputTensor): TensorData {
  return dataOf(value) as TensorData;
}

/** Elements of what is given as an input. */
export function dataOf(value: unknown): unknown {
  return ArrayBuffer.isView(value)
    ? value
    : (value as { data?: unknown } | undefined | null)?.data;
}

/** Shape of what is given as an input, if there is one. */
export function shapeOf(value: unknown): unknown {
  return ArrayBuffer.isView(value)
    ? undefined
    : (value as { shape?: unknown } | undefined | null)?.shape;
}
