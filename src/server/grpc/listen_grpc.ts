/** A port for gRPC: `@grpc/grpc-js` carries the messages, and each call is a request to the server like any other. */
import {
  checkedOptions,
  type Checks,
  integer,
  ofType,
} from "../../base/checked_options.ts";
import { shorten } from "../../base/describe.ts";
import { nodeModule } from "../../base/node_module.ts";
import { dateMs } from "../../engine/wall/clock.ts";
import { UnavailableError } from "../host/errors.ts";
import { httpErrorOf } from "../http/error_status.ts";
import { HttpError } from "../http/http_error.ts";
import { isLoopback } from "../runtime/loopback.ts";
import { checkTls, type Handler } from "../runtime/listener.ts";
import { SILENT_MS } from "../runtime/socket_limits.ts";
import { within } from "../runtime/within.ts";
import type { Server } from "../server.ts";
import { TIMEOUT, timeoutText } from "./deadline.ts";
import { FRAME_BYTES, frameHead, frames, unframed } from "./frames.ts";
import type {
  GrpcCall,
  GrpcMetadata,
  GrpcModule,
  GrpcStatus,
  GrpcStreamCall,
  GrpcUnaryCall,
} from "./grpc_module.ts";
import { GRPC } from "./service.ts";
import { codeOf } from "./status.ts";

/** Where clients look for it. */
const PORT = 8001;

/** Calls of one connection that are under way at once; others wait at the client. */
const STREAMS_MAX = 1024;

/** Options of {@linkcode listenGrpc}. */
export interface ListenGrpcOptions {
  /** The module `@grpc/grpc-js`, which is no part of this package. */
  grpc: GrpcModule;
  /** Default "127.0.0.1": nobody but this machine. */
  hostname?: string;
  /** Default 8001; 0: any that is free. */
  port?: number;
  /** Certificate chain and private key as PEM: TLS, in Node and Bun. */
  tls?: { readonly cert: string; readonly key: string };
}

/** A port that is listened at. */
export interface GrpcListener {
  /** Its number. */
  readonly port: number;
  /**
   * Takes no more calls, and no more messages of those that bring many, and resolves when all under way are answered.
   * @param graceMs how long that may take; they are ended then. Default 30,000; Infinity: as long as it takes
   */
  close(graceMs?: number): Promise<void>;
}

const CHECKS: Checks<ListenGrpcOptions> = {
  grpc(name, value) {
    const isModule = typeof (value as Partial<GrpcModule>)?.Server ===
      "function";
    if (!isModule) {
      throw new TypeError(`"${name}" is the module @grpc/grpc-js`);
    }
  },
  hostname: ofType("string"),
  port: integer(0, 65_535),
  tls: checkTls,
};

/**
 * Speaks the Open Inference Protocol over gRPC, with the same models, keys, limits and figures as the server does over
 * HTTP. Messages are as large as bodies may be.
 * @throws TypeError or RangeError on an option that is none; what the runtime throws where the port is taken; Error in a
 * runtime without ports, and in Deno with `tls`
 *
 * @example
 * ```ts
 * import type { EngineHost } from "@shoal/core/server";
 * import { createServer } from "@shoal/core/server";
 * import { type GrpcListener, type GrpcModule, listenGrpc } from "@shoal/core/grpc";
 *
 * // With `import * as grpc from "@grpc/grpc-js"`.
 * function listen(host: EngineHost, grpc: GrpcModule): Promise<GrpcListener> {
 *   return listenGrpc(createServer(host), { grpc, port: 8001 });
 * }
 * ```
 */
