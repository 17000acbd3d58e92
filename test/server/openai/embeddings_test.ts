/** `/v1/embeddings` and `/v1/models` through `fetch` alone. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import {
  textOf,
  tokenizer,
  TOKENS_MAX,
  withTextServer,
} from "../text_models.ts";

const TEXTS = ["fish swim in water", "birds fly", "a b c d"];

interface EmbeddingsBody {
  readonly object: string;
  readonly model: string;
  readonly data: {
    readonly object: string;
    readonly index: number;
    readonly embedding: number[] | string;
  }[];
  readonly usage: Record<string, number>;
}

Deno.test("embeddings are the model's bits, as numbers and as base64", async () => {
  await withTextServer(async (ask, { host }) => {
    const served = host.find("embedder");
    const expected = await textOf("embedder").embed(
      (input, options) => host.run(served, input, options),
      TEXTS,
    );
    for (const encoding_format of [undefined, "float", "base64"]) {
      const response = await ask("/v1/embeddings", {
        model: "embedder",
        input: TEXTS,
        encoding_format,
      });
      assert.equal(response.status, 200);
      const body: EmbeddingsBody = await response.json();
      const tokens = 6 + 4 + 6;
      assert.deepEqual(body.usage, {
        prompt_tokens: tokens,
        total_tokens: tokens,
      });
      assert.deepEqual([body.object, body.model], ["list", "embedder"]);
      body.data.forEach(({ object, index, embedding }, i) => {
        assert.deepEqual([object, index], ["embedding", i]);
        const numbers = typeof embedding === "string"
          ? new Float32Array(
            new Uint8Array(Buffer.from(embedding, "base64")).buffer,
          )
          : Float32Array.from(embedding);
        assert.equal(
          typeof embedding === "string",
          encoding_format === "base64",
        );
        assert.deepEqual(numbers, expected[i].embedding);
      });
    }
  });
});

Deno.test("a text, its ids, and a list of either have one embedding", async () => {
  await withTextServer(async (ask) => {
    const ids = [...tokenizer.encode(TEXTS[0]).ids];
    const first = async (input: unknown) => {
      const response = await ask("/v1/embeddings", {
        model: "embedder",
        input,
      });
      const { data }: EmbeddingsBody = await response.json();
      return data[0].embedding;
    };
    const expected = await first(TEXTS[0]);
    assert.deepEqual(await first([TEXTS[0]]), expected);
    assert.deepEqual(await first(ids), expected);
    assert.deepEqual(await first([ids]), expected);
  });
});

Deno.test("fewer dimensions are the first ones, at length 1 again; more are refused", async () => {
  await withTextServer(async (ask) => {
    const embedding = async (dimensions?: number) => {
      const response = await ask("/v1/embeddings", {
        model: "embedder",
        input: TEXTS[0],
        dimensions,
      });
      const { data }: EmbeddingsBody = await response.json();
      return data[0].embedding as number[];
    };
    const [whole, four] = [await embedding(), await embedding(4)];
    assert.equal(four.length, 4);
    assert(Math.abs(Math.hypot(...four) - 1) < 1e-6);
    const scale = Math.hypot(...whole.slice(0, 4));
    four.forEach((value, i) =>
      assert(Math.abs(value - whole[i] / scale) < 1e-6)
    );
    const refused = await ask("/v1/embeddings", {
      model: "embedder",
      input: TEXTS[0],
      dimensions: 17,
    });
    assert.equal(refused.status, 400);
    assert.match((await refused.json()).error.message, /at most 16/);
  });
});

Deno.test("errors are OpenAI's, and name what is to blame", async () => {
  await withTextServer(async (ask) => {
    const input = TEXTS[0];
    const cases: [unknown, number, RegExp, string | null, string | null][] = [
      [{ model: "nobody", input }, 404, /no model "nobody"/, null, "not_found"],
      [
        { model: "classifier", input },
        400,
        /"classifier" classifies texts; asked for is one that embeds texts/,
        null,
        null,
      ],
      [
        { input },
        400,
        /"model" is required/,
        "model",
        "missing_required_parameter",
      ],
      [
        { model: "embedder", input, truncate: true },
        400,
        /"truncate" is no field/,
        "truncate",
        "unknown_parameter",
      ],
      [
        { model: "embedder", input: "a ".repeat(TOKENS_MAX) },
        400,
        new RegExp(`has ${TOKENS_MAX + 2} tokens, ${TOKENS_MAX} are the most`),
        null,
        "context_length_exceeded",
      ],
      [{ model: "embedder", input: [999] }, 400, /999/, null, null],
    ];
    for (const [body, status, message, param, code] of cases) {
      const response = await ask("/v1/embeddings", body);
      const { error } = await response.json();
      assert.equal(response.status, status, error.message);
      assert.match(error.message, message);
      assert.deepEqual([error.param, error.code], [param, code]);
      assert.equal(error.type, "invalid_request_error");
    }
  });
});

Deno.test("a path that names a model counts more than the body, and versions are named behind a slash", async () => {
  await withTextServer(async (ask) => {
    const input = TEXTS[0];
    const body = { model: "http://localhost", input };
    assert.equal((await ask("/v1/embeddings", body)).status, 404);
    assert.equal(
      (await ask("/models/embedder/v1/embeddings", body)).status,
      200,
    );
    const versioned = { model: "embedder/1", input };
    assert.equal((await ask("/v1/embeddings", versioned)).status, 200);
    const other = { model: "embedder/2", input };
    assert.equal((await ask("/v1/embeddings", other)).status, 404);
  });
});

Deno.test("models are listed", async () => {
  await withTextServer(async (ask) => {
    const { object, data } = await (await ask("/v1/models")).json();
    assert.equal(object, "list");
    assert.deepEqual(
      data.map(({ id }: { id: string }) => id),
      ["embedder", "classifier", "reranker", "writer"],
    );
    assert.deepEqual(await (await ask("/v1/models/writer")).json(), data[3]);
    assert.equal((await ask("/v1/models/nobody")).status, 404);
    // As clients write the name of a version, which bodies take.
    const versioned = await ask("/v1/models/writer%2F1");
    assert.deepEqual(await versioned.json(), { ...data[3], id: "writer/1" });
    assert.equal((await ask("/v1/models/writer%2F2")).status, 404);
  });
});
