/** Models as OpenAI's clients name them: in the body, or, before the protocol's own path, in the path. */
import type { ServedKind } from "../host/served_model.ts";
import { HttpError } from "../http/http_error.ts";
import { jsonResponse } from "../http/respond.ts";
import type { Context } from "../http/route.ts";
import {
  findLabel,
  namedText,
  type ServedText,
  WrongKindError,
} from "../texts/served_text.ts";

/**
 * The model of a request.
 * @param named by its body; a name in the path counts more
 */
export function modelOf(
  { host, params }: Context,
  named: string,
  kind: ServedKind,
): ServedText {
  try {
    return namedText(host, params["model"] ?? named, [kind]);
  } catch (error) {
    if (!(error instanceof WrongKindError)) throw error;
    throw new HttpError(400, error.message, {}, { cause: error });
  }
}

/** As lists of models have it. When it was made nobody knows. */
function modelForm(id: string): unknown {
  return { id, object: "model", created: 0, owned_by: "shoal" };
}

/** `GET /v1/models`: every name once. */
export function listModels({ host }: Context): Response {
  const names = new Set(host.models.map(({ name }) => name));
  return jsonResponse({ object: "list", data: [...names].map(modelForm) });
}

/** `GET /v1/models/{name}`, which may have a version as those of bodies. */
export function oneModel({ host, params }: Context): Response {
  const { name } = params;
  findLabel(host, name);
  return jsonResponse(modelForm(name));
}
