/** Texts through an encoder: what is in front of it and behind it, and the same bits in every batch. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import { bert } from "../../src/models/bert.ts";
import { lstm } from "../../src/models/lstm.ts";
import { runPlainGraph } from "../../src/onnx/plain_graph.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { plainOf } from "../../src/tensor/plain_tensor.ts";
import { tensor } from "../../src/tensor/tensor.ts";
import { TextFileError, TextTooLongError } from "../../src/text/errors.ts";
import type { RunText } from "../../src/text/run_texts.ts";
import { TextModel } from "../../src/text/text_model.ts";
import type { TextModelOptions } from "../../src/text/text_options.ts";
import type { TokenModel } from "../../src/text/token_inputs.ts";
import type { BertFile } from "../onnx/sequence_models.ts";
import { encoder, encoderFile, TOKENS_MAX } from "./models.ts";
import { TOKENIZERS } from "./tokenizers.ts";

const { tokenizer } = TOKENIZERS["word pieces"];
const WORDS = [
  "the",
  "cat",
  "sat",
  "on",
  "a",
  "mats",
  "dog",
  "faster",
  "zebra",
];

/** Gives a model's engine to those who want to run texts. */
async function withEngine(
  model: TokenModel,
  body: (run: RunText, engine: ServingEngine) => Promise<void>,
  policy = cellular({ batchSizeMax: 64 }),
): Promise<void> {
  await using engine = await ServingEngine.create({
    ...{ models: [model], policy, workers: 0, warmUp: false },
    slotBytes: 2 ** 24,
  });
  await body((input, options) => engine.run(model, input, options), engine);
}

/** What plain TypeScript makes of a text. */
function plainRows(
  text: string,
  pair?: string,
  head: BertFile["head"] = "pooled",
) {
  const file = readModel(encoderFile({ head }));
  const { ids, typeIds } = tokenizer.encode(
    text,
    pair === undefined ? {} : { pair },
  );
  const of = (numbers: ArrayLike<number>) =>
    plainOf("int64", [1, ids.length], [...Array.from(numbers)]);
  const outputs = runPlainGraph(
    file.graph,
    new Map([
      ["input_ids", of(ids)],
      ["attention_mask", of(ids.map(() => 1))],
      ["token_type_ids", of(typeIds)],
    ]),
  );
  const data = (name: string) => [
    ...outputs.get(name)!.data as Float32Array,
  ];
  return { rows: data("last_hidden_state"), head: data("head"), ids };
}

function isNear(actual: ArrayLike<number>, expected: ArrayLike<number>): void {
  assert.equal(actual.length, expected.length);
  for (let i = 0; i < expected.length; i++) {
    const off = Math.abs(actual[i] - expected[i]);
    assert(off <= 1e-5, `element ${i}: ${actual[i]} and ${expected[i]}`);
  }
}

function unit(row: readonly number[]): number[] {
  const length = Math.hypot(...row);
  return row.map((value) => value / length);
}

const TEXT = "The cats sat on a zebra.";

Deno.test("a text's row is the mean, the first or the last of its tokens', at length 1", async () => {
  const model = await encoder();
  const { rows, ids } = plainRows(TEXT);
  const width = 16;
  const row = (i: number) => rows.slice(i * width, (i + 1) * width);
  const mean = Array.from(
    { length: width },
    (_, i) =>
      rows.filter((_, at) => at % width === i).reduce((a, b) => a + b) /
      ids.length,
  );
  const expected = { mean, cls: row(0), last: row(ids.length - 1) };
  await withEngine(model, async (run) => {
    for (const pooling of ["mean", "cls", "last"] as const) {
      const texts = new TextModel(model, tokenizer, { pooling });
      const [found] = await texts.embed(run, [TEXT]);
      isNear(found.embedding, unit(expected[pooling]));
      assert.deepEqual([found.tokens, found.truncated], [10, 0]);
      const [raw] = await texts.embed(run, [TEXT], { normalize: false });
      isNear(raw.embedding, expected[pooling]);
      const [short] = await texts.embed(run, [TEXT], { dimensions: 5 });
      isNear(short.embedding, unit(expected[pooling].slice(0, 5)));
      const tooMany = texts.embed(run, [TEXT], { dimensions: 17 });
      await assert.rejects(tooMany, /"dimensions" are at most 16, got 17/);
    }
    const texts = new TextModel(model, tokenizer);
    const [tokens] = await texts.embedTokens(run, [TEXT]);
    assert.equal(tokens.embeddings.length, ids.length);
    isNear(tokens.embeddings.flatMap((each) => [...each]), rows);
    const pooled = new TextModel(model, tokenizer, { output: "head" });
    const [head] = await pooled.embed(run, [TEXT], { normalize: false });
    isNear(head.embedding, plainRows(TEXT).head);
    await assert.rejects(
      pooled.embedTokens(run, [TEXT]),
      /has one row for a text, none for tokens/,
    );
  });
});

