/** `ModelInferResponse`: tensors as they came in the request, as lists of their type or as bytes. */
import { describe } from "../../base/describe.ts";
import type { WireTensor } from "../host/served_model.ts";
import { HttpError } from "../http/http_error.ts";
import type { Inferred } from "../oip/infer.ts";
import { bytesOfElements } from "../oip/tensor_bytes.ts";
import { type GrpcInferRequest, LISTS } from "./infer_request.ts";

/**
 * Whether an answer has its tensors as bytes: as `binary_data_output` says, or else as they came.
 * @throws HttpError 400
 */
export function isRawAnswer(
  { isTyped, request: { parameters } }: GrpcInferRequest,
): boolean {
  const { binary_data_output: asked = !isTyped } = parameters;
  if (typeof asked === "boolean") return asked;
  throw new HttpError(
    400,
    `"binary_data_output" is true or false, got ${describe(asked)}`,
  );
}

/** @param parameters of the answer */
export function inferResponse(
  { request: { id } }: GrpcInferRequest,
  { served: { name, version }, chosen, tensors }: Inferred,
  isRaw: boolean,
  parameters: Readonly<Record<string, object>> = {},
): object {
  const given = chosen.flatMap(({ name }) =>
    tensors.filter((tensor) => tensor.name === name)
  );
  // Half precision has no list, and what is beside bytes has to be bytes as well.
  const asBytes = isRaw ||
    given.some((tensor) => LISTS[tensor.datatype] === undefined);
  return {
    model_name: name,
    model_version: version,
    id,
    parameters,
    outputs: given.map((tensor) => ({
      name: tensor.name,
      datatype: tensor.datatype,
      shape: tensor.shape,
      ...(!asBytes && { contents: contentsOf(tensor) }),
    })),
    ...(asBytes && { raw_output_contents: given.map(bytesOfElements) }),
  };
}

function contentsOf({ datatype, data }: WireTensor): object {
  const list = LISTS[datatype];
  return list === undefined ? {} : { [list]: data };
}
