/** Options of a folder's decoder: what its settings say, and for what they do not, its files. */
import type { DrawOptions } from "../../models/token_draws.ts";
import type { GptOptions } from "../../models/gpt.ts";
import type { DecoderOptions } from "../../onnx/decoder/options.ts";
import type { TextSettings } from "../../text/text_settings.ts";
import type { ModelSettings } from "./model_settings.ts";

/** What a folder's files say of texts. */
export interface FolderText extends TextSettings {
  /** Ids that are never drawn. */
  readonly banned: readonly number[];
  /** Ids that end answers: `eosIds`, and the tokenizer's; undefined: nobody names one. */
  readonly lastIds?: readonly number[] | undefined;
}

/**
 * Of a file's decoder.
 * @param isText whether a tokenizer is beside it
 */
export function decoderOptions(
  settings: ModelSettings,
  text: FolderText,
  isText: boolean,
): DecoderOptions {
  const { decoder = {}, text: given } = settings;
  const { positions_max, steps_max, ...named } = decoder;
  const answers = text.kind === "decoder" || doesAnswer(settings, text, isText);
  const stop = given?.eos_ids ?? text.eosIds;
  const positionsMax = positions_max ?? text.tokensMax;
  return {
    ...(stop && { stop }),
    ...(positionsMax !== undefined && { positionsMax }),
    ...tokenOptions(text, answers, decoder.sample),
    ...named,
    ...(steps_max !== undefined && { stepsMax: steps_max }),
  };
}

/**
 * Of a decoder that is built here: what its options leave open.
 * @param isText whether a tokenizer is beside it
 */
export function builtOptions(
  settings: ModelSettings,
  text: FolderText,
  isText: boolean,
): Pick<GptOptions, "sample" | "penalties" | "banned" | "eos"> {
  const { model, text: given } = settings;
  const answers = doesAnswer(settings, text, isText);
  const { vocabulary = Infinity } = model?.options ?? {};
  // A tokenizer may have more tokens than the model, which never come.
  const eos = given?.eos_ids ??
    text.lastIds?.filter((id) => id < Number(vocabulary));
  return {
    ...tokenOptions(text, answers, model?.options["sample"]),
    ...(answers && eos !== undefined && { eos }),
  };
}

/** Whether a decoder serves text: what it is says that it generates, unless something else is said. */
function doesAnswer(
  { kind }: ModelSettings,
  text: FolderText,
  isText: boolean,
): boolean {
  return isText && (kind ?? text.kind ?? "decoder") === "decoder";
}

/**
 * How tokens are taken. Whoever serves text lets clients say how they are drawn, unless its settings have none drawn.
 * @param answers whether it serves text
 * @param sample as the settings have it
 */
function tokenOptions(
  { banned }: FolderText,
  answers: boolean,
  sample: unknown,
): DrawOptions & { readonly banned?: readonly number[] } {
  return {
    ...(banned.length > 0 && { banned }),
    ...(answers && { sample: true, penalties: sample !== false }),
  };
}
