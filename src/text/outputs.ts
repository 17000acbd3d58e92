/** Which of a model's outputs counts, by the names that exporters give them. */
import type { TokenModel } from "./token_inputs.ts";

/** A row for a text, behind all that its model's files have. */
const WHOLE_OUTPUTS = ["sentence_embedding", "text_embeds"];
/** A row for a text, by a pooling of the model's own. */
const POOLED_OUTPUTS = ["pooler_output"];

/** A row for each token. */
export const TOKEN_OUTPUTS: readonly string[] = [
  "last_hidden_state",
  "token_embeddings",
];

/** Scores of classes. */
export const SCORE_OUTPUTS: readonly string[] = ["logits", "scores"];

/**
 * Outputs of which a text's row is made, the best first.
 * @param isPooled whether it is said what is made of tokens' rows
 */
export function rowOutputs(isPooled: boolean): readonly string[] {
  return isPooled
    ? [...WHOLE_OUTPUTS, ...TOKEN_OUTPUTS, ...POOLED_OUTPUTS]
    : [...WHOLE_OUTPUTS, ...POOLED_OUTPUTS, ...TOKEN_OUTPUTS];
}

/** The one that is asked for, or else the first that there is, or the only one. */
export function chosenOutput(
  all: readonly string[],
  names: readonly string[],
  asked?: string,
): string | undefined {
  const found = asked ?? names.find((name) => all.includes(name)) ??
    (all.length === 1 ? all[0] : undefined);
  return found !== undefined && all.includes(found) ? found : undefined;
}

/**
 * Whether a model says that one of its outputs is a text's row, behind everything.
 * @param asked an output that counts, whatever it is called
 */
export function hasWholeRow(
  { results = [] }: TokenModel,
  asked?: string,
): boolean {
  const whole = asked === undefined ? WHOLE_OUTPUTS : [asked];
  return results.some(({ name, shape }) =>
    whole.includes(name) && shape.length < 3
  );
}
