/** Body of `POST /v1/embeddings` (OpenAI's OpenAPI document, `CreateEmbeddingRequest`). */
import {
  ignored,
  integer,
  object,
  oneOf,
  optional,
  text,
  withDefault,
} from "../wire/fields.ts";
import { isSinglePrompt, prompts } from "./prompts.ts";

/** Most inputs of one request, as in OpenAI's document. */
const INPUTS_MAX = 2048;

const inputs = prompts(INPUTS_MAX);

export const embeddingsRequest = object("an embeddings request", {
  model: text,
  input: (value: unknown) => ({
    isBatch: !isSinglePrompt(value),
    inputs: inputs(value),
  }),
  encoding_format: withDefault(oneOf(["float", "base64"]), "float"),
  dimensions: optional(integer(1)),
  user: ignored,
});

export type EmbeddingsRequest = ReturnType<typeof embeddingsRequest>;
