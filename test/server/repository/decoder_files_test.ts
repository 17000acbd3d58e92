/** Files of transformers in a decoder's folder: what answers end with, and how they are drawn. */
import assert from "node:assert/strict";
import { type TinyDecoder } from "../../onnx/decoder_attention.ts";
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
    readonly config?: object;
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
  folder.write(`${name}/config.json`, {
    ...{ architectures: ["TinyForCausalLM"], max_position_embeddings: 40 },
    ...config,
  });
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
    for (const name of ["tokenizer", "both", "list"]) {
      assert.deepEqual(await answered(open, name), until(early), name);
    }
    assert.deepEqual(await answered(open, "settings"), until(late));
  });
});
