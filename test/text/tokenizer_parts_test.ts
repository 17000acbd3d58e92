/** Tokenizers make the tokens that models were trained with, also where `@huggingface/tokenizers` makes others. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { Charsmap } from "../../src/text/charsmap.ts";
import { TextFileError } from "../../src/text/errors.ts";
import { SPLIT_BEHAVIORS, splitText } from "../../src/text/split_text.ts";
import { TextTokenizer } from "../../src/text/tokenizer.ts";
import { propertyRuns } from "../property_runs.ts";
import { CHARSMAP, TOKENS_CASES } from "./tokens_cases.ts";

for (const { what, file, text, tokens, decoded } of TOKENS_CASES) {
  Deno.test(`tokens are those of Hugging Face's own: ${what}`, async () => {
    const tokenizer = await TextTokenizer.load({ tokenizer: file });
    const { ids } = tokenizer.encode(text);
    assert.deepEqual(Array.from(ids, (id) => tokenizer.idToToken(id)), tokens);
    if (decoded !== undefined) assert.equal(tokenizer.decode(ids), decoded);
  });
}

Deno.test("a configuration that would take spaces away does not count: the file has its own rules", async () => {
  const model = {
    type: "WordLevel",
    unk_token: "?",
    vocab: { "?": 0, " a ": 1 },
  };
  const config = { remove_space: true };
  const tokenizer = await TextTokenizer.load({ tokenizer: { model }, config });
  assert.deepEqual([...tokenizer.encode(" a ").ids], [1]);
});

Deno.test("a word of any length is cut, unknown or not", async () => {
  const vocab = [["?", 0], ["a", -1]];
  const tokenizer = await TextTokenizer.load({
    tokenizer: { model: { type: "Unigram", unk_id: 0, vocab } },
  });
  const count = 150_000;
  assert.equal(tokenizer.encode("a".repeat(count)).ids.length, count);
  assert.deepEqual([...tokenizer.encode("é".repeat(1000)).ids], [0]);
  const marked = await TextTokenizer.load({
    tokenizer: {
      // As older files have it, that do not name its type.
      model: {
        ...{ unk_token: "?", continuing_subword_prefix: "##" },
        vocab: { "?": 0, a: 1, "##a": 2, "##aa": 3 },
        merges: [["##a", "##a"]],
      },
    },
  });
  const { ids } = marked.encode("a".repeat(count + 1));
  assert.deepEqual(new Set(ids.slice(1)), new Set([3]));
  assert.equal(ids.length, 1 + count / 2);
});

Deno.test("older files say in another way that no space is put in front", async () => {
  const part = { type: "Metaspace", replacement: "▁", add_prefix_space: false };
  const tokenizer = await TextTokenizer.load({
    tokenizer: {
      pre_tokenizer: { type: "Sequence", pretokenizers: [part] },
      decoder: { type: "Sequence", decoders: [part] },
      model: {
        type: "WordLevel",
        unk_token: "?",
        vocab: { "?": 0, a: 1, "▁a": 2 },
      },
    },
  });
  assert.deepEqual([...tokenizer.encode("a a").ids], [1, 2]);
  assert.equal(tokenizer.decode([2, 2]), " a a");
});

Deno.test("what would give other tokens without a word is refused by name", async () => {
  const vocab = { "?": 0, a: 1, "##b": 2 };
  const bpe = { type: "BPE", unk_token: "?", vocab, merges: [] };
  const marked = { ...bpe, continuing_subword_prefix: "##" };
  const split = { type: "Split", pattern: { String: "-" }, behavior: "Gone" };
  const charsmap = (precompiled_charsmap: string) => ({
    normalizer: { type: "Precompiled", precompiled_charsmap },
  });
  for (
    const [file, message] of [
      [
        { model: { ...marked, merges: ["a ##a"] } },
        /a merge of BPE makes one token of two, .* begins with "##", all in the vocabulary, got "a ##a"/,
      ],
      [
        { model: { ...marked, merges: [["a", "a"]] } },
        /, all in the vocabulary, got \[/,
      ],
      [
        { pre_tokenizer: split },
        /"behavior" of a split is one of Removed, .*, got "Gone"/,
      ],
      [charsmap("no base64!"), /"precompiled_charsmap" is no base64/],
      [charsmap("AAAA"), /has 3 bytes, less than its trie has/],
      [charsmap(CHARSMAP.slice(0, 80)), /has 60 bytes, less than its trie has/],
    ] as const
  ) {
    await assert.rejects(
      TextTokenizer.load({ tokenizer: { model: bpe, ...file } }),
      (error: Error) => {
        assert(error instanceof TextFileError);
        assert.match(error.message, message);
        return true;
      },
    );
  }
});

Deno.test("a trie that leads back to itself is refused, not followed for ever", () => {
  // Every unit is reached by its own byte, and leads back to the first one.
  const bytes = new DataView(new ArrayBuffer(4 + 4 * 256));
  bytes.setUint32(0, 4 * 256, true);
  for (let i = 0; i < 256; i++) bytes.setUint32(4 + 4 * i, i | i << 10, true);
  const letters = new Uint8Array(bytes.buffer);
  assert.throws(
    () => new Charsmap(btoa(String.fromCharCode(...letters))),
    /is no tree/,
  );
});

Deno.test("pieces of a split are the text, and are joined as their names say", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "b", "-", "é", "🐟") });
  fc.assert(
    fc.property(
      text,
      fc.constantFrom(...SPLIT_BEHAVIORS),
      fc.boolean(),
      (text, behavior, invert) => {
        const pieces = splitText(text, /-/g, behavior, invert);
        assert(pieces.every((piece) => piece !== ""));
        const isMatch = (letter: string) => (letter === "-") !== invert;
        const whole = behavior === "Removed"
          ? [...text].filter((letter) => !isMatch(letter)).join("")
          : text;
        assert.equal(pieces.join(""), whole);
      },
    ),
    { numRuns: propertyRuns(1000) },
  );
});
