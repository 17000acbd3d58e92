/** What a folder's configuration files say of a model of texts. */
import { describe, isList, listed } from "../base/describe.ts";
import { knownOptions } from "../base/options.ts";
import { type AnswerDefaults, areIds } from "./answer_options.ts";
import { TextFileError } from "./errors.ts";
import { generationSettings } from "./generation_settings.ts";
import { parsed } from "./parsed.ts";
import type { Pooling } from "./pooling.ts";
import type { Prompts } from "./prompts.ts";

/** How scores become probabilities: of one class among all, or of each by itself. */
export type ScoreActivation = "softmax" | "sigmoid" | "none";

/** What a model of texts is, as far as its files say. */
export interface TextSettings extends Prompts {
  /** Most tokens of a text. */
  readonly tokensMax?: number;
  /** How rows of tokens make a text's. */
  readonly pooling?: Pooling;
  /** Whether a prompt's tokens count in it. */
  readonly includePrompt?: boolean;
  /** Whether texts come to the tokenizer in lower case. */
  readonly lowercase?: boolean;
  /** Names of classes, in the order of scores. */
  readonly labels?: readonly string[];
  /** How scores become probabilities. */
  readonly activation?: ScoreActivation;
  /** Ids that end an answer. */
  readonly eosIds?: readonly number[];
  /** How answers are generated whose requests do not say. */
  readonly answers?: AnswerDefaults;
  /** Whether answers do not go on from the prompt, but are another text. */
  readonly isEncoderDecoder?: boolean;
  /** What the architecture's name says that it is for. */
  readonly kind?: "embedding" | "classifier" | "reranker" | "decoder";
}

/** Files beside a model: text, bytes, or what JSON.parse makes of them. */
export interface TextSettingsFiles {
  /** `config.json`. */
  readonly config?: unknown;
  /** `generation_config.json`. */
  readonly generation?: unknown;
  /** `sentence_bert_config.json` of sentence-transformers. */
  readonly sentence?: unknown;
  /** `1_Pooling/config.json` of sentence-transformers. */
  readonly pooling?: unknown;
  /** `config_sentence_transformers.json`. */
  readonly prompts?: unknown;
}

/** Models whose positions begin behind the one of padding. Source: fairseq's `make_positions`. */
const POSITIONS_BEHIND_PADDING = /^(xlm-)?roberta|^camembert|^mpnet/;

/** Values of `pooling_mode`. Source: sentence-transformers, `Pooling`. */
const POOLING_MODES: Readonly<Record<string, Pooling>> = {
  cls: "cls",
  mean: "mean",
  lasttoken: "last",
};

/** What files before it have in its place. */
const POOLING_FLAGS: Readonly<Record<string, Pooling>> = {
  pooling_mode_cls_token: "cls",
  pooling_mode_mean_tokens: "mean",
  pooling_mode_lasttoken: "last",
};

const FILES = [
  "config",
  "generation",
  "sentence",
  "pooling",
  "prompts",
] satisfies (keyof TextSettingsFiles)[];

/**
 * Reads the files that sentence-transformers and transformers write.
 * @throws TypeError on a file that it has no name for
 * @throws TextFileError when one is no JSON object, rows are pooled in a way that is not known, prompts are no texts, ids
 * that end answers are none, or answers cannot be as the file says
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { textSettings } from "@shoal/core/text";
 *
 * const settings = textSettings({
 *   config: {
 *     architectures: ["BertForSequenceClassification"],
 *     id2label: { "0": "bad", "1": "good" },
 *     max_position_embeddings: 512,
 *   },
 * });
 * assert.deepEqual(settings, {
 *   kind: "classifier",
 *   tokensMax: 512,
 *   labels: ["bad", "good"],
 *   activation: "softmax",
 * });
 * ```
 */
export function textSettings(files: TextSettingsFiles): TextSettings {
  knownOptions("textSettings()", files, FILES, "file");
  const read = (name: string, file: unknown) =>
    file === undefined ? {} : parsed(name, file);
  const config = read("config.json", files.config);
  const generation = read("generation_config.json", files.generation);
  const sentence = read("sentence_bert_config.json", files.sentence);
  const pooling = read("1_Pooling/config.json", files.pooling);
  const prompts = read("config_sentence_transformers.json", files.prompts);
  const labels = labelsOf(config);
  const kind = kindOf(config, labels);
  const isScored = kind === "classifier" || kind === "reranker";
  // Only what generates has that file, whether or not another says what it is.
  const generates = kind === "decoder" ||
    kind === undefined && files.generation !== undefined;
  const eosIds = !generates ? undefined : eosIdsOf([
    ["generation_config.json", generation],
    ["config.json", config],
  ]);
  const { answers } = generationSettings(generation);
  const tokensMax = tokensMaxOf(config, sentence);
  const pools = poolingOf(pooling);
  return {
    ...(kind && { kind }),
    ...(tokensMax !== undefined && { tokensMax }),
    ...(pools && { pooling: pools }),
    ...(pooling["include_prompt"] === false && { includePrompt: false }),
    ...(sentence["do_lower_case"] === true && { lowercase: true }),
    ...promptsOf(prompts),
    ...(labels && isScored && { labels }),
    ...(isScored && { activation: activationOf(config, labels) }),
    ...(eosIds && { eosIds }),
    ...(generates && Object.keys(answers).length > 0 && { answers }),
    ...(config["is_encoder_decoder"] === true && { isEncoderDecoder: true }),
  };
}

