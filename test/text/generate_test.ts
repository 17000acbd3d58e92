/** Answers of decoders as text: pieces, stop strings, draws, ends. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import { gnmt } from "../../src/models/gnmt.ts";
import { gpt } from "../../src/models/gpt.ts";
import { seq2seq } from "../../src/models/seq2seq.ts";
import { transformer } from "../../src/models/transformer.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { TextTooLongError } from "../../src/text/errors.ts";
import type { GenerateOptions } from "../../src/text/generate_options.ts";
import type {
  GeneratedEnd,
  GeneratedPiece,
} from "../../src/text/generation.ts";
import type { StreamText } from "../../src/text/run_texts.ts";
import type { TextModelOptions } from "../../src/text/text_options.ts";
import { TextModel } from "../../src/text/text_model.ts";
import type { TokenModel } from "../../src/text/token_inputs.ts";
import { propertyRuns } from "../property_runs.ts";
import { BATCHING } from "../onnx/batching.ts";
import { decoder, POSITIONS_MAX } from "./models.ts";
import { TOKENIZERS } from "./tokenizers.ts";

const { tokenizer } = TOKENIZERS["byte pairs"];

/** An engine of one decoder, and how texts are streamed through it. */
async function withEngine(
  model: TokenModel,
  body: (stream: StreamText, engine: ServingEngine) => Promise<void>,
  policy = cellular(),
): Promise<void> {
  await using engine = await ServingEngine.create({
    ...{ models: [model], policy, workers: 0, warmUp: false },
    slotBytes: 2 ** 24,
  });
  await body((input, options) => engine.stream(model, input, options), engine);
}

/** All pieces of an answer, which are all of its text and tokens. */
async function answer(
  pieces: AsyncIterable<GeneratedPiece>,
): Promise<GeneratedEnd> {
  let text = "";
  const tokens: number[] = [];
  let end: GeneratedEnd | undefined;
  for await (const piece of pieces) {
    assert.equal(end, undefined, "nothing comes behind the end");
    text += piece.text;
    tokens.push(...piece.tokens);
    end = piece.end;
  }
  assert(end);
  assert.equal(text, end.text);
  assert.deepEqual(tokens, end.tokens);
  return end;
}

const DRAWN = { temperature: 1.5, seed: 4, maxTokens: 20 };

Deno.test("the pieces of an answer are the text of its tokens, behind the prompt", async () => {
  const model = await decoder([]);
  await withEngine(model, async (stream, engine) => {
    const texts = new TextModel(model, tokenizer);
    const prompt = "in the";
    const end = await answer(texts.generate(stream, prompt, DRAWN));
    const { ids } = tokenizer.encode(prompt);
    const { outputs } = await engine.run(model, {
      ...{ tokens: ids, maxSteps: 20, temperature: 1.5, seed: 4 },
    });
    assert.deepEqual(end.tokens, [...outputs.tokens.data]);
    assert.equal(tokenizer.decode([...ids, ...end.tokens]), prompt + end.text);
    assert.deepEqual(
      [end.finishReason, end.promptTokens, end.seed, end.stopString],
      ["length", ids.length, 4, undefined],
    );
    assert(end.timing && end.timing.ranMs > 0);
    const greedy = await answer(
      texts.generate(stream, prompt, { maxTokens: 9 }),
    );
    assert.deepEqual([greedy.tokens.length, greedy.seed], [9, undefined]);
    assert.equal(engine.active, 0);
  });
});

