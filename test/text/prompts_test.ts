/** What stands in front of texts that are embedded, by the files of sentence-transformers. */
import assert from "node:assert/strict";
import { tensor } from "../../src/tensor/tensor.ts";
import { TextFileError } from "../../src/text/errors.ts";
import type { RunText } from "../../src/text/run_texts.ts";
import { TextModel } from "../../src/text/text_model.ts";
import type { TextModelOptions } from "../../src/text/text_options.ts";
import { textSettings } from "../../src/text/text_settings.ts";
import type { TokenModel } from "../../src/text/token_inputs.ts";
import { TOKENIZERS } from "./tokenizers.ts";

const { tokenizer } = TOKENIZERS["word pieces"];
const MODEL = {
  ...{ name: "words", cells: [], results: [], check() {} },
} as unknown as TokenModel;

/** A token's row is its id. */
const run: RunText = (input) => {
  const { tokens } = input as { tokens: ArrayLike<number> };
  const rows = Float32Array.from(tokens);
  return Promise.resolve({
    outputs: { last_hidden_state: tensor([1, rows.length, 1], rows) },
    timing: {},
  } as never);
};

const PROMPTS = { query: "the dog ", document: "the mat ", none: "" };

function model(options: TextModelOptions): TextModel {
  return new TextModel(MODEL, tokenizer, { prompts: PROMPTS, ...options });
}

/** Ids of the tokens that a text would have. */
async function tokens(
  texts: TextModel,
  text: string | readonly number[],
  promptName?: string,
): Promise<number[]> {
  const options = promptName === undefined ? {} : { promptName };
  const [{ embeddings }] = await texts.embedTokens(run, [text], options);
  return embeddings.map(([id]) => id);
}

const idsOf = (text: string) => [...tokenizer.encode(text).ids];

Deno.test("a text stands behind the prompt that its request names, or else the model's default", async () => {
  const plain = model({});
  const queries = model({ defaultPrompt: "query" });
  assert.deepEqual(await tokens(plain, "a cat"), idsOf("a cat"));
  for (const texts of [plain, queries]) {
    for (const name of ["query", "document", "none"] as const) {
      const expected = idsOf(PROMPTS[name] + "a cat");
      assert.deepEqual(await tokens(texts, "a cat", name), expected);
    }
    assert.deepEqual(await tokens(texts, [7, 8], "query"), [7, 8]);
  }
  assert.deepEqual(await tokens(queries, "a cat"), idsOf("the dog a cat"));
  const [named, given, other] = await Promise.all([
    plain.embed(run, ["a cat"], { promptName: "query", normalize: false }),
    queries.embed(run, ["a cat"], { normalize: false }),
    plain.embed(run, ["a cat"], { normalize: false }),
  ]);
  assert.deepEqual(named[0].embedding, given[0].embedding);
  assert.notDeepEqual(named[0].embedding, other[0].embedding);
  assert.equal(queries.prompted("a cat"), "the dog a cat");
  // Not where nothing is embedded.
  assert.deepEqual([...queries.encode("a cat").ids], idsOf("a cat"));
});

Deno.test("a prompt that the model does not have is refused by name", async () => {
  for (const name of ["passage", "toString"]) {
    for (const method of ["embed", "embedTokens"] as const) {
      await assert.rejects(
        model({})[method](run, ["a"], { promptName: name }),
        {
          name: "RangeError",
          message:
            `"promptName" is the name of one of the model's prompts, query, document, none, got "${name}"`,
        },
      );
    }
    assert.throws(
      () => model({ defaultPrompt: name }),
      /^RangeError: "defaultPrompt" is the name of one/,
    );
  }
  await assert.rejects(
    new TextModel(MODEL, tokenizer).embed(run, ["a"], { promptName: "q" }),
    /of which it has none, got "q"/,
  );
  assert.throws(
    () => model({ prompts: { query: 3 } as never }),
    /^TypeError: .*query/,
  );
});

