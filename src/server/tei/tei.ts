/**
 * Hugging Face's Text Embeddings Inference (its router and OpenAPI document, 1.9.3). That serves one model; here every
 * path is there a second time behind `/models/{model}`, and the short one is of the only model that can do it.
 */
import type { Protocol, Route } from "../http/route.ts";
import { modelRoutes } from "../texts/model_routes.ts";
import { embed, embedAll, similarity } from "./embed.ts";
import { asHttpError, errorBody } from "./errors.ts";
import { health, info } from "./info.ts";
import { pipeline } from "./pipeline.ts";
import { predict, rerank } from "./scores.ts";
import { decode, tokenize } from "./tokens.ts";

function ofModel(
  method: Route["method"],
  path: string,
  handle: Route["handle"],
): Route[] {
  return modelRoutes(method, path, handle, asHttpError);
}

/** The protocol. */
export const TEI: Protocol = {
  name: "tei",
  overloadedStatus: 429,
  routes: [
    { method: "GET", path: "/health", scope: "open", handle: health },
    ...ofModel("GET", "/info", info),
    ...ofModel("POST", "/", pipeline),
    ...ofModel("POST", "/embed", embed),
    ...ofModel("POST", "/embed_all", embedAll),
    ...ofModel("POST", "/similarity", similarity),
    ...ofModel("POST", "/predict", predict),
    ...ofModel("POST", "/rerank", rerank),
    ...ofModel("POST", "/tokenize", tokenize),
    ...ofModel("POST", "/decode", decode),
  ],
  errorBody,
};
