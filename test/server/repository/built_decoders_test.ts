/** Decoders that are built here, of a folder's weights: what its files and settings say of their answers. */
import assert from "node:assert/strict";
import { gpt, type GptModel } from "../../../src/models/gpt.ts";
import { seededWeights } from "../../../src/tensor/weights.ts";
import { runRequests } from "../../run_requests.ts";
import { safetensors, type Stored, type TestFolder } from "./folders.ts";
import { type Open, withFolder } from "./with_folder.ts";

const WORDS = [..."abcdefghijklmnop"];

const OPTIONS = {
  ...{ layers: 1, hidden: 8, heads: 2, vocabulary: WORDS.length },
  ...{ positionsMax: 40, eos: null },
};

const weights = new Map<string, Stored>();
gpt({
  ...OPTIONS,
  weights(name, ...wanted) {
    const made = seededWeights(7)(name, ...wanted);
    weights.set(name, made as Stored);
    return made;
  },
});

/** A decoder of words that are letters. */
function writeDecoder(
  folder: TestFolder,
  name: string,
  { options, generation, architecture = "GPT2LMHeadModel", end, ...settings }: {
    readonly options?: object;
    /** What the tokenizer ends texts with. */
    readonly end?: string;
    readonly generation?: object;
    /** null: no file says it. */
    readonly architecture?: string | null;
    readonly kind?: string;
    readonly text?: object;
  } = {},
): void {
  folder.write(
    `${name}/model.safetensors`,
    safetensors(Object.fromEntries(weights)),
  );
  folder.write(`${name}/tokenizer.json`, {
    pre_tokenizer: { type: "Whitespace" },
    model: {
      type: "WordLevel",
      unk_token: "a",
      vocab: Object.fromEntries(WORDS.map((word, id) => [word, id])),
    },
  });
  if (end !== undefined) {
    folder.write(`${name}/tokenizer_config.json`, { eos_token: end });
  }
  folder.write(`${name}/shoal.json`, {
    model: { name: "gpt", options: { ...OPTIONS, ...options } },
    ...settings,
  });
  if (generation === undefined) return;
  folder.write(`${name}/generation_config.json`, generation);
  if (architecture === null) return;
  folder.write(`${name}/config.json`, {
    ...{ model_type: "gpt2", architectures: [architecture] },
  });
}

/** Words of an answer. */
async function answered(
  { ask }: Open,
  model: string,
  more: object = {},
): Promise<string> {
  const response = await ask("/v1/completions", {
    method: "POST",
    body: JSON.stringify({
      ...{ model, prompt: "b c", seed: 3, max_tokens: 20, ...more },
    }),
  });
  const body = await response.json();
  assert.equal(response.status, 200, JSON.stringify(body));
  return body.choices[0].text.trim();
}

/** What the model draws by itself. */
function own(request: object, options: object = {}): string {
  const model = gpt({
    ...{ ...OPTIONS, sample: true, penalties: true, ...options },
    weights: (name) => weights.get(name) as never,
  });
  const [{ tokens }] = runRequests(model, [{
    ...{ tokens: [1, 2], maxSteps: 20, seed: 3, ...request },
  }]);
  return Array.from(tokens.data, (id) => WORDS[Number(id)]).join(" ");
}

Deno.test("a folder's gpt draws as its files, its settings or a request say", async () => {
  const generation = {
    ...{ do_sample: true, temperature: 2, top_k: 6, top_p: 0.9 },
    ...{ repetition_penalty: 1.5, suppress_tokens: [4, 5] },
  };
  const banned = [4, 5];
  await withFolder((folder) => {
    writeDecoder(folder, "silent");
    writeDecoder(folder, "said", { generation });
    writeDecoder(folder, "causal", { generation: {} });
    writeDecoder(folder, "alone", { generation, architecture: null });
    writeDecoder(folder, "set", {
      generation,
      options: { banned: [7] },
      text: { temperature: 1, top_k: 0, top_p: 1, repetition_penalty: 1 },
    });
    writeDecoder(folder, "greedy", { generation, options: { sample: false } });
    writeDecoder(folder, "changed", {
      ...{ generation, options: { sample: false, penalties: true } },
    });
    writeDecoder(folder, "drawing", { options: { penalties: false } });
    writeDecoder(folder, "rows", { generation, kind: "tensors" });
    writeDecoder(folder, "wrong", { options: { sample: 1 } });
  }, async (open) => {
    const failed = await open.repository.sync();
    assert.deepEqual(Object.fromEntries(failed), {
      wrong:
        'Model "wrong" cannot be loaded: "sample" of model "gpt" is a boolean, got 1',
    });
    const limits = { topK: 6, topP: 0.9 };
    const cases: [string, object, string][] = [
      ["silent", {}, own({ temperature: 1 })],
      ["causal", {}, own({ temperature: 1 })],
      ["silent", { temperature: 0 }, own({})],
      [
        ...["silent", { temperature: 0, frequency_penalty: 1.5 }] as const,
        own({ frequencyPenalty: 1.5 }),
      ],
      [
        ...["silent", { temperature: 0, logit_bias: { 9: 100 } }] as const,
        own({ logitBias: { 9: 100 } }),
      ],
      [
        ...["said", {}] as const,
        own({ temperature: 2, ...limits, repetitionPenalty: 1.5 }, { banned }),
      ],
      [
        ...["alone", {}] as const,
        own({ temperature: 2, ...limits, repetitionPenalty: 1.5 }, { banned }),
      ],
      [
        ...["said", { temperature: 0, repetition_penalty: 1 }] as const,
        own({}, { banned }),
      ],
      ["set", {}, own({ temperature: 1 }, { banned: [7] })],
      ["greedy", {}, own({}, { banned })],
      ["changed", {}, own({ repetitionPenalty: 1.5 }, { banned })],
      ["drawing", { temperature: 2 }, own({ temperature: 2 })],
    ];
    for (const [name, asked, expected] of cases) {
      const label = `${name} ${JSON.stringify(asked)}`;
      assert.equal(await answered(open, name, asked), expected, label);
    }
    assert(new Set(cases.map(([, , words]) => words)).size >= 8);
    const takes = (name: string) =>
      open.host.find(name).inputs.map(({ name }) => name);
    const draws = ["temperature", "top_k", "top_p", "min_p", "seed"];
    assert.deepEqual(takes("drawing"), ["tokens", "max_steps", ...draws]);
    assert.deepEqual(takes("rows"), ["tokens", "max_steps"]);
    const notes = open.host.models.flatMap(({ name, notes = [] }) =>
      notes.map((note) => [name, note])
    );
    assert.deepEqual(notes, [[
      "greedy",
      'answers are drawn without repetition_penalty 1.5: the decoder takes its scores as they are, as those that are built here do unless their settings have "model": {"options": {"penalties": true}}',
    ]]);
  });
});

