/** POST /v2/models/{model}[/versions/{version}]/infer */
import { describe } from "../../base/describe.ts";
import type { RunResult } from "../../engine/wall/run_result.ts";
import type { Frame } from "../../graph/stream_model.ts";
import type { EngineHost } from "../host/engine_host.ts";
import { fitInputs } from "../host/fit_inputs.ts";
import { InputError } from "../host/errors.ts";
import { wireMessage } from "../host/wire_names.ts";
import type { HostRunOptions } from "../host/run_options.ts";
import type { ServedModel, WireTensor } from "../host/served_model.ts";
import { parseJson } from "../http/json.ts";
import { HttpError } from "../http/http_error.ts";
import type { Context } from "../http/route.ts";
import {
  type InferRequest,
  type Parameters,
  readInferRequest,
} from "./request.ts";
import { rawRequest } from "./raw_request.ts";
import {
  type SequenceFlags,
  sequenceFlags,
  Sequences,
  type TakenSequence,
} from "./sequences.ts";
import {
  type ChosenOutput,
  chosenOutputs,
  HEADER_LENGTH,
  inferResponse,
} from "./response.ts";

const US_PER_MS = 1000;

/** Of an element of BYTES besides what is in it, and of whatever has a name. */
const OBJECT_BYTES = 200;

/** What runs a request. */
export type InferContext = Pick<
  Context,
  "host" | "signal" | "requestId" | "key"
>;

/** A request that was read, and whom it asks. */
export interface InferCall {
  readonly request: InferRequest;
  /** Name of the model. */
  readonly model: string;
  /** Of the model, if the request says one. */
  readonly version?: string;
  /** Milliseconds that it has besides its own `timeout`. */
  readonly leftMs?: number;
}

/** What became of it. */
export interface Inferred {
  readonly served: ServedModel;
  /** Outputs that are asked for. */
  readonly chosen: readonly ChosenOutput[];
  /** Of all outputs, or of those that a step adds to. */
  readonly tensors: readonly WireTensor[];
}

/** Runs a request. @throws HttpError, or what the host throws */
export async function infer(context: Context): Promise<Response> {
  const { host, body, params: { model, version } } = context;
  // Nobody sends a body to a model that is not there.
  Sequences.of(host).checkThere(model, version);
  const request = readRequest(context, await body.bytes());
  body.became(bytesOf(request));
  const { served, chosen, tensors } = await inferTensors(context, {
    request,
    model,
    ...(version !== undefined && { version }),
  });
  return inferResponse(served, request, chosen, tensors);
}

/**
 * Runs a request, whatever it came as, by what its model's name means at the call: until the engine has it nothing is
 * waited for. Frames of a sequence are computed in the order of the calls.
 * @throws HttpError, or what the host throws
 */
export async function inferTensors(
  context: InferContext,
  { request, model, version, leftMs }: InferCall,
): Promise<Inferred> {
  const { host } = context;
  const flags = sequenceFlags(request.parameters);
  const sequences = Sequences.of(host);
  const served = flags
    ? sequences.servedOf(model, flags, version)
    : host.find(model, version);
  if (flags && served.kind !== "stream") {
    throw new HttpError(
      400,
      `Model "${model}" is none of streams: its requests are of no sequence`,
    );
  }
  const chosen = chosenOutputs(served, request);
  const input = inputOf(served, request.inputs);
  const options = runOptions(context, request.parameters, leftMs);
  // A stream is opened, or ended, before its frame is admitted.
  if (served.kind === "stream") host.checkKey(context.key, served);
  const { outputs } = served.kind === "stream"
    ? await runFrame(host, served, flags, input, options)
    : await host.run(served, input, options);
  return { served, chosen, tensors: served.toTensors(outputs) };
}

/** The model of a request that has steps to be answered in: one that grows. @throws NotFoundError */
export function growingOf(
  { host }: InferContext,
  { request, model, version }: InferCall,
): ServedModel | undefined {
  // Models of sequences have no steps, and may be served no more.
  if (sequenceFlags(request.parameters)) return undefined;
  const served = host.find(model, version);
  return served.model.grow && served;
}

/**
 * The steps of a request to a model that grows, as they are computed: of each, the rows that it adds to the outputs.
 * @param served see `growingOf`
 * @throws HttpError, or what the host throws
 */
export async function* inferSteps(
  context: InferContext,
  { request, leftMs }: InferCall,
  served: ServedModel,
): AsyncGenerator<Inferred, void, undefined> {
  const chosen = chosenOutputs(served, request);
  const input = inputOf(served, request.inputs);
  const options = runOptions(context, request.parameters, leftMs);
  for await (const { outputs } of context.host.stream(served, input, options)) {
    yield {
      served,
      chosen,
      tensors: served.toTensors(outputs as RunResult["outputs"]),
    };
  }
}