Deno.test("a seed gives the same text in every batch, alone and under every policy", async () => {
  const model = await decoder([0], true, true);
  const anyRequest = fc.record({
    prompt: fc.constantFrom("a", "the", "in the", "🐟"),
    temperature: fc.constantFrom(0, 0.7, 1, 2),
    topK: fc.constantFrom(0, 3, 40),
    topP: fc.constantFrom(1, 0.9, 0.3),
    seed: fc.nat(5),
    maxTokens: fc.integer({ min: 1, max: 24 }),
    stop: fc.constantFrom<string[]>([], ["e"], ["t", "a b"], ["<|user|>"]),
    specialTokens: fc.boolean(),
    logprobs: fc.constantFrom(0, 2),
  });
  const made = fc.array(anyRequest, { minLength: 2, maxLength: 10 });
  const texts = new TextModel(model, tokenizer, { eosIds: [0] });
  const generate = async (
    stream: StreamText,
    { prompt, ...options }: GenerateOptions & { prompt: string },
  ) => {
    const likely: unknown[] = [];
    const pieces = async function* () {
      for await (const piece of texts.generate(stream, prompt, options)) {
        likely.push(...piece.logprobs ?? []);
        yield piece;
      }
    };
    const { timing: _, ...end } = await answer(pieces());
    return { ...end, likely };
  };
  await fc.assert(
    fc.asyncProperty(
      made,
      fc.constantFrom(...Object.entries(BATCHING)),
      async (requests, [name, options]) => {
        const alone: unknown[] = [];
        await withEngine(model, async (stream) => {
          for (const request of requests) {
            alone.push(await generate(stream, request));
          }
        });
        await withEngine(model, async (stream) => {
          const together = await Promise.all(
            requests.map((request) => generate(stream, request)),
          );
          assert.deepEqual(together, alone);
        }, POLICIES[name].build(options));
      },
    ),
    { numRuns: propertyRuns(12) },
  );
});

Deno.test("a stop string that is a special token ends an answer, which has no text of it", async () => {
  const texts = new TextModel(await decoder([]), tokenizer);
  const encode = (text: string) => [...tokenizer.encode(text).ids];
  const ids = encode("the<|user|>in");
  let left = 0;
  const steps = async function* () {
    try {
      for (const id of ids) {
        const tokens = { shape: [1], data: Int32Array.of(id) };
        yield { outputs: { tokens }, endedMs: 0 };
      }
    } finally {
      left++;
    }
    return undefined;
  };
  const stream: StreamText = () => steps() as never;
  const ended = async (options: GenerateOptions) => {
    const { text, stopString, finishReason, tokens } = await answer(
      texts.generate(stream, "a", { maxTokens: ids.length, ...options }),
    );
    return [text, stopString, finishReason, tokens.length];
  };
  assert.deepEqual(await ended({}), ["thein", undefined, "length", ids.length]);
  const special = "<|user|>";
  const count = encode(`the${special}`).length;
  for (
    const options of [
      { stop: [special] },
      { stop: [special], specialTokens: true },
      // What may be the beginning of another one is text then.
      { stop: ["ein", "ex", special] },
    ]
  ) assert.deepEqual(await ended(options), ["the", special, "stop", count]);
  assert.equal(left, 4, "who computes it is told that it is over");
  // An ordinary one that is complete before counts.
  const [text, stopString] = await ended({ stop: [special, "he"] });
  assert.deepEqual([text, stopString], ["t", "he"]);
});

Deno.test("requests that name no seed have one each, in their order", async () => {
  const model = await decoder([]);
  const seeds = async (options: TextModelOptions) => {
    const texts = new TextModel(model, tokenizer, options);
    const found: (number | undefined)[] = [];
    await withEngine(model, async (stream) => {
      for (let i = 0; i < 3; i++) {
        const pieces = texts.generate(stream, "a", {
          temperature: 1,
          maxTokens: 2,
        });
        found.push((await answer(pieces)).seed);
      }
    });
    return found;
  };
  const first = await seeds({});
  assert.equal(new Set(first).size, 3);
  assert.deepEqual(await seeds({}), first, "the same from the start");
  assert.notDeepEqual(await seeds({ seed: 1 }), first);
});

