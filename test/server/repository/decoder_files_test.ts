/** Files of transformers in a decoder's folder: what answers end with, and how they are drawn. */
import assert from "node:assert/strict";
import type { TinyDecoder } from "../../onnx/decoder_attention.ts";
import { tinyDecoder } from "../../onnx/decoder_files.ts";
import type { TestFolder } from "./folders.ts";
import { type Open, withFolder } from "./with_folder.ts";

const WORDS = [..."abcdefghijklmnop"];
const TINY: TinyDecoder = {
  ...{ shared: "no", mask: "input", scale: "scores", positions: "table" },
  ...{ layers: 1, heads: 2, size: 4, vocabulary: WORDS.length, seed: 11 },
};
const FILE = tinyDecoder(TINY);

/** A decoder of words that are letters. */
function writeDecoder(
  folder: TestFolder,
  name: string,
  files: {
    /** null: there is none. */
    readonly config?: object | null;
    readonly generation?: object;
    readonly tokenizer?: object;
    readonly settings?: object;
  } = {},
): void {
  const { config, generation, tokenizer, settings } = files;
  folder.write(`${name}/model.onnx`, FILE);
  folder.write(`${name}/tokenizer.json`, {
    pre_tokenizer: { type: "Whitespace" },
    model: {
      type: "WordLevel",
      unk_token: "a",
      vocab: Object.fromEntries(WORDS.map((word, id) => [word, id])),
    },
  });
  if (config !== null) {
    folder.write(`${name}/config.json`, {
      ...{ architectures: ["TinyForCausalLM"], max_position_embeddings: 40 },
      ...config,
    });
  }
  if (generation) folder.write(`${name}/generation_config.json`, generation);
  if (tokenizer) folder.write(`${name}/tokenizer_config.json`, tokenizer);
  if (settings) folder.write(`${name}/shoal.json`, settings);
}

/** Words of an answer, and how it ended. */
async function answered(
  { ask }: Open,
  model: string,
  more: object = {},
): Promise<{ words: string[]; reason: string }> {
  const response = await ask("/v1/completions", {
    method: "POST",
    body: JSON.stringify({
      ...{ model, prompt: "b c", seed: 3, max_tokens: 20, ...more },
    }),
  });
  const body = await response.json();
  assert.equal(response.status, 200, JSON.stringify(body));
  const [{ text, finish_reason: reason }] = body.choices;
  return { words: text.split(" ").filter(Boolean), reason };
}

Deno.test("an answer ends with the ids that a folder's files name, and with its tokenizer's", async () => {
  await withFolder((folder) => writeDecoder(folder, "open"), async (open) => {
    await open.repository.sync();
    const { words, reason } = await answered(open, "open");
    assert.deepEqual([words.length, reason], [20, "length"]);
    // What comes first of two ends it, whoever names it.
    const [early, late] = [...new Set(words)].slice(1).map((word) =>
      WORDS.indexOf(word)
    );
    const named = { tokenizer: { eos_token: WORDS[early] } };
    writeDecoder(open.folder, "tokenizer", named);
    writeDecoder(open.folder, "mapped");
    open.folder.write("mapped/special_tokens_map.json", named.tokenizer);
    writeDecoder(open.folder, "both", {
      ...named,
      ...{ config: { eos_token_id: late } },
    });
    writeDecoder(open.folder, "list", {
      config: { eos_token_id: late },
      generation: { eos_token_id: [late, early] },
    });
    writeDecoder(open.folder, "settings", {
      ...named,
      settings: { text: { eos_ids: [late] } },
    });
    assert.deepEqual([...await open.repository.sync()], []);
    const until = (id: number) => ({
      words: words.slice(0, words.indexOf(WORDS[id])),
      reason: "stop",
    });
    for (const name of ["tokenizer", "mapped", "both", "list"]) {
      assert.deepEqual(await answered(open, name), until(early), name);
    }
    assert.deepEqual(await answered(open, "settings"), until(late));
  });
});

