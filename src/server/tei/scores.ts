/** `/predict` and `/rerank`. */
import type { Context } from "../http/route.ts";
import type { Classification } from "../../text/text_results.ts";
import type { Inputs, TextOrPair } from "./inputs.ts";
import { predictRequest, rerankRequest } from "./requests.ts";
import { answered, textOptions } from "./text_call.ts";

/** A class and its score, as bodies have it. */
export interface Prediction {
  readonly score: number;
  readonly label: string;
}

/** Classes of each text or pair, the likeliest first; of one that came alone without a list around. */
export async function predict(context: Context): Promise<Response> {
  const request = predictRequest(await context.body.json());
  const { inputs } = request;
  return await predicted(
    context,
    inputs,
    request,
    (predictions) => inputs.isBatch ? predictions : predictions[0],
  );
}

/** What `predict` and its other forms have in common. */
export async function predicted(
  context: Context,
  { inputs, isBatch }: Inputs<TextOrPair>,
  fields: Omit<ReturnType<typeof predictRequest>, "inputs">,
  form: (predictions: readonly (readonly Prediction[])[]) => unknown,
): Promise<Response> {
  const kinds = ["classifier", "reranker"] as const;
  const texts = inputs.map((input) => input.length === 1 ? input[0] : input);
  return await answered(
    context,
    { kinds, isBatch, field: "inputs", given: inputs },
    (served, run) =>
      served.text.classify(run, texts, {
        ...textOptions(context, served, fields),
        raw: fields.raw_scores,
      }),
    (results) => form(results.map(byScore)),
  );
}

function byScore({ scores }: Classification): Prediction[] {
  return scores.map(({ score, label }) => ({ score, label })).sort((a, b) =>
    b.score - a.score
  );
}

/** How well each text answers the query, the best first. */
export async function rerank(context: Context): Promise<Response> {
  const request = rerankRequest(await context.body.json());
  const { query, texts } = request;
  return await answered(
    context,
    {
      kinds: ["reranker"],
      isBatch: true,
      field: "texts",
      given: texts,
      texts: texts.map((text) => [query, text]),
    },
    (served, run) =>
      served.text.rerank(run, query, texts, {
        ...textOptions(context, served, request),
        raw: request.raw_scores,
      }),
    (results) =>
      results.map(({ score }, index) => ({
        index,
        ...(request.return_text && { text: texts[index] }),
        score,
      })).sort((a, b) => b.score - a.score),
  );
}
