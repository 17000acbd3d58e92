/** A request for inference as it comes in: checked, and nothing of it larger than what came. */
import { describe, describeShape, shorten } from "../../base/describe.ts";
import { type Datatype, datatypeBytes, DATATYPES } from "../host/datatypes.ts";
import type { WireTensor } from "../host/served_model.ts";
import { HttpError } from "../http/http_error.ts";
import { checkStrings, elementsOfBytes } from "./tensor_bytes.ts";
import { elementsOfJson } from "./tensor_json.ts";

/** Values of `parameters`. */
export type Parameters = Readonly<
  Record<string, string | number | bigint | boolean>
>;

/** An output that is asked for. */
export interface AskedOutput {
  readonly name: string;
  /** Whether it is to be binary; undefined: as the request says. */
  readonly isBinary?: boolean;
}

/** What a request asks for. */
export interface InferRequest {
  /** Echoed. */
  readonly id?: string;
  readonly parameters: Parameters;
  readonly inputs: ReadonlyMap<string, WireTensor>;
  /** Undefined: all, in the model's order. */
  readonly outputs?: readonly AskedOutput[];
}

/** Axes of a tensor; no library has more. */
const AXES_MAX = 64;

type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads a body of JSON, followed by the binary tensors that it speaks of.
 * @param value the JSON
 * @param binary what follows it
 * @throws HttpError 400
 */
export function readInferRequest(
  value: unknown,
  binary: Uint8Array,
): InferRequest {
  const fields = objectOf("A request", value);
  const id = given(fields, "id");
  if (id !== undefined && typeof id !== "string") {
    fail(`"id" is a string, got ${describe(id)}`);
  }
  const inputs = new Map<string, WireTensor>();
  let at = 0;
  let strings = 0;
  for (const input of listOf("inputs", fields["inputs"])) {
    const { tensor, bytes } = readInput(input, binary.subarray(at));
    if (inputs.has(tensor.name)) {
      fail(`Input "${shorten(tensor.name)}" is there twice`);
    }
    inputs.set(tensor.name, tensor);
    if (tensor.datatype === "BYTES") strings += tensor.data.length;
    checkStrings("A request", strings);
    at += bytes;
  }
  if (at !== binary.length) {
    fail(
      `${binary.length} bytes follow the JSON, of which inputs have ${at}`,
    );
  }
  const outputs = given(fields, "outputs");
  return {
    ...(id !== undefined && { id }),
    parameters: parametersOf("a request", fields),
    inputs,
    ...(outputs !== undefined && {
      outputs: listOf("outputs", outputs).map(readOutput),
    }),
  };
}

function readInput(
  value: unknown,
  rest: Uint8Array,
): { tensor: WireTensor; bytes: number } {
  const fields = objectOf("An input", value);
  const name = nameOf("An input", fields);
  const what = `Input "${shorten(name)}"`;
  const datatype = datatypeOf(what, fields["datatype"]);
  const { shape, count } = shapeOf(what, fields["shape"]);
  const { binary_data_size: size } = parametersOf(what, fields);
  const data = given(fields, "data");
  if (size === undefined) {
    if (data === undefined) {
      fail(`${what} has neither "data" nor a "binary_data_size"`);
    }
    return {
      tensor: {
        name,
        datatype,
        shape,
        data: elementsOfJson(what, datatype, shape, data),
      },
      bytes: 0,
    };
  }
  if (data !== undefined) {
    fail(`${what} has "data" and a "binary_data_size": it is one or the other`);
  }
  if (typeof size !== "number" || !Number.isSafeInteger(size) || size < 0) {
    fail(
      `"binary_data_size" of ${what} is a number of bytes, got ${
        describe(size)
      }`,
    );
  }
  if (size > rest.length) {
    fail(`${what} has ${size} bytes, of which ${rest.length} came`);
  }
  return {
    tensor: tensorOfBytes(
      { name, datatype, shape },
      count,
      rest.subarray(0, size),
    ),
    bytes: size,
  };
}

