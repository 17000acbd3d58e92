/**
 * OpenAI's HTTP interface, as far as models of texts go, and voice activity (OpenAI's OpenAPI document, August 2026).
 * Every path is there a second time behind `/models/{model}`, for clients that are given an address and send no name, or one that means
 * nothing here: the path's counts.
 */
import type { Protocol, Route } from "../http/route.ts";
import { modelRoutes } from "../texts/model_routes.ts";
import { REALTIME } from "../realtime/realtime.ts";
import { chat } from "./chat.ts";
import { completions } from "./completions.ts";
import { embeddings } from "./embeddings.ts";
import { asHttpError, errorBody } from "./errors.ts";
import { listModels, oneModel } from "./model.ts";

function post(path: string, handle: Route["handle"]): Route[] {
  return modelRoutes("POST", path, handle, asHttpError);
}

/** The protocol. */
export const OPENAI: Protocol = {
  name: "openai",
  // Clients retry either; some of them 503 at once and for ever.
  overloadedStatus: 429,
  routes: [
    { method: "GET", path: "/v1/models", scope: "infer", handle: listModels },
    {
      method: "GET",
      path: "/v1/models/{name}",
      scope: "infer",
      handle: oneModel,
    },
    ...post("/v1/embeddings", embeddings),
    ...post("/v1/completions", completions),
    ...post("/v1/chat/completions", chat),
    REALTIME,
  ],
  errorBody,
};
