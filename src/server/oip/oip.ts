/**
 * The Open Inference Protocol v2 over HTTP, with Triton's extensions (kserve/open-inference-protocol, May 2025;
 * triton-inference-server/server, docs/protocol).
 */
import { HttpError } from "../http/http_error.ts";
import { jsonResponse } from "../http/respond.ts";
import type { Context, Protocol, Route, Scope } from "../http/route.ts";
import { infer } from "./infer.ts";
import { EXTENSIONS, modelMetadata } from "./metadata.ts";

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

function ready({ host }: Context): Response {
  if (host.failure || host.state !== "serving") {
    throw new HttpError(503, "The server takes no requests");
  }
  return jsonResponse({ ready: true });
}

function modelReady({ host, params }: Context): Response {
  const { name } = host.find(params["model"], params["version"]);
  if (host.failure) throw new HttpError(503, "The engine has ended");
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
      handle: () =>
        jsonResponse({ name: "shoal", version: "0", extensions: EXTENSIONS }),
    },
    ...ofModel("GET", "open", "/ready", modelReady),
    ...ofModel("GET", "infer", "", ({ host, params }) =>
      jsonResponse(
        modelMetadata(host, host.find(params["model"], params["version"])),
      )),
    ...ofModel("POST", "infer", "/infer", infer),
  ],
  errorBody: ({ message }) => ({ error: message }),
};
