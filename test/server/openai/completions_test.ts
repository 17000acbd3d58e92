/** `/v1/completions` through `fetch` alone. */
import assert from "node:assert/strict";
import { loadOnnx } from "../../../src/onnx/load.ts";
import { servedDecoder } from "../../../src/server/models/served_decoder.ts";
import { servedText } from "../../../src/server/models/served_text.ts";
import { TextModel } from "../../../src/text/text_model.ts";
import { tinyDecoder } from "../../onnx/decoder_files.ts";
import {
  POSITIONS_MAX,
  textOf,
  tokenizer,
  VOCABULARY,
  withTextServer,
} from "../text_models.ts";
import { sseMessages } from "../sse_messages.ts";

const PROMPTS = ["fish swim in", "birds fly in"];

interface Choice {
  readonly index: number;
  readonly text: string;
  readonly finish_reason: string | null;
}

interface Body {
  readonly choices: readonly Choice[];
  readonly usage: Record<string, number>;
}

Deno.test("completions are what the model generates, whole and streamed, each at its index", async () => {
  await withTextServer(async (ask, { host }) => {
    const served = host.find("writer");
    const expected: string[] = [];
    for (const prompt of PROMPTS) {
      let text = "";
      const pieces = textOf("writer").generate(
        (input, options) => host.stream(served, input, options),
        prompt,
        { maxTokens: 8 },
      );
      for await (const piece of pieces) text += piece.text;
      expected.push(text, text);
    }
    const request = {
      model: "writer",
      prompt: PROMPTS,
      max_tokens: 8,
      n: 2,
      temperature: 0,
    };
    const response = await ask("/v1/completions", request);
    assert.equal(response.status, 200);
    const { choices, usage }: Body = await response.json();
    assert.deepEqual(choices.map(({ text }) => text), expected);
    assert.deepEqual(choices.map(({ index }) => index), [0, 1, 2, 3]);
    assert(choices.every(({ finish_reason }) => finish_reason === "length"));
    assert.deepEqual(usage, {
      prompt_tokens: 10,
      completion_tokens: 32,
      total_tokens: 42,
    });
    const streamed = await ask("/v1/completions", {
      ...request,
      stream: true,
      stream_options: { include_usage: true },
    });
    const messages = await sseMessages(streamed);
    assert.equal(messages.pop(), "[DONE]");
    const last = messages.pop() as Body;
    assert.deepEqual([last.choices, last.usage], [[], usage]);
    const texts = expected.map(() => "");
    for (const message of messages) {
      const [{ index, text }] = (message as Body).choices;
      texts[index] += text;
    }
    assert.deepEqual(texts, expected);
    // Pieces come as tokens do.
    assert(messages.length > 16);
  });
});

Deno.test("a stop string ends an answer and is left out; a prompt of ids is one; echo is the prompt in front", async () => {
  await withTextServer(async (ask) => {
    const request = {
      model: "writer",
      prompt: PROMPTS[0],
      max_tokens: 8,
      temperature: 0,
    };
    const choice = async (more: object): Promise<Choice> => {
      const response = await ask("/v1/completions", { ...request, ...more });
      const { choices }: Body = await response.json();
      return choices[0];
    };
    const whole = await choice({});
    const words = whole.text.trim().split(" ");
    const stop = words[words.length - 1];
    const cut = await choice({ stop });
    assert.equal(cut.text, whole.text.slice(0, whole.text.indexOf(stop)));
    assert.equal(cut.finish_reason, "stop");
    const { ids } = textOf("writer").encode(PROMPTS[0]);
    assert.deepEqual(await choice({ prompt: [...ids] }), whole);
    const echoed = await choice({ echo: true });
    assert.equal(echoed.text, PROMPTS[0] + whole.text);
  });
});

Deno.test("a model that draws no tokens refuses a temperature, and is greedy where none is asked for", async () => {
  await withTextServer(async (ask) => {
    const request = { model: "writer", prompt: PROMPTS[0], max_tokens: 4 };
    const refused = await ask("/v1/completions", {
      ...request,
      temperature: 0.7,
    });
    assert.equal(refused.status, 400);
    assert.match((await refused.json()).error.message, /temperature/);
    assert.equal((await ask("/v1/completions", request)).status, 200);
  });
});

Deno.test("a seed has one text, whatever it is asked with; choices are drawn from the seeds that follow", async () => {
  const file = tinyDecoder({
    ...{ shared: "no", mask: "input", scale: "scores", positions: "table" },
    ...{ layers: 1, heads: 2, size: 4, vocabulary: VOCABULARY, seed: 11 },
  });
  const model = await loadOnnx(file, {
    decoder: { stop: [3], positionsMax: 30, sample: true },
  });
  const served = servedText(
    servedDecoder(model, { name: "writer" }),
    new TextModel(model, tokenizer),
  );
  await withTextServer(async (ask) => {
    const texts = async (more: object): Promise<string[]> => {
      const response = await ask("/v1/completions", {
        model: "writer",
        prompt: PROMPTS[0],
        max_tokens: 12,
        ...more,
      });
      const { choices }: Body = await response.json();
      return choices.map(({ text }) => text);
    };
    const alone: string[] = [];
    for (let seed = 5; seed < 9; seed++) alone.push(...await texts({ seed }));
    assert(new Set(alone).size > 1);
    assert.deepEqual(await texts({ seed: 5, n: 4 }), alone);
    const together = await Promise.all(
      Array.from({ length: 8 }, (_, i) => texts({ seed: 5 + i % 4 })),
    );
    assert.deepEqual(together.flat(), [...alone, ...alone]);
    // What OpenAI has for requests that do not say is to draw.
    assert.deepEqual(await texts({ seed: 5, temperature: 1 }), [alone[0]]);
    const [likeliest] = await texts({ temperature: 0 });
    assert.deepEqual(await texts({ seed: 6, top_p: 0 }), [likeliest]);
    assert.deepEqual(await texts({ seed: 7, top_k: 1 }), [likeliest]);
  }, [served]);
});

Deno.test("a stream that cannot begin has a status", async () => {
  await withTextServer(async (ask) => {
    const response = await ask("/v1/completions", {
      model: "writer",
      prompt: "a ".repeat(POSITIONS_MAX),
      stream: true,
    });
    assert.equal(response.status, 400);
    const { error } = await response.json();
    assert.equal(error.code, "context_length_exceeded");
  });
});

Deno.test("who leaves a stream ends its requests and frees their slots", async () => {
  await withTextServer(async (ask, { host }) => {
    const response = await ask("/v1/completions", {
      model: "writer",
      prompt: PROMPTS,
      n: 3,
      max_tokens: POSITIONS_MAX - 10,
      stream: true,
    });
    const reader = response.body!.getReader();
    await reader.read();
    assert.equal(host.active, 6);
    await reader.cancel();
    assert.equal(host.active, 0);
    // Its slots are there for others.
    const other = await ask("/v1/completions", {
      model: "writer",
      prompt: PROMPTS[0],
    });
    assert.equal(other.status, 200);
  });
});

Deno.test("a client that goes away before it is answered ends its requests", async () => {
  await withTextServer(async (ask, { host }) => {
    const left = new AbortController();
    const answer = ask("/v1/completions", {
      model: "writer",
      prompt: PROMPTS,
      max_tokens: POSITIONS_MAX - 10,
    }, { signal: left.signal });
    while (host.active === 0) {
      await new Promise((resolve) => setTimeout(resolve));
    }
    left.abort();
    assert.equal((await answer).status, 499);
    assert.equal(host.active, 0);
  });
});
