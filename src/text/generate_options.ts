import {
  checkedOptions,
  type Checks,
  integer,
  number,
  ofType,
} from "../base/checked_options.ts";
import { ANSWER_CHECKS, type AnswerDefaults } from "./answer_options.ts";
import type { TextRequestOptions } from "./run_texts.ts";
import { TEXT_CHECKS, type TextOptions } from "./text_options.ts";

/**
 * How an answer is generated. What it shares with the model's `answers` is as they say where it is not given.
 * @typeParam Options what a request to the engine takes
 */
export interface GenerateOptions<
  Options extends TextRequestOptions = TextRequestOptions,
> extends TextOptions<Options>, AnswerDefaults {
  /**
   * Whether a longer prompt is cut; default false. It leaves the answer, which goes on from it, as many tokens as
   * `maxTokens` says (100 where that is not said), of at most half of what the model takes; unless `tokensMax`, below
   * that, says how many of the prompt stay.
   */
  readonly truncate?: boolean;
  /** What is added to scores, by the token's id; of 300 tokens at most. */
  readonly logitBias?: Readonly<Record<number, number>>;
  /** Where the draws begin, an integer; default: one that the model has not used yet. */
  readonly seed?: number;
  /**
   * Tells how likely each token was, and so many that were likely in its place; of a model whose results have `scores`.
   * Default: nothing of it.
   */
  readonly logprobs?: number;
  /** Whether text has special tokens, too; default false. */
  readonly specialTokens?: boolean;
}

/** What of them is of the answer. */
export type AnswerOptions =
  & AnswerDefaults
  & Pick<
    GenerateOptions,
    "logitBias" | "seed" | "logprobs" | "specialTokens"
  >;

const CHECKS: Checks<GenerateOptions> = {
  ...TEXT_CHECKS,
  ...ANSWER_CHECKS,
  logitBias: ofType("object"),
  seed: number("an integer", Number.isSafeInteger),
  logprobs: integer(0, 2 ** 31 - 1),
  specialTokens: ofType("boolean"),
};

/**
 * @param defaults of what a request does not say
 * @throws TypeError or RangeError naming the option
 */
export function checkedGenerate<Options extends TextRequestOptions>(
  options: GenerateOptions<Options>,
  defaults: AnswerDefaults,
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
    answer: {
      ...answer,
      ...Object.fromEntries(
        Object.entries(defaults).filter(([name]) =>
          answer[name as keyof AnswerDefaults] === undefined
        ),
      ),
    },
    request,
  };
}
