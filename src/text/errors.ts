/**
 * A text is longer than its model takes, or the request allows, and was not to be cut.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { TextTokenizer, TextTooLongError } from "@shoal/core/text";
 *
 * const tokenizer = await TextTokenizer.load({
 *   tokenizer: { pre_tokenizer: { type: "Whitespace" }, model: { type: "WordLevel", vocab: { fish: 0 } } },
 * });
 * assert.throws(() => tokenizer.encode("fish fish", { tokensMax: 1 }), TextTooLongError);
 * ```
 */
export class TextTooLongError extends RangeError {
  /** Its name, as of all errors. */
  override name = "TextTooLongError";

  /** Made where a text is encoded. */
  constructor(
    /** How many tokens it has, special ones included. */
    readonly tokens: number,
    /** How many it may have. */
    readonly tokensMax: number,
  ) {
    super(
      `The text has ${tokens} tokens, ${tokensMax} are the most; shorten it, or have it truncated`,
    );
  }
}

/**
 * A tokenizer's or model's files say something that cannot be served.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { TextFileError, TextTokenizer } from "@shoal/core/text";
 *
 * await assert.rejects(TextTokenizer.load({ tokenizer: "{" }), TextFileError);
 * ```
 */
export class TextFileError extends Error {
  /** Its name, as of all errors. */
  override name = "TextFileError";
}
