/** What becomes of texts. */
import type { Timing } from "../engine/wall/timing.ts";

/** What is known of a text that went through its model. */
export interface TextResult {
  /** Its tokens, special ones included. */
  readonly tokens: number;
  /** Tokens that were cut off. */
  readonly truncated: number;
  /** How long its request queued and ran. */
  readonly timing: Timing;
}

/** A text's embedding. */
export interface Embedding extends TextResult {
  /** One row. */
  readonly embedding: Float32Array;
}

/** A row for each token of a text. */
export interface TokenEmbeddings extends TextResult {
  /** As many as there are tokens. */
  readonly embeddings: readonly Float32Array[];
}

/** A class, and how likely it is. */
export interface LabelScore {
  /** Its name. */
  readonly label: string;
  /** A probability, unless raw scores were asked for. */
  readonly score: number;
}

/** A text's classes. */
export interface Classification extends TextResult {
  /** In the order of the model's labels. */
  readonly scores: readonly LabelScore[];
}

/** How well a text answers a query. */
export interface Relevance extends TextResult {
  /** A probability, unless raw scores were asked for. */
  readonly score: number;
}
