/** Body of `POST /v1/completions` (OpenAI's OpenAPI document, `CreateCompletionRequest`). */
import {
  FieldError,
  flag,
  integer,
  object,
  optional,
  type Read,
  unsupported,
  withDefault,
} from "../wire/fields.ts";
import { checkGeneration, generationFields } from "./generation_fields.ts";
import { prompts } from "./prompts.ts";

/** Prompts of one request: each is a request of its own to the engine. */
const PROMPTS_MAX = 128;

/** As OpenAI has it, for requests that do not say. */
const MAX_TOKENS = 16;

/** Most others that are told with a token, as in OpenAI's document. */
const LOGPROBS_MAX = 5;

const read = object("a completion request", {
  ...generationFields,
  prompt: prompts(PROMPTS_MAX),
  max_tokens: withDefault(integer(1), MAX_TOKENS),
  echo: withDefault(flag, false),
  best_of: optional(integer(1)),
  logprobs: optional(integer(0, LOGPROBS_MAX)),
  suffix: unsupported("text is only continued at its end", ""),
});

export type CompletionsRequest = ReturnType<typeof read>;

/** @throws FieldError */
export const completionsRequest: Read<CompletionsRequest> = (value) => {
  const request = read(value);
  checkGeneration(request);
  const { best_of = 1, n } = request;
  // The best `n` of `n` are all of them.
  if (best_of > 1 && best_of !== n) {
    throw new FieldError(
      `is not supported: every choice is returned; ask for "n": ${best_of}`,
      "unsupported",
      "best_of",
    );
  }
  if (request.echo && request.logprobs !== undefined) {
    throw new FieldError(
      'is not supported with "echo": prompts are computed all at once, without probabilities',
      "unsupported",
      "logprobs",
    );
  }
  return request;
};
