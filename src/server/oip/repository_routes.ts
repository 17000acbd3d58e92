/** Triton's extension "model_repository": what there is, loading and unloading. */
import { describe } from "../../base/describe.ts";
import type {
  ModelRepository,
  RepositoryEntry,
} from "../host/model_repository.ts";
import { HttpError } from "../http/http_error.ts";
import { parseJson } from "../http/json.ts";
import { jsonResponse } from "../http/respond.ts";
import type { Context, Route } from "../http/route.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The body, which may be left out. @throws HttpError 400 */
async function fieldsOf({ body }: Context): Promise<Fields> {
  const bytes = await body.bytes();
  if (bytes.length === 0) return {};
  const value = await body.json();
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return value as Fields;
  }
  throw new HttpError(400, `The body is an object, got ${describe(value)}`);
}

/** @throws HttpError 501 where models do not change */
export function repositoryOf({ repository }: Context): ModelRepository {
  if (repository) return repository;
  throw new HttpError(501, "The models of this server do not change");
}

async function index(context: Context): Promise<Response> {
  const { ready } = await fieldsOf(context);
  return jsonResponse(await indexOf(context, ready === true));
}

/** What there is, or of that what is ready. @throws HttpError 501 where models do not change */
export async function indexOf(
  context: Context,
  isReady: boolean,
): Promise<readonly RepositoryEntry[]> {
  const entries = await repositoryOf(context).index();
  return entries.filter(({ state }) => !isReady || state === "READY");
}

async function load(context: Context): Promise<Response> {
  repositoryOf(context);
  const { parameters } = await fieldsOf(context);
  await loadModel(context, context.params["model"], parameters);
  return jsonResponse({});
}

/**
 * Loads a model, or loads it again.
 * @param parameters of the request, if it has any
 * @throws HttpError 400 on one that there is not, 501 where models do not change; what the repository throws
 */
export async function loadModel(
  context: Context,
  model: string,
  parameters: unknown,
): Promise<void> {
  const repository = repositoryOf(context);
  const config = configOf(parameters, context.body.limits.depthMax);
  await repository.load(model, config);
}

/** Triton's `parameters.config`: a configuration in place of the folder's, as text. @throws HttpError 400 */
function configOf(parameters: unknown, depthMax: number): unknown {
  const { config, ...others } = (parameters ?? {}) as Fields;
  const [other] = Object.keys(others);
  if (other !== undefined) {
    throw new HttpError(
      400,
      `There is no parameter ${describe(other)} for loading, only "config"`,
    );
  }
  if (config === undefined) return undefined;
  if (typeof config === "string") {
    return parseJson(new TextEncoder().encode(config), depthMax);
  }
  throw new HttpError(400, `"config" is a configuration's JSON as text`);
}

async function unload(context: Context): Promise<Response> {
  await repositoryOf(context).unload(context.params["model"]);
  return jsonResponse({});
}

/** Its routes. */
export const REPOSITORY_ROUTES: readonly Route[] = [
  {
    method: "POST",
    path: "/v2/repository/index",
    scope: "admin",
    handle: index,
  },
  {
    method: "POST",
    path: "/v2/repository/models/{model}/load",
    scope: "admin",
    handle: load,
  },
  {
    method: "POST",
    path: "/v2/repository/models/{model}/unload",
    scope: "admin",
    handle: unload,
  },
];