Deno.test("answers are drawn as a folder's generation_config.json says, unless its settings or a request do", async () => {
  const drawn = { do_sample: true, temperature: 2, top_k: 6, top_p: 0.9 };
  const greedy = { do_sample: false, temperature: 2 };
  const settings = {
    text: { temperature: 1.5, top_k: 0, top_p: 1, max_new_tokens: 5 },
  };
  await withFolder((folder) => {
    writeDecoder(folder, "plain");
    writeDecoder(folder, "drawn", { generation: drawn });
    // A decoder by its settings.
    writeDecoder(folder, "set", {
      ...{ config: null, generation: { ...drawn, repetition_penalty: 4 } },
      settings: { decoder: { positions_max: 40 } },
    });
    writeDecoder(folder, "silent", { generation: { temperature: 2 } });
    writeDecoder(folder, "unsaid", {
      generation: { do_sample: true, temperature: null, top_k: -1 },
    });
    writeDecoder(folder, "greedy", { generation: greedy });
    writeDecoder(folder, "unlike", {
      generation: { ...greedy, repetition_penalty: 4, min_p: 0.6 },
    });
    writeDecoder(folder, "like", {
      generation: { ...greedy, repetition_penalty: 4, min_p: 0.6 },
      settings: { text: { repetition_penalty: 1, min_p: 0 } },
    });
    writeDecoder(folder, "once", {
      generation: { ...greedy, no_repeat_ngram_size: 1 },
    });
    writeDecoder(folder, "settings", { generation: drawn, settings });
    writeDecoder(folder, "drawless", {
      generation: drawn,
      settings: { decoder: { sample: false } },
    });
  }, async (open) => {
    assert.deepEqual([...await open.repository.sync()], []);
    const limits = { top_k: 6, top_p: 0.9 };
    const cases: [string, object, object][] = [
      ["drawn", {}, { temperature: 2, ...limits }],
      ["drawn", { temperature: 0 }, { temperature: 0 }],
      ["drawn", { temperature: 1 }, { temperature: 1, ...limits }],
      ["drawn", { top_k: -1, top_p: 1 }, { temperature: 2 }],
      ["drawn", { top_k: 0 }, { temperature: 2, top_p: 0.9 }],
      [
        ...["set", {}] as const,
        { temperature: 2, ...limits, repetition_penalty: 4 },
      ],
      ["silent", {}, { temperature: 2 }],
      ["unsaid", {}, { temperature: 1 }],
      ["greedy", {}, { temperature: 0 }],
      ["greedy", { temperature: 1 }, { temperature: 1 }],
      ["unlike", {}, { temperature: 0, repetition_penalty: 4 }],
      [
        ...["unlike", { temperature: 2, repetition_penalty: 1 }] as const,
        { temperature: 2, min_p: 0.6 },
      ],
      ["like", { temperature: 2 }, { temperature: 2 }],
      ["settings", {}, { temperature: 1.5 }],
      ["drawless", {}, { temperature: 0 }],
    ];
    const told = new Set<string>();
    for (const [name, asked, meant] of cases) {
      const expected = await answered(open, "plain", meant);
      const label = `${name} ${JSON.stringify(asked)}`;
      assert.deepEqual(await answered(open, name, asked), expected, label);
      told.add(expected.words.join(" "));
    }
    assert(told.size >= 6, "settings make different answers");
    const { words } = await answered(open, "once", { max_tokens: 14 });
    assert.deepEqual([...new Set(["b", "c", ...words])].length, 16);
    // Whatever its batch.
    const together = await Promise.all(
      cases.map(([name, asked]) => answered(open, name, asked)),
    );
    const alone = [];
    for (const [name, asked] of cases) {
      alone.push(await answered(open, name, asked));
    }
    assert.deepEqual(together, alone);
  });
});

Deno.test("answers are as long as a folder says, end with its stop strings, and have none of the words it keeps back", async () => {
  const chat_template = "{{ messages[0].content }}";
  await withFolder((folder) => {
    const tokenizer = { chat_template };
    const generation = { max_new_tokens: 4 };
    writeDecoder(folder, "plain", { tokenizer });
    writeDecoder(folder, "short", { generation, tokenizer });
    writeDecoder(folder, "shorter", {
      ...{ generation, tokenizer },
      settings: { text: { max_new_tokens: 2 } },
    });
  }, async (open) => {
    await open.repository.sync();
    const spent = async (model: string, more: object = {}) => {
      const response = await open.ask("/v1/chat/completions", {
        method: "POST",
        body: JSON.stringify({
          model,
          messages: [{ role: "user", content: "b c" }],
          ...more,
        }),
      });
      return (await response.json()).usage.completion_tokens;
    };
    assert.equal(await spent("plain"), 39);
    assert.equal(await spent("short"), 4);
    assert.equal(await spent("short", { max_tokens: 7 }), 7);
    assert.equal(await spent("shorter"), 2);

    const { words } = await answered(open, "plain");
    const [first, ...rest] = new Set(words);
    const [stop] = rest;
    writeDecoder(open.folder, "stops", { generation: { stop_strings: stop } });
    writeDecoder(open.folder, "kept", {
      generation: { suppress_tokens: [WORDS.indexOf(stop)] },
    });
    writeDecoder(open.folder, "bad", {
      generation: { bad_words_ids: [[WORDS.indexOf(stop)], [1, 2]] },
    });
    assert.deepEqual([...await open.repository.sync()], []);
    const stopped = await answered(open, "stops");
    assert.deepEqual(stopped.reason, "stop");
    assert.deepEqual(stopped.words, words.slice(0, words.indexOf(stop)));
    const others = await answered(open, "stops", { stop: ["nothing"] });
    assert.deepEqual(others.words, words);
    assert(stopped.words.includes(first));
    for (let seed = 0; seed < 8; seed++) {
      const drawn = { seed, temperature: 2 };
      const { words } = await answered(open, "kept", drawn);
      assert(words.length === 20 && !words.includes(stop));
      assert.deepEqual((await answered(open, "bad", drawn)).words, words);
    }
  });
});

