/** An answer to a request for inference: JSON, and behind it the tensors that were asked for as binary data. */
import { describe, shorten } from "../../base/describe.ts";
import type { ServedModel, WireTensor } from "../host/served_model.ts";
import { HttpError } from "../http/http_error.ts";
import { jsonText } from "../http/respond.ts";
import type { AskedOutput, InferRequest } from "./request.ts";
import { bytesOfElements } from "./tensor_bytes.ts";
import { jsonOfElements } from "./tensor_json.ts";

/** Bytes of the JSON in front of binary data. */
export const HEADER_LENGTH = "inference-header-content-length";

/** An output of an answer. */
export interface ChosenOutput {
  readonly name: string;
  readonly isBinary: boolean;
}

/**
 * Which outputs go out, and how.
 * @throws HttpError 400 on one that the model does not have, or that is named twice
 */
export function chosenOutputs(
  { name: model, outputs }: ServedModel,
  { outputs: asked, parameters }: InferRequest,
): readonly ChosenOutput[] {
  const { binary_data_output: isBinaryAll = false } = parameters;
  if (typeof isBinaryAll !== "boolean") {
    throw new HttpError(
      400,
      `"binary_data_output" is true or false, got ${describe(isBinaryAll)}`,
    );
  }
  const names = new Set<string>();
  // As there, none are all.
  const wanted: readonly AskedOutput[] = asked?.length ? asked : outputs;
  return wanted.map(
    ({ name, isBinary = isBinaryAll }) => {
      if (!outputs.some((spec) => spec.name === name)) {
        throw new HttpError(
          400,
          `Model "${model}" has no output "${shorten(name)}"; it gives ${
            outputs.map(({ name }) => name).join(", ")
          }`,
        );
      }
      if (names.has(name)) {
        throw new HttpError(400, `Output "${name}" is asked for twice`);
      }
      names.add(name);
      return { name, isBinary };
    },
  );
}

/** The answer with a result's tensors. */
export async function inferResponse(
  { name, version }: ServedModel,
  { id }: InferRequest,
  chosen: readonly ChosenOutput[],
  tensors: readonly WireTensor[],
): Promise<Response> {
  const binary: Uint8Array<ArrayBuffer>[] = [];
  const outputs: string[] = [];
  for (const { name, isBinary } of chosen) {
    const tensor = tensors.find((tensor) => tensor.name === name)!;
    const { datatype, shape } = tensor;
    const head = JSON.stringify({ name, datatype, shape }).slice(0, -1);
    if (!isBinary) {
      outputs.push(`${head},"data":${await jsonOfElements(tensor)}}`);
      continue;
    }
    const bytes = bytesOfElements(tensor);
    binary.push(bytes);
    outputs.push(
      `${head},"parameters":{"binary_data_size":${bytes.length}}}`,
    );
  }
  const head = JSON.stringify({
    model_name: name,
    model_version: version,
    ...(id !== undefined && { id }),
  }).slice(0, -1);
  const json = `${head},"outputs":[${outputs.join()}]}`;
  if (binary.length === 0) return jsonText(json);
  const header = new TextEncoder().encode(json);
  return new Response(new Blob([header, ...binary]), {
    headers: {
      "content-type": "application/octet-stream",
      [HEADER_LENGTH]: `${header.length}`,
    },
  });
}