Deno.test("tokens' rows are pooled as is said, also where the model pools them in its own way", async () => {
  const model = bert({ layers: 1, hidden: 16, heads: 2, vocabulary: 26 });
  const row = (...data: number[]) => Float32Array.from(data);
  const outputs = {
    last_hidden_state: tensor([1, 3, 2], row(1, 2, 3, 4, 5, 9)),
    pooler_output: tensor([1, 2], row(7, 8)),
  };
  const embed = async (options: TextModelOptions, more: object = {}) => {
    const [{ embedding }] = await new TextModel(model, tokenizer, options)
      .embed(
        () =>
          Promise.resolve({
            outputs: { ...outputs, ...more },
            timing: { queuedMs: 0, ranMs: 0 },
          }),
        ["cat"],
        { normalize: false },
      );
    return [...embedding];
  };
  assert.deepEqual(await embed({}), [7, 8]);
  assert.deepEqual(await embed({ pooling: "mean" }), [3, 5]);
  assert.deepEqual(await embed({ pooling: "cls" }), [1, 2]);
  const output = "pooler_output";
  assert.deepEqual(await embed({ pooling: "cls", output }), [7, 8]);
  // A row that has everything behind it.
  const whole = { sentence_embedding: tensor([1, 2], row(0, 1)) };
  assert.deepEqual(await embed({ pooling: "cls" }, whole), [0, 1]);
});

Deno.test("a text has the same bits alone and among 64 others, under every policy that takes the model", async () => {
  const model = await encoder();
  const texts = new TextModel(model, tokenizer);
  const sentences = fc.sample(
    fc.array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 20 }),
    { numRuns: 65, seed: 9 },
  ).map((words) => words.join(" "));
  const alone: Float32Array[] = [];
  await withEngine(model, async (run) => {
    for (const text of sentences) {
      const [{ embedding }] = await texts.embed(run, [text]);
      alone.push(embedding);
    }
  });
  for (const [name, { build }] of Object.entries(POLICIES)) {
    if (build().supports(model) !== undefined) continue;
    await withEngine(model, async (run) => {
      const together = await texts.embed(run, sentences);
      const found = together.map(({ embedding }) => embedding);
      assert.deepStrictEqual(found, alone, name);
    }, build());
  }
});

Deno.test("a model of a fixed length gets texts filled up, which nothing looks at", async () => {
  const [free, fixed] = await Promise.all([
    encoder(),
    encoder({}, { sizes: { sequence: 12 } }),
  ]);
  const texts = ["a cat", TEXT, "the dog ran faster, and sat."];
  const found: Float32Array[][] = [];
  for (const model of [free, fixed]) {
    const each = new TextModel(model, tokenizer);
    await withEngine(model, async (run) => {
      const embedded = await each.embed(run, texts);
      found.push(embedded.map(({ embedding }) => embedding));
      // Filled up, it would have a mean of nothing.
      for (const nothing of [[[]], ["a", []]]) {
        await assert.rejects(
          each.embed(run, nothing),
          {
            name: "RangeError",
            message: `A text has no tokens: "${model.name}" takes one at least`,
          },
        );
      }
      await assert.rejects(
        each.embed(run, [" "], { addSpecialTokens: false }),
        /has no tokens/,
      );
    });
  }
  found[0].forEach((row, i) => isNear(found[1][i], row));
  assert.equal(new TextModel(fixed, tokenizer).tokensMax, 12);
  const [model] = [
    await encoder({ mask: "none" }, { sizes: { sequence: 12 } }),
  ];
  const unmasked = {
    ...model,
    inputs: model.inputs.filter(({ name }) => name !== "attention_mask"),
  };
  await withEngine(model, async (run) => {
    const each = new TextModel(unmasked, tokenizer);
    await assert.rejects(
      each.embed(run, ["a cat"]),
      /takes 12 tokens and no attention mask/,
    );
  });
});

