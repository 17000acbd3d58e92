/** Text Embeddings Inference's paths through `fetch` alone. */
import assert from "node:assert/strict";
import { bert } from "../../../src/models/bert.ts";
import { OverloadedError } from "../../../src/server/host/errors.ts";
import { servedText } from "../../../src/server/models/served_text.ts";
import { servedTokens } from "../../../src/server/models/served_tokens.ts";
import { createServer } from "../../../src/server/server.ts";
import { TextModel } from "../../../src/text/text_model.ts";
import { TextTokenizer } from "../../../src/text/tokenizer.ts";
import {
  TEXT_MODELS,
  textOf,
  tokenizer,
  TOKENS_MAX,
  VOCABULARY,
  withTextServer,
} from "../text_models.ts";

const TEXTS = ["fish swim in water", "birds fly", "a b c d"];
const LONG = "a ".repeat(2 * TOKENS_MAX);

Deno.test("/embed has the model's bits, and headers that say what they cost", async () => {
  await withTextServer(async (ask, { host }) => {
    const served = host.find("embedder");
    const expected = await textOf("embedder").embed(
      (input, options) => host.run(served, input, options),
      TEXTS,
    );
    const response = await ask("/embed", { inputs: TEXTS });
    assert.equal(response.status, 200);
    const rows: number[][] = await response.json();
    assert.deepEqual(
      rows.map((row) => Float32Array.from(row)),
      expected.map(({ embedding }) => embedding),
    );
    assert.equal(response.headers.get("x-compute-tokens"), "16");
    assert.equal(response.headers.get("x-compute-characters"), "34");
    for (
      const name of [
        "x-compute-time",
        "x-total-time",
        "x-tokenization-time",
        "x-queue-time",
        "x-inference-time",
      ]
    ) assert.match(response.headers.get(name) ?? "", /^\d+$/, name);
    const one = await (await ask("/embed", { inputs: TEXTS[0] })).json();
    assert.deepEqual(one, [rows[0]]);
    const ids = [...tokenizer.encode(TEXTS[0]).ids];
    assert.deepEqual(await (await ask("/embed", { inputs: ids })).json(), one);
    const raw: number[][] =
      await (await ask("/embed", { inputs: TEXTS[0], normalize: false }))
        .json();
    const length = Math.hypot(...raw[0]);
    assert(Math.abs(length - 1) > 0.01);
    raw[0].forEach((value, i) =>
      assert(Math.abs(value / length - one[0][i]) < 1e-6)
    );
  });
});

Deno.test("/embed_all has a row for each token", async () => {
  await withTextServer(async (ask) => {
    const response = await ask("/embed_all", { inputs: TEXTS });
    const all: number[][][] = await response.json();
    assert.deepEqual(all.map(({ length }) => length), [6, 4, 6]);
    assert(all.every((rows) => rows.every(({ length }) => length === 16)));
  });
});

Deno.test("/embed_all of a model that has one row for a text is refused", async () => {
  const model = bert({
    ...{ layers: 1, hidden: 16, heads: 2 },
    ...{ vocabulary: VOCABULARY, tokensMax: TOKENS_MAX },
  });
  const served = servedText(
    servedTokens(model, { name: "embedder" }),
    new TextModel(model, tokenizer),
  );
  await withTextServer(async (ask) => {
    assert.equal((await ask("/embed", { inputs: "a" })).status, 200);
    const refused = await ask("/embed_all", { inputs: "a" });
    assert.equal(refused.status, 424);
    assert.match((await refused.json()).error, /none for tokens/);
  }, [served]);
});

Deno.test("texts that are too long are cut on the side that is asked for, or refused", async () => {
  await withTextServer(async (ask) => {
    const words = "fish swim in water and birds fly in small quick air";
    const long = `${words} ${words}`;
    const row = async (body: object) =>
      await (await ask("/embed", body)).json();
    const start = long.split(" ").slice(0, TOKENS_MAX - 2).join(" ");
    const end = long.split(" ").slice(2 - TOKENS_MAX).join(" ");
    assert.deepEqual(await row({ inputs: long }), await row({ inputs: start }));
    assert.deepEqual(
      await row({ inputs: long, truncation_direction: "Left" }),
      await row({ inputs: end }),
    );
    const refused = await ask("/embed", { inputs: long, truncate: false });
    assert.equal(refused.status, 422);
    const { error, error_type } = await refused.json();
    assert.match(error, /24 tokens, 16 are the most/);
    assert.equal(error_type, "Validation");
  });
});

