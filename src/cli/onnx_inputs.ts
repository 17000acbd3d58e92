/** What requests to a model of an ONNX file bring: read from files, or drawn. */
import { describe, describeShape, shorten } from "../base/describe.ts";
import { specialNumber } from "../base/json_numbers.ts";
import { Prng } from "../base/prng.ts";
import type { InputSpec, InputTensor } from "../onnx/input_tensors.ts";
import type { OnnxCellModel } from "../onnx/model.ts";
import { readTensorFile } from "../onnx/read/read_tensor_file.ts";
import { readNpy } from "../tensor/npy.ts";
import type { PlainTensor } from "../tensor/plain_tensor.ts";
import {
  type Dtype,
  elementCount,
  elements,
  isShape,
  type TensorData,
} from "../tensor/tensor.ts";
import type { InputGenerator } from "../workload/input_generator.ts";
import { readBytes, readText } from "./files.ts";
import { sidesOf } from "./onnx_file.ts";
import { see } from "./options.ts";
import { UsageError } from "./terminal.ts";

/** The option that names files of inputs. */
export const INPUT_OPTION = {
  input: { type: "string", multiple: true },
} as const;

/** The files that it may name: which "=" is behind the name, the model says, which is not read yet. */
export function inputFiles(given: readonly string[] = []): string[] {
  return given.flatMap((text) =>
    [...text.matchAll(/=/g)].map(({ index }) => text.slice(index + 1))
  );
}

/** A request: elements by name of the input. */
export type Elements = Readonly<Record<string, TensorData>>;

/**
 * Inputs that `--input NAME=FILE` gives, by name.
 * @throws UsageError on a name or a file that is none, or a name that is given again
 */
export function readInputs(
  command: string,
  { inputs }: { readonly inputs: readonly InputSpec[] },
  given: readonly string[] = [],
): Map<string, InputTensor> {
  const read = new Map<string, InputTensor>();
  for (const text of given) {
    // Names and paths may have "=" in them.
    const spec = inputs.filter(({ name }) => text.startsWith(`${name}=`))
      .toSorted((a, b) => b.name.length - a.name.length)[0];
    if (spec === undefined) {
      throw new UsageError(
        `there is no input ${describe(sidesOf("input", text)[0])}; ${
          inputs.length === 0
            ? "there are none"
            : `there are ${inputs.map(({ name }) => name).join(", ")}`
        }${see(command)}`,
      );
    }
    const { name } = spec;
    if (read.has(name)) {
      throw new UsageError(`--input ${name} is given twice${see(command)}`);
    }
    read.set(name, readInput(text.slice(name.length + 1), spec));
  }
  return read;
}

/**
 * The requests of the files that `--input` names, a row of theirs each; a file of one row is the same for all of them.
 * What they do not bring is drawn.
 * @param otherwise how many requests are drawn where no file is given
 * @throws UsageError on a name or a file that is none, or when they have not as many rows
 */