Deno.test("what a folder says of answers and is not computed is told, and what cannot be is refused", async () => {
  const generation = {
    ...{ num_beams: 3, guidance_scale: 1, typical_p: null, min_p: 0.1 },
    ...{ begin_suppress_tokens: [3], bad_words_ids: [] },
  };
  await withFolder((folder) => {
    writeDecoder(folder, "told", { generation });
    writeDecoder(folder, "untold", { generation: { top_k: 5 } });
    writeDecoder(folder, "hot", { generation: { temperature: "hot" } });
    writeDecoder(folder, "all", { generation: { top_p: 2 } });
    writeDecoder(folder, "rows", { generation, settings: { kind: "tensors" } });
    writeDecoder(folder, "alike", {
      generation: { repetition_penalty: 1.5 },
      settings: { decoder: { sample: false } },
    });
    writeDecoder(folder, "changed", {
      generation: { repetition_penalty: 1.5 },
      settings: { decoder: { sample: false, penalties: true } },
    });
    writeDecoder(folder, "set", {
      settings: {
        decoder: { penalties: false },
        text: { repetition_penalty: 2 },
      },
    });
  }, async ({ repository, host }) => {
    const failed = await repository.sync();
    const file = "cannot be loaded: generation_config.json:";
    assert.deepEqual(Object.fromEntries(failed), {
      hot: `Model "hot" ${file} "temperature" is at least 0, got "hot"`,
      all: `Model "all" ${file} "top_p" is above 0 and up to 1, got 2`,
    });
    const notes = host.models.flatMap(({ name, notes = [] }) =>
      notes.map((note) => [name, note])
    );
    const without = (penalty: string) =>
      `answers are drawn without ${penalty}: the decoder takes its scores as they are, ` +
      `as those of files do unless their settings have "decoder": {"penalties": true}`;
    assert.deepEqual(notes, [
      ["alike", without("repetition_penalty 1.5")],
      ["set", without("repetition_penalty 2")],
      [
        "told",
        "answers are drawn without what generation_config.json has besides: begin_suppress_tokens [3], num_beams 3",
      ],
    ]);
  });
});

Deno.test("a version has the files in its own folder beside it, and for what that has not, those of its model", async () => {
  await withFolder((folder) => {
    writeDecoder(folder, "plain");
    writeDecoder(folder, "writer/1", { generation: { temperature: 2 } });
    writeDecoder(folder, "whole/5", { generation: { do_sample: false } });
    // What is the same for all of them.
    writeDecoder(folder, "writer", {
      generation: { temperature: 1.5 },
      settings: { version_policy: { all: {} } },
    });
    folder.remove("writer/model.onnx");
    folder.write("writer/2/model.onnx", FILE);
    folder.write("writer/3/model.onnx", FILE);
    folder.write("writer/3/config.json", {
      ...{ architectures: ["TinyForCausalLM"], max_position_embeddings: 6 },
    });
  }, async (open) => {
    assert.deepEqual([...await open.repository.sync()], []);
    for (
      const [name, temperature] of [
        ["writer/1", 2],
        ["writer/2", 1.5],
        ["whole", 0],
      ] as const
    ) {
      assert.deepEqual(
        await answered(open, name),
        await answered(open, "plain", { temperature }),
        name,
      );
    }
    assert.equal((await answered(open, "writer/3")).words.length, 5);
  });
});