export async function listenGrpc(
  server: Server,
  options: ListenGrpcOptions,
): Promise<GrpcListener> {
  const { grpc, hostname = "127.0.0.1", port = PORT, tls } = checkedOptions(
    "listenGrpc()",
    options,
    CHECKS,
    ["grpc"],
  );
  if (tls && "Deno" in globalThis) {
    throw new Error(
      "Deno's HTTP/2 servers do not encrypt: gRPC with TLS needs Node or Bun, or a proxy in front",
    );
  }
  const buffer = nodeModule("node:buffer");
  if (buffer === undefined) throw new Error("This runtime has no ports");
  const { bytesMax, urlCharactersMax: _, headerCharactersMax } = server.limits;
  const own = new grpc.Server({
    "grpc.max_receive_message_length": bytesMax - FRAME_BYTES,
    "grpc.max_send_message_length": -1,
    "grpc.max_metadata_size": headerCharactersMax,
    "grpc.max_concurrent_streams": STREAMS_MAX,
    "grpc.keepalive_time_ms": SILENT_MS,
    "grpc.keepalive_timeout_ms": SILENT_MS,
  });
  const handler = server.speaking([GRPC]);
  const door: Door = {
    handler,
    grpc,
    isSecure: tls !== undefined,
    endStream: new Set(),
  };
  const bytesOf = (message: Uint8Array) =>
    buffer.Buffer.from(message.buffer, message.byteOffset, message.byteLength);
  for (const [service, implementation] of services(door, bytesOf)) {
    own.addService(service, implementation);
  }
  const pem = (text: string) => bytesOf(new TextEncoder().encode(text));
  const credentials = tls
    ? grpc.ServerCredentials.createSsl(null, [{
      private_key: pem(tls.key),
      cert_chain: pem(tls.cert),
    }])
    : grpc.ServerCredentials.createInsecure();
  const host = hostname.includes(":") ? `[${hostname}]` : hostname;
  const given = await new Promise<number>((resolve, reject) =>
    own.bindAsync(
      `${host}:${port}`,
      credentials,
      (error, port) => error ? reject(error) : resolve(port),
    )
  );
  return {
    port: given,
    close(graceMs) {
      const closed = new Promise<void>((resolve) =>
        own.tryShutdown(() => resolve())
      );
      for (const end of door.endStream) end();
      return within(closed, graceMs, () => own.forceShutdown());
    },
  };
}

/** What calls are answered with. */
interface Door {
  readonly handler: Handler;
  readonly grpc: GrpcModule;
  readonly isSecure: boolean;
  /** Of each call whose messages are a stream, until its last: takes no more of them. */
  readonly endStream: Set<() => void>;
}

/** The one whose messages are streams, both ways. */
const STREAMED = "/ModelStreamInfer";

/** Services, and what answers their calls. */
function services(
  door: Door,
  bytesOf: (message: Uint8Array) => Uint8Array,
): (readonly [service: object, implementation: object])[] {
  const found = new Map<
    string,
    [Record<string, object>, Record<string, object>]
  >();
  for (const { path } of GRPC.routes) {
    const [, service, method] = path.split("/");
    if (!found.has(service)) found.set(service, [{}, {}]);
    const [definition, implementation] = found.get(service)!;
    const isStreamed = path.endsWith(STREAMED);
    const asItIs = (message: Uint8Array) => message;
    definition[method] = {
      path,
      requestStream: isStreamed,
      responseStream: isStreamed,
      requestSerialize: bytesOf,
      requestDeserialize: asItIs,
      responseSerialize: bytesOf,
      responseDeserialize: asItIs,
    };
    implementation[method] = isStreamed
      ? (call: GrpcStreamCall) => void answerStream(door, path, call)
      : (call: GrpcUnaryCall, done: Done) =>
        void answerUnary(door, path, call, done);
  }
  return [...found.values()];
}

type Done = (
  status: GrpcStatus | null,
  message?: Uint8Array,
  trailers?: GrpcMetadata,
) => void;

/** Nobody waits for the call any more: its client has left, or its time is over. */
const GONE = new DOMException("The client has left", "AbortError");

async function answerUnary(
  door: Door,
  path: string,
  call: GrpcUnaryCall,
  done: Done,
): Promise<void> {
  try {
    const message = call.request;
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(frameHead(message.length));
        if (message.length > 0) controller.enqueue(message);
        controller.close();
      },
    });
    const length = message.length + FRAME_BYTES;
    const response = await fetched(door, path, call, body, length);
    done(null, unframed(new Uint8Array(await response.arrayBuffer())));
  } catch (error) {
    done(statusOf(door, error));
  }
}

