/** What `generation_config.json` of transformers says of a decoder's answers. */
import { listOf } from "../base/checked_options.ts";
import { describe, isList } from "../base/describe.ts";
import {
  ANSWER_CHECKS,
  type AnswerDefaults,
  areIds,
} from "./answer_options.ts";
import { TextFileError } from "./errors.ts";
import { parsed } from "./parsed.ts";

/** A decoder's answers, as far as its file says. */
export interface GenerationSettings {
  /** How they are generated where a request does not say: the option `answers` of a model. */
  readonly answers: AnswerDefaults;
  /** Ids that are never drawn (`suppress_tokens`, `bad_words_ids` of one): the option `banned` of a decoder. */
  readonly banned: readonly number[];
  /** What would change answers and is not computed, by its name and value. */
  readonly unread: readonly string[];
}

const FILE = "generation_config.json";

/** Options of answers, by what the file calls them. */
const ANSWERS: Readonly<Record<string, keyof AnswerDefaults>> = {
  max_new_tokens: "maxTokens",
  min_new_tokens: "minTokens",
  temperature: "temperature",
  top_k: "topK",
  top_p: "topP",
  min_p: "minP",
  repetition_penalty: "repetitionPenalty",
  no_repeat_ngram_size: "noRepeatNgramSize",
  stop_strings: "stop",
};

/** What is not computed, and the value that asks for nothing. Source: transformers, `GenerationConfig`. */
const UNREAD: Readonly<Record<string, unknown>> = {
  typical_p: 1,
  epsilon_cutoff: 0,
  eta_cutoff: 0,
  encoder_repetition_penalty: 1,
  encoder_no_repeat_ngram_size: 0,
  sequence_bias: null,
  begin_suppress_tokens: null,
  forced_bos_token_id: null,
  forced_eos_token_id: null,
  forced_decoder_ids: null,
  exponential_decay_length_penalty: null,
  min_length: 0,
  max_time: null,
  num_beams: 1,
  penalty_alpha: 0,
  guidance_scale: 1,
  token_healing: false,
  watermarking_config: null,
};

/**
 * Reads `generation_config.json`. What it does not say, or says by `null`, is not there: defaults of transformers, such as
 * a `top_k` of 50, count where they are written. Source: vLLM, `ModelConfig.get_diff_sampling_param`; `do_sample` and
 * `stop_strings` are transformers' alone.
 * @param file text, bytes, or what JSON.parse makes of it
 * @throws TextFileError when it is none, or a value cannot be
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { generationSettings } from "@shoal/core/text";
 *
 * const file = { do_sample: true, temperature: 0.6, repetition_penalty: 1.05, num_beams: 4 };
 * assert.deepEqual(generationSettings(file), {
 *   answers: { temperature: 0.6, repetitionPenalty: 1.05 },
 *   banned: [],
 *   unread: ["num_beams 4"],
 * });
 * ```
 */
export function generationSettings(file: unknown): GenerationSettings {
  const given = parsed(FILE, file);
  const { do_sample: isDrawn, top_k: topK, top_p: topP, stop_strings: stop } =
    given;
  const said: Readonly<Record<string, unknown>> = {
    ...given,
    // Who writes down that nothing is drawn has it so; many files that have a temperature do not write that it is.
    temperature: isDrawn === false
      ? 0
      : given["temperature"] ?? (isDrawn === true ? 1 : undefined),
    // vLLM's word for all.
    top_k: topK === -1 ? 0 : topK,
    // transformers take 0, which keeps one token.
    top_p: topP === 0 ? Number.MIN_VALUE : topP,
    stop_strings: typeof stop === "string" ? [stop] : stop,
  };
  const suppressed = given["suppress_tokens"] ?? [];
  try {
    areIds("suppress_tokens", suppressed);
    const { words, longer } = badWords(given);
    return {
      answers: Object.fromEntries(
        Object.entries(ANSWERS).filter(([name]) => isSaid(said[name])).map(
          ([name, option]) => {
            ANSWER_CHECKS[option](name, said[name]);
            return [option, said[name]];
          },
        ),
      ),
      banned: [...new Set([...suppressed as readonly number[], ...words])],
      unread: Object.entries(UNREAD).filter(([name, nothing]) =>
        isSaid(given[name]) && given[name] !== nothing
      ).map(([name]) => `${name} ${describe(given[name])}`).concat(
        longer.length === 0 ? [] : [`bad_words_ids ${describe(longer)}`],
      ),
    };
  } catch (cause) {
    throw new TextFileError(`${FILE}: ${(cause as Error).message}`, { cause });
  }
}

/**
 * Words of one token are banned, but for those that end answers; longer ones would depend on what is before them.
 * Source: transformers, `NoBadWordsLogitsProcessor`.
 * @throws TypeError or RangeError on one that is none
 */
function badWords(
  { bad_words_ids: given, eos_token_id: eos }: Readonly<
    Record<string, unknown>
  >,
): { words: number[]; longer: (readonly number[])[] } {
  listOf(areIds)("bad_words_ids", given ?? []);
  const all = (given ?? []) as (readonly number[])[];
  const ends = [eos].flat();
  return {
    words: all.filter(({ length }) => length === 1).flat().filter((id) =>
      !ends.includes(id)
    ),
    longer: all.filter(({ length }) => length > 1),
  };
}

function isSaid(value: unknown): boolean {
  const isEmpty = isList(value) && value.length === 0;
  return value !== undefined && value !== null && !isEmpty;
}
