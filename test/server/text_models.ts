/** Tiny models of texts of every kind, with a tokenizer of a few words, behind a server. */
import { Prng } from "../../src/base/prng.ts";
import { gpt } from "../../src/models/gpt.ts";
import { lstm } from "../../src/models/lstm.ts";
import { onnxModel } from "../../src/onnx/model.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import { EngineHost } from "../../src/server/host/engine_host.ts";
import type { HostOptions } from "../../src/server/host/host_options.ts";
import type { ServedModel } from "../../src/server/host/served_model.ts";
import { servedOnnx } from "../../src/server/models/served_onnx.ts";
import { servedText } from "../../src/server/models/served_text.ts";
import { servedTokens } from "../../src/server/models/served_tokens.ts";
import { createServer, type Server } from "../../src/server/server.ts";
import type { ServerOptions } from "../../src/server/server_options.ts";
import { TextModel } from "../../src/text/text_model.ts";
import { TextTokenizer } from "../../src/text/tokenizer.ts";
import { BERT_INPUTS, bertFile } from "../onnx/sequence_models.ts";

const WORDS = [
  "[UNK]",
  "[CLS]",
  "[SEP]",
  "[END]",
  ..."a b c d fish birds swim fly in water air and small quick ##s".split(" "),
];

/** Ids of all words. */
export const VOCABULARY = WORDS.length;

/** Words in lower case, parts of words, [CLS] and [SEP] around texts. */
export const tokenizer: TextTokenizer = await TextTokenizer.load({
  tokenizer: {
    normalizer: { type: "BertNormalizer", lowercase: true },
    pre_tokenizer: { type: "BertPreTokenizer" },
    post_processor: {
      type: "BertProcessing",
      cls: ["[CLS]", 1],
      sep: ["[SEP]", 2],
    },
    decoder: { type: "WordPiece", prefix: "##", cleanup: true },
    added_tokens: WORDS.slice(0, 4).map((content, id) => ({
      id,
      content,
      special: true,
    })),
    model: {
      type: "WordPiece",
      unk_token: "[UNK]",
      continuing_subword_prefix: "##",
      vocab: Object.fromEntries(WORDS.map((word, id) => [word, id])),
    },
  },
  config: {
    eos_token: "[END]",
    chat_template:
      "{% for m in messages %}{{ m.role == 'system' and 'a' or 'b' }} {{ m.content }} {% endfor %}" +
      "{% if messages[-1].role == 'assistant' %}{{ raise_exception('It is not the answer to itself') }}{% endif %}c",
  },
});

/** Most tokens of a text. */
export const TOKENS_MAX = 16;

/** A BERT of a file, as exporters write it. */
const file = bertFile(new Prng(5), {
  ...{ layers: 2, hidden: 16, heads: 4, vocabulary: VOCABULARY },
  ...{ positions: TOKENS_MAX, mask: "added", norm: "parts", head: "pooled" },
}).read(BERT_INPUTS, ["last_hidden_state"], 17);
const embedder = onnxModel(file, { sizesMax: { sequence: TOKENS_MAX } });

const scorer = (classes: number) =>
  lstm({ hidden: 8, vocabulary: VOCABULARY, head: "classifier", classes });
const classifier = scorer(3);
const reranker = scorer(1);

/** Long answers, so that there is something to leave. */
export const POSITIONS_MAX = 600;

const decoder = gpt({
  layers: 1,
  hidden: 16,
  heads: 2,
  vocabulary: VOCABULARY,
  positionsMax: POSITIONS_MAX,
  eos: null,
});

/** A model of each kind. */
export const TEXT_MODELS: readonly ServedModel[] = [
  servedText(
    servedOnnx(embedder, { name: "embedder" }),
    new TextModel(embedder, tokenizer),
  ),
  servedText(
    servedTokens(classifier, { name: "classifier" }),
    new TextModel(classifier, tokenizer, {
      labels: ["bad", "fair", "good"],
      tokensMax: TOKENS_MAX,
    }),
  ),
  servedText(
    servedTokens(reranker, { name: "reranker" }),
    new TextModel(reranker, tokenizer, {
      labels: ["relevance"],
      tokensMax: TOKENS_MAX,
    }),
  ),
  servedText(
    servedTokens(decoder, { name: "writer" }),
    new TextModel(decoder, tokenizer, { tokensMax: POSITIONS_MAX }),
  ),
];

/** Asks a server without a socket. */
export type Ask = (
  path: string,
  body?: unknown,
  init?: RequestInit,
) => Promise<Response>;

/** A server of all models, or of some, for as long as `run` runs. */
export async function withTextServer(
  run: (ask: Ask, server: Server) => Promise<void>,
  models: readonly ServedModel[] = TEXT_MODELS,
  { host: hostOptions, ...options }: ServerOptions & {
    host?: Partial<HostOptions>;
  } = {},
): Promise<void> {
  const host = await EngineHost.create({
    models,
    policy: () => cellular(),
    engine: { workers: 0, warmUp: false },
    ...hostOptions,
  });
  const server = createServer(host, options);
  const ask: Ask = (path, body, init) =>
    server.fetch(
      new Request(`http://localhost${path}`, {
        ...(body !== undefined && {
          method: "POST",
          body: JSON.stringify(body),
        }),
        ...init,
      }),
    );
  try {
    await run(ask, server);
  } finally {
    await server.close();
  }
}

/** The model of a name. */
export function textOf(name: string): TextModel {
  return TEXT_MODELS.find((served) => served.name === name)!.text!;
}
