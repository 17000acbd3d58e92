/** How a request to a decoder has its tokens drawn. */
import { describe, isList } from "../base/describe.ts";
import { isFloat32, isPositiveFloat32 } from "../base/float32.ts";
import { RequestFieldError } from "../base/request_field_error.ts";
import { BIASES_MAX, type Penalties } from "../plain/penalties.ts";

/** What a request brings of it, with the option `sample` of its decoder. */
export interface DrawInput {
  /** What scores are divided by; 0, the default: the token of the largest score. */
  readonly temperature?: number;
  /** Draw from so many tokens of the largest scores; default 0: from all. */
  readonly topK?: number;
  /** Draw from the fewest tokens that have this share of the whole; default 1. */
  readonly topP?: number;
  /** Draw from tokens that are at least this share of the likeliest one's as likely, from 0, the default: all, to 1. */
  readonly minP?: number;
  /** Where the draws begin, an integer; default 0. */
  readonly seed?: number;
}

/** What a request changes scores by, drawn or not, with the option `penalties` of its decoder. */
export interface PenaltyInput {
  /** Scores above 0 of tokens of prompt and answer are divided by it, others multiplied; above 0, default 1: nothing. */
  readonly repetitionPenalty?: number;
  /** What scores of the answer's tokens lose; default 0. */
  readonly presencePenalty?: number;
  /** What they lose for each time that they are there; default 0. */
  readonly frequencyPenalty?: number;
  /** No run of so many tokens of prompt and answer comes twice; default 0: any may. */
  readonly noRepeatNgramSize?: number;
  /** Before the answer has so many tokens none of those that end it is taken; default 0: any may be. */
  readonly minTokens?: number;
  /** What is added to scores, by the token's id; of 300 tokens at most. */
  readonly logitBias?: Readonly<Record<number, number>>;
}

/** Fields of a request that say how tokens are drawn. */
export const DRAW_FIELDS: readonly (keyof DrawInput)[] = [
  ...(["temperature", "topK", "topP", "minP", "seed"] as const),
];

/** Fields of a request that change scores. */
export const PENALTY_FIELDS: readonly (keyof PenaltyInput)[] = [
  ...(["repetitionPenalty", "presencePenalty"] as const),
  ...(["frequencyPenalty", "noRepeatNgramSize"] as const),
  ...(["minTokens", "logitBias"] as const),
];

/** Settings of a draw: temperature, topK, topP, minP. */
export const SETTINGS = 4;

/** As it was read. */
export interface Draws {
  readonly settings: readonly number[];
  readonly seed: number;
  readonly penalties: Penalties;
}

/**
 * @param name of the model
 * @param vocabulary ids of tokens that have scores, from 0 on
 * @throws RequestFieldError
 */
export function readDraws(
  name: string,
  input: Readonly<Record<string, unknown>>,
  vocabulary: number,
): Draws {
  const number = (
    field: keyof DrawInput | keyof PenaltyInput,
    absent: number,
    what: string,
    holds: (value: number) => boolean,
  ): number => {
    const value = input[field] ?? absent;
    if (typeof value === "number" && holds(value)) return value;
    throw new RequestFieldError(
      field,
      `of a request to "${name}" is ${what}, got ${describe(value)}`,
    );
  };
  const isWhole = (k: number) => Number.isSafeInteger(k) && k >= 0;
  const isShare = (p: number) => p >= 0 && p <= 1;
  return {
    settings: [
      number("temperature", 0, "at least 0", (t) => t >= 0 && t < Infinity),
      number("topK", 0, "a whole number", isWhole),
      number("topP", 1, "above 0 and up to 1", (p) => p > 0 && isShare(p)),
      number("minP", 0, "from 0 to 1", isShare),
    ],
    seed: number(
      "seed",
      0,
      "an integer of less than 2^53",
      Number.isSafeInteger,
    ),
    penalties: {
      repetition: number(
        "repetitionPenalty",
        1,
        "above 0 in f32",
        isPositiveFloat32,
      ),
      presence: number("presencePenalty", 0, "a number of f32", isFloat32),
      frequency: number("frequencyPenalty", 0, "a number of f32", isFloat32),
      noRepeat: number("noRepeatNgramSize", 0, "a whole number", isWhole),
      least: number("minTokens", 0, "a whole number", isWhole),
      biases: readBiases(name, input["logitBias"] ?? {}, vocabulary),
    },
  };
}

function readBiases(
  name: string,
  given: unknown,
  vocabulary: number,
): [number, number][] {
  const fail = (what: string, value: unknown): never => {
    throw new RequestFieldError(
      "logitBias",
      `of a request to "${name}" ${what}, got ${describe(value)}`,
    );
  };
  if (typeof given !== "object" || given === null || isList(given)) {
    return fail("is an object of numbers by ids of tokens", given);
  }
  const entries = Object.entries(given);
  if (entries.length > BIASES_MAX) {
    fail(`is of ${BIASES_MAX} tokens at most`, entries.length);
  }
  return entries.map(([key, added]) => {
    const id = Number(key);
    if (!(/^\d+$/.test(key) && id < vocabulary)) {
      fail(`is by ids of tokens below ${vocabulary}`, key);
    }
    if (typeof added === "number" && isFloat32(added)) return [id, added];
    return fail(`adds a number of f32 to token ${id}`, added);
  });
}
