/** OpenAI's `/v1/realtime` as far as voice activity goes: a WebSocket is a session, and a stream of a detector. */
import type { FrameData, StreamModel } from "../../graph/stream_model.ts";
import type { HostSession } from "../host/host_session.ts";
import type { ServedModel } from "../host/served_model.ts";
import { httpErrorOf } from "../http/error_status.ts";
import { HttpError } from "../http/http_error.ts";
import type { Context, Route } from "../http/route.ts";
import type { Socket, SocketHandlers } from "../http/socket.ts";
import { findLabel } from "../texts/served_text.ts";
import { RealtimeSession, type SpeechStream } from "./session.ts";

/** The one that OpenAI's clients offer, beside one that is a key. */
const SUBPROTOCOL = "realtime";

/** Bytes of messages that wait for those before them, a character each: a bit more than an append may have. */
const WAITING_MAX = 2 ** 25;

/** Of a message that waits, besides its characters: less, but all may be done in one turn of the event loop. */
const MESSAGE_BYTES = 1024;

/** Of a detector whose configuration does not say. */
const SAMPLES_PER_SECOND = 16_000;

/** Frames of a session that are in the engine at once. */
const FRAMES_AHEAD = 16;

/** @throws HttpError where there is no such detector, or no WebSocket */
function realtime(context: Context): Response {
  const { host, url, request, key, openSocket } = context;
  const model = url.searchParams.get("model");
  if (model === null) {
    throw new HttpError(400, 'The query names a "model" that detects speech');
  }
  const served = findLabel(host, model);
  host.checkKey(key, served);
  const shape = detectorOf(served);
  if (request.headers.get("upgrade")?.toLowerCase() !== "websocket") {
    throw new HttpError(426, "This path is for WebSockets", {
      upgrade: "websocket",
    });
  }
  if (openSocket === undefined) {
    throw new HttpError(501, "There are no WebSockets on this connection");
  }
  const offered = request.headers.get("sec-websocket-protocol") ?? "";
  const isOffered = offered.split(",").some((name) =>
    name.trim() === SUBPROTOCOL
  );
  const handlers = new Connected(context, served, model, shape);
  try {
    return openSocket(handlers, isOffered ? SUBPROTOCOL : undefined);
  } catch (error) {
    handlers.closed();
    throw error;
  }
}

/** `GET /v1/realtime`. */
export const REALTIME: Route = {
  method: "GET",
  path: "/v1/realtime",
  scope: "infer",
  handle: realtime,
};

interface Detector {
  readonly input: string;
  readonly output: string;
  readonly frameSamples: number;
  readonly samplesPerSecond: number;
}

/** @throws HttpError when it is none: a row of samples goes in, a probability comes out */
function detectorOf({ name, model, config }: ServedModel): Detector {
  const { stream } = model as Partial<StreamModel>;
  const inputs = Object.entries(stream?.inputs ?? {});
  const outputs = Object.entries(stream?.outputs ?? {});
  const isDetector = inputs.length === 1 && inputs[0][1].dtype === "f32" &&
    outputs.length === 1 && outputs[0][1] === "f32";
  if (!isDetector) {
    throw new HttpError(
      400,
      `Model "${name}" is no detector of speech in streams`,
    );
  }
  const rate = config["sample_rate"];
  return {
    input: inputs[0][0],
    output: outputs[0][0],
    frameSamples: inputs[0][1].width,
    samplesPerSecond: typeof rate === "number" ? rate : SAMPLES_PER_SECOND,
  };
}

/** A session and its connection. */
class Connected implements SocketHandlers, SpeechStream {
  readonly samplesPerSecond: number;
  readonly frameSamples: number;
  readonly framesAhead = FRAMES_AHEAD;
  readonly #context: Context;
  readonly #model: string;
  readonly #detector: Detector;
  readonly #stream: HostSession;
  readonly #left = new AbortController();
  #socket: Socket | undefined;
  #session: RealtimeSession | undefined;
  /** Messages are done in order. */
  #last: Promise<void> = Promise.resolve();
  #waiting = 0;

  constructor(
    context: Context,
    served: ServedModel,
    model: string,
    detector: Detector,
  ) {
    this.#context = context;
    this.#model = model;
    this.#detector = detector;
    this.samplesPerSecond = detector.samplesPerSecond;
    this.frameSamples = detector.frameSamples;
    this.#stream = context.host.open(served);
  }

  opened(socket: Socket): void {
    this.#socket = socket;
    this.#session = new RealtimeSession({
      id: this.#context.requestId,
      model: this.#model,
      stream: this,
      send: (event) => socket.send(JSON.stringify(event)),
      describe: (error) => httpErrorOf(error).message,
    });
  }

  message(text: string): void {
    const bytes = text.length + MESSAGE_BYTES;
    this.#waiting += bytes;
    if (this.#waiting > WAITING_MAX) {
      this.#socket?.close(1009, "More audio than is worked through");
      return;
    }
    this.#last = this.#last.then(async () => {
      if (!this.#left.signal.aborted) await this.#session?.receive(text);
      this.#waiting -= bytes;
    });
  }

  closed(): void {
    this.#left.abort();
    void this.#stream.close();
  }

  async push(frame: Float32Array): Promise<number> {
    const { input, output } = this.#detector;
    const { requestId, key } = this.#context;
    const { outputs } = await this.#stream.push({
      [input]: frame as FrameData,
    }, {
      id: requestId,
      signal: this.#left.signal,
      ...(key !== undefined && { key }),
    });
    return outputs[output].data[0] as number;
  }
}
