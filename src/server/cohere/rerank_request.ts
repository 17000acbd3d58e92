/** Body of Cohere's `POST /v1/rerank` and `/v2/rerank`. */
import {
  flag,
  integer,
  list,
  object,
  optional,
  type Read,
  text,
  unsupported,
  withDefault,
} from "../wire/fields.ts";

/** Most documents of one request, as Cohere advises. */
const DOCUMENTS_MAX = 1000;

const WHOLE = "documents are cut at the model's length, not in chunks";

const textDocument = object("a document", { text });

const document: Read<string> = (value) =>
  typeof value === "string" ? value : textDocument(value).text;

const shared = {
  model: text,
  query: text,
  top_n: optional(integer(1)),
  max_tokens_per_doc: unsupported(WHOLE),
};

/** `/v1/rerank`: a document is a string or `{ text }`. */
export const rerankV1Request = object("a rerank request", {
  ...shared,
  documents: list(document, 1, DOCUMENTS_MAX),
  return_documents: withDefault(flag, false),
  rank_fields: unsupported("documents have a text and nothing else", ["text"]),
  max_chunks_per_doc: unsupported(WHOLE, 1),
});

/** `/v2/rerank`: documents are strings. */
export const rerankV2Request = object("a rerank request", {
  ...shared,
  documents: list(text, 1, DOCUMENTS_MAX),
  priority: unsupported("documents of all requests are equal", 0),
});
