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

/** A whole answer. */
export interface Answer {
  readonly text: string;
  readonly finishReason: FinishReason;
}

/** A piece of the answer `index`; the last one has a reason. */
export interface Piece {
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
  choice: ({ text, finishReason }, index) => ({
    text,
    index,
    logprobs: null,
    finish_reason: finishReason,
  }),
  opening: () => undefined,
  piece: ({ index, text, finishReason }) => ({
    text,
    index,
    logprobs: null,
    finish_reason: finishReason,
  }),
};

/** `/v1/chat/completions`. */
export const CHAT: CompletionForm = {
  prefix: "chatcmpl-",
  object: "chat.completion",
  chunkObject: "chat.completion.chunk",
  choice: ({ text, finishReason }, index) => ({
    index,
    message: { role: "assistant", content: text, refusal: null },
    logprobs: null,
    finish_reason: finishReason,
  }),
  opening: (index) => ({
    index,
    delta: { role: "assistant", content: "" },
    logprobs: null,
    finish_reason: null,
  }),
  piece: ({ index, text, finishReason }) => ({
    index,
    delta: text === "" ? {} : { content: text },
    logprobs: null,
    finish_reason: finishReason,
  }),
};