/** A request to a model of streams: a frame of a sequence, or of a stream of its own. */
async function runFrame(
  host: EngineHost,
  served: ServedModel,
  flags: SequenceFlags | undefined,
  input: unknown,
  options: HostRunOptions,
): Promise<RunResult> {
  let taken: TakenSequence;
  try {
    taken = flags
      ? Sequences.of(host).take(served, flags)
      : ofOneFrame(host, served);
  } catch (error) {
    // It is a request like others, for figures too, though no stream was there to push it to.
    return await host.refuse(served, input, options, error);
  }
  const { session, leave } = taken;
  let isDone = false;
  try {
    const result = await session.push(input as Frame, options);
    isDone = true;
    return result;
  } finally {
    leave(isDone);
  }
}

/** A stream of a request that is of no sequence: it begins and ends with it. */
function ofOneFrame(host: EngineHost, served: ServedModel): TakenSequence {
  const session = host.open(served);
  return { session, leave: () => void session.close() };
}

/** The body: JSON alone, or as many bytes of JSON as the header says, and binary tensors behind. */
function readRequest(
  { request: { headers }, body, host, params: { model, version } }: Context,
  bytes: Uint8Array<ArrayBuffer>,
): InferRequest {
  const given = headers.get(HEADER_LENGTH);
  const length = given === null ? bytes.length : Number(given);
  const isLength = Number.isInteger(length) && length >= 0 &&
    length <= bytes.length && given !== "";
  if (!isLength) {
    throw new HttpError(
      400,
      `${HEADER_LENGTH} is a number of bytes of the body, which has ${bytes.length}, got ${
        describe(given)
      }`,
    );
  }
  if (given !== null && length === 0) {
    return rawRequest(host.find(model, version), bytes);
  }
  return readInferRequest(
    parseJson(bytes.subarray(0, length), body.limits.depthMax),
    bytes.subarray(length),
  );
}

/** What a request takes while it waits and runs, besides its strings that are not of tensors. */
export function bytesOf(
  { inputs, outputs = [], parameters }: InferRequest,
): number {
  const named = inputs.size + outputs.length + Object.keys(parameters).length;
  let bytes = named * OBJECT_BYTES;
  for (const { datatype, data } of inputs.values()) {
    bytes += datatype === "BYTES"
      ? (data as readonly Uint8Array[]).reduce(
        (sum, { length }) => sum + length + OBJECT_BYTES,
        0,
      )
      : (data as Uint8Array).byteLength;
  }
  return bytes;
}

/** @throws InputError */
function inputOf(
  served: ServedModel,
  tensors: ReadonlyMap<string, WireTensor>,
): unknown {
  const fitting = fitInputs(served, tensors);
  try {
    return served.toInput(fitting);
  } catch (error) {
    const isTheirs = error instanceof TypeError || error instanceof RangeError;
    throw isTheirs
      ? new InputError(wireMessage(error), { cause: error })
      : error;
  }
}

/** What the reserved parameters come to (Triton's "schedule_policy"). */
function runOptions(
  { signal, requestId, key }: InferContext,
  parameters: Parameters,
  leftMs = Infinity,
): HostRunOptions {
  const { slo_ms: sloMs } = parameters;
  // Both are of 64 bits in Triton's extension: to be exact means nothing there.
  const [priority, timeout] = ["priority", "timeout"].map((name) => {
    const value = parameters[name] ?? 0;
    return typeof value === "bigint" ? Number(value) : value;
  });
  const isWhole = (value: unknown): value is number =>
    typeof value === "number" && Number.isInteger(value) && value >= 0;
  if (!isWhole(priority)) {
    throw new HttpError(
      400,
      `"priority" is a whole number from 0, got ${describe(priority)}`,
    );
  }
  if (!isWhole(timeout)) {
    throw new HttpError(
      400,
      `"timeout" is in whole microseconds, from 0, got ${describe(timeout)}`,
    );
  }
  if (sloMs !== undefined && !(typeof sloMs === "number" && sloMs > 0)) {
    throw new HttpError(400, `"slo_ms" is positive, got ${describe(sloMs)}`);
  }
  const ownMs = timeout > 0 ? timeout / US_PER_MS : Infinity;
  const finishMs = Math.min(ownMs, leftMs);
  return {
    id: requestId,
    signal,
    priority,
    ...(sloMs !== undefined && { sloMs }),
    ...(key !== undefined && { key }),
    ...(finishMs < Infinity && { finishMs }),
  };
}
