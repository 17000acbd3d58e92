/** Answers to completions and chat completions alike: as a whole, or as a stream that ends with its reader. */
import { dateMs } from "../../engine/wall/clock.ts";
import { httpErrorOf } from "../http/error_status.ts";
import type { Context } from "../http/route.ts";
import type { ServedText } from "../texts/served_text.ts";
import { type ResponseHead, streamedAnswers, wholeAnswers } from "./answers.ts";
import type { CompletionForm } from "./completion_forms.ts";
import { errorBody } from "./errors.ts";
import { type Asked, generate } from "./generate.ts";

/** What of a request says how it is answered. */
export interface AnswerRequest {
  readonly model: string;
  readonly stream: boolean;
  readonly stream_options?: { readonly include_usage: boolean } | undefined;
}

/**
 * When the client leaves, or an answer fails, the others are ended, whatever they wait for.
 * @throws the host's errors, as long as nothing has been answered
 */
export async function respond(
  context: Context,
  form: CompletionForm,
  { model, stream, stream_options }: AnswerRequest,
  served: ServedText,
  asked: Asked,
): Promise<Response> {
  const head: ResponseHead = {
    form,
    id: form.prefix + context.requestId,
    created: Math.floor(dateMs() / 1000),
    model,
  };
  const ended = new AbortController();
  const signal = AbortSignal.any([context.signal, ended.signal]);
  const end = () =>
    ended.abort(new DOMException("Nobody waits for it any more", "AbortError"));
  try {
    const generated = generate(context, served, asked, signal);
    if (!stream) return await wholeAnswers(head, generated);
    return await streamedAnswers(head, generated, {
      withUsage: stream_options?.include_usage ?? false,
      failed(error) {
        end();
        context.report(error);
        return errorBody(httpErrorOf(error));
      },
      left(behind) {
        end();
        if (behind) context.report(behind);
      },
    });
  } catch (error) {
    end();
    throw error;
  }
}
