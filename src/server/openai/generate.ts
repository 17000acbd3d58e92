/** From a request for answers to pieces of text: a request to the engine for each answer. */
import type { GenerateOptions } from "../../text/generate_options.ts";
import type { GeneratedPiece as TextPiece } from "../../text/generation.ts";
import type { Text } from "../../text/text_options.ts";
import type { LikelyToken } from "../../text/token_logprobs.ts";
import type { HostRunOptions } from "../host/run_options.ts";
import type { Context } from "../http/route.ts";
import type { ServedText } from "../texts/served_text.ts";
import { asInputError, textRunners } from "../texts/text_request.ts";
import type { Generated, GeneratedPiece } from "./answers.ts";
import type { Drawing } from "./drawing.ts";

/** What is asked of a model. */
export interface Asked {
  readonly prompts: readonly Text[];
  /** Answers to each prompt. */
  readonly choices: number;
  /** Most tokens of an answer; undefined: as many as there is room for. */
  readonly maxTokens: number | undefined;
  /** Without a temperature it is as the model says; or else 1, OpenAI's default. */
  readonly drawing: Drawing;
  readonly seed: number | undefined;
  /** Whether it is told how likely tokens were, and how many others are with each. */
  readonly logprobs: number | undefined;
  /** Whether special tokens go around prompts: a chat's template has put them in. */
  readonly addSpecialTokens: boolean;
  /** Whether answers begin with their prompts. */
  readonly echo: boolean;
}

/**
 * Begins all answers.
 * @param signal ends them
 * @throws InputError when a prompt or an option cannot be
 */
export function generate(
  context: Context,
  served: ServedText,
  asked: Asked,
  signal: AbortSignal,
): Generated {
  const { text } = served;
  const { stream } = textRunners(context, served);
  const { prompts, choices, maxTokens, seed, addSpecialTokens, echo } = asked;
  const temperature = text.answers.temperature ?? 1;
  try {
    const counts = prompts.map((prompt) =>
      text.encode(prompt, { addSpecialTokens }).ids.length
    );
    const answers = prompts.flatMap((prompt) =>
      Array.from({ length: choices }, (_, choice) => {
        const options: GenerateOptions<HostRunOptions> = {
          request: { signal },
          addSpecialTokens,
          ...(asked.logprobs !== undefined && { logprobs: asked.logprobs }),
          ...(maxTokens !== undefined && { maxTokens }),
          ...{ temperature, ...asked.drawing },
          // Answers to one prompt are drawn apart, and the same ones each time.
          ...(seed !== undefined && { seed: seed + choice }),
        };
        return pieces(
          served,
          text.generate(stream, prompt, options),
          echo ? textOf(served, prompt) : "",
        );
      })
    );
    return {
      promptTokens: counts.reduce((sum, count) => sum + count, 0),
      choices: answers,
    };
  } catch (error) {
    throw asInputError(error);
  }
}

/** An answer, behind what it begins with. */
async function* pieces(
  { text: { tokenizer } }: ServedText,
  source: AsyncIterable<TextPiece>,
  opening: string,
): AsyncGenerator<GeneratedPiece, void, undefined> {
  let before = opening;
  const told = ({ id, logprob }: LikelyToken) => ({
    token: tokenizer.decode([id], false),
    logprob,
  });
  try {
    for await (const { text, tokens, logprobs, end } of source) {
      yield {
        text: before + text,
        tokens: tokens.length,
        ...(logprobs && {
          logprobs: logprobs.map((each) => ({
            ...told(each),
            offset: each.offset,
            top: each.top.map(told),
          })),
        }),
        ...(end && { finishReason: end.finishReason }),
      };
      before = "";
    }
  } catch (error) {
    throw asInputError(error);
  }
}

function textOf({ text }: ServedText, prompt: Text): string {
  return typeof prompt === "string"
    ? prompt
    : text.tokenizer.decode(prompt, false);
}
