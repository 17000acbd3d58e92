/** How a model's answers are generated whose requests do not say, and what none may say. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import { gpt } from "../../src/models/gpt.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import type { AnswerDefaults } from "../../src/text/answer_options.ts";
import type { GenerateOptions } from "../../src/text/generate_options.ts";
import type { StreamText } from "../../src/text/run_texts.ts";
import { TextModel } from "../../src/text/text_model.ts";
import { propertyRuns } from "../property_runs.ts";
import { decoder } from "./models.ts";
import { TOKENIZERS } from "./tokenizers.ts";

const { tokenizer } = TOKENIZERS["byte pairs"];

const maybe = <T>(...values: T[]) => fc.constantFrom(undefined, ...values);

const anyAnswer = fc.record({
  temperature: maybe(0, 1, 2),
  topK: maybe(0, 3),
  topP: maybe(1, 0.5),
  maxTokens: maybe(3, 9),
  stop: maybe<readonly string[]>([], ["e"], ["t", "a"]),
});

/** Without what is undefined. */
function said(given: object): object {
  return Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== undefined),
  );
}

Deno.test("a request is answered as it says, else as its model does", async () => {
  for (const isDrawn of [true, false]) {
    const model = await decoder([], isDrawn);
    await using engine = await ServingEngine.create({
      ...{ models: [model], policy: cellular(), workers: 0, warmUp: false },
    });
    const stream: StreamText = (input, options) =>
      engine.stream(model, input as never, options);
    const answer = async (answers: AnswerDefaults, asked: GenerateOptions) => {
      const texts = new TextModel(model, tokenizer, { answers });
      for await (const { end } of texts.generate(stream, "the", asked)) {
        if (end) return [end.text, end.tokens, end.finishReason];
      }
    };
    const anyAsked = isDrawn
      ? anyAnswer
      : anyAnswer.map((asked) => ({ ...asked, temperature: undefined }));
    await fc.assert(
      fc.asyncProperty(anyAnswer, anyAsked, async (answers, asked) => {
        const meant = {
          ...said(answers),
          // Who draws no tokens has no temperature.
          ...(!isDrawn && { temperature: 0 }),
          ...said(asked),
        };
        assert.deepEqual(
          await answer(answers as AnswerDefaults, {
            ...asked as GenerateOptions,
            seed: 4,
          }),
          await answer({}, { ...meant, seed: 4 }),
        );
      }),
      { numRuns: propertyRuns(20) },
    );
  }
  const model = await decoder([]);
  // A model that takes its scores as they are has none of what changes them.
  const answers = { repetitionPenalty: 2, topK: 3 };
  const texts = new TextModel(model, tokenizer, { answers });
  assert.deepEqual(texts.answers, { topK: 3 });
  assert.throws(
    () => new TextModel(model, tokenizer, { answers: { topP: 0 } }),
    /"topP" is above 0 and up to 1, got 0/,
  );
  assert.throws(
    () => new TextModel(model, tokenizer, { answers: { top_k: 3 } as never }),
    /"answers" has no option "top_k"/,
  );
});

Deno.test("before an answer has its least tokens neither ids nor strings end it", async () => {
  const sizes = {
    ...{ layers: 1, hidden: 8, heads: 2, vocabulary: 263, positionsMax: 40 },
    ...{ sample: true, penalties: true },
  };
  const model = gpt({ ...sizes, eos: null });
  const answered = async (
    of: typeof model,
    eosIds: readonly number[],
    asked: GenerateOptions,
  ) => {
    const texts = new TextModel(of, tokenizer, { eosIds });
    await using engine = await ServingEngine.create({
      ...{ models: [of], policy: cellular(), workers: 0, warmUp: false },
    });
    const stream: StreamText = (input, options) =>
      engine.stream(of, input as never, options);
    const drawn = { temperature: 1, seed: 4, maxTokens: 20, ...asked };
    for await (const { end } of texts.generate(stream, "the", drawn)) {
      if (end) return end;
    }
    return assert.fail("no end");
  };
  const whole = await answered(model, [], {});
  assert.equal(whole.finishReason, "length");
  const least = { minTokens: 6 };
  // A string that is there soon, and again behind these.
  const words = whole.tokens.map((id) => tokenizer.decode([id]));
  const soon = words.slice(0, 6).find((word) => word.trim() !== "")!;
  const later = words.slice(6).findIndex((word) => word.includes(soon));
  const short = await answered(model, [], { stop: [soon] });
  assert(short.tokens.length <= 6);
  const long = await answered(model, [], { ...least, stop: [soon] });
  assert.equal(
    long.tokens.length,
    later < 0 ? whole.tokens.length : 6 + later + 1,
  );
  assert(long.text.startsWith(words.slice(0, 6).join("")));
  // An id that the text ends with, and one that the decoder does.
  const [, , third] = whole.tokens;
  const eosIds = [third];
  assert.equal((await answered(model, eosIds, {})).tokens.at(-1), third);
  assert((await answered(model, eosIds, {})).tokens.length <= 3);
  const left = await answered(model, eosIds, least);
  assert.deepEqual(left.tokens, whole.tokens.slice(0, left.tokens.length));
  assert(left.tokens.length > 6);
  const ending = gpt({ ...sizes, eos: eosIds });
  assert((await answered(ending, eosIds, {})).tokens.length <= 3);
  // A stop string that is a token of its own, which comes every time.
  const special = "<|user|>";
  const forced = { [tokenizer.tokenToId(special)!]: 100 };
  const said = { stop: [special], logitBias: forced };
  for (const minTokens of [0, 6]) {
    const { tokens, finishReason } = await answered(model, [], {
      ...{ ...said, minTokens },
    });
    assert.deepEqual([tokens.length, finishReason], [minTokens + 1, "stop"]);
  }
  const { tokens } = await answered(ending, eosIds, least);
  assert(!tokens.slice(0, 6).includes(third));
  assert(tokens.length > 6);
});

Deno.test("what cannot be asked is refused by name", () => {
  const model = gpt({
    ...{ layers: 1, hidden: 8, heads: 2, vocabulary: 263, positionsMax: 16 },
  });
  const texts = new TextModel(model, tokenizer);
  const stream: StreamText = () => assert.fail("nothing is begun");
  const refused = (options: object, message: RegExp) =>
    assert.throws(() => texts.generate(stream, "a", options), message);
  refused(
    { temperature: 1 },
    /"gpt" takes the token of the largest score: .* with their option "sample"/,
  );
  refused({ temperature: -1 }, /"temperature" is at least 0/);
  refused({ topP: 0 }, /"topP" is above 0/);
  refused({ minP: 2 }, /"minP" is from 0 to 1, got 2/);
  refused({ repetitionPenalty: 0 }, /"repetitionPenalty" is above 0 in f32/);
  refused({ presencePenalty: 1 }, /"presencePenalty" is .* model "gpt" takes/);
  refused({ logitBias: { 1: 2 } }, /"logitBias" is .* model "gpt" takes/);
  refused({ minTokens: 2 }, /"minTokens" is .* model "gpt" takes/);
  refused({ minTokens: -2 }, /"minTokens" is an integer from 0/);
  refused({ stop: [""] }, /"stop\[0\]" is a string that is not empty/);
  refused({ stop: "a" }, /"stop" is an array/);
  refused({ max_tokens: 3 }, /generate\(\) has no option "max_tokens"/);
  const other = new TextModel(
    { ...model, grow: undefined } as never,
    tokenizer,
  );
  assert.throws(() => other.generate(stream, "a"), /does not generate text/);
});
