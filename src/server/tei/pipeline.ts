/**
 * `POST /` and `/models/{model}`: what a model of its kind does with `inputs`, for clients that are given an address and
 * nothing else. Text Embeddings Inference has its own forms there; Hugging Face's clients (`@huggingface/inference`,
 * `huggingface_hub`) send those of its older pipelines, with `parameters`, and read classes from a list of lists
 * (`HFInferenceTextClassificationTask`, `text_classification`). Where the two differ, the clients' form is taken.
 * Deviation: classes of one text are in a list of their own as well; `/predict` has them as Text Embeddings Inference does.
 */
import { isList } from "../../base/describe.ts";
import type { Context } from "../http/route.ts";
import {
  anObject,
  fieldOf,
  integer,
  object,
  oneOf,
  optional,
} from "../wire/fields.ts";
import { embed, similarity } from "./embed.ts";
import { predictRequest } from "./requests.ts";
import { predicted, rerank } from "./scores.ts";
import { textOf } from "./text_call.ts";

const parametersOf = optional(object("parameters", {
  top_k: optional(integer(1)),
  // Others than the model's own would be other numbers.
  function_to_apply: optional(oneOf(["none"])),
}));

/** By the model's kind. */
export async function pipeline(context: Context): Promise<Response> {
  const body = anObject(await context.body.json());
  // Not before all has come: a model may be replaced meanwhile.
  const { kind } = textOf(context, ["embedding", "classifier", "reranker"]);
  if (kind === "embedding") {
    const { inputs } = body;
    const isSimilarity = typeof inputs === "object" && !isList(inputs) &&
      inputs !== null;
    return await (isSimilarity ? similarity : embed)(context);
  }
  if (kind === "reranker" && "query" in body) return await rerank(context);
  const { parameters: _, ...fields } = body;
  const { top_k: most, function_to_apply: applied } =
    fieldOf(body, "parameters", parametersOf) ?? {};
  const request = predictRequest(fields);
  return await predicted(
    context,
    request.inputs,
    { ...request, raw_scores: request.raw_scores || applied === "none" },
    (predictions) => predictions.map((classes) => classes.slice(0, most)),
  );
}
