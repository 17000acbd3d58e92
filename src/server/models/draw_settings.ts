/** How tokens of decoders are drawn, as inputs of one number each that requests may leave out. */
import type { DrawingModel } from "../../models/token_draws.ts";
import { converted } from "../host/convert.ts";
import { DATATYPE_OF } from "../host/datatypes.ts";
import type { TensorSpec, WireTensor } from "../host/served_model.ts";
import type { ServedOptions } from "./served_options.ts";
import { wireType } from "./wire_type.ts";

/** How tokens are drawn: name on the wire, field of the request, type. */
const SETTINGS = [
  ["temperature", "temperature", "f32"],
  ["top_k", "topK", "i32"],
  ["top_p", "topP", "f32"],
  ["min_p", "minP", "f32"],
  ["seed", "seed", "i64"],
] as const;

/** What changes scores. */
const PENALTIES = [
  ["repetition_penalty", "repetitionPenalty", "f32"],
  ["presence_penalty", "presencePenalty", "f32"],
  ["frequency_penalty", "frequencyPenalty", "f32"],
  ["no_repeat_ngram_size", "noRepeatNgramSize", "i32"],
  ["min_tokens", "minTokens", "i32"],
] as const;

/** Those that a model takes: none where it does not say so. */
function settingsOf({ isSampled, isPenalised }: Partial<DrawingModel>) {
  return [
    ...(isSampled ? SETTINGS : []),
    ...(isPenalised ? PENALTIES : []),
  ];
}

/** @throws RangeError on a type that an input cannot have */
export function drawSpecs(
  model: Partial<DrawingModel>,
  options: ServedOptions,
): TensorSpec[] {
  return settingsOf(model).map(([name, , dtype]) => ({
    name,
    datatype: wireType(name, dtype, options),
    shape: [1],
    optional: true,
  }));
}

/** Fields of a request, of those that came. */
export function drawFields(
  model: Partial<DrawingModel>,
  tensors: ReadonlyMap<string, WireTensor>,
): Record<string, number> {
  return Object.fromEntries(
    settingsOf(model).flatMap(([name, field, dtype]) => {
      const given = tensors.get(name);
      return given
        ? [[field, Number(converted(given, DATATYPE_OF[dtype]).data[0])]]
        : [];
    }),
  );
}
