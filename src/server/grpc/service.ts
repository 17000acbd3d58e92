/**
 * The Open Inference Protocol over gRPC, with Triton's extensions: routes whose bodies are messages, framed as on the
 * wire. What carries them, and what becomes of statuses, is `listen_grpc.ts`.
 */
import { NotFoundError } from "../host/errors.ts";
import { isReady } from "../host/host_state.ts";
import type { ServedModel } from "../host/served_model.ts";
import { HttpError } from "../http/http_error.ts";
import type { Context, Protocol, Route, Scope } from "../http/route.ts";
import { bytesOf, inferTensors } from "../oip/infer.ts";
import { modelMetadata, serverMetadata } from "../oip/metadata.ts";
import { modelConfig } from "../oip/model_config.ts";
import { indexOf, loadModel, repositoryOf } from "../oip/repository_routes.ts";
import { statsOf } from "../oip/statistics.ts";
import { decode } from "./decode.ts";
import type { Decoded, MessageType } from "./descriptor.ts";
import { encode } from "./encode.ts";
import { framed, unframed } from "./frames.ts";
import { readInferRequest } from "./infer_request.ts";
import { inferResponse, isRawAnswer } from "./infer_response.ts";
import {
  EMPTY,
  HEALTH,
  HEALTH_REQUEST,
  INFER_RESPONSE,
  MODEL_CONFIG,
  MODEL_METADATA,
  MODEL_STATISTICS,
  NAMED,
  READY,
  REPOSITORY_INDEX,
  REPOSITORY_INDEX_REQUEST,
  REPOSITORY_MODEL,
  SERVER_LIVE,
  SERVER_METADATA,
} from "./messages.ts";
import { leftMsOf } from "./deadline.ts";
import { streamInfer } from "./stream_infer.ts";

/** Of the content of bodies. */
const GRPC_TYPE = "application/grpc+proto";

const INFERENCE = "/inference.GRPCInferenceService";
const HEALTH_PATH = "/grpc.health.v1.Health";

/** What `grpc.health.v1` calls the service; "" is all that there is. */
const SERVICES = ["", INFERENCE.slice(1)];

function messageResponse(message: Uint8Array): Response {
  return new Response(framed(message), {
    headers: { "content-type": GRPC_TYPE },
  });
}

/** A call of one message that is answered with one. */
function unary<Asked extends MessageType>(
  path: string,
  scope: Scope,
  [asked, answered]: readonly [Asked, MessageType],
  answer: (
    context: Context,
    message: Decoded<Asked>,
  ) => object | Promise<object>,
): Route {
  return {
    method: "POST",
    path,
    scope,
    async handle(context) {
      const message = decode(asked, unframed(await context.body.bytes()));
      return messageResponse(encode(answered, await answer(context, message)));
    },
  };
}

function found(
  { host }: Context,
  { name = "", version }: Decoded<typeof NAMED>,
): ServedModel {
  return host.find(name, version || undefined);
}

function modelReady(context: Context, asked: Decoded<typeof NAMED>): object {
  try {
    found(context, asked);
  } catch (error) {
    // One that is not there is not ready.
    if (error instanceof NotFoundError) return { ready: false };
    throw error;
  }
  return { ready: isReady(context.host) };
}

/** A model's settings, of those of the file what the message has. */
function config(served: ServedModel): object {
  const { parameters = {}, ...settings } = modelConfig(served) as {
    readonly parameters?: Readonly<Record<string, unknown>>;
  };
  const text = (value: unknown): string => {
    const { string_value: own = value } = (value ?? {}) as {
      readonly string_value?: unknown;
    };
    return typeof own === "string" ? own : JSON.stringify(own);
  };
  return {
    config: {
      ...settings,
      parameters: Object.fromEntries(
        Object.entries(parameters).map(([name, value]) => [
          name,
          { string_value: text(value) },
        ]),
      ),
      ...(served.kind === "decoder" &&
        { model_transaction_policy: { decoupled: true } }),
    },
  };
}

