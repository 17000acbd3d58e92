/** What a request brings, checked against what the file says. */
import { describe, describeShape, listed } from "../base/describe.ts";
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

/** An input of a model, all sizes known. */
export interface InputSpec {
  /** As in the file. */
  readonly name: string;
  /** Type of its elements. */
  readonly dtype: Dtype;
  /** Sizes of its axes, the slowest first. */
  readonly shape: readonly number[];
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

/** @throws TypeError or RangeError naming model, input, expected and given shape */
export function checkInputs(
  model: string,
  specs: readonly InputSpec[],
  input: unknown,
): void {
  knownOptions(
    `Input of ${quoted(model)}`,
    input,
    specs.map(({ name }) => name),
    "tensor",
  );
  const given = input as Readonly<Record<string, unknown>>;
  for (const spec of specs) {
    const what = `Input ${quoted(spec.name)} of ${quoted(model)} is ${
      ARRAYS[spec.dtype]
    } ${describeShape(spec.shape)}`;
    const value = given[spec.name];
    if (value === undefined) {
      throw new TypeError(
        `${what}, which is missing; it takes ${
          listed(specs.map(({ name }) => name))
        }`,
      );
    }
    const { shape, data } = partsOf(value);
    if (!holds(spec.dtype, data)) {
      throw new TypeError(`${what}, got ${describe(data ?? value)}`);
    }
    if (shape !== undefined && !isShape(shape, spec.shape)) {
      throw new RangeError(`${what}, got ${describeShape(shape)}`);
    }
    const elements = (data as DataOf<Dtype>).length;
    if (elements !== elementCount(spec.shape)) {
      throw new RangeError(`${what}, got ${elements} elements`);
    }
  }
}

/** Elements of a checked input. */
export function elementsOf(value: InputTensor): TensorData {
  return partsOf(value).data as TensorData;
}

function partsOf(value: unknown): { shape?: unknown; data: unknown } {
  if (ArrayBuffer.isView(value)) return { data: value };
  const { shape, data } = (value ?? {}) as { shape?: unknown; data?: unknown };
  return { shape, data };
}
