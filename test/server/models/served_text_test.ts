/** What a model of texts is served as. */
import assert from "node:assert/strict";
import { bert } from "../../../src/models/bert.ts";
import type { ServedKind } from "../../../src/server/host/served_model.ts";
import { servedText } from "../../../src/server/models/served_text.ts";
import { servedTokens } from "../../../src/server/models/served_tokens.ts";
import { TextModel } from "../../../src/text/text_model.ts";
import { TextTokenizer } from "../../../src/text/tokenizer.ts";

const tokenizer = await TextTokenizer.load({
  tokenizer: {
    pre_tokenizer: { type: "Whitespace" },
    model: { type: "WordLevel", unk_token: "?", vocab: { "?": 0, fish: 1 } },
  },
});
const model = bert({
  layers: 1,
  hidden: 8,
  heads: 2,
  vocabulary: 2,
  tokensMax: 8,
  classes: 1,
});

function kindOf(
  served: ServedKind | undefined,
  labels?: readonly string[],
  kind?: ServedKind,
): ServedKind {
  return servedText(
    servedTokens(model, { name: "texts", ...(served && { kind: served }) }),
    new TextModel(model, tokenizer, { ...(labels && { labels }) }),
    kind,
  ).kind;
}

Deno.test("a model of texts is for what it is said to be for, or else for what its labels say", () => {
  assert.equal(kindOf(undefined), "embedding");
  assert.equal(kindOf(undefined, ["good"]), "reranker");
  assert.equal(kindOf(undefined, ["good", "bad"]), "classifier");
  // Said of the served model, or here, which counts more.
  assert.equal(kindOf("reranker"), "reranker");
  assert.equal(kindOf("classifier", ["good"]), "classifier");
  assert.equal(kindOf("reranker", undefined, "embedding"), "embedding");
  // Of no texts.
  assert.equal(kindOf("tensors", ["good"]), "reranker");
});

Deno.test("servedText() names a kind that there is not", () => {
  assert.throws(() => kindOf(undefined, undefined, "ranker" as ServedKind), {
    name: "RangeError",
    message:
      '"kind" is one of tensors, stream, embedding, classifier, reranker, decoder, got "ranker"',
  });
});
