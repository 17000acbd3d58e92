/** Bodies of requests of Text Embeddings Inference (its router, `http/types.rs`, 1.9.3). */
import {
  flag,
  integer,
  list,
  object,
  oneOf,
  optional,
  type Read,
  text,
  withDefault,
} from "../wire/fields.ts";
import { idLists, textInputs, texts, textsOrPairs } from "./inputs.ts";

/** Which end of a text is cut off. */
export type TruncationDirection = "left" | "right";

const direction = oneOf(["left", "right", "Left", "Right"]);

const truncationDirection: Read<TruncationDirection> = (value) =>
  value === undefined
    ? "right"
    : direction(value).toLowerCase() as TruncationDirection;

const truncation = {
  /** Absent: as the model is configured. */
  truncate: optional(flag),
  truncation_direction: truncationDirection,
};

const prompt = { prompt_name: optional(text) };

/** `POST /embed`. */
export const embedRequest = object("an embed request", {
  inputs: textInputs,
  ...truncation,
  ...prompt,
  normalize: withDefault(flag, true),
  dimensions: optional(integer(1)),
});

/** `POST /embed_all`. */
export const embedAllRequest = object("an embed_all request", {
  inputs: textInputs,
  ...truncation,
  ...prompt,
});

/** `POST /predict`. */
export const predictRequest = object("a predict request", {
  inputs: textsOrPairs,
  ...truncation,
  raw_scores: withDefault(flag, false),
});

/** `POST /rerank`. */
export const rerankRequest = object("a rerank request", {
  query: text,
  texts: list(text),
  ...truncation,
  raw_scores: withDefault(flag, false),
  return_text: withDefault(flag, false),
});

/** `POST /similarity`. */
export const similarityRequest = object("a similarity request", {
  inputs: object("inputs", { source_sentence: text, sentences: list(text) }),
  parameters: optional(object("parameters", { ...truncation, ...prompt })),
});

/** `POST /tokenize`. */
export const tokenizeRequest = object("a tokenize request", {
  inputs: texts,
  ...prompt,
  add_special_tokens: withDefault(flag, true),
});

/** `POST /decode`. */
export const decodeRequest = object("a decode request", {
  ids: idLists,
  skip_special_tokens: withDefault(flag, true),
});
