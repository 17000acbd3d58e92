/** Encoding: pairs, special tokens, truncation, whatever the file says of it. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { TextFileError, TextTooLongError } from "../../src/text/errors.ts";
import { textSettings } from "../../src/text/text_settings.ts";
import { TextTokenizer } from "../../src/text/tokenizer.ts";
import { longestFirst } from "../../src/text/truncate.ts";
import { propertyRuns } from "../property_runs.ts";
import { TOKENIZERS, WORD_PIECES } from "./tokenizers.ts";

const { tokenizer } = TOKENIZERS["word pieces"];

function tokensOf({ ids }: { readonly ids: Int32Array }): string {
  return Array.from(ids, (id) => tokenizer.idToToken(id)).join(" ");
}

Deno.test("a text has special tokens around it; the file's own length limits nothing", () => {
  const encoded = tokenizer.encode("The cats sat on a zebra.");
  assert.equal(
    tokensOf(encoded),
    "[CLS] the cat ##s sat on a [UNK] . [SEP]",
  );
  assert.deepEqual([...encoded.added], [1, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
  assert.deepEqual([...encoded.typeIds], Array(10).fill(0));
  assert.equal(encoded.truncated, 0);
  assert.equal(tokenizer.tokensMax, undefined);
  assert.equal(tokenizer.padId, 0);
  const bare = tokenizer.encode("the cat", { addSpecialTokens: false });
  assert.equal(tokensOf(bare), "the cat");
  assert.equal(tokensOf(tokenizer.encode("")), "[CLS] [SEP]");
});

Deno.test("a pair has types, an empty second text included", () => {
  const encoded = tokenizer.encode("the cat", { pair: "a dog ran" });
  assert.equal(tokensOf(encoded), "[CLS] the cat [SEP] a dog ran [SEP]");
  assert.deepEqual([...encoded.typeIds], [0, 0, 0, 0, 1, 1, 1, 1]);
  const empty = tokenizer.encode("the cat", { pair: "" });
  assert.equal(tokensOf(empty), "[CLS] the cat [SEP] [SEP]");
  assert.deepEqual([...empty.typeIds], [0, 0, 0, 0, 1]);
  assert.equal(tokenizer.addedTokens(), 2);
  assert.equal(tokenizer.addedTokens(true), 3);
});

Deno.test("pairs of byte-level tokenizers are one behind the other", () => {
  const { tokenizer } = TOKENIZERS["byte pairs"];
  const { ids, typeIds } = tokenizer.encode("the in", { pair: " the" });
  assert.equal(tokenizer.decode(ids), "the in the");
  const first = tokenizer.encode("the in").ids.length;
  assert.deepEqual(
    [...typeIds],
    Array.from(ids, (_, i) => i < first ? 0 : 1),
  );
});

Deno.test("pairs of RoBERTa's tokenizers are of one type: its models have no other", async () => {
  const words = ["<s>", "</s>", "<unk>", "the", "cat"];
  const roberta = {
    ...{ type: "RobertaProcessing", sep: ["</s>", 1], cls: ["<s>", 0] },
    ...{ trim_offsets: true, add_prefix_space: false },
  };
  const byteLevel = { type: "ByteLevel", trim_offsets: true };
  for (
    const post_processor of [
      roberta,
      { type: "Sequence", processors: [byteLevel, roberta] },
    ]
  ) {
    const tokenizer = await TextTokenizer.load({
      tokenizer: {
        pre_tokenizer: { type: "Whitespace" },
        post_processor,
        model: {
          ...{ type: "WordLevel", unk_token: "<unk>" },
          vocab: Object.fromEntries(words.map((word, id) => [word, id])),
        },
      },
    });
    const { ids, typeIds } = tokenizer.encode("the cat", { pair: "cat" });
    assert.deepEqual([...ids], [0, 3, 4, 1, 1, 4, 1]);
    assert.deepEqual([...typeIds], Array(7).fill(0));
  }
});

Deno.test("what is too long is refused, or cut at the end that is asked for", () => {
  const text = "the cat sat on a mat";
  assert.throws(() => tokenizer.encode(text, { tokensMax: 7 }), (error) => {
    assert(error instanceof TextTooLongError);
    assert.deepEqual([error.tokens, error.tokensMax], [8, 7]);
    return true;
  });
  assert.equal(tokenizer.encode(text, { tokensMax: 8 }).truncated, 0);
  const right = tokenizer.encode(text, { tokensMax: 5, truncate: true });
  assert.equal(tokensOf(right), "[CLS] the cat sat [SEP]");
  assert.equal(right.truncated, 3);
  const left = tokenizer.encode(text, {
    tokensMax: 5,
    truncate: true,
    truncationSide: "left",
  });
  assert.equal(tokensOf(left), "[CLS] on a mat [SEP]");
  const pair = tokenizer.encode("the cat sat", {
    pair: "a",
    tokensMax: 6,
    truncate: true,
  });
  assert.equal(tokensOf(pair), "[CLS] the cat [SEP] a [SEP]");
  assert.throws(
    () => tokenizer.encode(text, { tokensMax: 1, truncate: true }),
    /special tokens alone take 2/,
  );
});

Deno.test("of two texts the longer one is cut first, and nothing more than needed", () => {
  // The cases of Hugging Face tokenizers' truncate_encodings.
  assert.deepEqual(longestFirst(3, 5, 6), [3, 3]);
  assert.deepEqual(longestFirst(9, 5, 6), [3, 3]);
  assert.deepEqual(longestFirst(5, 9, 7), [3, 4]);
  assert.deepEqual(longestFirst(9, 5, 7), [4, 3]);
  assert.deepEqual(longestFirst(2, 9, 7), [2, 5]);
  const count = fc.nat(40);
  fc.assert(
    fc.property(count, count, count, (first, second, room) => {
      const [a, b] = longestFirst(first, second, room);
      assert(a >= 0 && a <= first && b >= 0 && b <= second);
      assert.equal(a + b, Math.min(room, first + second));
      // Only what is longer than the other is cut, but for one token that cannot be halved.
      if (a < first) assert(a >= b - 1);
      if (b < second) assert(b >= a - 1);
    }),
    { numRuns: propertyRuns(2000) },
  );
});

Deno.test("what is no text, no option or no tokenizer is refused by name", async () => {
  assert.throws(() => tokenizer.encode(3 as never), /"text" is a string/);
  assert.throws(
    () => tokenizer.encode("", { truncation: true } as never),
    /encode\(\) has no option "truncation"/,
  );
  const { config } = WORD_PIECES;
  for (
    const [file, message] of [
      ["{", /tokenizer.json is no JSON/],
      [[], /tokenizer.json is an object/],
      [{}, /tokenizer.json is none that can be read/],
      [{ ...Object(WORD_PIECES.tokenizer), model: { type: "Words" } }, /Words/],
      [
        {
          ...Object(WORD_PIECES.tokenizer),
          post_processor: {
            type: "BertProcessing",
            cls: ["<none>", 0],
            sep: ["<none>", 0],
          },
        },
        /special token "<none>" is not in the vocabulary/,
      ],
    ] as const
  ) {
    const loaded = TextTokenizer.load({ tokenizer: file, config });
    await assert.rejects(loaded, (error: Error) => {
      assert(error instanceof TextFileError);
      assert.match(error.message, message);
      return true;
    });
  }
  const bytes = new TextEncoder().encode(JSON.stringify(WORD_PIECES.tokenizer));
  const again = await TextTokenizer.load({ tokenizer: bytes });
  assert.deepEqual(again.encode("a cat"), tokenizer.encode("a cat"));
});

Deno.test("tokens by role are found, whichever file writes them, and however", async () => {
  const { tokenizer } = TOKENIZERS["byte pairs"];
  assert.equal(tokenizer.specialToken("bos_token"), "<|end|>");
  assert.equal(tokenizer.specialId("eos_token"), 0);
  assert.equal(tokenizer.specialId("pad_token"), undefined);
  assert.equal(tokenizer.tokensMax, 1024);
  const mapped = await TextTokenizer.load({
    tokenizer: WORD_PIECES.tokenizer,
    config: { bos_token: "<|user|>", pad_token: null },
    specialTokens: {
      ...{ bos_token: "the", eos_token: { content: "<|end|>" } },
      ...{ pad_token: "the", chat_template: "no token" },
    },
  });
  const roles = ["bos_token", "eos_token", "pad_token"];
  assert.deepEqual(
    roles.map((role) => mapped.specialToken(role)),
    // What the configuration says counts more, also that there is none.
    ["<|user|>", "<|end|>", undefined],
  );
  assert.equal(mapped.chatTemplate, undefined);
  assert(tokenizer.isSpecial(1) && !tokenizer.isSpecial(2));
  const { ids } = tokenizer.encode("the<|end|>the");
  assert.equal(tokenizer.decode(ids), "thethe");
  assert.equal(tokenizer.decode(ids, false), "the<|end|>the");
  assert.equal(tokenizer.decode([]), "");
  assert.equal(tokenizer.decode([100_000]), "", "ids of no token");
});

Deno.test("a real tokenizer gives the ids that its model was trained with", async () => {
  const folder = new URL(
    "../../../shared/data/tokenizers/gte-small/",
    import.meta.url,
  );
  if (!existsSync(folder)) {
    return console.log("skipped: no ../shared/data/tokenizers");
  }
  const read = (name: string) => readFileSync(new URL(name, folder));
  const real = await TextTokenizer.load({
    tokenizer: read("tokenizer.json"),
    config: read("tokenizer_config.json"),
  });
  // Source: transformers' documentation, ids of BERT's uncased vocabulary.
  const ids = (text: string) => [...real.encode(text).ids];
  assert.deepEqual(ids("Hello, world!"), [101, 7592, 1010, 2088, 999, 102]);
  assert.deepEqual(ids("UNwant\u00E9d,running"), ids("unwanted, running"));
  const long = "a ".repeat(600);
  assert.equal(real.encode(long).ids.length, 602, "not the file's 128");
  const { tokensMax, kind } = textSettings({ config: read("config.json") });
  assert.deepEqual([tokensMax, kind], [512, "embedding"]);
});