Deno.test("a prompt's tokens stay out of the mean where the files say so", async () => {
  const [cls, the, dog, a, cat, sep] = idsOf("the dog a cat");
  const mean = async (options: TextModelOptions, text: string | number[]) => {
    const texts = model({ defaultPrompt: "query", ...options });
    const [found] = await texts.embed(run, [text], { normalize: false });
    return found.embedding[0];
  };
  const all = [cls, the, dog, a, cat, sep];
  const of = (ids: number[]) =>
    Math.fround(ids.reduce((x, y) => x + y) / ids.length);
  assert.equal(await mean({}, "a cat"), of(all));
  const out = { includePrompt: false };
  assert.equal(await mean(out, "a cat"), of([a, cat, sep]));
  assert.equal(
    await mean({ ...out, defaultPrompt: "none" }, "a"),
    of(idsOf("a")),
  );
  assert.equal(await mean(out, all), of(all));
  assert.equal(await mean({ ...out, pooling: "cls" }, "a cat"), cls);
  // Of no row at all it is zeros.
  const texts = model({ ...out, defaultPrompt: "query" });
  const cut = { truncate: true, tokensMax: 3, normalize: false };
  const [{ embedding }] = await texts.embed(run, ["a"], cut);
  assert.deepEqual([...embedding], [0]);
});

Deno.test("texts come to the tokenizer in lower case where the files say so", async () => {
  const { tokenizer } = TOKENIZERS["byte pairs"];
  const idsOf = (text: string) => [...tokenizer.encode(text).ids];
  const cased = new TextModel(MODEL, tokenizer);
  const lower = new TextModel(MODEL, tokenizer, {
    ...{ lowercase: true, defaultPrompt: "Q" },
    prompts: { Q: "Query: " },
  });
  assert.deepEqual([...cased.encode("The ΟΔΟΣ").ids], idsOf("The ΟΔΟΣ"));
  assert.deepEqual([...lower.encode("The ΟΔΟΣ").ids], idsOf("the οδος"));
  assert.deepEqual(
    [...lower.encode(["The", "Cat"]).ids],
    [...tokenizer.encode("the", { pair: "cat" }).ids],
  );
  assert.deepEqual(await tokens(lower, "The"), idsOf("query: the"));
  assert.equal(lower.prompted("The"), "query: the");
});

Deno.test("files of sentence-transformers say what texts come to", () => {
  const prompts = { query: "query: ", document: "" };
  const file = (default_prompt_name?: unknown, given: unknown = prompts) =>
    textSettings({ prompts: { prompts: given, default_prompt_name } });
  assert.deepEqual(file("query"), { prompts, defaultPrompt: "query" });
  for (const none of [undefined, null, ""]) {
    assert.deepEqual(file(none), { prompts });
  }
  for (const none of [{}, null]) assert.deepEqual(file(null, none), {});
  assert.deepEqual(textSettings({ prompts: {} }), {});
  for (
    const [broken, message] of [
      [() => file("toString"), /_name" is one of query, document, got "toS/],
      [() => file(3), /"default_prompt_name" is one of .*, got 3$/],
      [() => file("query", null), /is one of none, got "query"$/],
      [() => file(null, ["a"]), /"prompts" are texts by name, got \["a"\]$/],
      [() => file(null, { a: 1 }), /"prompts" are texts by name/],
    ] as const
  ) {
    assert.throws(broken, (error: Error) => {
      assert(error instanceof TextFileError);
      assert.match(error.message, /^config_sentence_transformers.json: /);
      assert.match(error.message, message);
      return true;
    });
  }
  assert.deepEqual(textSettings({ sentence: { do_lower_case: true } }), {
    lowercase: true,
  });
  assert.deepEqual(textSettings({ sentence: { do_lower_case: false } }), {});
  assert.deepEqual(
    textSettings({ pooling: { pooling_mode: "mean", include_prompt: false } }),
    { pooling: "mean", includePrompt: false },
  );
  assert.deepEqual(
    textSettings({ pooling: { pooling_mode: "mean", include_prompt: true } }),
    { pooling: "mean" },
  );
});
