/** What configuration files say of models of texts. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { TextFileError } from "../../src/text/errors.ts";
import { generationSettings } from "../../src/text/generation_settings.ts";
import { sentenceModules } from "../../src/text/sentence_modules.ts";
import { textSettings } from "../../src/text/text_settings.ts";

const BERT = { architectures: ["BertModel"], max_position_embeddings: 512 };

Deno.test("limits are the least that any file says; positions behind padding are none", () => {
  assert.deepEqual(textSettings({}), {});
  assert.deepEqual(textSettings({ config: BERT }), {
    kind: "embedding",
    tokensMax: 512,
  });
  const { tokensMax } = textSettings({
    config: BERT,
    sentence: { max_seq_length: 256 },
  });
  assert.equal(tokensMax, 256);
  for (
    const [type, pad, most] of [
      ["roberta", 1, 512],
      ["xlm-roberta", undefined, 512],
      ["bert", 0, 514],
    ] as const
  ) {
    const config = {
      ...{ model_type: type, max_position_embeddings: 514 },
      ...(pad !== undefined && { pad_token_id: pad }),
    };
    assert.equal(textSettings({ config }).tokensMax, most, type);
  }
  assert.equal(textSettings({ config: { n_positions: 1024 } }).tokensMax, 1024);
});

Deno.test("pooling is the one that sentence-transformers' file switches on", () => {
  const flags = (on: string) => ({
    pooling_mode_cls_token: on === "cls",
    pooling_mode_mean_tokens: on === "mean",
    pooling_mode_lasttoken: on === "last",
  });
  for (const pooling of ["cls", "mean", "last"]) {
    assert.deepEqual(textSettings({ pooling: flags(pooling) }), { pooling });
  }
  assert.deepEqual(textSettings({ pooling: flags("none") }), {});
  // Their mean would be another row, without a word.
  for (
    const more of [
      { ...flags("none"), pooling_mode_max_tokens: true },
      { ...flags("mean"), pooling_mode_cls_token: true },
    ]
  ) {
    assert.throws(() => textSettings({ pooling: more }), (error: Error) => {
      assert(error instanceof TextFileError);
      assert.match(error.message, /^1_Pooling\/config.json has /);
      assert.match(error.message, /rows are pooled in one way/);
      return true;
    });
  }
});

Deno.test("pooling is the mode that newer files of sentence-transformers name", () => {
  const named = (pooling_mode: unknown) =>
    textSettings({
      // Flags beside it do not count.
      pooling: { pooling_mode, pooling_mode_mean_tokens: true },
    });
  assert.deepEqual(named("cls"), { pooling: "cls" });
  assert.deepEqual(named("mean"), { pooling: "mean" });
  assert.deepEqual(named("lasttoken"), { pooling: "last" });
  assert.deepEqual(named(["cls"]), { pooling: "cls" });
  for (
    const mode of ["max", "toString", null, 5, [], ["cls", "mean"], [["cls"]]]
  ) {
    assert.throws(() => named(mode), (error: Error) => {
      assert(error instanceof TextFileError);
      assert.match(
        error.message,
        /^1_Pooling\/config.json has "pooling_mode" /,
      );
      assert.match(error.message, /in one way, by one of cls, mean, lasttoken/);
      return true;
    });
  }
});

Deno.test("classifiers, rerankers and decoders are told by their architecture", () => {
  const classes = (labels: readonly string[], more: object = {}) =>
    textSettings({
      config: {
        architectures: ["RobertaForSequenceClassification"],
        id2label: { ...labels },
        ...more,
      },
    });
  assert.deepEqual(classes(["no", "yes"]), {
    kind: "classifier",
    labels: ["no", "yes"],
    activation: "softmax",
  });
  assert.deepEqual(classes(["score"]), {
    kind: "reranker",
    labels: ["score"],
    activation: "sigmoid",
  });
  const many = { problem_type: "multi_label_classification" };
  assert.equal(classes(["a", "b"], many).activation, "sigmoid");
  assert.equal(
    classes(["a"], { problem_type: "regression" }).activation,
    "none",
  );
  const config = { architectures: ["LlamaForCausalLM"], eos_token_id: 2 };
  assert.deepEqual(textSettings({ config }), { kind: "decoder", eosIds: [2] });
  assert.deepEqual(
    textSettings({ config, generation: { eos_token_id: [2, 7] } }).eosIds,
    [2, 7],
  );
  assert.deepEqual(
    textSettings({ config, generation: { eos_token_id: null } }).eosIds,
    [2],
  );
  for (const eos_token_id of ["2", [2, null], -1]) {
    assert.throws(
      () => textSettings({ config, generation: { eos_token_id } }),
      /^TextFileError: generation_config.json: "eos_token_id/,
    );
    assert.throws(
      () => textSettings({ config: { ...config, eos_token_id } }),
      /^TextFileError: config.json: "eos_token_id/,
    );
  }
  const t5 = {
    architectures: ["T5ForConditionalGeneration"],
    is_encoder_decoder: true,
  };
  assert.deepEqual(textSettings({ config: t5 }), {
    kind: "decoder",
    isEncoderDecoder: true,
  });
});

/** Settings of answers with values that ask for nothing. */
const NOTHING = {
  ...{ epsilon_cutoff: 0, typical_p: 1, guidance_scale: 1, num_beams: 1 },
  ...{ encoder_no_repeat_ngram_size: 0, min_length: 0 },
  ...{ begin_suppress_tokens: null, forced_eos_token_id: null },
};
const anyNumber = (of: fc.Arbitrary<number>) =>
  fc.option(of, { nil: undefined });

