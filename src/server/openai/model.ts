/** Models as OpenAI's clients name them: in the body, or, before the protocol's own path, in the path. */
import type { ServedKind, ServedModel } from "../host/served_model.ts";
import { HttpError } from "../http/http_error.ts";
import { jsonResponse } from "../http/respond.ts";
import type { Context } from "../http/route.ts";
import {
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
function modelForm({ name }: ServedModel): unknown {
  return { id: name, object: "model", created: 0, owned_by: "shoal" };
}

/** `GET /v1/models`: every name once. */
export function listModels({ host }: Context): Response {
  const byName = new Map(host.models.map((served) => [served.name, served]));
  return jsonResponse({
    object: "list",
    data: [...byName.values()].map(modelForm),
  });
}

/** `GET /v1/models/{name}`. */
export function oneModel({ host, params }: Context): Response {
  return jsonResponse(modelForm(host.find(params["name"])));
}
