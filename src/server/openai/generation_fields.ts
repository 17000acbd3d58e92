/**
 * What completions and chat completions have in common (OpenAI's OpenAPI document, `CreateCompletionRequest` and
 * `CreateChatCompletionRequest`). `top_k` is not OpenAI's; other servers of this protocol take it under that name,
 * and 0 or -1 for all tokens.
 */
import {
  FieldError,
  flag,
  ignored,
  integer,
  list,
  number,
  object,
  optional,
  type Read,
  text,
  unsupported,
  withDefault,
} from "../wire/fields.ts";

/** Most strings that end an answer, as in OpenAI's document. */
const STOPS_MAX = 4;

/** Most answers to one prompt, as in OpenAI's document. */
const CHOICES_MAX = 128;

const stopText: Read<string> = (value) => {
  const stop = text(value);
  if (stop === "") throw new FieldError("is an empty string", "invalid");
  return stop;
};

const stopTexts = list(stopText, 0, STOPS_MAX);

const stop: Read<readonly string[]> = (value) =>
  typeof value === "string" ? [stopText(value)] : stopTexts(value);

const streamOptions = object("stream_options", {
  include_usage: withDefault(flag, false),
  include_obfuscation: unsupported("no characters are added", false),
});

const NO_PENALTIES = "tokens are drawn from what the model says";

/** Fields of both. */
export const generationFields = {
  model: text,
  n: withDefault(integer(1, CHOICES_MAX), 1),
  seed: optional(integer(-Number.MAX_SAFE_INTEGER)),
  temperature: optional(number(0, 2)),
  top_p: optional(number(0, 1)),
  top_k: optional(integer(-1)),
  stop: optional(stop),
  stream: withDefault(flag, false),
  stream_options: optional(streamOptions),
  frequency_penalty: unsupported(NO_PENALTIES, 0),
  presence_penalty: unsupported(NO_PENALTIES, 0),
  logit_bias: unsupported(NO_PENALTIES, {}),
  user: ignored,
} as const;

/** @throws FieldError on fields that do not go together */
export function checkGeneration(
  { n, seed = 0, stream, stream_options }: {
    readonly n: number;
    readonly seed: number | undefined;
    readonly stream: boolean;
    readonly stream_options: unknown;
  },
): void {
  if (stream_options !== undefined && !stream) {
    throw new FieldError(
      'is for "stream": true only',
      "invalid",
      "stream_options",
    );
  }
  // Answers to one prompt have a seed each: this one and those that follow.
  const most = Number.MAX_SAFE_INTEGER - (n - 1);
  if (seed > most) {
    throw new FieldError(
      `is at most ${most} with "n": ${n}, since answers are drawn from it and the seeds that follow, got ${seed}`,
      "invalid",
      "seed",
    );
  }
}