Deno.test("a decoder's answers are as generation_config.json says, and what is not computed of it is told", () => {
  const config = { architectures: ["LlamaForCausalLM"] };
  const given = fc.record({
    do_sample: fc.constantFrom(undefined, null, true, false),
    temperature: anyNumber(fc.double({ min: 0, max: 3, noNaN: true })),
    top_k: anyNumber(fc.integer({ min: -1, max: 100 })),
    top_p: anyNumber(fc.double({ min: 0, max: 1, noNaN: true })),
    min_p: anyNumber(fc.double({ min: 0, max: 1, noNaN: true })),
    repetition_penalty: anyNumber(fc.double({ min: 0.1, max: 9, noNaN: true })),
    no_repeat_ngram_size: anyNumber(fc.nat(9)),
    max_new_tokens: anyNumber(fc.integer({ min: 1, max: 5000 })),
    min_new_tokens: anyNumber(fc.nat(50)),
    stop_strings: fc.constantFrom(undefined, [], "a", ["a", "b"]),
    suppress_tokens: fc.constantFrom(undefined, null, [], [3, 4]),
    eos_token_id: fc.constantFrom(undefined, null, 5, [5, 6]),
    bad_words_ids: fc.option(
      fc.array(fc.array(fc.integer({ min: 3, max: 7 }), { maxLength: 2 })),
    ),
    asked: fc.subarray(Object.keys(NOTHING)),
  });
  fc.assert(fc.property(given, ({ asked, ...file }) => {
    const written = {
      ...{ ...NOTHING, ...file, pad_token_id: 0, transformers_version: "5" },
      ...Object.fromEntries(asked.map((name) => [name, 7])),
    };
    const { answers, banned, unread } = generationSettings(written);
    const { temperature, topK, topP, maxTokens, stop } = answers;
    const isDrawn = file.do_sample;
    assert.equal(
      temperature,
      isDrawn === false ? 0 : file.temperature ?? (isDrawn ? 1 : undefined),
    );
    assert.equal(topK, file.top_k === -1 ? 0 : file.top_k);
    assert.equal(topP, file.top_p === 0 ? Number.MIN_VALUE : file.top_p);
    assert.equal(answers.minP, file.min_p);
    assert.equal(answers.repetitionPenalty, file.repetition_penalty);
    assert.equal(answers.noRepeatNgramSize, file.no_repeat_ngram_size);
    assert.equal(answers.minTokens, file.min_new_tokens);
    assert.equal(maxTokens, file.max_new_tokens);
    assert.equal(stop?.join(), file.stop_strings?.toString() || undefined);
    const ends = [file.eos_token_id].flat();
    const words = file.bad_words_ids ?? [];
    const [single, longer] = [1, 2].map((n) =>
      words.filter(({ length }) => length === n)
    );
    assert.deepEqual(
      new Set(banned),
      new Set([
        ...file.suppress_tokens ?? [],
        ...single.flat().filter((id) => !ends.includes(id)),
      ]),
    );
    assert.equal(new Set(banned).size, banned.length);
    const left = unread.filter((each) => !each.startsWith("bad_words_ids [["));
    assert.equal(unread.length - left.length, longer.length > 0 ? 1 : 0);
    assert.deepEqual(left.sort(), asked.map((n) => `${n} 7`).sort());
    const { answers: inSettings = {} } = textSettings({
      ...{ config, generation: written },
    });
    assert.deepEqual(inSettings, answers);
    // It is what generates that has this file, if no other says what the model is.
    const { eosIds: alone } = textSettings({ generation: written });
    const { eosIds } = textSettings({ config, generation: written });
    assert.deepEqual(alone, eosIds);
    const { answers: said = {} } = textSettings({ generation: written });
    assert.deepEqual(said, answers);
    assert.deepEqual(textSettings({ config: BERT, generation: written }), {
      ...textSettings({ config: BERT }),
    });
  }));
  for (const wrong of [{ top_k: 1.5 }, { max_new_tokens: 0 }]) {
    assert.throws(() => generationSettings(wrong), /^TextFileError.*json: "/);
  }
  assert.throws(
    () => generationSettings({ suppress_tokens: [-1] }),
    /"suppress_tokens\[0\]" is an integer from 0/,
  );
  assert.throws(
    () => generationSettings({ bad_words_ids: [3] }),
    /"bad_words_ids\[0\]" is an array, got 3/,
  );
});

Deno.test("a file that is no object is named", () => {
  assert.throws(() => textSettings({ config: "[]" }), TextFileError);
  assert.throws(
    () => textSettings({ generation: "{" }),
    /generation_config.json is no JSON/,
  );
});

/** modules.json of modules as older and newer versions name them. */
function modules(...kinds: readonly string[]) {
  const types = ["sentence_transformers.models.Transformer", ...kinds];
  return types.map((type, idx) => ({
    ...{ idx, name: `${idx}`, type },
    path: idx === 0 ? "" : `${idx}_${type.split(".").at(-1)}`,
  }));
}

const [POOLING, DENSE, NORMALIZE, DROPOUT] = [
  "sentence_transformers.models.Pooling",
  "sentence_transformers.base.modules.dense.Dense",
  "sentence_transformers.models.Normalize",
  "sentence_transformers.models.Dropout",
];

Deno.test("modules behind a model are pooling, layers and length, in this order", () => {
  const known = modules(POOLING, DENSE, DROPOUT, DENSE, NORMALIZE);
  for (const file of [known, JSON.stringify(known)]) {
    assert.deepEqual(sentenceModules(file), {
      pooling: "1_Pooling",
      dense: ["2_Dense", "4_Dense"],
    });
  }
  // Whatever the model itself is, it is the file that is loaded.
  const own = [{ type: "custom.Transformer", path: "" }];
  assert.deepEqual(sentenceModules(own), { dense: [] });
  assert.deepEqual(sentenceModules(modules(NORMALIZE, NORMALIZE)), {
    dense: [],
  });
  for (
    const [kinds, message] of [
      [[POOLING, POOLING], /Pooling" behind Pooling: /],
      [[DENSE, POOLING], /Pooling" behind Dense: /],
      [[POOLING, NORMALIZE, DENSE], /Dense" behind Normalize: /],
      [[POOLING, "sentence_transformers.models.LayerNorm"], /LayerNorm": /],
      [["custom.models.Pooling"], /"custom.models.Pooling": /],
      [["sentence_transformers.models.Pooling2"], /Pooling2": .*"sentence_/],
    ] as const
  ) {
    assert.throws(() => sentenceModules(modules(...kinds)), (error: Error) => {
      assert(error instanceof TextFileError);
      assert.match(error.message, message);
      return true;
    });
  }
  for (const path of ["../2_Dense", "..", "a/b", "", undefined, 3]) {
    assert.throws(
      () => sentenceModules([{}, { type: DENSE, path }]),
      /"path" of Dense is a folder beside it, got /,
    );
  }
  assert.throws(() => sentenceModules("{}"), /is a list of modules, got \{\}/);
  assert.throws(
    () => sentenceModules("["),
    /^TextFileError: modules.json is no JSON/,
  );
  assert.throws(() => sentenceModules([{}, null]), TextFileError);
});