type Json = Readonly<Record<string, unknown>>;

function tokensMaxOf(config: Json, sentence: Json): number | undefined {
  const { model_type: type, pad_token_id: pad } = config;
  const behind = typeof type === "string" &&
      POSITIONS_BEHIND_PADDING.test(type)
    ? 1 + (typeof pad === "number" ? pad : 1)
    : 0;
  const limits = [
    sentence["max_seq_length"],
    typeof config["max_position_embeddings"] === "number"
      ? config["max_position_embeddings"] - behind
      : config["n_positions"],
  ].filter((limit) => typeof limit === "number" && limit >= 1) as number[];
  return limits.length > 0 ? Math.min(...limits) : undefined;
}

/** The one that is named, or switched on; of several, rows would be one behind the other. */
function poolingOf(file: Json): Pooling | undefined {
  const { pooling_mode: mode } = file;
  const known = mode === undefined ? POOLING_FLAGS : POOLING_MODES;
  const given = mode === undefined
    ? Object.keys(file).filter((name) =>
      name.startsWith("pooling_mode_") && file[name] === true
    )
    : isList(mode)
    ? mode
    : [mode];
  if (mode === undefined && given.length === 0) return undefined;
  const [first] = given;
  if (
    given.length === 1 && typeof first === "string" &&
    Object.hasOwn(known, first)
  ) return known[first];
  throw new TextFileError(
    `1_Pooling/config.json has ${
      mode === undefined ? listed(given) : `"pooling_mode" ${describe(mode)}`
    }; rows are pooled in one way, by one of ${listed(Object.keys(known))}`,
  );
}

/** Source: sentence-transformers, `SentenceTransformer`. */
function promptsOf(file: Json): Prompts {
  const { prompts: given, default_prompt_name: name } = file;
  const all = given === undefined || given === null ? {} : given;
  if (
    typeof all !== "object" || isList(all) ||
    Object.values(all).some((prompt) => typeof prompt !== "string")
  ) {
    throw new TextFileError(
      `config_sentence_transformers.json: "prompts" are texts by name, got ${
        describe(given)
      }`,
    );
  }
  const prompts = all as Readonly<Record<string, string>>;
  const isNone = name === undefined || name === null || name === "";
  if (!isNone && !(typeof name === "string" && Object.hasOwn(prompts, name))) {
    throw new TextFileError(
      `config_sentence_transformers.json: "default_prompt_name" is one of ${
        listed(Object.keys(prompts))
      }, got ${describe(name)}`,
    );
  }
  return {
    ...(Object.keys(prompts).length > 0 && { prompts }),
    ...(!isNone && { defaultPrompt: name }),
  };
}

function labelsOf(config: Json): readonly string[] | undefined {
  const named = config["id2label"];
  if (typeof named !== "object" || named === null) return undefined;
  const entries = Object.entries(named).map(([id, label]) =>
    [Number(id), `${label}`] as const
  ).sort(([a], [b]) => a - b);
  const isWhole = entries.every(([id], i) => id === i);
  return isWhole ? entries.map(([, label]) => label) : undefined;
}

function kindOf(
  config: Json,
  labels: readonly string[] | undefined,
): TextSettings["kind"] {
  const names = config["architectures"];
  const name = isList(names) ? `${names[0]}` : "";
  if (/ForSequenceClassification$/.test(name)) {
    const classes = labels?.length ?? config["num_labels"];
    return classes === 1 ? "reranker" : "classifier";
  }
  if (/(ForCausalLM|LMHeadModel|ForConditionalGeneration)$/.test(name)) {
    return "decoder";
  }
  return /Model$/.test(name) ? "embedding" : undefined;
}

/** Source: transformers, `TextClassificationPipeline.postprocess`. */
function activationOf(
  config: Json,
  labels: readonly string[] | undefined,
): ScoreActivation {
  switch (config["problem_type"]) {
    case "regression":
      return "none";
    case "multi_label_classification":
      return "sigmoid";
    default:
      return labels?.length === 1 ? "sigmoid" : "softmax";
  }
}

/** Of the first file that says it. @throws TextFileError on what is no id */
function eosIdsOf(
  files: readonly [string, Json][],
): readonly number[] | undefined {
  for (const [name, { eos_token_id: ids }] of files) {
    if (ids === undefined || ids === null) continue;
    const list = isList(ids) ? ids : [ids];
    try {
      areIds("eos_token_id", list);
    } catch (cause) {
      throw new TextFileError(`${name}: ${(cause as Error).message}`, {
        cause,
      });
    }
    return list as readonly number[];
  }
  return undefined;
}