async function load(
  context: Context,
  { model_name: model = "", parameters }: Decoded<typeof REPOSITORY_MODEL>,
): Promise<object> {
  // Of what kind it has to be is looked at where it is read.
  const given = [...parameters].map(([name, choices]) =>
    [
      name,
      Object.values(choices ?? {}).find((value) => value !== undefined),
    ] as const
  );
  await loadModel(context, model, Object.fromEntries(given));
  return {};
}

async function unload(
  context: Context,
  { model_name: model = "" }: Decoded<typeof REPOSITORY_MODEL>,
): Promise<object> {
  await repositoryOf(context).unload(model);
  return {};
}

async function infer(context: Context): Promise<Response> {
  const { body, request: { headers } } = context;
  const asked = readInferRequest(unframed(await body.bytes()));
  body.became(bytesOf(asked.request));
  const isRaw = isRawAnswer(asked);
  const inferred = await inferTensors(context, {
    ...asked,
    leftMs: leftMsOf(headers),
  });
  return messageResponse(
    encode(INFER_RESPONSE, inferResponse(asked, inferred, isRaw)),
  );
}

function health(
  { host }: Context,
  { service = "" }: Decoded<typeof HEALTH_REQUEST>,
): object {
  if (!SERVICES.includes(service)) {
    throw new HttpError(404, "There is no such service");
  }
  return { status: isReady(host) ? "SERVING" : "NOT_SERVING" };
}

/** The protocol. */
export const GRPC: Protocol = {
  name: "grpc",
  routes: [
    unary(
      `${INFERENCE}/ServerLive`,
      "open",
      [EMPTY, SERVER_LIVE],
      ({ host }) => ({ live: host.failure === undefined }),
    ),
    unary(
      `${INFERENCE}/ServerReady`,
      "open",
      [EMPTY, READY],
      ({ host }) => ({ ready: isReady(host) }),
    ),
    unary(`${INFERENCE}/ModelReady`, "open", [NAMED, READY], modelReady),
    unary(
      `${INFERENCE}/ServerMetadata`,
      "open",
      [EMPTY, SERVER_METADATA],
      serverMetadata,
    ),
    unary(
      `${INFERENCE}/ModelMetadata`,
      "open",
      [NAMED, MODEL_METADATA],
      (context, asked) => modelMetadata(context.host, found(context, asked)),
    ),
    unary(
      `${INFERENCE}/ModelConfig`,
      "open",
      [NAMED, MODEL_CONFIG],
      (context, asked) => config(found(context, asked)),
    ),
    unary(
      `${INFERENCE}/ModelStatistics`,
      "open",
      [NAMED, MODEL_STATISTICS],
      ({ host }, { name, version }) =>
        statsOf(host, name || undefined, version || undefined),
    ),
    {
      method: "POST",
      path: `${INFERENCE}/ModelInfer`,
      scope: "infer",
      handle: infer,
    },
    {
      method: "POST",
      path: `${INFERENCE}/ModelStreamInfer`,
      scope: "infer",
      handle: (context) =>
        new Response(streamInfer(context), {
          headers: { "content-type": GRPC_TYPE },
        }),
    },
    unary(
      `${INFERENCE}/RepositoryIndex`,
      "admin",
      [REPOSITORY_INDEX_REQUEST, REPOSITORY_INDEX],
      async (context, { ready = false }) => ({
        models: await indexOf(context, ready),
      }),
    ),
    unary(
      `${INFERENCE}/RepositoryModelLoad`,
      "admin",
      [REPOSITORY_MODEL, EMPTY],
      load,
    ),
    unary(
      `${INFERENCE}/RepositoryModelUnload`,
      "admin",
      [REPOSITORY_MODEL, EMPTY],
      unload,
    ),
    unary(`${HEALTH_PATH}/Check`, "open", [HEALTH_REQUEST, HEALTH], health),
  ],
  errorBody: ({ message }) => ({ error: message }),
};
