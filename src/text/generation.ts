/** A decoder's tokens as text. */
import { Prng } from "../base/prng.ts";
import { RequestFieldError } from "../base/request_field_error.ts";
import type { AnswerDefaults } from "./answer_options.ts";
import { penaltiesOf, withoutPenalties } from "./answer_penalties.ts";
import type { AnswerOptions } from "./generate_options.ts";
import type {
  StreamText,
  TextRequestOptions,
  TextRun,
  TextSteps,
} from "./run_texts.ts";
import { StopStrings } from "./stop_strings.ts";
import { accepts, type TokenModel } from "./token_inputs.ts";
import { type TokenLogprobs, tokenLogprobs } from "./token_logprobs.ts";
import type { EncodedText, TextTokenizer } from "./tokenizer.ts";

/** How an answer ended. */
export interface GeneratedEnd {
  /** "stop": by a token that ends answers, or a stop string; "length": there was no room for more. */
  readonly finishReason: "stop" | "length";
  /** The stop string that ended it. */
  readonly stopString?: string;
  /** All text. */
  readonly text: string;
  /** Ids of all tokens that were computed for it, the one that ended it included. */
  readonly tokens: readonly number[];
  /** Tokens of the prompt, special ones included. */
  readonly promptTokens: number;
  /** Where its draws began; absent where nothing was drawn. */
  readonly seed?: number;
  /** How long its request queued and ran; absent where it was left: at a stop string, or an id that only `eosIds` has. */
  readonly timing?: TextRun["timing"];
}

/** A piece of an answer. */
export interface GeneratedPiece {
  /** What is certain of its text since the piece before; empty for the last one at times. */
  readonly text: string;
  /** Ids that came since the piece before. */
  readonly tokens: readonly number[];
  /**
   * How likely tokens were whose text is certain since the piece before, if that is asked for: the one that ends an answer
   * has none.
   */
  readonly logprobs?: readonly TokenLogprobs[];
  /** Of the last piece: how the answer ended. */
  readonly end?: GeneratedEnd;
}

/** What a decoder is, besides its steps. */
export interface GenerationOptions {
  readonly eosIds: readonly number[];
  readonly isEncoderDecoder: boolean;
  readonly seed: number;
  readonly answers: AnswerDefaults;
  /** Prompt and answer. */
  readonly tokensMax: number;
}

/** Seeds are drawn below this. */
const SEEDS = 2 ** 31;

/**
 * Tokens that a prompt that is cut leaves to an answer that names no limit.
 * Source: Text Generation Inference, router, the default of `max_new_tokens`.
 */
const ANSWER_TOKENS = 100;

export class Generation {
  /** How answers are generated whose requests do not say. */
  readonly answers: AnswerDefaults;
  readonly #model: TokenModel;
  readonly #tokenizer: TextTokenizer;
  readonly #options: GenerationOptions;
  readonly #seeds: Prng;
  /** Whether its requests say how tokens are drawn. */
  readonly #draws: boolean;
  /** Whether they change its scores. */
  readonly #penalises: boolean;
  /** Ids that the model ends an answer with by itself. */
  readonly #ownIds: ReadonlySet<number>;
  /** Those that are named, and that it would go on behind. */
  readonly #leftIds: ReadonlySet<number>;

