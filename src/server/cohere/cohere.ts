/** Cohere's reranking, `/v1/rerank` and `/v2/rerank` (docs.cohere.com, API reference, "Rerank"). */
import { HttpError } from "../http/http_error.ts";
import { jsonResponse } from "../http/respond.ts";
import type { Context, Protocol } from "../http/route.ts";
import { modelRoutes } from "../texts/model_routes.ts";
import { namedText, WrongKindError } from "../texts/served_text.ts";
import { asInputError, textRunners } from "../texts/text_request.ts";
import { FieldError } from "../wire/fields.ts";
import { rerankV1Request, rerankV2Request } from "./rerank_request.ts";

interface Asked {
  readonly model: string;
  readonly query: string;
  readonly documents: readonly string[];
  readonly top_n: number | undefined;
}

/** Documents are cut to what the model takes, as Cohere's are. */
async function rerank(
  context: Context,
  { model, query, documents, top_n }: Asked,
  version: "1" | "2",
  withDocuments: boolean,
): Promise<Response> {
  const { host, params, signal, requestId } = context;
  const served = namedText(host, params["model"] ?? model, ["reranker"]);
  const { run } = textRunners(context, served);
  const scored = await served.text.rerank(run, query, documents, {
    request: { signal },
    truncate: true,
  }).catch((error) => {
    throw asInputError(error);
  });
  const results = scored.map(({ score }, index) => ({
    index,
    relevance_score: score,
    ...(withDocuments && { document: { text: documents[index] } }),
  })).sort((a, b) => b.relevance_score - a.relevance_score);
  return jsonResponse({
    id: requestId,
    results: results.slice(0, top_n),
    meta: { api_version: { version } },
  });
}

async function v1(context: Context): Promise<Response> {
  const request = rerankV1Request(await context.body.json());
  return await rerank(context, request, "1", request.return_documents);
}

async function v2(context: Context): Promise<Response> {
  const request = rerankV2Request(await context.body.json());
  return await rerank(context, request, "2", false);
}

function asHttpError(error: unknown): unknown {
  const isClients = error instanceof FieldError ||
    error instanceof WrongKindError;
  if (!isClients) return error;
  return new HttpError(400, error.message, {}, { cause: error });
}

/** The protocol. */
export const COHERE: Protocol = {
  name: "cohere",
  overloadedStatus: 429,
  routes: [
    ...modelRoutes("POST", "/v1/rerank", v1, asHttpError),
    ...modelRoutes("POST", "/v2/rerank", v2, asHttpError),
  ],
  errorBody: ({ message }) => ({ message }),
};