Deno.test("/predict has classes by score; a batch's are in lists", async () => {
  await withTextServer(async (ask, { host }) => {
    const served = host.find("classifier");
    const [expected] = await textOf("classifier").classify(
      (input, options) => host.run(served, input, options),
      [TEXTS[0]],
    );
    const path = "/models/classifier/predict";
    const one = await (await ask(path, { inputs: TEXTS[0] })).json();
    assert.deepEqual(
      one,
      [...expected.scores].sort((a, b) => b.score - a.score),
    );
    const batch = await ask(path, { inputs: [[TEXTS[0]], [TEXTS[1], "a"]] });
    const [first, pair] = await batch.json();
    assert.deepEqual(first, one);
    assert.equal(pair.length, 3);
    const raw: { score: number }[] =
      await (await ask(path, { inputs: TEXTS[0], raw_scores: true })).json();
    const sum = raw.reduce((sum, { score }) => sum + Math.exp(score), 0);
    raw.forEach(({ score }, i) =>
      assert(Math.abs(Math.exp(score) / sum - one[i].score) < 1e-6)
    );
  });
});

Deno.test("/rerank, Cohere's v1 and v2 put the same texts in the same order with the same scores", async () => {
  await withTextServer(async (ask, { host }) => {
    const served = host.find("reranker");
    const query = "fish";
    const scores = (await textOf("reranker").rerank(
      (input, options) => host.run(served, input, options),
      query,
      TEXTS,
    )).map(({ score }) => score);
    const order = scores.map((_, i) => i).sort((a, b) => scores[b] - scores[a]);
    const tei = await ask("/rerank", {
      query,
      texts: TEXTS,
      return_text: true,
    });
    assert.deepEqual(
      await tei.json(),
      order.map((index) => ({
        index,
        text: TEXTS[index],
        score: scores[index],
      })),
    );
    const cohere = { model: "reranker", query, documents: TEXTS };
    const v1 = await ask("/v1/rerank", {
      ...cohere,
      documents: [TEXTS[0], { text: TEXTS[1] }, TEXTS[2]],
      top_n: 2,
      return_documents: true,
    });
    const { results, meta } = await v1.json();
    assert.deepEqual(
      results,
      order.slice(0, 2).map((index) => ({
        index,
        relevance_score: scores[index],
        document: { text: TEXTS[index] },
      })),
    );
    assert.equal(meta.api_version.version, "1");
    const v2 = await (await ask("/v2/rerank", cohere)).json();
    assert.deepEqual(
      v2.results,
      order.map((index) => ({ index, relevance_score: scores[index] })),
    );
  });
});

Deno.test("/similarity has the cosines of embeddings", async () => {
  await withTextServer(async (ask) => {
    const [source, ...sentences] = TEXTS;
    const inputs = { source_sentence: source, sentences };
    const cosines: number[] = await (await ask("/similarity", { inputs }))
      .json();
    const rows: number[][] = await (await ask("/embed", { inputs: TEXTS }))
      .json();
    assert.equal(cosines.length, 2);
    cosines.forEach((cosine, i) => {
      const dot = rows[0].reduce((sum, x, j) => sum + x * rows[i + 1][j], 0);
      assert(Math.abs(dot - cosine) < 1e-6);
    });
  });
});

Deno.test("a text whose embedding is nothing but zeros is like no other", async () => {
  const { model } = textOf("embedder");
  const served = TEXT_MODELS.find((served) => served.model === model)!;
  const text = new TextModel(model, tokenizer);
  const embed = text.embed.bind(text);
  text.embed = async (...asked) =>
    (await embed(...asked)).map((row) => ({
      ...row,
      embedding: row.embedding.map(() => 0),
    }));
  await withTextServer(async (ask) => {
    const inputs = { source_sentence: "a", sentences: ["b", "c"] };
    const response = await ask("/similarity", { inputs });
    assert.deepEqual(await response.json(), [0, 0]);
  }, [servedText(served, text)]);
});