  constructor(
    model: TokenModel,
    tokenizer: TextTokenizer,
    options: GenerationOptions,
  ) {
    this.#model = model;
    this.#tokenizer = tokenizer;
    this.#options = options;
    this.#seeds = new Prng(options.seed);
    this.#draws = accepts(model, { tokens: [0], temperature: 1 });
    this.#penalises = accepts(model, { tokens: [0], repetitionPenalty: 2 });
    this.answers = {
      ...(this.#penalises
        ? options.answers
        : withoutPenalties(options.answers)),
      ...(!this.#draws && { temperature: 0 }),
    };
    const own = model.stop ??
      model.cells.flatMap(({ stop }) => stop?.token ?? []);
    this.#ownIds = new Set(own);
    this.#leftIds = new Set(options.eosIds.filter((id) => !own.includes(id)));
  }

  /**
   * @throws TypeError when tokens are to be drawn and the model draws none; RequestFieldError when scores are to change
   * that it takes as they are
   */
  pieces<Options extends TextRequestOptions>(
    stream: StreamText<Options>,
    prompt: EncodedText,
    answer: AnswerOptions,
    request: Options,
  ): AsyncGenerator<GeneratedPiece, void, undefined> {
    const { temperature = 0, topK = 0, topP = 1, maxTokens } = answer;
    const penalties = penaltiesOf(answer);
    const isDrawn = temperature > 0;
    if (isDrawn && !this.#draws) {
      throw new TypeError(
        `Model "${this.#model.name}" takes the token of the largest score: its requests have no "temperature", which is of decoders with their option "sample"`,
      );
    }
    const [penalty] = Object.keys(penalties);
    if (penalty !== undefined && !this.#penalises) {
      throw new RequestFieldError(
        penalty,
        `is of decoders with their option "penalties": model "${this.#model.name}" takes its scores as they are`,
      );
    }
    if (answer.logprobs !== undefined && !this.#model.outputs?.["scores"]) {
      throw new TypeError(
        `Model "${this.#model.name}" has no result "scores", of which tokens have probabilities: decoders have it with their option "scores"`,
      );
    }
    const seed = isDrawn ? answer.seed ?? this.#seeds.int(SEEDS) : undefined;
    const input = {
      tokens: prompt.ids,
      ...(maxTokens !== undefined && {
        maxSteps: Math.min(maxTokens, this.#stepsLeft(prompt)),
      }),
      ...(isDrawn && { temperature, topK, topP, seed }),
      ...(isDrawn && answer.minP !== undefined && { minP: answer.minP }),
      ...penalties,
    };
    return this.#pieces(() => stream(input, request), prompt, answer, seed);
  }

  /** Most tokens of a prompt that is cut: it leaves room for the answer, of at most half of all positions. */
  promptMax({ maxTokens = ANSWER_TOKENS }: AnswerOptions): number {
    const { isEncoderDecoder, tokensMax } = this.#options;
    if (isEncoderDecoder) return tokensMax;
    const left = Math.min(maxTokens, Math.ceil(tokensMax / 2));
    // The last token takes no position.
    return tokensMax - left + 1;
  }

  /** Steps that there is room for: the last one's token takes no position. */
  #stepsLeft({ ids }: EncodedText): number {
    const { isEncoderDecoder, tokensMax } = this.#options;
    return isEncoderDecoder ? Infinity : tokensMax - ids.length + 1;
  }

  async *#pieces(
    begin: () => TextSteps,
    prompt: EncodedText,
    answer: AnswerOptions,
    seed: number | undefined,
  ): AsyncGenerator<GeneratedPiece, void, undefined> {
    const { stop = [], specialTokens = false, logprobs: others } = answer;
    const { minTokens = 0 } = answer;
    const { isEncoderDecoder, eosIds } = this.#options;
    const context = isEncoderDecoder ? [] : prompt.ids;
    const words = this.#tokenizer.detokenizer(context, !specialTokens);
    const stops = new StopStrings(stop);
    const stopTokens = this.#stopTokens(specialTokens ? [] : stop);
    let stopToken: string | undefined;
    const stopped = () => stops.found ?? stopToken;
    const isLeft = () =>
      stopped() !== undefined ||
      tokens.length > minTokens && this.#leftIds.has(tokens.at(-1) ?? -1);
    const tokens: number[] = [];
    let likely: TokenLogprobs[] = [];
    let text = "";
    /** Characters of all tokens, those of stop strings included. */
    let offset = 0;
    /** Text and tokens that were told. */
    let [chars, count] = [0, 0];
    /** @param isWhole whether no more text comes */
    const piece = (isWhole: boolean): GeneratedPiece => {
      const since = { text: text.slice(chars), tokens: tokens.slice(count) };
      [chars, count] = [text.length, tokens.length];
      // What a stop string has cut off, or may cut off yet, is none of the answer's.
      const isTold = ({ offset }: TokenLogprobs) =>
        offset < text.length || isWhole && stops.found === undefined;
      const logprobs = likely.filter(isTold);
      likely = likely.filter((each) => !isTold(each));
      return { ...since, ...(others !== undefined && { logprobs }) };
    };
    const take = (id: number, scores: ArrayLike<number>): void => {
      tokens.push(id);
      const mayStop = tokens.length > minTokens;
      stopToken = mayStop ? stopTokens.get(id) : undefined;
      if (stopToken !== undefined) return;
      if (!specialTokens && eosIds.includes(id)) return;
      if (others !== undefined) {
        likely.push({ ...tokenLogprobs(scores, id, others), offset });
      }
      const said = words.push(id);
      offset += said.length;
      text += stops.push(said, mayStop);
    };
    const steps = begin();
    let isOver = false;
    let timing: TextRun["timing"] | undefined;
    try {
      while (!isLeft()) {
        const next = await steps.next();
        if (next.done) {
          isOver = true;
          timing = next.value?.timing;
          break;
        }
        const { tokens: ids, scores } = next.value.outputs;
        const rows = (scores?.data ?? []) as Float32Array;
        const width = rows.length / (ids?.data.length ?? 1);
        Array.from(ids?.data ?? [], Number).forEach((id, i) => {
          if (isLeft()) return;
          take(id, rows.slice(i * width, (i + 1) * width));
        });
        if (text.length > chars && !isLeft()) yield piece(false);
      }
    } finally {
      if (!isOver) await steps.return?.();
    }
    if (stops.found === undefined) {
      text += stops.push(words.end(), tokens.length > minTokens) + stops.end();
    }
    const found = stopped();
    yield {
      ...piece(true),
      end: {
        finishReason: isLeft() || this.#isStopped(tokens, prompt, answer)
          ? "stop"
          : "length",
        ...(found !== undefined && { stopString: found }),
        text,
        tokens,
        promptTokens: prompt.ids.length,
        ...(seed !== undefined && { seed }),
        ...(timing && { timing }),
      },
    };
  }

  /** Stop strings that are special tokens, which texts leave out: there they would never be found. */
  #stopTokens(stop: readonly string[]): Map<number, string> {
    const tokenizer = this.#tokenizer;
    return new Map(stop.flatMap((each) => {
      const id = tokenizer.tokenToId(each);
      return id !== undefined && tokenizer.isSpecial(id) ? [[id, each]] : [];
    }));
  }

  /** Whether the model ended an answer by itself. */
  #isStopped(
    tokens: readonly number[],
    prompt: EncodedText,
    { maxTokens }: AnswerOptions,
  ): boolean {
    const last = tokens.at(-1);
    if (last !== undefined && this.#ownIds.has(last)) return true;
    // Ids that nobody knows may end it, too.
    return maxTokens !== undefined &&
      tokens.length < Math.min(maxTokens, this.#stepsLeft(prompt));
  }
}
