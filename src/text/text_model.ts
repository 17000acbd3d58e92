import {
  checkedOptions,
  type Checks,
  listOf,
  ofType,
  withMethods,
} from "../base/checked_options.ts";
import { listed } from "../base/describe.ts";
import { nextTurn } from "../engine/wall/next_turn.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { type AnswerDefaults, areIds } from "./answer_options.ts";
import { checkWidths, type DenseLayer, denseRow } from "./dense.ts";
import { TextFileError, TextTooLongError } from "./errors.ts";
import { checkedGenerate, type GenerateOptions } from "./generate_options.ts";
import { type GeneratedPiece, Generation } from "./generation.ts";
import {
  chosenOutput,
  rowOutputs,
  SCORE_OUTPUTS,
  TOKEN_OUTPUTS,
} from "./outputs.ts";
import {
  normalized,
  pooled,
  type Pooling,
  sigmoid,
  softmax,
} from "./pooling.ts";
import { promptOf } from "./prompts.ts";
import {
  type RunText,
  runTexts,
  type StreamText,
  type TextRequestOptions,
  type TextRun,
} from "./run_texts.ts";
import {
  EMBED_CHECKS,
  type EmbedOptions,
  isText,
  MODEL_CHECKS,
  PROMPTED_CHECKS,
  type PromptedOptions,
  SCORE_CHECKS,
  type ScoreOptions,
  type Text,
  TEXT_CHECKS,
  type TextModelOptions,
  type TextOptions,
  type TextOrPair,
} from "./text_options.ts";
import type {
  Classification,
  Embedding,
  Relevance,
  TextResult,
  TokenEmbeddings,
} from "./text_results.ts";
import { TokenInputs, type TokenModel } from "./token_inputs.ts";
import type { EncodedText, TextTokenizer } from "./tokenizer.ts";
import { cutTo } from "./truncate.ts";

const checkModel = withMethods("a model", ["check"]);
const checkTokenizer = withMethods("what TextTokenizer.load() resolves to", [
  "encode",
]);

/**
 * Text in, text out: a tokenizer around a model whose requests are tokens. It computes nothing but what is in front of
 * the model and behind it, and is given the way to run requests with every call, so that it works with a
 * `ServingEngine` as with a server. Results are the same bits, whatever a text's batch-mates.
 *
 * @example Embeddings of texts
 * ```ts
 * import assert from "node:assert/strict";
 * import { bert, cellular, ServingEngine } from "@shoal/core";
 * import { TextModel, TextTokenizer } from "@shoal/core/text";
 *
 * const tokenizer = await TextTokenizer.load({
 *   tokenizer: {
 *     pre_tokenizer: { type: "Whitespace" },
 *     model: { type: "WordLevel", unk_token: "?", vocab: { "?": 0, fish: 1, swim: 2, birds: 3, fly: 4 } },
 *   },
 * });
 * const model = bert({ layers: 1, hidden: 16, heads: 2, vocabulary: 5, tokensMax: 8 });
 * await using engine = await ServingEngine.create({ models: [model], policy: cellular(), workers: 0 });
 * const texts = new TextModel(model, tokenizer);
 * const found = await texts.embed((input, options) => engine.run(model, input as never, options), [
 *   "fish swim",
 *   "birds fly",
 * ]);
 * assert.equal(found[0].embedding.length, 16);
 * assert.equal(found[0].tokens, 2);
 * ```
 */
export class TextModel {
  /** The model's tokenizer. */
  readonly tokenizer: TextTokenizer;
  /** What it runs. */
  readonly model: TokenModel;
  /** Most tokens of a text; of a decoder of prompt and answer. Infinity where nobody says. */
  readonly tokensMax: number;
  /** Names of classes, where they are known. */
  readonly labels: readonly string[] | undefined;
  /** How rows of tokens make a text's, where its output has a row for each. */
  readonly pooling: Pooling;
  /** Of a decoder, how answers are generated whose requests do not say: at temperature 0 where it draws no tokens. */
  readonly answers: AnswerDefaults;
  readonly #rowOutputs: readonly string[];
  readonly #dense: readonly DenseLayer[];
  readonly #inputs: TokenInputs;
  readonly #options: TextModelOptions;
  readonly #generation: Generation;