Deno.test("classes have labels and probabilities; pairs are scored together", async () => {
  const model = await encoder({ head: "largest" });
  await withEngine(model, async (run) => {
    const options = { output: "head", labels: ["bad", "fair", "good"] };
    const texts = new TextModel(model, tokenizer, options);
    const { head } = plainRows(TEXT, undefined, "largest");
    const [raw] = await texts.classify(run, [TEXT], { raw: true });
    isNear(raw.scores.map(({ score }) => score), head);
    const [found] = await texts.classify(run, [TEXT]);
    assert.deepEqual(found.scores.map(({ label }) => label), options.labels);
    const weights = head.map(Math.exp);
    const sum = weights.reduce((a, b) => a + b);
    isNear(
      found.scores.map(({ score }) => score),
      weights.map((weight) => weight / sum),
    );
    const many = new TextModel(model, tokenizer, {
      output: "head",
      activation: "sigmoid",
    });
    const [each] = await many.classify(run, [["a cat", "the dog"]]);
    assert.deepEqual(each.scores.map(({ label }) => label), [
      "LABEL_0",
      "LABEL_1",
      "LABEL_2",
    ]);
    const pair = plainRows("a cat", "the dog", "largest").head;
    isNear(
      each.scores.map(({ score }) => score),
      pair.map((score) => 1 / (1 + Math.exp(-score))),
    );
    assert.equal(each.tokens, 7);
    await assert.rejects(
      texts.rerank(run, "a cat", ["the dog"]),
      /has 3 scores: it classifies, a reranker has one/,
    );
  });
});

Deno.test("a reranker scores each text by the query, in the order of the texts", async () => {
  const model = bert({
    ...{ layers: 1, hidden: 16, heads: 2, vocabulary: 26, tokensMax: 24 },
    classes: 1,
  });
  await withEngine(model, async (run) => {
    const texts = new TextModel(model, tokenizer);
    const documents = ["the cat sat", "a dog", "", "run and run"];
    const found = await texts.rerank(run, "a cat", documents, { raw: true });
    const scores = found.map(({ score }) => score);
    assert.equal(new Set(scores).size, 4, "segments and words count");
    assert.deepEqual(found.map(({ tokens }) => tokens), [8, 7, 5, 8]);
    const [first] = await texts.classify(run, [["a cat", documents[0]]], {
      raw: true,
    });
    assert.equal(first.scores[0].score, scores[0]);
    const likely = await texts.rerank(run, "a cat", documents);
    isNear(
      likely.map(({ score }) => score),
      scores.map((score) => 1 / (1 + Math.exp(-score))),
    );
  });
});