Deno.test("a stop string ends an answer and its request, and is left out", async () => {
  const model = await decoder([]);
  await withEngine(model, async (stream, engine) => {
    const texts = new TextModel(model, tokenizer);
    const whole = await answer(texts.generate(stream, "the", DRAWN));
    const letters = [...whole.text];
    // Across the border of tokens.
    const stop = letters.slice(3, 6).join("");
    const end = await answer(
      texts.generate(stream, "the", { ...DRAWN, stop: ["never", stop] }),
    );
    assert.equal(end.text, whole.text.slice(0, whole.text.indexOf(stop)));
    assert.deepEqual([end.finishReason, end.stopString], ["stop", stop]);
    assert(end.tokens.length < whole.tokens.length);
    assert.deepEqual(
      end.tokens,
      whole.tokens.slice(0, end.tokens.length),
      "all that was computed counts",
    );
    assert.equal(engine.active, 0);
  });
});

Deno.test("a token that ends answers is no text; without room for more an answer ends by length", async () => {
  const open = await decoder([]);
  let whole: GeneratedEnd | undefined;
  await withEngine(open, async (stream) => {
    const texts = new TextModel(open, tokenizer);
    whole = await answer(texts.generate(stream, "the", DRAWN));
    const most = await answer(
      texts.generate(stream, "the", { ...DRAWN, maxTokens: 1000 }),
    );
    const { ids } = tokenizer.encode("the");
    assert.equal(most.tokens.length, POSITIONS_MAX - ids.length + 1);
    assert.equal(most.finishReason, "length");
  });
  // Whatever comes third ends answers now.
  const eos = whole!.tokens[2];
  const model = await decoder([eos]);
  // The last one would go on by itself.
  for (
    const [made, eosIds] of [[model, [eos]], [model, []], [open, [
      eos,
    ]]] as const
  ) {
    await withEngine(made, async (stream, engine) => {
      const texts = new TextModel(made, tokenizer, { eosIds });
      const end = await answer(texts.generate(stream, "the", DRAWN));
      const count = whole!.tokens.indexOf(eos) + 1;
      assert.deepEqual(end.tokens, whole!.tokens.slice(0, count));
      assert.deepEqual([end.finishReason, engine.active], ["stop", 0]);
      const said = end.tokens.slice(0, eosIds.length > 0 ? -1 : undefined);
      const { ids } = tokenizer.encode("the");
      assert.equal(`the${end.text}`, tokenizer.decode([...ids, ...said]));
    });
  }
});

Deno.test("an answer of a decoder that is built here ends where it has no position left", async () => {
  const model = gpt({
    ...{ layers: 1, hidden: 8, heads: 2, vocabulary: 1000, eos: null },
    positionsMax: 12,
  });
  await withEngine(model, async (stream) => {
    const texts = new TextModel(model, tokenizer);
    const prompt = [1, 2, 3];
    const end = await answer(texts.generate(stream, prompt, { maxTokens: 50 }));
    assert.equal(end.finishReason, "length");
    // The last one's token takes no position.
    assert.equal(end.tokens.length, 12 - prompt.length + 1);
  });
  assert.throws(
    () => new TextModel(model, tokenizer).encode("a ".repeat(20)),
    TextTooLongError,
  );
});

Deno.test("of an encoder and a decoder that are built here the text alone has a limit of tokens", async () => {
  const sizes = { hidden: 8, eos: null, tokensMax: 5 };
  const sourceVocabulary = 1000;
  const models = [
    seq2seq({ ...sizes, sourceVocabulary }),
    gnmt({ ...sizes, sourceVocabulary, layers: 2 }),
    transformer({ ...sizes, vocabulary: 1000, layers: 1, heads: 2 }),
  ];
  for (const model of models) {
    await withEngine(model, async (stream) => {
      const texts = new TextModel(model, tokenizer, { isEncoderDecoder: true });
      const long = "a ".repeat(20);
      const generated = async (options: GenerateOptions) =>
        await answer(
          texts.generate(stream, long, { maxTokens: 12, ...options }),
        );
      await assert.rejects(generated({}), TextTooLongError);
      const { promptTokens, tokens } = await generated({ truncate: true });
      assert.deepEqual([promptTokens, tokens.length], [5, 12]);
    });
  }
});

