/** Body of `POST /v1/chat/completions` (OpenAI's OpenAPI document, `CreateChatCompletionRequest`). */
import { isList } from "../../base/describe.ts";
import {
  FieldError,
  flag,
  ignored,
  integer,
  invalid,
  list,
  object,
  oneOf,
  optional,
  type Read,
  text,
  unsupported,
  withDefault,
} from "../wire/fields.ts";
import { checkGeneration, generationFields } from "./generation_fields.ts";

const textPart = object("a part of a message", {
  type: oneOf(["text"]),
  text,
});

const parts = list(textPart, 1);

const content: Read<string> = (value) => {
  if (typeof value === "string") return value;
  if (!isList(value)) throw invalid("a string or an array of parts", value);
  return parts(value).map((part) => part.text).join("");
};

const NO_TOOLS = "the model is not told of tools";

const message = object("a message", {
  role: oneOf(["developer", "system", "user", "assistant"]),
  content,
  name: unsupported("templates have no names of speakers"),
  refusal: unsupported("answers of this server have none"),
  audio: unsupported("only text is taken"),
  tool_calls: unsupported(NO_TOOLS, []),
  function_call: unsupported(NO_TOOLS),
});

/** Most others that are told with a token, as in OpenAI's document. */
const TOP_LOGPROBS_MAX = 20;

const read = object("a chat completion request", {
  ...generationFields,
  messages: list(message, 1),
  max_tokens: optional(integer(1)),
  max_completion_tokens: optional(integer(1)),
  logprobs: withDefault(flag, false),
  top_logprobs: optional(integer(0, TOP_LOGPROBS_MAX)),
  tools: unsupported(NO_TOOLS, []),
  tool_choice: unsupported(NO_TOOLS, "none", "auto"),
  functions: unsupported(NO_TOOLS, []),
  function_call: unsupported(NO_TOOLS, "none", "auto"),
  response_format: unsupported("answers are text", { type: "text" }),
  modalities: unsupported("answers are text", ["text"], []),
  audio: unsupported("answers are text"),
  prediction: unsupported("nothing is predicted ahead"),
  reasoning_effort: unsupported("the model is not told of it", "none"),
  verbosity: unsupported("the model is not told of it", "medium"),
  web_search_options: unsupported("nothing is searched"),
  moderation: unsupported("nothing is moderated"),
  store: unsupported("nothing is stored", false),
  // Who asks, how it is billed and cached: none of it changes an answer.
  metadata: ignored,
  parallel_tool_calls: ignored,
  prompt_cache_key: ignored,
  prompt_cache_options: ignored,
  prompt_cache_retention: ignored,
  safety_identifier: ignored,
  service_tier: ignored,
});

export type ChatRequest = ReturnType<typeof read>;

/** @throws FieldError */
export const chatRequest: Read<ChatRequest> = (value) => {
  const request = read(value);
  checkGeneration(request);
  const { max_tokens, max_completion_tokens, top_logprobs = 0 } = request;
  if (top_logprobs > 0 && !request.logprobs) {
    throw new FieldError('is for "logprobs": true', "invalid", "top_logprobs");
  }
  if (max_tokens !== undefined && max_completion_tokens !== undefined) {
    throw new FieldError(
      'is the old name of "max_completion_tokens": one of them is enough',
      "invalid",
      "max_tokens",
    );
  }
  return request;
};