Deno.test("/tokenize says what a tokenizer without a token for it cannot take", async () => {
  const { model } = textOf("embedder");
  const served = TEXT_MODELS.find((served) => served.model === model)!;
  const narrow = await TextTokenizer.load({
    tokenizer: { model: { type: "WordLevel", vocab: { fish: 0 } } },
  });
  await withTextServer(async (ask) => {
    const taken = await ask("/tokenize", { inputs: "fish" });
    assert.equal(taken.status, 200);
    await taken.body?.cancel();
    for (const path of ["/tokenize", "/embed"]) {
      const refused = await ask(path, { inputs: ["fish", "bird"] });
      assert.equal(refused.status, 422, path);
      assert.match((await refused.json()).error, /has no token for a part/);
    }
  }, [servedText(served, new TextModel(model, narrow))]);
});

Deno.test("/tokenize and /decode go there and back", async () => {
  await withTextServer(async (ask) => {
    const path = "/models/embedder";
    const tokenized = await ask(`${path}/tokenize`, { inputs: TEXTS[1] });
    const [tokens]: { id: number; text: string; special: boolean }[][] =
      await tokenized.json();
    assert.deepEqual(
      tokens.map(({ text, special }) => [text, special]),
      [["[CLS]", true], ["birds", false], ["fly", false], ["[SEP]", true]],
    );
    const ids = tokens.map(({ id }) => id);
    const decoded = await ask(`${path}/decode`, { ids });
    assert.deepEqual(await decoded.json(), [TEXTS[1]]);
    const bare = await ask(`${path}/tokenize`, {
      inputs: [TEXTS[1]],
      add_special_tokens: false,
    });
    assert.equal((await bare.json())[0].length, 2);
  });
});

Deno.test("POST / does what its model is for, in the form that Hugging Face's clients read", async () => {
  const only = (name: string) =>
    TEXT_MODELS.filter((served) => served.name === name);
  await withTextServer(async (ask) => {
    const body = { inputs: TEXTS[0] };
    const rows = await (await ask("/embed", body)).json();
    assert.deepEqual(await (await ask("/", body)).json(), rows);
    const [source_sentence, ...sentences] = TEXTS;
    const inputs = { source_sentence, sentences };
    assert.deepEqual(
      await (await ask("/", { inputs })).json(),
      await (await ask("/similarity", { inputs })).json(),
    );
  }, only("embedder"));
  await withTextServer(async (ask) => {
    const classes = await (await ask("/predict", { inputs: TEXTS[0] })).json();
    const ofRoot = async (more: object) =>
      await (await ask("/", { inputs: TEXTS[0], ...more })).json();
    assert.deepEqual(await ofRoot({}), [classes]);
    assert.deepEqual(await ofRoot({ parameters: { top_k: 1 } }), [
      classes.slice(0, 1),
    ]);
    const refused = await ask("/", {
      inputs: TEXTS[0],
      parameters: { function_to_apply: "sigmoid" },
    });
    assert.equal(refused.status, 422);
  }, only("classifier"));
  await withTextServer(async (ask) => {
    const body = { query: "fish", texts: TEXTS };
    assert.deepEqual(
      await (await ask("/", body)).json(),
      await (await ask("/rerank", body)).json(),
    );
  }, only("reranker"));
});

Deno.test("/info and /health", async () => {
  await withTextServer(async (ask) => {
    const info = async (name: string) =>
      await (await ask(`/models/${name}/info`)).json();
    const embedder = await info("embedder");
    assert.deepEqual(embedder.model_type, { embedding: { pooling: "mean" } });
    assert.equal(embedder.max_input_length, TOKENS_MAX);
    assert.equal(embedder.max_client_batch_size, 32);
    assert.deepEqual((await info("classifier")).model_type.classifier, {
      id2label: { 0: "bad", 1: "fair", 2: "good" },
      label2id: { bad: 0, fair: 1, good: 2 },
    });
    assert.equal((await ask("/health")).status, 200);
  });
});

