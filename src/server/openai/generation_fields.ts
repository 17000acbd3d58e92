/**
 * What completions and chat completions have in common (OpenAI's OpenAPI document, `CreateCompletionRequest` and
 * `CreateChatCompletionRequest`). `top_k`, `min_p`, `repetition_penalty` and `min_tokens` are not OpenAI's; other servers
 * of this protocol take them under these names, and a `top_k` of 0 or -1 for all tokens.
 */
import { isPositiveFloat32 } from "../../base/float32.ts";
import {
  FieldError,
  flag,
  ignored,
  integer,
  invalid,
  list,
  number,
  object,
  optional,
  type Read,
  record,
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

/** What is lost for having been there, as in OpenAI's document. */
const penalty = optional(number(-2, 2));

/** What is added to scores, as in OpenAI's document; which ids there are the model says. */
const logitBias = record(number(-100, 100));

const aboveZero: Read<number> = (value) => {
  if (typeof value === "number" && isPositiveFloat32(value)) return value;
  throw invalid("a number above 0 in f32", value);
};

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
  min_p: optional(number(0, 1)),
  frequency_penalty: penalty,
  presence_penalty: penalty,
  repetition_penalty: optional(aboveZero),
  min_tokens: optional(integer(0, 2 ** 31 - 1)),
  logit_bias: optional(logitBias),
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
