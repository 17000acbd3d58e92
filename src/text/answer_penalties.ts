/** What answers change scores by. */
import type { AnswerDefaults } from "./answer_options.ts";
import type { AnswerOptions } from "./generate_options.ts";

/** Names of numbers, and what changes nothing. */
const NOTHING: Required<
  Pick<
    AnswerDefaults,
    | "repetitionPenalty"
    | "presencePenalty"
    | "frequencyPenalty"
    | "noRepeatNgramSize"
    | "minTokens"
  >
> = {
  repetitionPenalty: 1,
  presencePenalty: 0,
  frequencyPenalty: 0,
  noRepeatNgramSize: 0,
  minTokens: 0,
};

/** Those that change something, as a decoder's requests have them. */
export function penaltiesOf(answer: AnswerOptions): Partial<AnswerOptions> {
  const { logitBias = {} } = answer;
  return {
    ...Object.fromEntries(
      Object.entries(NOTHING).flatMap(([name, nothing]) => {
        const value = answer[name as keyof typeof NOTHING] ?? nothing;
        return value === nothing ? [] : [[name, value]];
      }),
    ),
    ...(Object.keys(logitBias).length > 0 && { logitBias }),
  };
}

/** Of a model that takes its scores as they are. */
export function withoutPenalties(answers: AnswerDefaults): AnswerDefaults {
  return Object.fromEntries(
    Object.entries(answers).filter(([name]) => !Object.hasOwn(NOTHING, name)),
  );
}