  /**
   * Puts a tokenizer in front of a model.
   * @throws TextFileError on an input of the model that is none of texts, or layers of other widths than it makes;
   * TypeError or RangeError on a model, a tokenizer or an option that is none
   */
  constructor(
    model: TokenModel,
    tokenizer: TextTokenizer,
    options: TextModelOptions = {},
  ) {
    this.#options = checkedOptions("TextModel", options, MODEL_CHECKS);
    checkModel("model", model);
    checkTokenizer("tokenizer", tokenizer);
    this.model = model;
    this.tokenizer = tokenizer;
    this.labels = options.labels;
    this.pooling = options.pooling ?? "mean";
    this.#dense = this.#options.dense ?? [];
    promptOf(this.#options, undefined, "defaultPrompt");
    this.#rowOutputs = rowOutputs(
      options.pooling !== undefined || this.#dense.length > 0,
    );
    // A model that does not say what comes out is told when it does.
    const results = model.results ?? [];
    const row = chosenOutput(
      results.map(({ name }) => name),
      this.#rowOutputs,
      options.output,
    );
    const found = results.find(({ name }) => name === row);
    if (found) this.#checkDense(found.shape);
    this.#inputs = new TokenInputs(model);
    this.tokensMax = Math.min(
      options.tokensMax ?? Infinity,
      tokenizer.tokensMax ?? Infinity,
      this.#inputs.tokensMax,
    );
    const eosId = tokenizer.specialId("eos_token");
    this.#generation = new Generation(model, tokenizer, {
      eosIds: options.eosIds ?? (eosId === undefined ? [] : [eosId]),
      isEncoderDecoder: options.isEncoderDecoder ?? false,
      seed: options.seed ?? 0,
      answers: this.#options.answers ?? {},
      tokensMax: this.tokensMax,
    });
    this.answers = this.#generation.answers;
  }

  /**
   * Encodes a text as its model would get it.
   * @throws TextTooLongError; TypeError or RangeError on what is no text, or an option that is not one
   */
  encode(text: TextOrPair, options: TextOptions = {}): EncodedText {
    const checked = checkedOptions("encode()", options, TEXT_CHECKS);
    const { tokensMax = Infinity, truncate = false, ...rest } = checked;
    const most = Math.min(tokensMax, this.tokensMax);
    const { truncationSide = "right", addSpecialTokens = true } = rest;
    const limits = {
      ...(most < Infinity && { tokensMax: most }),
      ...{ truncate, truncationSide, addSpecialTokens },
    };
    if (typeof text === "string") {
      return this.tokenizer.encode(this.#cased(text), limits);
    }
    isText("text", text);
    if (isPair(text)) {
      const [first, pair] = text;
      return this.tokenizer.encode(this.#cased(first), {
        ...limits,
        pair: this.#cased(pair),
      });
    }
    const given = Array.from(text as ArrayLike<number>);
    areIds("text", given);
    if (given.length > most && !truncate) {
      throw new TextTooLongError(given.length, most);
    }
    const kept = cutTo(given, most, truncationSide);
    return {
      ids: Int32Array.from(kept),
      typeIds: new Int32Array(kept.length),
      added: new Uint8Array(kept.length),
      truncated: given.length - kept.length,
    };
  }

  /**
   * A text as the tokenizer gets it where it is embedded: behind its prompt, and in lower case where that is an option.
   * @throws RangeError on a name of no prompt
   */
  prompted(text: string, promptName?: string): string {
    return this.#cased(promptOf(this.#options, promptName) + text);
  }

  /**
   * A row for each text, which stands behind the model's prompt where it has one.
   * @throws what `encode` throws, and what `run` rejects with; RangeError on a name of no prompt
   */
  async embed<Options extends TextRequestOptions>(
    run: RunText<Options>,
    texts: readonly Text[],
    options: EmbedOptions<Options> = {},
  ): Promise<Embedding[]> {
    const { normalize = true, dimensions, promptName, ...rest } =
      checkedOptions(
        "embed()",
        options,
        EMBED_CHECKS as Checks<EmbedOptions<Options>>,
      );
    const prompted = this.#prompted(texts, promptName);
    const first = this.#options.includePrompt === false
      ? this.#promptTokens(promptName, rest)
      : 0;
    return await this.#each(run, prompted, rest, async (run, rows, i) => {
      // Layers take milliseconds of the thread that schedules what others run.
      if (this.#dense.length > 0) await new Promise<void>(nextTurn);
      const output = this.#outputOf(run, this.#rowOutputs);
      this.#checkDense(output.shape);
      const width = output.shape.at(-1) ?? 1;
      const data = floatsOf(output);
      const from = typeof prompted[i] === "string" ? first : 0;
      const row = output.shape.length < 3 ? data.slice() : this.#dense.reduce(
        denseRow,
        pooled(data, rows, width, this.pooling, from),
      );
      if (dimensions !== undefined && dimensions > row.length) {
        throw new RangeError(
          `"dimensions" are at most ${row.length}, got ${dimensions}`,
        );
      }
      const kept = row.subarray(0, dimensions);
      return { embedding: normalize ? normalized(kept) : kept };
    });
  }

  /**
   * A row for each token of each text, special ones and the prompt's included, as the model computes it.
   * @throws what `encode` throws, and what `run` rejects with; TextFileError when the model has no such output; RangeError
   * on a name of no prompt
   */
  async embedTokens<Options extends TextRequestOptions>(
    run: RunText<Options>,
    texts: readonly Text[],
    options: PromptedOptions<Options> = {},
  ): Promise<TokenEmbeddings[]> {
    const { promptName, ...rest } = checkedOptions(
      "embedTokens()",
      options,
      PROMPTED_CHECKS as Checks<PromptedOptions<Options>>,
    );
    const prompted = this.#prompted(texts, promptName);
    return await this.#each(run, prompted, rest, (run, rows) => {
      const output = this.#outputOf(run, TOKEN_OUTPUTS);
      if (output.shape.length < 3) {
        throw new TextFileError(
          `Model "${this.model.name}" has one row for a text, none for tokens`,
        );
      }
      const width = output.shape.at(-1) ?? 1;
      const data = floatsOf(output);
      return {
        embeddings: Array.from(
          { length: rows },
          (_, row) => data.slice(row * width, (row + 1) * width),
        ),
      };
    });
  }

  /**
   * The classes of each text, or pair of texts.
   * @throws what `encode` throws, and what `run` rejects with
   */
  async classify<Options extends TextRequestOptions>(
    run: RunText<Options>,
    texts: readonly TextOrPair[],
    options: ScoreOptions<Options> = {},
  ): Promise<Classification[]> {
    const { raw = false, ...rest } = checkedOptions(
      "classify()",
      options,
      SCORE_CHECKS as Checks<ScoreOptions<Options>>,
    );
    return await this.#each(run, texts, rest, (run) => ({
      scores: this.#scores(run, raw).map((score, i) => ({
        label: this.labels?.[i] ?? `LABEL_${i}`,
        score,
      })),
    }));
  }

  /**
   * How well each text answers a query, in the order of the texts.
   * @throws what `encode` throws, and what `run` rejects with; TextFileError when the model has several scores
   */
  async rerank<Options extends TextRequestOptions>(
    run: RunText<Options>,
    query: string,
    texts: readonly string[],
    options: ScoreOptions<Options> = {},
  ): Promise<Relevance[]> {
    const { raw = false, ...rest } = checkedOptions(
      "rerank()",
      options,
      SCORE_CHECKS as Checks<ScoreOptions<Options>>,
    );
    ofType("string")("query", query);
    listOf(ofType("string"))("texts", texts);
    const pairs = texts.map((text) => [query, text] as const);
    return await this.#each(run, pairs, rest, (run) => {
      const scores = this.#scores(run, raw);
      if (scores.length === 1) return { score: scores[0] };
      throw new TextFileError(
        `Model "${this.model.name}" has ${scores.length} scores: it classifies, a reranker has one`,
      );
    });
  }

  /**
   * Answers a prompt with a decoder: pieces of text as they are certain, the last one with how it ended. Leaving the
   * iteration ends the request. The same seed gives the same text, whatever its batch-mates.
   * @throws TypeError or RangeError on a prompt or option that is not one; TextTooLongError; what `stream` rejects with
   *
   * @example
   * ```ts
   * import assert from "node:assert/strict";
   * import { cellular, gpt, ServingEngine } from "@shoal/core";
   * import { TextModel, TextTokenizer } from "@shoal/core/text";
   *
   * const tokenizer = await TextTokenizer.load({
   *   tokenizer: {
   *     pre_tokenizer: {
   *       type: "Sequence",
   *       pretokenizers: [{ type: "WhitespaceSplit" }, { type: "Metaspace", replacement: "▁" }],
   *     },
   *     decoder: { type: "Metaspace", replacement: "▁" },
   *     model: { type: "WordLevel", unk_token: "▁?", vocab: { "▁?": 0, "▁one": 1, "▁two": 2, "▁three": 3 } },
   *   },
   * });
   * const model = gpt({ layers: 1, hidden: 8, heads: 2, vocabulary: 4, positionsMax: 32, eos: null });
   * await using engine = await ServingEngine.create({ models: [model], policy: cellular(), workers: 0 });
   * const texts = new TextModel(model, tokenizer);
   * let answer = "";
   * const stream = (input: unknown, options: object) => engine.stream(model, input as never, options);
   * for await (const { text, end } of texts.generate(stream, "one two", { maxTokens: 5 })) {
   *   answer += text;
   *   if (end) assert.deepEqual([end.finishReason, end.tokens.length], ["length", 5]);
   * }
   * assert.match(answer, /^( (one|two|three|\?)){5}$/);
   * ```
   */
  generate<Options extends TextRequestOptions>(
    stream: StreamText<Options>,
    prompt: Text,
    options: GenerateOptions<Options> = {},
  ): AsyncGenerator<GeneratedPiece, void, undefined> {
    const { text, answer, request } = checkedGenerate(
      options,
      this.answers,
    );
    if (this.model.grow === undefined) {
      throw new TypeError(
        `Model "${this.model.name}" does not generate text: its requests do not grow`,
      );
    }
    const { tokensMax: asked = Infinity, truncate } = text;
    const tokensMax = truncate && asked >= this.tokensMax
      ? this.#generation.promptMax(answer)
      : asked;
    return this.#generation.pieces(
      stream,
      this.encode(prompt, {
        ...text,
        ...(tokensMax < Infinity && { tokensMax }),
      }),
      answer,
      request ?? {} as Options,
    );
  }

  /** Runs texts, and makes of each result what is asked for. */
  async #each<Options extends TextRequestOptions, T>(
    run: RunText<Options>,
    texts: readonly TextOrPair[],
    options: TextOptions<Options>,
    make: (run: TextRun, rows: number, i: number) => T | Promise<T>,
  ): Promise<(T & TextResult)[]> {
    listOf(isText)("texts", texts);
    const { request, ...rest } = options;
    const encoded = texts.map((text) => this.encode(text, rest));
    const { padId } = this.tokenizer;
    const inputs = encoded.map((each) => this.#inputs.of(each, padId));
    const runs = await runTexts(
      run,
      inputs.map(({ input }) => input),
      request ?? {} as Options,
    );
    const made: (T & TextResult)[] = [];
    for (const [i, run] of runs.entries()) {
      made.push({
        ...await make(run, inputs[i].rows, i),
        tokens: inputs[i].rows,
        truncated: encoded[i].truncated,
        timing: run.timing,
      });
    }
    return made;
  }

  #cased(text: string): string {
    return this.#options.lowercase ? text.toLowerCase() : text;
  }

  /** Texts behind a prompt; ids stay what they are. */
  #prompted(texts: readonly Text[], promptName: string | undefined): Text[] {
    listOf(isText)("texts", texts);
    const prompt = promptOf(this.#options, promptName);
    return texts.map((text) => typeof text === "string" ? prompt + text : text);
  }

  /**
   * How many of a text's tokens are its prompt's, and of what is around it in front.
   * Source: sentence-transformers, `_get_prompt_length`.
   */
  #promptTokens(name: string | undefined, options: TextOptions): number {
    const prompt = promptOf(this.#options, name);
    if (prompt === "") return 0;
    const { addSpecialTokens = true } = options;
    const limits = { addSpecialTokens, truncate: true };
    // Its last space is part of the word behind it.
    const { ids, added } = this.encode(prompt.trim(), limits);
    return ids.length - (added.at(-1) ?? 0);
  }

  #scores(run: TextRun, raw: boolean): number[] {
    const scores = floatsOf(this.#outputOf(run, SCORE_OUTPUTS));
    const { activation = scores.length === 1 ? "sigmoid" : "softmax" } =
      this.#options;
    if (raw || activation === "none") return [...scores];
    return [...(activation === "sigmoid" ? sigmoid : softmax)(scores)];
  }

  /** @throws TextFileError unless its layers fit rows of an output of this shape */
  #checkDense(shape: readonly number[]): void {
    if (this.#dense.length === 0) return;
    const { name } = this.model;
    if (shape.length < 3) {
      throw new TextFileError(
        `Model "${name}" has one row for a text, none for tokens: "dense" is behind their pooling; leave it out, or say with "output" which one has rows of tokens`,
      );
    }
    checkWidths(this.#dense, name, shape.at(-1) ?? 1);
  }

  /** @param names by which it is known, the best first */
  #outputOf({ outputs }: TextRun, names: readonly string[]): Tensor {
    const all = Object.keys(outputs);
    const found = chosenOutput(all, names, this.#options.output);
    if (found !== undefined) return outputs[found] as Tensor;
    throw new TextFileError(
      `Model "${this.model.name}" has outputs ${
        listed(all)
      }: say with "output" which one counts`,
    );
  }
}

/** Two texts, not two ids. */
function isPair(text: unknown): text is readonly [string, string] {
  return Array.isArray(text) && text.length === 2 &&
    text.every((part) => typeof part === "string");
}

function floatsOf({ data }: Tensor): Float32Array {
  return data instanceof Float32Array ? data : Float32Array.from(data);
}
