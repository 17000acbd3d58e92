/** What requests for answers say of how tokens are drawn. */
import type { GenerateOptions } from "../../text/generate_options.ts";
import type { Fields } from "../wire/fields.ts";
import type { generationFields } from "./generation_fields.ts";

/** What a request does not say is as the model has it. */
export type Drawing = Pick<
  GenerateOptions,
  | "stop"
  | "temperature"
  | "topP"
  | "topK"
  | "minP"
  | "repetitionPenalty"
  | "presencePenalty"
  | "frequencyPenalty"
  | "minTokens"
  | "logitBias"
>;

export function drawingOf(request: Fields<typeof generationFields>): Drawing {
  const { stop, temperature, top_p: topP, top_k: topK } = request;
  const said: { readonly [Name in keyof Drawing]: Drawing[Name] | undefined } =
    {
      stop,
      temperature,
      // OpenAI takes 0, which keeps one token.
      topP: topP === undefined ? topP : Math.max(topP, Number.MIN_VALUE),
      // vLLM's word for all is -1.
      topK: topK === undefined ? topK : Math.max(topK, 0),
      minP: request.min_p,
      repetitionPenalty: request.repetition_penalty,
      presencePenalty: request.presence_penalty,
      frequencyPenalty: request.frequency_penalty,
      minTokens: request.min_tokens,
      logitBias: request.logit_bias,
    };
  return Object.fromEntries(
    Object.entries(said).filter(([, value]) => value !== undefined),
  );
}
