/** `POST /v1/embeddings`: rows of length 1, the first `dimensions` of their elements if so many are asked for. */
import { jsonResponse } from "../http/respond.ts";
import type { Context } from "../http/route.ts";
import { answerTexts } from "../texts/answer_texts.ts";
import { base64Floats } from "../wire/base64_floats.ts";
import { embeddingsRequest } from "./embeddings_request.ts";
import { modelOf } from "./model.ts";

/** @throws FieldError, and the host's errors */
export async function embeddings(context: Context): Promise<Response> {
  const { model, input, encoding_format, dimensions } = embeddingsRequest(
    await context.body.json(),
  );
  return await answerTexts(context, {
    isBatch: input.isBatch,
    find: () => modelOf(context, model, "embedding"),
    run: (served, run) =>
      served.text.embed(run, input.inputs, {
        request: { signal: context.signal },
        ...(dimensions !== undefined && { dimensions }),
      }),
    answer(embedded) {
      const tokens = embedded.reduce((sum, { tokens }) => sum + tokens, 0);
      return jsonResponse({
        object: "list",
        data: embedded.map(({ embedding }, index) => ({
          object: "embedding",
          index,
          embedding: encoding_format === "base64"
            ? base64Floats(embedding)
            : Array.from(embedding),
        })),
        model,
        usage: { prompt_tokens: tokens, total_tokens: tokens },
      });
    },
  });
}