/**
 * A tensor whose elements came as bytes.
 * @param count elements that its shape has
 * @throws HttpError 400 when these are not as many
 */
export function tensorOfBytes(
  { name, datatype, shape }: Omit<WireTensor, "data">,
  count: number,
  bytes: Uint8Array,
): WireTensor {
  const what = `Input "${shorten(name)}"`;
  const perElement = datatypeBytes(datatype);
  if (perElement > 0 && bytes.length !== count * perElement) {
    fail(
      `${what} is ${datatype} ${describeShape(shape)}, ${
        count * perElement
      } bytes, got ${bytes.length}`,
    );
  }
  const data = elementsOfBytes(what, datatype, count, bytes);
  return { name, datatype, shape, data };
}

function readOutput(value: unknown): AskedOutput {
  const fields = objectOf("An output", value);
  const name = nameOf("An output", fields);
  const { binary_data: isBinary } = parametersOf(
    `output "${shorten(name)}"`,
    fields,
  );
  if (isBinary === undefined) return { name };
  if (typeof isBinary !== "boolean") {
    fail(`"binary_data" is true or false, got ${describe(isBinary)}`);
  }
  return { name, isBinary };
}

/** A field that may be left out; null stands for nothing, as clients write it that have a slot for every field. */
function given(fields: Fields, name: string): unknown {
  return fields[name] ?? undefined;
}

/** @throws HttpError 400 unless "parameters" are some, or there are none */
function parametersOf(what: string, of: Fields): Parameters {
  const value = given(of, "parameters");
  if (value === undefined) return {};
  const fields = objectOf(`"parameters" of ${what}`, value);
  for (const [key, parameter] of Object.entries(fields)) {
    const type = typeof parameter;
    if (type === "string" || type === "number" || type === "boolean") continue;
    // An integer beyond 2^53: exact, as ids of sequences are.
    if (type === "bigint") continue;
    fail(
      `Parameter "${shorten(key)}" is a string, a number or a boolean, got ${
        describe(parameter)
      }`,
    );
  }
  return fields as Parameters;
}

/** @throws HttpError 400 unless these are sizes of axes */
export function shapeOf(
  what: string,
  value: unknown,
): { shape: readonly number[]; count: number } {
  const shape = listOf("shape", value, ` of ${what}`) as number[];
  if (shape.length > AXES_MAX) {
    fail(`${what} has up to ${AXES_MAX} axes, got ${shape.length}`);
  }
  let count = 1;
  for (const size of shape) {
    if (!Number.isSafeInteger(size) || size < 0) {
      fail(
        `"shape" of ${what} has whole numbers from 0, got ${describe(size)}`,
      );
    }
    count *= size;
  }
  if (!Number.isSafeInteger(count)) {
    fail(`${what} has more elements than there are numbers for`);
  }
  return { shape, count };
}

/** @throws HttpError 400 unless it is a type's name */
export function datatypeOf(what: string, value: unknown): Datatype {
  const found = DATATYPES.find((datatype) => datatype === value);
  return found ??
    fail(
      `"datatype" of ${what} is one of ${DATATYPES.join(", ")}, got ${
        describe(value)
      }`,
    );
}

function nameOf(what: string, { name }: Fields): string {
  return typeof name === "string"
    ? name
    : fail(`${what} has a "name", a string, got ${describe(name)}`);
}

function listOf(
  name: string,
  value: unknown,
  of = "",
): readonly unknown[] {
  return Array.isArray(value)
    ? value
    : fail(`"${name}"${of} is an array, got ${describe(value)}`);
}

function objectOf(what: string, value: unknown): Fields {
  const isObject = typeof value === "object" && value !== null &&
    !Array.isArray(value);
  return isObject
    ? value as Fields
    : fail(`${what} is an object, got ${describe(value)}`);
}

function fail(message: string): never {
  throw new HttpError(400, message);
}
