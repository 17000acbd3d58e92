import {
  checkedOptions,
  type Checks,
  integer,
  listOf,
  number,
  ofType,
  positiveInteger,
} from "../base/checked_options.ts";
import { describe } from "../base/describe.ts";
import type { TextRequestOptions } from "./run_texts.ts";
import { TEXT_CHECKS, type TextOptions } from "./text_options.ts";

/**
 * How an answer is generated.
 * @typeParam Options what a request to the engine takes
 */
export interface GenerateOptions<
  Options extends TextRequestOptions = TextRequestOptions,
> extends TextOptions<Options> {
  /**
   * Whether a longer prompt is cut; default false. It leaves the answer, which goes on from it, as many tokens as
   * `maxTokens` says (100 where that is not said), of at most half of what the model takes; unless `tokensMax`, below
   * that, says how many of the prompt stay.
   */
  readonly truncate?: boolean;
  /** Most tokens of the answer; default: what the model takes as one. */
  readonly maxTokens?: number;
  /** What scores are divided by before a token is drawn; 0, the default: the token of the largest score. */
  readonly temperature?: number;
  /** Draw from so many tokens of the largest scores; default 0: from all. */
  readonly topK?: number;
  /** Draw from the fewest tokens that have this share of the whole; default 1. */
  readonly topP?: number;
  /** Where the draws begin, an integer; default: one that the model has not used yet. */
  readonly seed?: number;
  /** Strings that end the answer, which leaves them out; none is empty. Special tokens are among what they may be. */
  readonly stop?: readonly string[];
  /**
   * Tells how likely each token was, and so many that were likely in its place; of a model whose results have `scores`.
   * Default: nothing of it.
   */
  readonly logprobs?: number;
  /** Whether text has special tokens, too; default false. */
  readonly specialTokens?: boolean;
}

/** What of them is of the answer. */
export type AnswerOptions = Pick<
  GenerateOptions,
  | "maxTokens"
  | "temperature"
  | "topK"
  | "topP"
  | "seed"
  | "stop"
  | "logprobs"
  | "specialTokens"
>;

const CHECKS: Checks<GenerateOptions> = {
  ...TEXT_CHECKS,
  maxTokens: positiveInteger,
  temperature: number("at least 0", (t) => t >= 0 && t < Infinity),
  topK: integer(0, 2 ** 31 - 1),
  topP: number("above 0 and up to 1", (p) => p > 0 && p <= 1),
  seed: number("an integer", Number.isSafeInteger),
  stop: listOf((name, value) => {
    if (typeof value === "string" && value !== "") return;
    throw new TypeError(
      `"${name}" is a string that is not empty, got ${describe(value)}`,
    );
  }),
  logprobs: integer(0, 2 ** 31 - 1),
  specialTokens: ofType("boolean"),
};

/** @throws TypeError or RangeError naming the option */
export function checkedGenerate<Options extends TextRequestOptions>(
  options: GenerateOptions<Options>,
): { text: TextOptions; answer: AnswerOptions; request: Options | undefined } {
  const checked = checkedOptions(
    "generate()",
    options,
    CHECKS as Checks<GenerateOptions<Options>>,
  );
  const { tokensMax, truncate, truncationSide, addSpecialTokens } = checked;
  const { request, ...answer } = checked;
  return {
    text: {
      ...(tokensMax !== undefined && { tokensMax }),
      ...(truncate !== undefined && { truncate }),
      // What a prompt ends with is what is answered.
      truncationSide: truncationSide ?? "left",
      ...(addSpecialTokens !== undefined && { addSpecialTokens }),
    },
    answer,
    request,
  };
}
