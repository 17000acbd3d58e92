import type { TextModel } from "../../text/text_model.ts";
import type { ServedKind, ServedModel } from "../host/served_model.ts";
import { servedKind } from "./served_options.ts";

/**
 * Serves a model to protocols of texts, too.
 * @param text of the same model
 * @param kind what it is for; default: what `served` is for, if that is of texts, or else a decoder if its requests grow,
 * a reranker or classifier if it has labels, one or several, otherwise embeddings
 * @throws RangeError when `text` is of another model, or on a kind that there is not
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { bert } from "@shoal/core";
 * import { servedText, servedTokens } from "@shoal/core/server";
 * import { TextModel, TextTokenizer } from "@shoal/core/text";
 *
 * const tokenizer = await TextTokenizer.load({
 *   tokenizer: {
 *     pre_tokenizer: { type: "Whitespace" },
 *     model: { type: "WordLevel", unk_token: "?", vocab: { "?": 0, fish: 1, swim: 2 } },
 *   },
 * });
 * const model = bert({ layers: 1, hidden: 16, heads: 2, vocabulary: 3, tokensMax: 8 });
 * const served = servedText(servedTokens(model, { name: "sentences" }), new TextModel(model, tokenizer));
 * assert.equal(served.kind, "embedding");
 * ```
 */
export function servedText(
  served: ServedModel,
  text: TextModel,
  kind: ServedKind = kindOf(served, text),
): ServedModel {
  if (text.model !== served.model) {
    throw new RangeError(
      `The texts are those of "${text.model.name}", the model is "${served.model.name}"`,
    );
  }
  servedKind("kind", kind);
  return { ...served, text, kind };
}

function kindOf(
  { kind }: ServedModel,
  { model, labels }: TextModel,
): ServedKind {
  if (kind !== "tensors" && kind !== "stream") return kind;
  if (model.grow !== undefined) return "decoder";
  if (labels === undefined) return "embedding";
  return labels.length === 1 ? "reranker" : "classifier";
}
