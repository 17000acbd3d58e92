/** A request whose body is one tensor and nothing else: header length 0 (Triton's "binary_tensor_data", raw requests). */
import { datatypeBytes } from "../host/datatypes.ts";
import type { ServedModel, WireTensor } from "../host/served_model.ts";
import { HttpError } from "../http/http_error.ts";
import type { InferRequest } from "./request.ts";
import { elementsOfBytes } from "./tensor_bytes.ts";

/**
 * The request that a model's only required input is all of, as one row; all outputs are answered as binary data.
 * @throws HttpError 400 when the model has another number of inputs, its shape cannot be told, or bytes do not add up
 */
export function rawRequest(
  served: ServedModel,
  bytes: Uint8Array,
): InferRequest {
  const { name: model } = served;
  const required = served.inputs.filter(({ optional }) => !optional);
  if (required.length !== 1) {
    throw new HttpError(
      400,
      `Model "${model}" has ${required.length} inputs: a body without JSON is for those of one`,
    );
  }
  const [{ name, datatype, shape: declared }] = required;
  const isBatched = served.maxBatchSize > 0 && declared[0] === -1;
  const shape = isBatched ? declared.with(0, 1) : [...declared];
  const open = shape.indexOf(-1);
  if (shape.indexOf(-1, open + 1) > open && open >= 0) {
    throw new HttpError(
      400,
      `Input "${name}" of model "${model}" has more than one open axis: a body without JSON does not say its shape`,
    );
  }
  const what = `Input "${name}"`;
  const tensor = (shape: readonly number[], data: WireTensor["data"]) => ({
    parameters: { binary_data_output: true },
    inputs: new Map([[name, { name, datatype, shape, data }]]),
  });
  if (datatype === "BYTES") {
    const isOne = shape.every((size) => size === 1 || size === -1);
    if (isOne) return tensor(shape.map(() => 1), [bytes.slice()]);
    throw new HttpError(400, `${what} is more than one string: it needs JSON`);
  }
  const perElement = datatypeBytes(datatype);
  const known = shape.reduce(
    (count, size) => size === -1 ? count : count * size,
    perElement,
  );
  const size = open < 0 ? 1 : bytes.length / known;
  const isWhole = Number.isInteger(size) && known * size === bytes.length;
  if (!isWhole || size < 1) {
    throw new HttpError(
      400,
      `${what} of model "${model}" is ${datatype} [${shape}], which ${bytes.length} bytes are not`,
    );
  }
  const sizes = open < 0 ? shape : shape.with(open, size);
  const count = bytes.length / perElement;
  return tensor(sizes, elementsOfBytes(what, datatype, count, bytes));
}