Deno.test("an answer that its model ends by itself has stopped, whatever its limit", async () => {
  const options = { temperature: 1.5, seed: 4 };
  const open = await decoder([]);
  let tokens: readonly number[] = [];
  await withEngine(open, async (stream) => {
    const texts = new TextModel(open, tokenizer, { eosIds: [] });
    ({ tokens } = await answer(
      texts.generate(stream, "the", { ...options, maxTokens: 3 }),
    ));
  });
  const model = await decoder([tokens[2], tokens[2] === 5 ? 6 : 5]);
  const count = tokens.indexOf(tokens[2]) + 1;
  await withEngine(model, async (stream) => {
    const texts = new TextModel(model, tokenizer, { eosIds: [] });
    for (const limit of [{}, { maxTokens: count }, { maxTokens: 20 }]) {
      const end = await answer(
        texts.generate(stream, "the", { ...options, ...limit }),
      );
      assert.deepEqual(
        [end.finishReason, end.tokens],
        ["stop", tokens.slice(0, count)],
      );
    }
  });
  // A model of one's own says it with its cells.
  const small = { layers: 1, hidden: 8, heads: 2, vocabulary: 263 };
  const first = (eos: number | null) => {
    const made = gpt({ ...small, positionsMax: 16, eos });
    const texts = new TextModel(made, tokenizer, { eosIds: [] });
    let end: GeneratedEnd;
    return withEngine(made, async (stream) => {
      end = await answer(texts.generate(stream, "a", { maxTokens: 1 }));
    }).then(() => end);
  };
  const never = await first(null);
  assert.equal(never.finishReason, "length");
  const at = await first(never.tokens[0]);
  assert.deepEqual([at.finishReason, at.tokens], ["stop", never.tokens]);
});

Deno.test("who leaves an answer ends its request; a signal ends it with its reason", async () => {
  const model = await decoder([]);
  await withEngine(model, async (stream, engine) => {
    const texts = new TextModel(model, tokenizer);
    for await (const { text } of texts.generate(stream, "the", DRAWN)) {
      assert.notEqual(text, "");
      break;
    }
    assert.equal(engine.active, 0);
    const abort = new AbortController();
    const pieces = texts.generate(stream, "the", {
      ...DRAWN,
      request: { signal: abort.signal },
    });
    await pieces.next();
    abort.abort(new Error("enough"));
    await assert.rejects(async () => {
      for await (const _ of pieces);
    }, { message: "enough" });
    assert.equal(engine.active, 0);
  });
});

Deno.test("prompts are limited, cut at their beginning, or ids as they are", async () => {
  const model = await decoder([]);
  const long = "t".repeat(POSITIONS_MAX + 5);
  await withEngine(model, async (stream) => {
    const texts = new TextModel(model, tokenizer);
    assert.throws(() => texts.generate(stream, long), TextTooLongError);
    const end = await answer(
      texts.generate(stream, `${long}he`, { truncate: true, tokensMax: 4 }),
    );
    assert.equal(end.promptTokens, 4);
    const { ids } = tokenizer.encode("tttthe");
    const same = await answer(texts.generate(stream, ids.slice(-4)));
    assert.deepEqual(end.tokens, same.tokens);
  });
});