Deno.test("texts are limited by model, tokenizer, option and request, or cut", async () => {
  const model = await encoder();
  const texts = new TextModel(model, tokenizer);
  assert.equal(texts.tokensMax, TOKENS_MAX);
  assert.equal(new TextModel(model, tokenizer, { tokensMax: 9 }).tokensMax, 9);
  const long = Array(40).fill("cat").join(" ");
  await withEngine(model, async (run, engine) => {
    await assert.rejects(texts.embed(run, [long]), TextTooLongError);
    assert.equal(engine.active, 0, "nothing was begun");
    const [cut] = await texts.embed(run, [long], { truncate: true });
    assert.deepEqual([cut.tokens, cut.truncated], [TOKENS_MAX, 10]);
    const [few] = await texts.embed(run, [long], {
      truncate: true,
      tokensMax: 5,
    });
    assert.equal(few.tokens, 5);
    const { ids } = tokenizer.encode("cat cat cat");
    const [given] = await texts.embed(run, [ids]);
    const [same] = await texts.embed(run, ["cat cat cat"]);
    assert.deepEqual(given.embedding, same.embedding, "ids as they are");
    const [listed] = await texts.embed(run, [[...ids]]);
    assert.deepEqual(listed.embedding, same.embedding);
    await assert.rejects(texts.embed(run, [Array(33).fill(5)]), {
      name: "TextTooLongError",
    });
    await assert.rejects(
      texts.embed(run, [[-1]]),
      /"text\[0\]" is an integer from 0/,
    );
    await assert.rejects(texts.embed(run, [[26]]), RangeError);
    await assert.rejects(texts.embed(run, [[]]));
    await assert.rejects(texts.embed(run, "a cat" as never), /is an array/);
    await assert.rejects(texts.embed(run, [5 as never]), /a string or a list/);
    await assert.rejects(
      texts.embed(run, ["a"], { normalise: true } as never),
      /embed\(\) has no option "normalise"/,
    );
  });
});

Deno.test("models that are built here say how long a text may be", async () => {
  const sizes = { hidden: 16, vocabulary: 1000, tokensMax: 5 };
  for (const model of [bert({ ...sizes, layers: 1, heads: 2 }), lstm(sizes)]) {
    await withEngine(model, async (run) => {
      const texts = new TextModel(model, tokenizer);
      assert.equal(texts.tokensMax, 5);
      const long = WORDS.join(" ");
      await assert.rejects(texts.embed(run, [long]), TextTooLongError);
      const [cut] = await texts.embed(run, [long], { truncate: true });
      assert.equal(cut.tokens, 5);
    });
  }
});

Deno.test("one text that fails ends the others; a signal ends all", async () => {
  const model = await encoder();
  const texts = new TextModel(model, tokenizer);
  const ended: unknown[] = [];
  const run: RunText = (input, { signal }) =>
    new Promise((_resolve, reject) => {
      const ids = (input as { input_ids: BigInt64Array }).input_ids;
      if (ids.length === 4) return reject(new Error("failed"));
      signal!.addEventListener("abort", () => {
        ended.push((signal!.reason as Error).message);
        reject(signal!.reason);
      });
    });
  await assert.rejects(texts.embed(run, ["cat", "a cat", "dog"]), {
    message: "failed",
  });
  assert.deepEqual(ended, ["failed", "failed"]);
  const abort = new AbortController();
  const asked = texts.embed(run, ["cat", "dog"], {
    request: { signal: abort.signal },
  });
  abort.abort(new Error("enough"));
  await assert.rejects(asked, { message: "enough" });
});

Deno.test("a model whose inputs are none of texts is refused", async () => {
  const model = await encoder();
  const [ids, ...others] = model.inputs;
  assert.throws(
    () => new TextModel({ ...model, inputs: others }, tokenizer),
    TextFileError,
  );
  const pixels = { ...model, inputs: [{ ...ids, name: "pixels" }] };
  assert.throws(() => new TextModel(pixels, tokenizer), /"pixels"/);
});

Deno.test("a promise that was not awaited is neither a model nor a tokenizer", () => {
  const model = bert({ layers: 1, hidden: 16, heads: 2, vocabulary: 1000 });
  const promised = Promise.resolve(tokenizer) as never;
  assert.throws(() => new TextModel(model, promised), {
    name: "TypeError",
    message: /^"tokenizer" is what TextTokenizer.load\(\) resolves to, /,
  });
  const loaded = Promise.resolve(model) as never;
  assert.throws(() => new TextModel(loaded, tokenizer), {
    name: "TypeError",
    message:
      '"model" is a model, which has a method "check", got [object Promise]',
  });
});