async function answerStream(
  door: Door,
  path: string,
  call: GrpcStreamCall,
): Promise<void> {
  let isOver = false;
  let giveUp = (_reason: unknown) => {};
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      giveUp = (reason) => {
        isOver = true;
        controller.error(reason);
      };
      call.pause();
      call.on("data", (message) => {
        call.pause();
        // It was on its way already.
        if (isOver) return;
        controller.enqueue(frameHead(message.length));
        if (message.length > 0) controller.enqueue(message);
      });
      call.on("end", () => {
        door.endStream.delete(end);
        if (!isOver) controller.close();
      });
      call.on("cancelled", () => giveUp(GONE));
    },
    pull: () => void call.resume(),
    cancel() {
      isOver = true;
      call.pause();
    },
  }, { highWaterMark: 0 });
  // Its client may have nothing to ask for a long time.
  const end = () => giveUp(new UnavailableError("The server is about to end"));
  door.endStream.add(end);
  let goOn = () => {};
  call.on("drain", () => goOn());
  call.on("cancelled", () => goOn());
  try {
    const response = await fetched(door, path, call, body);
    for await (const message of frames(response.body!, Infinity)) {
      const drained = new Promise<void>((resolve) => goOn = resolve);
      if (!call.write(message)) await drained;
    }
    call.end();
  } catch (error) {
    call.emit("error", statusOf(door, error));
  } finally {
    door.endStream.delete(end);
  }
}

/** @throws HttpError where the answer is none */
async function fetched(
  { handler, grpc, isSecure }: Door,
  path: string,
  call: GrpcCall,
  body: ReadableStream<Uint8Array>,
  length?: number,
): Promise<Response> {
  const gone = new AbortController();
  call.on(
    "cancelled",
    () => gone.abort(GONE),
  );
  const headers = headersOf(call);
  if (length !== undefined) headers.set("content-length", `${length}`);
  const request = new Request(
    `${isSecure ? "https" : "http"}://localhost${path}`,
    {
      method: "POST",
      headers,
      body,
      signal: gone.signal,
      ...{ duplex: "half" },
    },
  );
  const response = await handler.fetch(request, {
    isLoopback: isLoopback(call.getPeer().replace(/:\d+$/, "")),
  });
  if (!response.ok) {
    const { error } = await response.json();
    const told = Object.fromEntries(response.headers);
    throw new HttpError(response.status, error, told);
  }
  const first = new grpc.Metadata();
  first.set(REQUEST_ID, response.headers.get(REQUEST_ID)!);
  call.sendMetadata(first);
  return response;
}

const REQUEST_ID = "x-request-id";

/** @throws HttpError 400 on metadata that are no headers */
function headersOf(call: GrpcCall): Headers {
  const headers = new Headers();
  try {
    for (const [name, value] of Object.entries(call.metadata.getMap())) {
      if (typeof value === "string") headers.set(name, value);
    }
  } catch (error) {
    throw new HttpError(400, "Metadata are no headers", {}, { cause: error });
  }
  const deadlineMs = Number(call.getDeadline());
  if (deadlineMs < Infinity) {
    headers.set(TIMEOUT, timeoutText(deadlineMs - dateMs()));
  }
  return headers;
}

/**
 * Characters of an error's details: clients take trailers of 8 KiB unless told otherwise (grpc/grpc, "grpc.max_metadata_size"),
 * Node sends none of more than 64 KiB, and a character may take nine bytes.
 */
const DETAILS_MAX = 800;

/** Halves of characters, which texts may have: what percent-encodes details throws on them, in nobody's hands. */
const HALVES = /\p{Surrogate}/gu;

/** What trailers tell besides; the first says when a client may try again (grpc/proposal, A6). */
const TRAILERS = ["grpc-retry-pushback-ms", "retry-after-ms", REQUEST_ID];

function statusOf({ grpc }: Door, error: unknown): GrpcStatus {
  const told = httpErrorOf(error);
  const metadata = new grpc.Metadata();
  const pushback = told.headers["retry-after-ms"];
  const trailers: Readonly<Record<string, string | undefined>> = {
    ...told.headers,
    ...(pushback !== undefined && { "grpc-retry-pushback-ms": pushback }),
  };
  for (const name of TRAILERS) {
    const value = trailers[name];
    if (value !== undefined) metadata.set(name, value);
  }
  const details = shorten(told.message, DETAILS_MAX).replace(HALVES, "\ufffd");
  return { code: codeOf(told), details, metadata };
}