Deno.test("a folder's gpt ends with the id that its files or settings name, rather than with its last one", async () => {
  const eos_token_id = [6, 7];
  const options = { eos: undefined };
  const last = WORDS.length - 1;
  await withFolder((folder) => {
    writeDecoder(folder, "open", { options });
    writeDecoder(folder, "tokens", { options, end: "g" });
    writeDecoder(folder, "said", { options, generation: { eos_token_id } });
    writeDecoder(folder, "both", {
      ...{ options, generation: { eos_token_id }, end: "d" },
    });
    writeDecoder(folder, "least", {
      ...{ options, generation: { eos_token_id, min_new_tokens: 3 } },
    });
    writeDecoder(folder, "fewer", {
      ...{ options, generation: { eos_token_id, min_new_tokens: 3 } },
      text: { min_new_tokens: 1 },
    });
    writeDecoder(folder, "beyond", {
      ...{ options, generation: { eos_token_id: [6, WORDS.length] } },
    });
    writeDecoder(folder, "set", {
      ...{ options, generation: { eos_token_id }, text: { eos_ids: [9] } },
    });
    writeDecoder(folder, "endless", { generation: { eos_token_id } });
    writeDecoder(folder, "rows", {
      ...{ options, generation: { eos_token_id }, kind: "tensors" },
    });
  }, async (open) => {
    await open.repository.sync();
    const ends = open.host.models.map(({ name, model }) => [
      name,
      (model as GptModel).stop,
    ]);
    assert.deepEqual(Object.fromEntries(ends), {
      ...{ open: [last], said: eos_token_id, set: [9], rows: [last] },
      ...{
        tokens: [6],
        beyond: [6],
        least: eos_token_id,
        fewer: eos_token_id,
        both: [...eos_token_id, 3],
        endless: [],
      },
    });
    // The last one comes soon, and ends nothing.
    const likely = { [last]: 2 };
    const whole = own({ temperature: 1, logitBias: likely }).split(" ");
    const end = whole.findIndex((word) => word === "g" || word === "h");
    assert(end > 0 && whole.slice(0, end).includes(WORDS[last]));
    assert.equal(
      await answered(open, "said", { temperature: 1, logit_bias: likely }),
      whole.slice(0, end).join(" "),
    );
    // Before there are so many tokens none of them comes, whoever names it.
    const soon = { temperature: 0, logit_bias: { 3: 100 } };
    assert.equal(await answered(open, "both", soon), "");
    const ending = { temperature: 0, logit_bias: { 6: 100 } };
    assert.match(await answered(open, "least", ending), /^\w \w \w$/);
    assert.match(await answered(open, "fewer", ending), /^\w$/);
    const later = await answered(open, "both", { ...soon, min_tokens: 2 });
    assert.match(later, /^[^d] [^d]$/);
  });
});

Deno.test("a folder's gpt tells how likely its tokens were if its options have scores", async () => {
  await withFolder((folder) => {
    writeDecoder(folder, "silent");
    writeDecoder(folder, "scored", { options: { scores: true } });
  }, async ({ ask, repository }) => {
    await repository.sync();
    const completed = async (model: string) => {
      const response = await ask("/v1/completions", {
        method: "POST",
        body: JSON.stringify({
          ...{ model, prompt: "b c", max_tokens: 5, temperature: 0 },
          logprobs: 1,
        }),
      });
      return await response.json();
    };
    const { error } = await completed("silent");
    assert.match(error.message, /"scores"/);
    const { choices: [{ text, logprobs }] } = await completed("scored");
    assert.equal(text.trim(), own({ maxSteps: 5 }));
    assert.equal(logprobs.tokens.length, 5);
    // What is taken is the likeliest one.
    assert.deepEqual(
      logprobs.token_logprobs,
      logprobs.top_logprobs.map((top: object) => Object.values(top)[0]),
    );
  });
});
