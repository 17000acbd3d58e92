/** What users say of models of texts, and of requests to them. */
import {
  anything,
  type Check,
  checkedOptions,
  type Checks,
  listOf,
  ofType,
  oneOf,
  positiveInteger,
} from "../base/checked_options.ts";
import { describe, isList } from "../base/describe.ts";
import {
  ANSWER_CHECKS,
  type AnswerDefaults,
  areIds,
} from "./answer_options.ts";
import { type DenseLayer, isDense } from "./dense.ts";
import { type Pooling, POOLINGS } from "./pooling.ts";
import type { Prompts } from "./prompts.ts";
import type { TextRequestOptions } from "./run_texts.ts";
import type { ScoreActivation } from "./text_settings.ts";
import type { TruncationSide } from "./truncate.ts";

/** A text, or the ids of its tokens, which are taken as they are: with special tokens, if they are to be there. */
export type Text = string | readonly number[] | Int32Array;

/** A text, or two that belong together. */
export type TextOrPair = Text | readonly [string, string];

/** What a model of texts is, besides what its file says; `textSettings` reads most of it from configuration files. */
export interface TextModelOptions extends Prompts {
  /** Most tokens of a text; default: what tokenizer and model take. */
  readonly tokensMax?: number;
  /** Which of the model's outputs counts; default: by its name, or the only one. */
  readonly output?: string;
  /**
   * How rows of tokens make a text's; default "mean", where the model has no row for a text. Where it is said, they do so
   * also if the model pools them in its own way (`pooler_output`). `sentence_embedding` and `text_embeds` are taken as
   * they are.
   */
  readonly pooling?: Pooling;
  /** Layers that a text's pooled row goes through, the first one first; default: none. An output that has one row is refused. */
  readonly dense?: readonly DenseLayer[];
  /** Whether tokens of a prompt count where rows of tokens make a text's by their mean; default true. */
  readonly includePrompt?: boolean;
  /** Whether texts come to the tokenizer in lower case, prompts included; default false. Ids stay what they are. */
  readonly lowercase?: boolean;
  /** Names of classes, in the order of scores; default "LABEL_0" and so on. */
  readonly labels?: readonly string[];
  /** How scores become probabilities; default: "sigmoid" of one score, "softmax" of several. */
  readonly activation?: ScoreActivation;
  /** Of a decoder, ids that end an answer; default: the one of the tokenizer's "eos_token". */
  readonly eosIds?: readonly number[];
  /** Of a decoder, how answers are generated whose requests do not say; a temperature counts where tokens are drawn at all. */
  readonly answers?: AnswerDefaults;
  /** Of a decoder, whether its answers do not go on from the prompt, but are another text; default false. */
  readonly isEncoderDecoder?: boolean;
  /** Where draws of answers begin whose requests name no seed; default 0. Each has another one, in their order. */
  readonly seed?: number;
}

/**
 * What all requests to a model of texts take.
 * @typeParam Options what a request to the engine takes
 */
export interface TextOptions<
  Options extends TextRequestOptions = TextRequestOptions,
> {
  /** Handed on to each request: a signal, a time limit, or what a server takes. */
  readonly request?: Options;
  /** Most tokens of a text, up to the model's own limit. */
  readonly tokensMax?: number;
  /** Whether longer texts are cut; default false: they are refused with a TextTooLongError. */
  readonly truncate?: boolean;
  /** Which end is cut off; default "right", of the prompt of an answer "left". */
  readonly truncationSide?: TruncationSide;
  /** Whether special tokens go around texts; default true. */
  readonly addSpecialTokens?: boolean;
}

/**
 * What requests take to models that may have prompts.
 * @typeParam Options what a request to the engine takes
 */
export interface PromptedOptions<
  Options extends TextRequestOptions = TextRequestOptions,
> extends TextOptions<Options> {
  /** Which of the model's prompts stands in front of each text; default: the model's default. Ids have none. */
  readonly promptName?: string;
}

/**
 * How texts are embedded.
 * @typeParam Options what a request to the engine takes
 */
export interface EmbedOptions<
  Options extends TextRequestOptions = TextRequestOptions,
> extends PromptedOptions<Options> {
  /** Whether rows have length 1 (L2); default true. */
  readonly normalize?: boolean;
  /** Keep so many elements of a row, before it is normalised; default: all. */
  readonly dimensions?: number;
}

/**
 * How texts are scored.
 * @typeParam Options what a request to the engine takes
 */
export interface ScoreOptions<
  Options extends TextRequestOptions = TextRequestOptions,
> extends TextOptions<Options> {
  /** Whether scores stay what the model computes; default false: they become probabilities. */
  readonly raw?: boolean;
}

/** A text, or ids. */
export const isText: Check = (name, value) => {
  const isIds = isList(value) || value instanceof Int32Array;
  if (typeof value === "string" || isIds) return;
  throw new TypeError(
    `"${name}" is a string or a list of ids, got ${describe(value)}`,
  );
};

/** Texts by name. */
const isPrompts: Check = (name, value) => {
  ofType("object")(name, value);
  for (const [each, prompt] of Object.entries(value as object)) {
    ofType("string")(`${name}.${each}`, prompt);
  }
};

export const MODEL_CHECKS: Checks<TextModelOptions> = {
  tokensMax: positiveInteger,
  output: ofType("string"),
  pooling: oneOf(POOLINGS),
  dense: listOf(isDense),
  prompts: isPrompts,
  defaultPrompt: ofType("string"),
  includePrompt: ofType("boolean"),
  lowercase: ofType("boolean"),
  labels: listOf(ofType("string")),
  activation: oneOf(["softmax", "sigmoid", "none"]),
  eosIds: areIds,
  answers: (name, value) => {
    checkedOptions(`"${name}"`, value as AnswerDefaults, ANSWER_CHECKS);
  },
  isEncoderDecoder: ofType("boolean"),
  seed: (name, value) => {
    if (Number.isSafeInteger(value)) return;
    throw new RangeError(`"${name}" is an integer, got ${describe(value)}`);
  },
};

export const TEXT_CHECKS: Checks<TextOptions> = {
  request: anything,
  tokensMax: positiveInteger,
  truncate: ofType("boolean"),
  truncationSide: oneOf(["left", "right"]),
  addSpecialTokens: ofType("boolean"),
};

export const PROMPTED_CHECKS: Checks<PromptedOptions> = {
  ...TEXT_CHECKS,
  promptName: ofType("string"),
};

export const EMBED_CHECKS: Checks<EmbedOptions> = {
  ...PROMPTED_CHECKS,
  normalize: ofType("boolean"),
  dimensions: positiveInteger,
};

export const SCORE_CHECKS: Checks<ScoreOptions> = {
  ...TEXT_CHECKS,
  raw: ofType("boolean"),
};
