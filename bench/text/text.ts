/**
 * Embeddings of texts beside onnxruntime-node on the same file with the same tokens: an encoder with seeded weights in
 * front of which there is a tokenizer, its own or the one of a folder. Says how far results are apart, and whether each
 * text has the same bits alone and among all others; nothing is timed.
 *
 * Run: deno task bench:text [FOLDER] [--layers 2] [--texts 65] [--json]
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Prng } from "../../src/base/prng.ts";
import { integerOption, taskSettings } from "../../src/cli/options.ts";
import { print, progress } from "../../src/cli/terminal.ts";
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import { loadOnnx } from "../../src/onnx/load.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import type { RunText } from "../../src/text/run_texts.ts";
import { TextModel } from "../../src/text/text_model.ts";
import { TextTokenizer } from "../../src/text/tokenizer.ts";
import { BERT_INPUTS, bertFile } from "../../test/onnx/sequence_models.ts";
import { BERT_VOCABULARY, WORD_PIECES } from "../../test/text/tokenizers.ts";
import { install, requirePeer } from "../kernels/peers/install.ts";
import { createSession, type Ort, ORT_VERSION } from "../kernels/peers/ort.ts";

const SEED = 17;
const LAYERS_MAX = 48;
const TEXTS_MAX = 4096;

const { folder, layers, texts: count, json } = taskSettings({
  name: "bench:text",
  positionalsMax: 1,
  help: `bench:text [FOLDER] [options]

Embeddings of seeded texts (mean of the last states, at length 1) beside onnxruntime-node (installed when it is missing)
on the same file: an encoder of seeded weights, of the sizes that FOLDER/config.json has, behind FOLDER/tokenizer.json.

  FOLDER            default: a small tokenizer of the tests
  --layers N        of the encoder (default 2)
  --texts N         texts, of 8 tokens to as many as there are positions (default 65)
  --json            the figures as JSON
`,
  options: {
    layers: { type: "string" },
    texts: { type: "string" },
    json: { type: "boolean", default: false },
  },
}, ({ values, positionals }) => ({
  folder: positionals[0],
  layers: integerOption("layers", values.layers, 2, {
    min: 1,
    max: LAYERS_MAX,
  }),
  texts: integerOption("texts", values.texts, 65, { min: 2, max: TEXTS_MAX }),
  json: values.json,
}));

/** A tokenizer's files, and what there is to say of a model for it. */
function filesOf(folder: string | undefined) {
  if (folder === undefined) {
    const sizes = { hidden: 64, heads: 4, vocabulary: BERT_VOCABULARY };
    return { files: WORD_PIECES, sizes: { ...sizes, positions: 128 } };
  }
  const read = (name: string) => readFileSync(join(folder, name), "utf8");
  const config = JSON.parse(read("config.json"));
  return {
    files: {
      tokenizer: read("tokenizer.json"),
      ...(existsSync(join(folder, "tokenizer_config.json")) && {
        config: read("tokenizer_config.json"),
      }),
    },
    sizes: {
      hidden: config.hidden_size as number,
      heads: config.num_attention_heads as number,
      vocabulary: config.vocab_size as number,
      positions: config.max_position_embeddings as number,
    },
  };
}

const { files, sizes } = filesOf(folder);
const tokenizer = await TextTokenizer.load(files);
progress(`writing an encoder of ${layers} layers of ${sizes.hidden}`);
const file = bertFile(new Prng(SEED), {
  ...{ layers, ...sizes, mask: "added", norm: "operator", head: "pooled" },
}).bytes(BERT_INPUTS, ["last_hidden_state", "head"], 17);
const model = await loadOnnx(file, {
  sizesMax: { sequence: sizes.positions },
});
const texts = new TextModel(model, tokenizer);
const sentences = drawnTexts();

/** Words of the vocabulary, of the special ones none, as many as there is room for. */
function drawnTexts(): string[] {
  const prng = new Prng(SEED);
  const words: string[] = [];
  for (let id = 0; id < sizes.vocabulary; id++) {
    const token = tokenizer.idToToken(id);
    if (token !== undefined && /^[a-z]{2,}$/.test(token)) words.push(token);
  }
  const least = 6;
  return Array.from({ length: count }, (_, i) => {
    const most = sizes.positions - tokenizer.addedTokens() - least;
    // From the shortest to the longest, so that both are there.
    const length = least + Math.floor(most * i / (count - 1));
    return Array.from({ length }, () => words[prng.int(words.length)])
      .join(" ");
  });
}

/** Ours: each alone, then all together. */
async function embedded() {
  await using engine = await ServingEngine.create({
    models: [model],
    policy: cellular({ batchSizeMax: 128 }),
    workers: 1,
    slotBytes: 2 ** 30,
  });
  const run: RunText = (input, options) => engine.run(model, input, options);
  const alone: Float32Array[] = [];
  for (const text of sentences) {
    const [{ embedding }] = await texts.embed(run, [text]);
    alone.push(embedding);
  }
  const together = await texts.embed(run, sentences);
  return { alone, together };
}

/** The peer's states, pooled in the plainest way. */
async function peersRows(): Promise<Float64Array[]> {
  install({ "onnxruntime-node": ORT_VERSION });
  const ort = requirePeer("onnxruntime-node") as Ort;
  const session = await createSession(ort, file, { provider: "cpu" });
  const rows: Float64Array[] = [];
  for (const text of sentences) {
    const { ids, typeIds } = tokenizer.encode(text);
    const of = (numbers: Int32Array) =>
      new ort.Tensor("int64", BigInt64Array.from(numbers, BigInt), [
        1,
        ids.length,
      ]);
    const { last_hidden_state: { data } } = await session.run({
      input_ids: of(ids),
      attention_mask: of(ids.map(() => 1)),
      token_type_ids: of(typeIds),
    });
    const row = new Float64Array(sizes.hidden);
    (data as Float32Array).forEach((value, i) =>
      row[i % sizes.hidden] += value / ids.length
    );
    const length = Math.sqrt(row.reduce((sum, value) => sum + value ** 2, 0));
    rows.push(row.map((value) => value / length));
  }
  await session.release();
  return rows;
}

progress(`embedding ${count} texts, alone and together`);
const { alone, together } = await embedded();
progress("onnxruntime-node");
const expected = await peersRows();

let most = 0;
let sameBits = 0;
alone.forEach((row, i) => {
  row.forEach((value, j) => {
    most = Math.max(most, Math.abs(value - expected[i][j]));
  });
  const other = together[i].embedding;
  if (row.every((value, j) => Object.is(value, other[j]))) sameBits++;
});
const tokens = together.map(({ tokens }) => tokens);
const figures = {
  texts: count,
  tokensMin: Math.min(...tokens),
  tokensMax: Math.max(...tokens),
  hidden: sizes.hidden,
  layers,
  onnxruntime: ORT_VERSION,
  largestDifference: most,
  sameBits,
};
print(
  json ? JSON.stringify(figures, undefined, 2) : [
    `${count} texts of ${figures.tokensMin} to ${figures.tokensMax} tokens, ${layers} layers of ${sizes.hidden}`,
    `largest difference to onnxruntime-node ${ORT_VERSION}: ${
      most.toExponential(2)
    }`,
    `texts with the same bits alone and among the others: ${sameBits}`,
  ].join("\n"),
);
