/** Bodies of completions and chat completions, whole and in chunks (OpenAI's OpenAPI document). */

/** Why an answer ended: by itself or at a stop string; at its limit. */
export type FinishReason = "stop" | "length";

/** What a request cost. */
export interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
}

export function usageOf(promptTokens: number, answerTokens: number): Usage {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: answerTokens,
    total_tokens: promptTokens + answerTokens,
  };
}

/** A token as clients are told of it, alone: in a text it may have a blank in front. */
export interface ToldToken {
  readonly token: string;
  readonly logprob: number;
}

/** A token of an answer, and those that were likely in its place. */
export interface LikelyTokens extends ToldToken {
  /** Characters of the answer in front of it. */
  readonly offset: number;
  readonly top: readonly ToldToken[];
}

/** A whole answer. */
export interface Answer {
  /** If they are asked for. */
  readonly logprobs?: readonly LikelyTokens[] | undefined;
  readonly text: string;
  readonly finishReason: FinishReason;
}

/** A piece of the answer `index`; the last one has a reason. */
export interface Piece {
  /** If they are asked for. */
  readonly logprobs?: readonly LikelyTokens[] | undefined;
  readonly index: number;
  readonly text: string;
  readonly finishReason: FinishReason | null;
}

/** What one of the two protocols calls things. */
export interface CompletionForm {
  /** In front of a request's id. */
  readonly prefix: string;
  readonly object: string;
  readonly chunkObject: string;
  /** A choice of a whole answer. */
  choice(answer: Answer, index: number): unknown;
  /** Of a stream: choices before anything has been said. */
  opening(index: number): unknown;
  piece(piece: Piece): unknown;
}

/** `/v1/completions`. */
export const COMPLETION: CompletionForm = {
  prefix: "cmpl-",
  object: "text_completion",
  chunkObject: "text_completion",
  choice: ({ text, finishReason, logprobs }, index) => ({
    text,
    index,
    logprobs: logprobs ? completionLogprobs(logprobs) : null,
    finish_reason: finishReason,
  }),
  opening: () => undefined,
  piece: ({ index, text, finishReason, logprobs }) => ({
    text,
    index,
    logprobs: logprobs ? completionLogprobs(logprobs) : null,
    finish_reason: finishReason,
  }),
};

/** What OpenAI says of a token that is as good as impossible, as one that a model's file masks is: JSON has no infinity. */
const LOGPROB_MIN = -9999;

const finite = (logprob: number): number => Math.max(logprob, LOGPROB_MIN);

/** Lists beside each other. */
function completionLogprobs(tokens: readonly LikelyTokens[]) {
  return {
    tokens: tokens.map(({ token }) => token),
    token_logprobs: tokens.map(({ logprob }) => finite(logprob)),
    top_logprobs: tokens.map(logprobsByText),
    text_offset: tokens.map(({ offset }) => offset),
  };
}

/**
 * The token that came is among them, whether or not it was one of the likeliest. Of others that have one text, as what
 * UTF-8 has cut has, the likeliest counts.
 */
function logprobsByText(each: LikelyTokens): Record<string, number> {
  const byText = new Map<string, number>();
  for (const { token, logprob } of each.top) {
    if (!byText.has(token)) byText.set(token, finite(logprob));
  }
  byText.set(each.token, finite(each.logprob));
  return Object.fromEntries(byText);
}

/** `/v1/chat/completions`. */
export const CHAT: CompletionForm = {
  prefix: "chatcmpl-",
  object: "chat.completion",
  chunkObject: "chat.completion.chunk",
  choice: ({ text, finishReason, logprobs }, index) => ({
    index,
    message: { role: "assistant", content: text, refusal: null },
    logprobs: logprobs ? chatLogprobs(logprobs) : null,
    finish_reason: finishReason,
  }),
  opening: (index) => ({
    index,
    delta: { role: "assistant", content: "" },
    logprobs: null,
    finish_reason: null,
  }),
  piece: ({ index, text, finishReason, logprobs }) => ({
    index,
    delta: text === "" ? {} : { content: text },
    logprobs: logprobs ? chatLogprobs(logprobs) : null,
    finish_reason: finishReason,
  }),
};

function chatLogprobs(tokens: readonly LikelyTokens[]) {
  return {
    content: tokens.map((each) => ({
      ...toldBytes(each),
      top_logprobs: each.top.map(toldBytes),
    })),
    refusal: null,
  };
}

/** What UTF-8 has cut into tokens is no text of its own, and has no bytes that are known. */
function toldBytes({ token, logprob }: ToldToken) {
  const bytes = token.includes("\ufffd")
    ? null
    : [...new TextEncoder().encode(token)];
  return { token, logprob: finite(logprob), bytes };
}
