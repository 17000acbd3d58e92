/**
 * The Open Inference Protocol v2 over HTTP, with Triton's extensions (kserve/open-inference-protocol, May 2025;
 * triton-inference-server/server, docs/protocol).
 */
import { isReady } from "../host/host_state.ts";
import type { ServedModel } from "../host/served_model.ts";
import { HttpError } from "../http/http_error.ts";
import { jsonResponse } from "../http/respond.ts";
import type { Context, Protocol, Route, Scope } from "../http/route.ts";
import { infer } from "./infer.ts";
import { modelMetadata, serverMetadata } from "./metadata.ts";
import { modelConfig } from "./model_config.ts";
import { REPOSITORY_ROUTES } from "./repository_routes.ts";
import { statsOf } from "./statistics.ts";

/** A route under both spellings: a model's newest version, or the one that the path names. */
function ofModel(
  method: Route["method"],
  scope: Scope,
  path: string,
  handle: Route["handle"],
): Route[] {
  return [
    `/v2/models/{model}${path}`,
    `/v2/models/{model}/versions/{version}${path}`,
  ].map((path) => ({ method, scope, path, handle }));
}

function live({ host }: Context): Response {
  if (host.failure) throw new HttpError(503, "The engine has ended");
  return jsonResponse({ live: true });
}

function checkReady({ host }: Context): void {
  if (!isReady(host)) throw new HttpError(503, "The server is not ready");
}

function ready(context: Context): Response {
  checkReady(context);
  return jsonResponse({ ready: true });
}

function named({ host, params }: Context): ServedModel {
  return host.find(params["model"], params["version"]);
}

function modelReady(context: Context): Response {
  const { name } = named(context);
  checkReady(context);
  return jsonResponse({ name, ready: true });
}

/** The protocol. */
export const OIP: Protocol = {
  name: "oip",
  routes: [
    { method: "GET", path: "/v2/health/live", scope: "open", handle: live },
    { method: "GET", path: "/v2/health/ready", scope: "open", handle: ready },
    {
      method: "GET",
      path: "/v2",
      scope: "open",
      handle: (context) => jsonResponse(serverMetadata(context)),
    },
    ...ofModel("GET", "open", "/ready", modelReady),
    ...ofModel(
      "GET",
      "open",
      "",
      (context) => jsonResponse(modelMetadata(context.host, named(context))),
    ),
    ...ofModel(
      "GET",
      "open",
      "/config",
      (context) => jsonResponse(modelConfig(named(context))),
    ),
    ...ofModel(
      "GET",
      "open",
      "/stats",
      ({ host, params: { model, version } }) =>
        jsonResponse(statsOf(host, model, version)),
    ),
    {
      method: "GET",
      path: "/v2/models/stats",
      scope: "open",
      handle: ({ host }) => jsonResponse(statsOf(host)),
    },
    ...ofModel("POST", "infer", "/infer", infer),
    ...REPOSITORY_ROUTES,
  ],
  errorBody: ({ message }) => ({ error: message }),
};
