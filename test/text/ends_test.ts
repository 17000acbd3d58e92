/** Where answers end: at which token and letter, why, and which tokens are told, beside a naive reading of the rules. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { gpt } from "../../src/models/gpt.ts";
import type { StreamText } from "../../src/text/run_texts.ts";
import { TextModel } from "../../src/text/text_model.ts";
import { propertyRuns } from "../property_runs.ts";
import { TOKENIZERS } from "./tokenizers.ts";

const { tokenizer } = TOKENIZERS["byte pairs"];

const VOCABULARY = 263;

const LETTERS = [..."abcd"];

/** A token each. */
const IDS = LETTERS.map((letter) => tokenizer.tokenToId(letter)!);

/** Ends answers where they are text, not their requests. */
const END = tokenizer.tokenToId("e")!;

interface Asked {
  readonly stop: readonly string[];
  readonly minTokens: number;
}

const model = gpt({
  ...{ layers: 1, hidden: 8, heads: 2, vocabulary: VOCABULARY, eos: null },
  ...{ positionsMax: 40, penalties: true, scores: true },
});
const texts = new TextModel(model, tokenizer, { eosIds: [END] });

/** An answer of these ids, of which so many come at a time. */
async function answered(
  ids: readonly number[],
  asked: Asked,
  atOnce: number,
) {
  const steps = async function* () {
    for (let at = 0; at < ids.length; at += atOnce) {
      const data = Int32Array.from(ids.slice(at, at + atOnce));
      const shape = [data.length, VOCABULARY];
      const scores = new Float32Array(data.length * VOCABULARY);
      const outputs = {
        ...{ tokens: { shape: [data.length], data } },
        ...{ scores: { shape, data: scores } },
      };
      yield { outputs, endedMs: 0 };
    }
    return undefined;
  };
  const stream: StreamText = () => steps() as never;
  const options = { ...asked, maxTokens: ids.length, logprobs: 0 };
  const likely: number[] = [];
  for await (const piece of texts.generate(stream, "a", options)) {
    likely.push(...(piece.logprobs ?? []).map(({ id }) => id));
    if (!piece.end) continue;
    const { text, tokens, finishReason, stopString } = piece.end;
    return { text, tokens: [...tokens], finishReason, stopString, likely };
  }
  return assert.fail("no end");
}

/** The same, letter by letter. */
function naive(ids: readonly number[], { stop, minTokens }: Asked) {
  const letters: number[] = [];
  const text = () => letters.map((id) => LETTERS[IDS.indexOf(id)]).join("");
  const end = (count: number, stopString?: string) => {
    const kept = text().length - (stopString?.length ?? 0);
    return {
      ...{ text: text().slice(0, kept), tokens: ids.slice(0, count) },
      ...{ finishReason: "stop", stopString, likely: letters.slice(0, kept) },
    };
  };
  for (const [i, id] of ids.entries()) {
    const mayEnd = i + 1 > minTokens;
    if (id === END) {
      if (mayEnd) return end(i + 1);
      continue;
    }
    letters.push(id);
    const found = stop.filter((each) => text().endsWith(each))
      .toSorted((a, b) => b.length - a.length);
    if (mayEnd && found.length > 0) return end(i + 1, found[0]);
  }
  return { ...end(ids.length), finishReason: "length" };
}

Deno.test("an answer ends where its strings, ids and least length say, however its tokens come", async () => {
  const stopText = fc.array(fc.constantFrom(...LETTERS), {
    ...{ minLength: 1, maxLength: 4 },
  }).map((letters) => letters.join(""));
  const asked = fc.record({
    stop: fc.uniqueArray(stopText, { maxLength: 3 }),
    minTokens: fc.nat(8),
  });
  // Few letters, so that strings are there.
  const id = fc.oneof(
    { arbitrary: fc.constantFrom(...IDS), weight: 12 },
    fc.constant(END),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(id, { minLength: 1, maxLength: 12 }),
      asked,
      fc.integer({ min: 1, max: 12 }),
      async (ids, asked, atOnce) => {
        const expected = naive(ids, asked);
        assert.deepEqual(await answered(ids, asked, 1), expected);
        assert.deepEqual(await answered(ids, asked, atOnce), expected);
      },
    ),
    { numRuns: propertyRuns(400) },
  );
});

Deno.test("a stop string that is complete behind the least length ends an answer, wherever it begins", async () => {
  const [a, b, c, d] = IDS;
  const asked = { stop: ["bc"], minTokens: 2 };
  const { text, stopString } = await answered([a, b, c, d], asked, 1);
  assert.deepEqual([text, stopString], ["a", "bc"]);
  // Complete before, it ends nothing.
  const whole = await answered([b, c, d], asked, 1);
  assert.deepEqual([whole.text, whole.finishReason], ["bcd", "length"]);
});
