/** How likely tokens were: the logarithms of the softmax of the model's own scores, whole and streamed. */
import assert from "node:assert/strict";
import { loadOnnx } from "../../../src/onnx/load.ts";
import type { EngineHost } from "../../../src/server/host/engine_host.ts";
import { servedDecoder } from "../../../src/server/models/served_decoder.ts";
import { servedText } from "../../../src/server/models/served_text.ts";
import { TextModel } from "../../../src/text/text_model.ts";
import { tinyDecoder } from "../../onnx/decoder_files.ts";
import { sseMessages } from "../sse_messages.ts";
import { tokenizer, VOCABULARY, withTextServer } from "../text_models.ts";

const PROMPT = "fish swim in";
const END = 3;
const STEPS = 10;

const FILE = tinyDecoder({
  ...{ shared: "no", mask: "input", scale: "scores", positions: "table" },
  ...{ layers: 1, heads: 2, size: 4, vocabulary: VOCABULARY, seed: 11 },
});

async function writer(scores: boolean) {
  const model = await loadOnnx(FILE, {
    decoder: { stop: [END], positionsMax: 30, sample: true, scores },
  });
  return servedText(
    servedDecoder(model, { name: "writer" }),
    new TextModel(model, tokenizer, { eosIds: [END] }),
  );
}

const SERVED = await writer(true);

interface Told {
  readonly token: string;
  readonly logprob: number;
  readonly bytes: number[] | null;
  readonly top_logprobs: readonly Told[];
}

interface Lists {
  readonly tokens: string[];
  readonly token_logprobs: number[];
  readonly top_logprobs: Record<string, number>[];
  readonly text_offset: number[];
}

/** Of each step its token, and all of the vocabulary with their logarithms, the likeliest first. */
async function stepsOf(host: EngineHost, seed: number) {
  const tokens = SERVED.text!.encode(PROMPT).ids;
  const input = { tokens, maxSteps: STEPS, temperature: 1, seed };
  const { outputs } = await host.run(host.find("writer"), input);
  const scores = [...outputs["scores"].data] as number[];
  return Array.from(outputs["tokens"].data, Number).map((id, i) => {
    const row = scores.slice(i * VOCABULARY, (i + 1) * VOCABULARY);
    const whole = row.reduce((sum, score) => sum + Math.exp(score), 0);
    const all = row.map((score, id) => ({
      id,
      logprob: Math.log(Math.exp(score) / whole),
    }));
    all.sort((a, b) => b.logprob - a.logprob || a.id - b.id);
    return { id, all };
  });
}

const near = (got: number, expected: number) =>
  assert(Math.abs(got - expected) < 1e-6, `${got} is not ${expected}`);

/** Neither special nor a part of a word. */
const isWord = ({ id }: { readonly id: number }) =>
  id > END && id < VOCABULARY - 1;

const word = (id: number) => tokenizer.decode([id], false);

const ASKED = {
  ...{ model: "writer", prompt: PROMPT, max_tokens: STEPS, temperature: 1 },
};

/** Steps by seed: of an answer that ends by itself, and of one that does not. */
const STEPS_OF: Record<string, [number, Awaited<ReturnType<typeof stepsOf>>]> =
  {};
await withTextServer(async (_, { host }) => {
  for (let seed = 0; Object.keys(STEPS_OF).length < 2; seed++) {
    assert(seed < 1000, "there is no such seed");
    const steps = await stepsOf(host, seed);
    const isEnded = steps.at(-1)!.id === END;
    if (isEnded && steps.length < 3) continue;
    STEPS_OF[isEnded ? "ends" : "goes on"] ??= [seed, steps];
  }
}, [SERVED]);

