/** Clients of npm, unmodified, over HTTP, and the same numbers through every door. */
import assert from "node:assert/strict";
import { type NpmClients, npmClients } from "./npm_clients.ts";
import { POSITIONS_MAX, tokenizer, withTextServer } from "./text_models.ts";
import type { Server } from "../../src/server/server.ts";

const TEXTS = ["fish swim in water", "birds fly", "a b c d"];

/** What a client is built with: addresses of the server. */
interface Addresses {
  readonly root: string;
  readonly server: Server;
}

async function withClients(
  run: (clients: NpmClients, addresses: Addresses) => Promise<void>,
): Promise<void> {
  const clients = await npmClients();
  await withTextServer(async (_, server) => {
    const listener = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen: () => {} },
      (request) => server.fetch(request),
    );
    const { port } = listener.addr as Deno.NetAddr;
    try {
      await run(clients, { root: `http://127.0.0.1:${port}`, server });
    } finally {
      await listener.shutdown();
    }
  });
}

/** Of clients keep connections for a while. */
const RESOURCES = { sanitizeResources: false, sanitizeOps: false };

Deno.test(
  "openai: embeddings in both encodings, models, and errors by class",
  RESOURCES,
  async () => {
    await withClients(async ({ OpenAI }, { root, server: { host } }) => {
      const client = new OpenAI({ baseURL: `${root}/v1`, apiKey: "none" });
      const served = host.find("embedder");
      const expected = await served.text!.embed(
        (input, options) => host.run(served, input, options),
        TEXTS,
      );
      for (const encoding_format of [undefined, "float"]) {
        const { data, usage } = await client.embeddings.create({
          model: "embedder",
          input: TEXTS,
          ...(encoding_format && { encoding_format }),
        });
        assert.deepEqual(
          data.map(({ embedding }) => Float32Array.from(embedding as number[])),
          expected.map(({ embedding }) => embedding),
        );
        assert.deepEqual(usage, { prompt_tokens: 16, total_tokens: 16 });
      }
      const names: string[] = [];
      for await (const { id } of client.models.list()) names.push(id);
      assert.deepEqual(names, host.models.map(({ name }) => name));
      await assert.rejects(
        client.embeddings.create({ model: "nobody", input: "a" }),
        OpenAI["NotFoundError"],
      );
      await assert.rejects(
        client.embeddings.create({ model: "embedder", input: "" }),
        OpenAI["BadRequestError"],
      );
    });
  },
);

Deno.test(
  "openai: a completion, streamed, has the text of the whole one",
  RESOURCES,
  async () => {
    await withClients(async ({ OpenAI }, { root }) => {
      const client = new OpenAI({ baseURL: `${root}/v1`, apiKey: "none" });
      const request = { model: "writer", prompt: TEXTS[0], max_tokens: 12 };
      const whole = await client.completions.create(request);
      const chunks: string[] = [];
      let finish: string | null = null;
      let usage: unknown;
      const stream = await client.completions.create({
        ...request,
        stream: true,
        stream_options: { include_usage: true },
      });
      for await (const chunk of stream) {
        usage = chunk.usage ?? usage;
        if (chunk.choices.length === 0) continue;
        chunks.push(chunk.choices[0].text);
        finish = chunk.choices[0].finish_reason ?? finish;
      }
      assert.equal(chunks.join(""), whole.choices[0].text);
      assert(chunks.length > 6);
      assert.equal(finish, "length");
      assert.deepEqual(usage, whole.usage);
    });
  },
);

Deno.test(
  "openai: a chat is a completion of what its template makes of it, whole and streamed",
  RESOURCES,
  async () => {
    await withClients(async ({ OpenAI, InferenceClient }, { root }) => {
      const client = new OpenAI({ baseURL: `${root}/v1`, apiKey: "none" });
      const messages = [
        { role: "system", content: "swim" },
        { role: "user", content: "fish" },
      ];
      const request = { model: "writer", messages, max_completion_tokens: 8 };
      const whole = await client.chat.completions.create(request);
      const { content } = whole.choices[0].message!;
      let text = "";
      const stream = await client.chat.completions.create({
        ...request,
        stream: true,
      });
      for await (const { choices: [{ delta }] } of stream) {
        text += delta!.content ?? "";
      }
      assert.equal(text, content);
      const completion = await client.completions.create({
        model: "writer",
        // No special tokens go around what the template has made.
        prompt: [
          ...tokenizer.encode("a swim b fish c", { addSpecialTokens: false })
            .ids,
        ],
        max_tokens: 8,
      });
      assert.equal(content, completion.choices[0].text);
      assert.deepEqual(whole.usage, completion.usage);
      const huggingFace = new InferenceClient("", {
        endpointUrl: `${root}/models/writer`,
      });
      const chat = await huggingFace.chatCompletion({
        messages,
        max_tokens: 8,
      });
      assert.equal(chat.choices[0].message.content, content);
      await assert.rejects(
        client.chat.completions.create({
          ...request,
          messages: [{ role: "assistant", content: "fish" }],
        }),
        /It is not the answer to itself/,
      );
    });
  },
);