Deno.test("errors have the protocol's statuses and types", async () => {
  await withTextServer(async (ask) => {
    const cases: [string, unknown, number, string, RegExp][] = [
      ["/embed", { inputs: [] }, 400, "Empty", /empty/],
      ["/embed", { inputs: "" }, 422, "Validation", /empty/],
      ["/embed", {}, 422, "Validation", /"inputs" is required/],
      ["/embed", { inputs: Array(33).fill("a") }, 413, "Validation", /32/],
      [
        "/embed",
        { inputs: "a", prompt_name: "q" },
        422,
        "Validation",
        /prompt/,
      ],
      [
        "/embed",
        { inputs: "a", temperature: 1 },
        422,
        "Validation",
        /no field/,
      ],
      ["/embed", { inputs: [[999]] }, 422, "Validation", /999/],
      [
        "/embed",
        { inputs: LONG, truncate: false },
        422,
        "Validation",
        /tokens/,
      ],
      [
        "/models/classifier/embed",
        { inputs: "a" },
        424,
        "Backend",
        /classifies/,
      ],
      ["/models/nobody/embed", { inputs: "a" }, 404, "Validation", /no model/],
      ["/", { inputs: "a" }, 400, "Validation", /as in \/models\/\w+$/],
      [
        "/tokenize",
        { inputs: "a" },
        400,
        "Validation",
        /as in \/models\/\w+\/tokenize$/,
      ],
      ["/rerank", { query: "a", texts: [] }, 400, "Empty", /"texts" is empty/],
    ];
    for (const [path, body, status, type, message] of cases) {
      const response = await ask(path, body);
      const { error, error_type } = await response.json();
      assert.equal(response.status, status, `${path}: ${error}`);
      assert.equal(error_type, type, error);
      assert.match(error, message);
    }
    const broken = await ask("/embed", undefined, {
      method: "POST",
      body: "{",
    });
    assert.equal(broken.status, 400);
    assert.equal((await broken.json()).error_type, "Validation");
  });
  await withTextServer(async (ask) => {
    const response = await ask("/embed", { inputs: "a" });
    assert.equal(response.status, 424);
    assert.match((await response.json()).error, /no model here that embeds/);
  }, TEXT_MODELS.slice(1));
});

Deno.test("more than there is room for is refused with 429, and when to come back", async () => {
  await withTextServer(async (_, { host }) => {
    const busy = Object.create(host, {
      run: {
        value: () => Promise.reject(new OverloadedError("It is full", 1500)),
      },
      state: { value: host.state },
      models: { value: host.models },
      find: { value: host.find.bind(host) },
      refusal: { value: () => undefined },
    });
    const server = createServer(busy);
    const ask = (path: string, body: object) =>
      server.fetch(
        new Request(`http://localhost${path}`, {
          method: "POST",
          body: JSON.stringify(body),
        }),
      );
    const tei = await ask("/embed", { inputs: "a" });
    assert.equal(tei.status, 429);
    assert.equal(tei.headers.get("retry-after"), "2");
    assert.equal((await tei.json()).error_type, "Overloaded");
    const openai = await ask("/v1/embeddings", {
      model: "embedder",
      input: "a",
    });
    assert.equal(openai.status, 429);
    assert.equal(openai.headers.get("retry-after-ms"), "1500");
    assert.equal((await openai.json()).error.code, "rate_limit_exceeded");
  });
});

Deno.test("/ does what a model does that has come while its body did", async () => {
  const named = (kind: "embedder" | "classifier") => ({
    ...TEXT_MODELS.find(({ name }) => name === kind)!,
    name: "m",
  });
  await withTextServer(async (ask, { host }) => {
    const late = new ReadableStream<Uint8Array<ArrayBuffer>>({
      async start(controller) {
        await host.change(() => [named("classifier")]);
        controller.enqueue(new TextEncoder().encode('{"inputs":"fish"}'));
        controller.close();
      },
    });
    const response = await ask("/models/m", undefined, {
      method: "POST",
      body: late,
    });
    assert.equal(response.status, 200);
    const [[{ label }]] = await response.json();
    assert.equal(typeof label, "string");
  }, [named("embedder")]);
});
