/** `/info` and `/health`. */
import { isReady } from "../host/host_state.ts";
import { HttpError } from "../http/http_error.ts";
import { jsonResponse } from "../http/respond.ts";
import type { Context } from "../http/route.ts";
import type { ServedText } from "../texts/served_text.ts";
import { settingsOf, textOf } from "./text_call.ts";

/** The model and its limits. What this server has no limit of is null. */
export function info(context: Context): Response {
  const served = textOf(context, ["embedding", "classifier", "reranker"]);
  const { batchSizeMax, autoTruncate } = settingsOf(served);
  const { tokensMax } = served.text;
  return jsonResponse({
    model_id: served.name,
    model_sha: null,
    model_dtype: "float32",
    served_model_name: served.name,
    model_type: modelType(served),
    max_concurrent_requests: null,
    max_input_length: tokensMax < Infinity ? tokensMax : null,
    max_batch_tokens: null,
    max_batch_requests: null,
    max_client_batch_size: batchSizeMax,
    auto_truncate: autoTruncate,
    tokenization_workers: 1,
    version: "shoal",
    sha: null,
    docker_label: null,
  });
}

function modelType({ kind, text }: ServedText): unknown {
  if (kind === "embedding") return { embedding: { pooling: text.pooling } };
  const labels = text.labels ?? [];
  const classes = {
    id2label: Object.fromEntries(labels.map((label, id) => [`${id}`, label])),
    label2id: Object.fromEntries(labels.map((label, id) => [label, id])),
  };
  return kind === "reranker" ? { reranker: classes } : { classifier: classes };
}

/** Whether to send requests here. */
export function health({ host }: Context): Response {
  if (!isReady(host)) throw new HttpError(503, "The server is not ready");
  return new Response();
}