for (const [what, [seed, expected]] of Object.entries(STEPS_OF)) {
  Deno.test(`completions tell how likely their tokens were: ${what}`, async () => {
    const said = expected.filter(({ id }) => id !== END);
    assert.equal(said.length, what === "ends" ? expected.length - 1 : STEPS);
    await withTextServer(async (ask) => {
      for (const count of [0, 2]) {
        const request = { ...ASKED, seed, logprobs: count };
        const response = await ask("/v1/completions", request);
        const { choices: [{ text, logprobs }] } = await response.json() as {
          choices: { text: string; logprobs: Lists }[];
        };
        assert.deepEqual(logprobs.tokens, said.map(({ id }) => word(id)));
        said.forEach(({ id, all }, i) => {
          const own = all.find((each) => each.id === id)!;
          near(logprobs.token_logprobs[i], own.logprob);
          const told = logprobs.top_logprobs[i];
          const likely = [...all.slice(0, count), own];
          assert.deepEqual(
            new Set(Object.keys(told)),
            new Set(likely.map(({ id }) => word(id))),
          );
          for (const { id, logprob } of likely) near(told[word(id)], logprob);
          // Special tokens have no text.
          const said = tokenizer.decode([id]).replace("##", "");
          const behind = text.slice(logprobs.text_offset[i]);
          assert(behind.trimStart().startsWith(said), `${behind}: ${said}`);
        });
        // A stream's chunks are the same lists, one behind the other.
        const streamed = await ask("/v1/completions", {
          ...request,
          stream: true,
        });
        const all: Lists = {
          ...{ tokens: [], token_logprobs: [] },
          ...{ top_logprobs: [], text_offset: [] },
        };
        for (const message of await sseMessages(streamed)) {
          if (message === "[DONE]") continue;
          const lists: Lists | null = (message as {
            choices: { logprobs: Lists | null }[];
          }).choices[0].logprobs;
          if (lists === null) continue;
          for (const name of Object.keys(all) as (keyof Lists)[]) {
            (all[name] as unknown[]).push(...lists[name]);
          }
        }
        assert.deepEqual(all, logprobs);
      }
    }, [SERVED]);
  });
}

Deno.test("chats tell tokens with their bytes, and so many others", async () => {
  await withTextServer(async (ask) => {
    const request = {
      model: "writer",
      messages: [{ role: "user", content: "fish" }],
      max_tokens: 6,
      seed: 5,
      logprobs: true,
    };
    for (const top_logprobs of [undefined, 0, 3]) {
      const response = await ask("/v1/chat/completions", {
        ...request,
        ...(top_logprobs !== undefined && { top_logprobs }),
      });
      const { choices: [{ logprobs }], usage } = await response.json() as {
        choices: { logprobs: { content: Told[]; refusal: null } }[];
        usage: { completion_tokens: number };
      };
      assert.equal(logprobs.refusal, null);
      assert(logprobs.content.length >= usage.completion_tokens - 1);
      for (
        const { token, logprob, bytes, top_logprobs: top } of logprobs.content
      ) {
        assert.equal(new TextDecoder().decode(Uint8Array.from(bytes!)), token);
        assert(logprob <= 0);
        assert.equal(top.length, top_logprobs ?? 0);
        top.forEach((each, i) => {
          assert(i === 0 || each.logprob <= top[i - 1].logprob);
          assert(each.logprob >= logprob || each.token !== token);
        });
      }
    }
  }, [SERVED]);
});

Deno.test("what a stop string cuts off is not told", async () => {
  const [seed, steps] = STEPS_OF["goes on"];
  // With the blank in front, so that nothing of the token is left.
  const stop = ` ${word(steps.slice(2).find(isWord)!.id)}`;
  await withTextServer(async (ask) => {
    const response = await ask("/v1/completions", {
      ...ASKED,
      ...{ seed, logprobs: 1, stop },
    });
    const { choices: [{ text, logprobs, finish_reason }] } = await response
      .json();
    assert.equal(finish_reason, "stop");
    assert(!text.includes(stop));
    assert(logprobs.tokens.length < STEPS);
    for (const offset of logprobs.text_offset) assert(offset < text.length);
  }, [SERVED]);
});

Deno.test("a model without scores says so", async () => {
  await withTextServer(async (ask) => {
    const response = await ask("/v1/completions", { ...ASKED, logprobs: 1 });
    assert.equal(response.status, 400);
    assert.match((await response.json()).error.message, /"scores"/);
  }, [await writer(false)]);
});
