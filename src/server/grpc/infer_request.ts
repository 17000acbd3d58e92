/** `ModelInferRequest`: tensors as lists of their type, or all of them as bytes. */
import { describeShape, shorten } from "../../base/describe.ts";
import {
  type Datatype,
  DATATYPE_ARRAYS,
  type FixedDatatype,
  type WireElements,
} from "../host/datatypes.ts";
import type { WireTensor } from "../host/served_model.ts";
import { HttpError } from "../http/http_error.ts";
import {
  datatypeOf,
  type InferRequest,
  type Parameters,
  shapeOf,
  tensorOfBytes,
} from "../oip/request.ts";
import { checkStrings } from "../oip/tensor_bytes.ts";
import { decode } from "./decode.ts";
import type { Decoded } from "./descriptor.ts";
import { INFER_REQUEST } from "./messages.ts";

type Sent = Decoded<typeof INFER_REQUEST>;
type SentTensor = Sent["inputs"][number];
type Contents = NonNullable<SentTensor["contents"]>;
type SentParameters = Sent["parameters"];

/** A request, and whom it asks. */
export interface GrpcInferRequest {
  readonly model: string;
  /** Undefined: the newest. */
  readonly version?: string;
  readonly request: InferRequest;
  /** Whether tensors came as lists of their type, as the answer's are to be then, if it does not say otherwise. */
  readonly isTyped: boolean;
}

/** In which list of `InferTensorContents` the elements of a type are; those of 16 bits have none. */
export const LISTS: Readonly<Record<Datatype, keyof Contents | undefined>> = {
  BOOL: "bool_contents",
  INT8: "int_contents",
  INT16: "int_contents",
  INT32: "int_contents",
  INT64: "int64_contents",
  UINT8: "uint_contents",
  UINT16: "uint_contents",
  UINT32: "uint_contents",
  UINT64: "uint64_contents",
  FP16: undefined,
  BF16: undefined,
  FP32: "fp32_contents",
  FP64: "fp64_contents",
  BYTES: "bytes_contents",
};

/** @throws HttpError 400 */
export function readInferRequest(bytes: Uint8Array): GrpcInferRequest {
  const sent = decode(INFER_REQUEST, bytes);
  const { id, inputs, outputs, raw_input_contents: raw } = sent;
  const isRaw = raw.length > 0;
  if (isRaw && raw.length !== inputs.length) {
    throw new HttpError(
      400,
      `"raw_input_contents" has bytes of ${raw.length} inputs, of which there are ${inputs.length}`,
    );
  }
  const tensors = new Map<string, WireTensor>();
  let strings = 0;
  inputs.forEach((input, i) => {
    const tensor = tensorOf(input, isRaw ? raw[i] : undefined);
    if (tensors.has(tensor.name)) {
      throw new HttpError(
        400,
        `Input "${shorten(tensor.name)}" is there twice`,
      );
    }
    tensors.set(tensor.name, tensor);
    if (tensor.datatype === "BYTES") strings += tensor.data.length;
    checkStrings("A request", strings);
  });
  return {
    model: sent.model_name ?? "",
    ...(sent.model_version && { version: sent.model_version }),
    isTyped: inputs.length > 0 && !isRaw,
    request: {
      ...(id !== undefined && { id }),
      parameters: parametersOf(sent.parameters),
      inputs: tensors,
      outputs: outputs.map(({ name = "" }) => ({ name })),
    },
  };
}

function tensorOf(
  { name = "", datatype: type, shape: sizes, contents }: SentTensor,
  raw: Uint8Array | undefined,
): WireTensor {
  const what = `Input "${shorten(name)}"`;
  const datatype = datatypeOf(what, type);
  const { shape, count } = shapeOf(what, Array.from(sizes, Number));
  const filled = Object.entries(contents ?? {}).filter(([, list]) =>
    list.length > 0
  ).map(([list]) => list);
  if (raw !== undefined) {
    if (filled.length === 0) {
      return tensorOfBytes({ name, datatype, shape }, count, raw);
    }
    throw new HttpError(
      400,
      `${what} has contents beside "raw_input_contents": it is one or the other`,
    );
  }
  const list = LISTS[datatype];
  if (list === undefined) {
    throw new HttpError(
      400,
      `${what} is ${datatype}, which is sent in "raw_input_contents" only`,
    );
  }
  const other = filled.find((name) => name !== list);
  if (other !== undefined) {
    throw new HttpError(
      400,
      `${what} is ${datatype}, which is in "${list}", not "${other}"`,
    );
  }
  const elements = contents?.[list] ?? [];
  if (elements.length !== count) {
    throw new HttpError(
      400,
      `${what} has shape ${
        describeShape(shape)
      }, ${count} elements, got ${elements.length}`,
    );
  }
  return { name, datatype, shape, data: fitting(what, datatype, elements) };
}

/** Elements in the array of their type, which may be narrower than the one that they came in. */
function fitting(
  what: string,
  datatype: Datatype,
  elements: ArrayLike<unknown>,
): WireElements {
  if (datatype === "BYTES") {
    return Array.from(elements as readonly Uint8Array[], (one) => one.slice());
  }
  const Elements = DATATYPE_ARRAYS[datatype as FixedDatatype];
  if (elements instanceof Elements) return elements;
  const given = elements as ArrayLike<number>;
  const data = new Elements(given.length) as Int32Array;
  for (let i = 0; i < given.length; i++) {
    data[i] = given[i];
    if (data[i] === given[i]) continue;
    throw new HttpError(400, `${what} is ${datatype}, got ${given[i]} at ${i}`);
  }
  return data;
}

/** @throws HttpError 400 on one without a value, or with several */
export function parametersOf(sent: SentParameters): Parameters {
  return Object.fromEntries(
    [...sent].map(([name, choices]) => {
      const values = Object.values(choices ?? {}).filter((value) =>
        value !== undefined
      );
      if (values.length !== 1) {
        throw new HttpError(
          400,
          `Parameter "${shorten(name)}" has ${values.length} values, not one`,
        );
      }
      return [name, plain(values[0])];
    }),
  );
}

/** Integers that numbers have are numbers, as in JSON. */
function plain(value: string | number | bigint | boolean) {
  const isExact = typeof value === "bigint" &&
    Number.isSafeInteger(Number(value));
  return isExact ? Number(value) : value;
}