Deno.test("a prompt that is cut leaves room for its answer, and has all the rest", async () => {
  const made = fc.record({
    length: fc.integer({ min: 1, max: 500 }),
    positionsMax: fc.oneof(
      fc.integer({ min: 1, max: 5 }),
      fc.integer({ min: 6, max: 400 }),
    ),
    maxTokens: fc.option(fc.integer({ min: 1, max: 500 }), { nil: undefined }),
    tokensMax: fc.option(fc.integer({ min: 1, max: 500 }), { nil: undefined }),
  });
  await fc.assert(
    fc.asyncProperty(made, async (of) => {
      const { length, positionsMax, maxTokens, tokensMax } = of;
      const model = gpt({
        ...{ layers: 1, hidden: 8, heads: 2, vocabulary: 263, positionsMax },
      });
      const texts = new TextModel(model, tokenizer);
      const prompt = Array.from({ length }, (_, i) => i % 263);
      let input: unknown;
      // deno-lint-ignore require-yield
      const stream: StreamText = async function* (given) {
        input = given;
        return { outputs: {}, timing: {} } as never;
      };
      const { promptTokens } = await answer(texts.generate(stream, prompt, {
        truncate: true,
        ...(maxTokens !== undefined && { maxTokens }),
        ...(tokensMax !== undefined && { tokensMax }),
      }));
      const { tokens } = input as { tokens: Int32Array };
      assert.equal(tokens.length, promptTokens);
      assert.deepEqual([...tokens], prompt.slice(-promptTokens));
      // What a step computes is in the next one's position: that of the last token nobody needs.
      const room = positionsMax + 1 - promptTokens;
      if (tokensMax !== undefined && tokensMax < positionsMax) {
        assert.equal(promptTokens, Math.min(length, tokensMax));
        return;
      }
      const half = Math.ceil(positionsMax / 2);
      const wanted = Math.min(maxTokens ?? 100, half);
      assert(room >= wanted, `${room} tokens for the answer`);
      assert(promptTokens === length || room === wanted);
    }),
    { numRuns: propertyRuns(200) },
  );
});

Deno.test("an answer behind a prompt that is cut has the tokens that it may have", async () => {
  const model = await decoder([]);
  const long = "t".repeat(POSITIONS_MAX + 5);
  await withEngine(model, async (stream) => {
    const texts = new TextModel(model, tokenizer);
    const counts = async (options: GenerateOptions) => {
      const { promptTokens, tokens } = await answer(
        texts.generate(stream, long, { truncate: true, ...options }),
      );
      return [promptTokens, tokens.length];
    };
    const half = POSITIONS_MAX / 2;
    assert.deepEqual(await counts({}), [half + 1, half]);
    assert.deepEqual(await counts({ maxTokens: 6 }), [POSITIONS_MAX - 5, 6]);
    // More than there can be: the rest of the positions.
    assert.deepEqual(await counts({ maxTokens: 1000 }), [half + 1, half]);
    assert.deepEqual(await counts({ tokensMax: 1000 }), [half + 1, half]);
    assert.deepEqual(await counts({ tokensMax: POSITIONS_MAX - 1 }), [
      POSITIONS_MAX - 1,
      2,
    ]);
  });
});

Deno.test("an answer's first word is apart from the prompt", async () => {
  const { tokenizer, vocabulary } = TOKENIZERS["word pieces"];
  const model = gpt({
    ...{ layers: 1, hidden: 8, heads: 2, vocabulary, positionsMax: 24 },
    ...{ eos: null, banned: [0, 1, 2, 3, 13, 14, 15] },
  });
  await withEngine(model, async (stream) => {
    const texts = new TextModel(model, tokenizer);
    const end = await answer(
      texts.generate(stream, "the cat", {
        maxTokens: 3,
        addSpecialTokens: false,
      }),
    );
    const { ids } = tokenizer.encode("the cat", { addSpecialTokens: false });
    const whole = tokenizer.decode([...ids, ...end.tokens]);
    assert.equal(`the cat${end.text}`, whole);
    assert.notEqual(end.text, tokenizer.decode(end.tokens));
    const another = new TextModel(model, tokenizer, { isEncoderDecoder: true });
    const alone = await answer(
      another.generate(stream, "the cat", {
        maxTokens: 3,
        addSpecialTokens: false,
      }),
    );
    assert.equal(alone.text, tokenizer.decode(end.tokens));
  });
});
