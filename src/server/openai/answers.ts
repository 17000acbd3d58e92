/** From pieces of text, as they are generated, to bodies: whole, or a stream of chunks. */
import { jsonResponse } from "../http/respond.ts";
import { eventStream } from "../wire/event_stream.ts";
import { interleaved } from "../wire/interleaved.ts";
import {
  type Answer,
  type CompletionForm,
  type FinishReason,
  type LikelyTokens,
  usageOf,
} from "./completion_forms.ts";

/** What came of some tokens of an answer. */
export interface GeneratedPiece {
  /** Empty where they are no text yet. */
  readonly text: string;
  /** How many tokens it took. */
  readonly tokens: number;
  /** How likely they were, if that is asked for. */
  readonly logprobs?: readonly LikelyTokens[];
  /** Of the last piece. */
  readonly finishReason?: FinishReason;
}

/** Answers to a request, that are being generated. */
export interface Generated {
  /** Of all prompts. */
  readonly promptTokens: number;
  /** An answer each, in the order of their indices. */
  readonly choices: readonly AsyncIterable<GeneratedPiece>[];
}

/** What all bodies of a response have in common. */
export interface ResponseHead {
  readonly form: CompletionForm;
  readonly id: string;
  /** Unix time, in seconds. */
  readonly created: number;
  /** As the request called it. */
  readonly model: string;
}

/** All answers at once. */
export async function wholeAnswers(
  { form, id, created, model }: ResponseHead,
  { promptTokens, choices }: Generated,
): Promise<Response> {
  let tokens = 0;
  const answers: {
    text: string;
    finishReason: FinishReason;
    logprobs?: LikelyTokens[];
  }[] = choices.map(() => ({ text: "", finishReason: "length" }));
  for await (const { source, value } of interleaved(choices)) {
    const answer = answers[source];
    answer.text += value.text;
    if (value.logprobs) (answer.logprobs ??= []).push(...value.logprobs);
    answer.finishReason = value.finishReason ?? answer.finishReason;
    tokens += value.tokens;
  }
  return jsonResponse({
    id,
    object: form.object,
    created,
    model,
    choices: answers.map((answer: Answer, index) => form.choice(answer, index)),
    usage: usageOf(promptTokens, tokens),
  });
}

/** How a stream ends. */
export interface StreamEnds {
  /** Whether the last chunk says what it cost. */
  readonly withUsage: boolean;
  /** The chunk for an error behind the first chunk. */
  failed(error: unknown): unknown;
  /** The client has left, or is cut off, since it reads too slowly. */
  left(behind?: Error): void;
}

/** Chunks as there is text. */
export function streamedAnswers(
  head: ResponseHead,
  generated: Generated,
  { withUsage, failed, left }: StreamEnds,
): Promise<Response> {
  return eventStream(chunks(head, generated, withUsage), {
    last: "[DONE]",
    failed: (error) => JSON.stringify(failed(error)),
    left,
  });
}

async function* chunks(
  { form, id, created, model }: ResponseHead,
  { promptTokens, choices }: Generated,
  withUsage: boolean,
): AsyncGenerator<string> {
  const chunk = (choices: readonly unknown[], usage: unknown) =>
    JSON.stringify({
      id,
      object: form.chunkObject,
      created,
      model,
      choices,
      ...(withUsage && { usage }),
    });
  const hasOpened = choices.map(() => false);
  let tokens = 0;
  for await (const { source: index, value } of interleaved(choices)) {
    tokens += value.tokens;
    const { text, finishReason, logprobs } = value;
    if (!hasOpened[index]) {
      hasOpened[index] = true;
      const opening = form.opening(index);
      if (opening !== undefined) yield chunk([opening], null);
    }
    if (text !== "" || logprobs?.length) {
      const piece = { index, text, finishReason: null, logprobs };
      yield chunk([form.piece(piece)], null);
    }
    if (finishReason !== undefined) {
      yield chunk([form.piece({ index, text: "", finishReason })], null);
    }
  }
  if (withUsage) yield chunk([], usageOf(promptTokens, tokens));
}