Deno.test(
  "openai: who aborts a completion, or breaks off its stream, ends it and frees its slot",
  RESOURCES,
  async () => {
    await withClients(async ({ OpenAI }, { root, server: { host } }) => {
      const client = new OpenAI({ baseURL: `${root}/v1`, apiKey: "none" });
      const request = {
        model: "writer",
        prompt: TEXTS,
        max_tokens: POSITIONS_MAX - 10,
      };
      const idle = async () => {
        while (host.active > 0) {
          await new Promise((resolve) => setTimeout(resolve, 1));
        }
      };
      const stream = await client.completions.create({
        ...request,
        stream: true,
      });
      for await (const chunk of stream) {
        assert.equal(chunk.choices.length, 1);
        assert.equal(host.active, TEXTS.length);
        break;
      }
      await idle();
      const left = new AbortController();
      const whole = client.completions.create(request, { signal: left.signal });
      const outcome = assert.rejects(whole, OpenAI["APIUserAbortError"]);
      while (host.active === 0) {
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      left.abort();
      await outcome;
      await idle();
    });
  },
);

Deno.test(
  "@huggingface/inference: features, classes, similarity and text of an endpoint",
  RESOURCES,
  async () => {
    await withClients(
      async ({ InferenceClient }, { root, server: { host } }) => {
        const clientOf = (name: string) =>
          new InferenceClient("", { endpointUrl: `${root}/models/${name}` });
        const embedder = clientOf("embedder");
        const served = host.find("embedder");
        const expected = await served.text!.embed(
          (input, options) => host.run(served, input, options),
          TEXTS,
        );
        const rows = await embedder.featureExtraction({ inputs: TEXTS });
        assert.deepEqual(
          rows.map((row) => Float32Array.from(row)),
          expected.map(({ embedding }) => embedding),
        );
        const [source_sentence, ...sentences] = TEXTS;
        const cosines = await embedder.sentenceSimilarity({
          inputs: { source_sentence, sentences },
        });
        assert.equal(cosines.length, sentences.length);
        const classes = await clientOf("classifier").textClassification({
          inputs: TEXTS[0],
        });
        assert.deepEqual(
          classes.map(({ label }) => label).sort(),
          ["bad", "fair", "good"],
        );
        const { generated_text } = await clientOf("writer").textGeneration({
          inputs: TEXTS[0],
          parameters: { max_new_tokens: 4 },
        });
        const response = await fetch(`${root}/v1/completions`, {
          method: "POST",
          body: JSON.stringify({
            model: "writer",
            prompt: TEXTS[0],
            max_tokens: 4,
          }),
        });
        const { choices } = await response.json();
        assert.equal(generated_text, choices[0].text);
      },
    );
  },
);

Deno.test(
  "one text has the same numbers through every door",
  RESOURCES,
  async () => {
    await withClients(async ({ OpenAI, InferenceClient }, { root, server }) => {
      const [text] = TEXTS;
      const openai = new OpenAI({ baseURL: `${root}/v1`, apiKey: "none" });
      const huggingFace = new InferenceClient("", {
        endpointUrl: `${root}/models/embedder`,
      });
      const post = async (path: string, body: object) => {
        const response = await fetch(root + path, {
          method: "POST",
          body: JSON.stringify(body),
        });
        return await response.json();
      };
      const { host } = server;
      const embedding = async (encoding_format?: string) => {
        const { data } = await openai.embeddings.create({
          model: "embedder",
          input: text,
          ...(encoding_format && { encoding_format }),
        });
        return Float32Array.from(data[0].embedding as number[]);
      };
      const [features] = await huggingFace.featureExtraction({ inputs: text });
      const [tei] = await post("/embed", { inputs: text, normalize: true });
      const expected = await embedding();
      assert.deepEqual(await embedding("float"), expected);
      assert.deepEqual(Float32Array.from(features), expected);
      assert.deepEqual(Float32Array.from(tei), expected);
      // Tensors are what the model computes: a row for each token, whose mean is not of length 1 yet.
      const { ids } = host.find("embedder").text!.encode(text);
      const tensor = (name: string, number: (i: number) => number) => ({
        name,
        shape: [1, ids.length],
        datatype: "INT64",
        data: Array.from(ids, (_, i) => number(i)),
      });
      const { outputs } = await post("/v2/models/embedder/infer", {
        inputs: [
          tensor("input_ids", (i) => ids[i]),
          tensor("attention_mask", () => 1),
          tensor("token_type_ids", () => 0),
        ],
      });
      const rows: number[] = outputs[0].data;
      const [raw]: number[][] = await post("/embed", {
        inputs: text,
        normalize: false,
      });
      const width = raw.length;
      const mean = raw.map((_, i) => {
        let sum = 0;
        for (let row = 0; row < ids.length; row++) sum += rows[row * width + i];
        return Math.fround(sum / ids.length);
      });
      assert.deepEqual(raw, mean);
    });
  },
);