export function givenRequests(
  command: string,
  model: OnnxCellModel,
  given: readonly string[] | undefined,
  { seed, otherwise }: { seed: number; otherwise: number },
): Elements[] {
  const read = new Map(
    [...readInputs(command, model, given)].map(([name, tensor]) => {
      const spec = model.inputs.find((input) => input.name === name)!;
      return [name, rowsOf(spec, tensor)] as const;
    }),
  );
  const counts = [...read.values()].map(({ length }) => length);
  const count = counts.length === 0 ? otherwise : Math.max(...counts);
  for (const [name, { length }] of read) {
    if (length === 1 || length === count) continue;
    throw new UsageError(
      `--input ${name} has ${length} rows, another one ${count}`,
    );
  }
  const prng = new Prng(seed).fork("inputs");
  const requests = Array.from({ length: count }, (_, i) => {
    const brought: Elements = Object.fromEntries(
      [...read].map(([name, rows]) => [name, rows[rows.length === 1 ? 0 : i]]),
    );
    return {
      ...drawnRequest(model, prng, lengthIn(model, brought)),
      ...brought,
    };
  });
  try {
    for (const request of requests) model.check(request);
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
  return requests;
}

/** Zeros for every input, of the greatest length where an axis is free: what a request's graph is unfolded of. */
export function zeroElements(inputs: readonly InputSpec[]): Elements {
  return Object.fromEntries(
    inputs.map(({ name, dtype, shape }) => [
      name,
      elements(dtype, elementCount(shape)),
    ]),
  );
}

/** Requests of a workload, taken from a few different ones. */
export function requestInputs(
  requests: readonly Elements[],
  name: string,
): InputGenerator {
  return {
    name,
    next: (prng) => ({ input: requests[prng.int(requests.length)] }),
  };
}

/** Below what integers are drawn of which the graph does not say what they are: masks and flags. */
const BELOW = 2;

/** Below what elements of a type are. */
const TYPE_BELOW: Readonly<Record<Exclude<Dtype, "f32">, number>> = {
  i32: 2 ** 31,
  i64: 2 ** 31,
  i8: 128,
  u8: 256,
  bool: 2,
};

/** Size of the free axis in what a request brings; undefined where that does not say it. */
function lengthIn(
  { inputs }: OnnxCellModel,
  brought: Elements,
): number | undefined {
  const spec = inputs.find(({ name, free }) =>
    free !== undefined && brought[name] !== undefined
  );
  return spec &&
    brought[spec.name].length /
      elementCount(spec.shape.with(spec.free!.axis, 1));
}

/**
 * Floats uniform in [-1, 1); integers from 0 below the size of the table that they pick from or what they are compared
 * with (`indexBounds`), others 0 or 1, but bytes of any value. Where an axis is free, its size is uniform from 1 to the
 * most, and integers of positions that pick nothing are 1: masks that leave nothing out.
 */
function drawnRequest(
  { inputs, indexBounds }: OnnxCellModel,
  prng: Prng,
  given: number | undefined,
): Elements {
  const spec = inputs.find(({ free }) => free !== undefined);
  const length = given ??
    (spec?.free ? 1 + prng.int(spec.shape[spec.free.axis]) : 0);
  return Object.fromEntries(inputs.map(({ name, dtype, shape, free }) => {
    const sizes = free ? shape.with(free.axis, length) : shape;
    const data = elements(dtype, elementCount(sizes));
    if (dtype === "f32") {
      for (let i = 0; i < data.length; i++) data[i] = 2 * prng.float() - 1;
      return [name, data];
    }
    const isByte = dtype === "i8" || dtype === "u8";
    const most = TYPE_BELOW[dtype];
    const below = indexBounds.get(name) ?? (isByte ? most : BELOW);
    if (free && !indexBounds.has(name) && !isByte) {
      return [name, ones(data)];
    }
    for (let i = 0; i < data.length; i++) {
      const drawn = prng.int(Math.max(1, Math.min(below, most)));
      data[i] = data instanceof BigInt64Array ? BigInt(drawn) : drawn;
    }
    return [name, data];
  }));
}

function ones<Data extends TensorData>(data: Data): Data {
  if (data instanceof BigInt64Array) data.fill(1n);
  else data.fill(1);
  return data;
}

/** Elements of every request of a tensor that may have more rows than one. */
function rowsOf(
  { name, shape: most, free }: InputSpec,
  given: InputTensor,
): TensorData[] {
  const { shape: dims, data } = "data" in given
    ? given
    : { shape: undefined, data: given };
  const shape = free ? shapeGiven(most, free.axis, dims, data.length) : most;
  const size = elementCount(shape);
  const rows = data.length / size;
  const fits = Number.isInteger(rows) && rows >= 1 &&
    (rows === 1 || shape[0] === 1) &&
    (dims === undefined ||
      isShape(dims, rows === 1 ? shape : [rows, ...shape.slice(1)]));
  if (!fits) {
    throw new UsageError(
      `--input ${name} is ${describeShape(shape)}${
        shape[0] === 1 ? ", or so many rows of it" : ""
      }, got ${
        dims === undefined ? `${data.length} elements` : describeShape(dims)
      }`,
    );
  }
  return Array.from(
    { length: rows },
    (_, i) => data.slice(i * size, (i + 1) * size),
  );
}

/** The shape of each request's row where an axis is free: of a file that has no shape all is one request's. */
function shapeGiven(
  most: readonly number[],
  axis: number,
  dims: readonly number[] | undefined,
  elements: number,
): readonly number[] {
  const length = dims?.[axis] ?? elements / elementCount(most.with(axis, 1));
  const isOne = Number.isInteger(length) && length >= 1 && length <= most[axis];
  return isOne ? most.with(axis, length) : most;
}

/** @throws UsageError when the file is no tensor */
function readInput(path: string, spec: InputSpec): InputTensor {
  if (/\.npy$/i.test(path)) return tensorOf(path, readNpy);
  if (/\.pb$/i.test(path)) return tensorOf(path, readTensorFile);
  try {
    const text = readText(path).replace(/^\uFEFF/, "");
    return ofNumbers(JSON.parse(text), spec);
  } catch (error) {
    const isTheirs = error instanceof RangeError ||
      error instanceof TypeError || error instanceof SyntaxError;
    if (!isTheirs) throw error;
    const message = error instanceof SyntaxError
      ? `it is none of .npy, .pb and .json (${shorten(error.message)})`
      : error.message;
    throw new UsageError(`Cannot read ${describe(path)}: ${message}`);
  }
}

/** What the file's own reader makes of it, which says of what file it cannot be made. */
function tensorOf(
  path: string,
  read: (file: Uint8Array, label: string) => PlainTensor,
): InputTensor {
  const file = readBytes(path);
  try {
    return shaped(read(file, path));
  } catch (error) {
    throw error instanceof RangeError ? new UsageError(error.message) : error;
  }
}

function shaped({ dims, data }: PlainTensor): InputTensor {
  return { shape: dims, data: data as TensorData };
}

/** What an element of JSON says; undefined: nothing of this type. */
function numberOf(given: unknown, dtype: Dtype): number | undefined {
  // What is too large for a number is infinite to JSON's reader.
  const isNumber = typeof given === "number" && Number.isFinite(given);
  const value = isNumber ? given : specialNumber(given);
  if (dtype === "f32") return value;
  const isBit = value === 0 || value === 1;
  return Number.isSafeInteger(value) && (dtype !== "bool" || isBit)
    ? value
    : undefined;
}

function ofNumbers(given: unknown, { dtype }: InputSpec): TensorData {
  const numbers: unknown[] = Array.isArray(given)
    ? given.flat(Infinity)
    : [given];
  const data = elements(dtype, numbers.length);
  numbers.forEach((given, i) => {
    const value = numberOf(given, dtype);
    data[i] = data instanceof BigInt64Array ? BigInt(value ?? 0) : value ?? 0;
    const isKept = dtype === "f32" || Number(data[i]) === value;
    if (value !== undefined && isKept) return;
    throw new TypeError(
      `element ${i} is ${describe(given)}, no ${dtype} that JSON can say`,
    );
  });
  return data;
}
