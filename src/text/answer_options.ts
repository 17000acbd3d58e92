/** What a request says of its answer, or a model of all answers whose requests do not say. */
import {
  type Check,
  type Checks,
  integer,
  listOf,
  number,
  positiveInteger,
} from "../base/checked_options.ts";
import { describe } from "../base/describe.ts";
import { isFloat32, isPositiveFloat32 } from "../base/float32.ts";

/** How an answer is drawn, and what it ends with. */
export interface AnswerDefaults {
  /** Most tokens of the answer; default: what the model takes as one. */
  readonly maxTokens?: number;
  /** What scores are divided by before a token is drawn; 0, the default: the token of the largest score. */
  readonly temperature?: number;
  /** Draw from so many tokens of the largest scores; default 0: from all. */
  readonly topK?: number;
  /** Draw from the fewest tokens that have this share of the whole; default 1. */
  readonly topP?: number;
  /** Draw from tokens that are at least this share of the likeliest one's as likely; default 0: from all. */
  readonly minP?: number;
  /** Scores above 0 of tokens of prompt and answer are divided by it, others multiplied; default 1: nothing changes. */
  readonly repetitionPenalty?: number;
  /** What scores of the answer's tokens lose; default 0. */
  readonly presencePenalty?: number;
  /** What they lose for each time that they are there; default 0. */
  readonly frequencyPenalty?: number;
  /** No run of so many tokens of prompt and answer comes twice; default 0: any may. */
  readonly noRepeatNgramSize?: number;
  /**
   * Before the answer has so many tokens nothing ends it, stop strings included; default 0. What the decoder itself ends
   * with does not come before; what only `eosIds` has may.
   */
  readonly minTokens?: number;
  /** Strings that end the answer, which leaves them out; none is empty. Special tokens are among what they may be. */
  readonly stop?: readonly string[];
}

const MOST = 2 ** 31 - 1;

/** Ids of tokens. */
export const areIds: Check = listOf(integer(0, MOST));

export const ANSWER_CHECKS: Checks<AnswerDefaults> = {
  maxTokens: positiveInteger,
  temperature: number("at least 0", (t) => t >= 0 && t < Infinity),
  topK: integer(0, MOST),
  topP: number("above 0 and up to 1", (p) => p > 0 && p <= 1),
  minP: number("from 0 to 1", (p) => p >= 0 && p <= 1),
  repetitionPenalty: number("above 0 in f32", isPositiveFloat32),
  presencePenalty: number("a number of f32", isFloat32),
  frequencyPenalty: number("a number of f32", isFloat32),
  noRepeatNgramSize: integer(0, MOST),
  minTokens: integer(0, MOST),
  stop: listOf((name, value) => {
    if (typeof value === "string" && value !== "") return;
    throw new TypeError(
      `"${name}" is a string that is not empty, got ${describe(value)}`,
    );
  }),
};
