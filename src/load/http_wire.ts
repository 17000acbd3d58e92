/**
 * The one adapter to a runtime's HTTP client: `node:http`, which Node, Deno and Bun have. Measured with 64
 * connections against a server that does nothing: 40 µs of processor time a request in Node and 36 in Deno; `fetch`
 * takes 248 and 42 (docs/load.md).
 */
import http from "node:http";
import https from "node:https";
import { EventReader } from "./sse.ts";
import type { LoadClock, Wire, WireAnswer } from "./wire.ts";

/** Bytes of an answer's text that are kept where it is asked for. */
const TEXT_BYTES_MAX = 2 ** 20;

/** Options of {@linkcode httpWire}. */
export interface HttpWireOptions {
  /** Scheme, host and port. */
  readonly origin: URL;
  /** Connections that stay open at most. */
  readonly connections: number;
  /** Whether connections are used again. */
  readonly keepAlive: boolean;
  readonly clock: Pick<LoadClock, "nowNs">;
}

/** Connections to a server over HTTP/1.1. */
export function httpWire(
  { origin, connections, keepAlive, clock }: HttpWireOptions,
): Wire {
  const { Agent, request: start } = origin.protocol === "https:" ? https : http;
  const agent = new Agent({
    keepAlive,
    maxSockets: connections,
    maxFreeSockets: connections,
  });
  const to = {
    agent,
    // A URL has IPv6 addresses in brackets, a socket has not.
    host: origin.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: origin.port || (origin.protocol === "https:" ? 443 : 80),
  };
  return {
    send: ({ method, path, headers, body }, { abandon, wantsText } = {}) =>
      new Promise<WireAnswer>((resolve) => {
        let status = 0;
        let firstNs = NaN;
        let bytes = 0;
        let events: EventReader | undefined;
        const pieces: Uint8Array[] = [];
        const end = (error?: string) => {
          abandon?.removeEventListener("abort", leave);
          resolve({
            ...{ status, firstNs, bytes, endNs: clock.nowNs() },
            ...(error !== undefined && { error }),
            eventsNs: events?.eventsNs ?? [],
            ...(wantsText && { text: decoded(pieces) }),
          });
        };
        const request = start({
          ...to,
          ...{ method, path },
          headers: { ...headers, "content-length": body.length },
        }, (response) => {
          firstNs = clock.nowNs();
          status = response.statusCode ?? 0;
          if (
            /^text\/event-stream\b/.test(`${response.headers["content-type"]}`)
          ) {
            events = new EventReader();
          }
          response.on("data", (piece: Uint8Array) => {
            bytes += piece.length;
            events?.push(piece, clock.nowNs());
            if (wantsText && bytes <= TEXT_BYTES_MAX) pieces.push(piece);
          });
          response.on("end", () => end(events?.error));
          // When the connection breaks before the end.
          response.on("aborted", () => end("the answer was cut off"));
          response.on("error", (error) => end(reason(error)));
        });
        const leave = () => {
          request.destroy();
          end("abandoned");
        };
        // Deno would send a request again whose connection had been used before and broke, or was left.
        request.on("socket", () => request.reusedSocket = false);
        request.on("error", (error) => end(reason(error)));
        // Without a listener of this, nothing but "close" would tell of it.
        request.on("upgrade", (_response, socket) => {
          socket.destroy();
          end("the server switched protocols");
        });
        abandon?.addEventListener("abort", leave);
        if (abandon?.aborted) leave();
        request.end(body);
      }),
    close: () => agent.destroy(),
  };
}

/** The same words for the same reason, so that they can be counted. */
function reason(error: Error & { code?: string }): string {
  return error.code ?? error.message;
}

function decoded(pieces: readonly Uint8Array[]): string {
  const decoder = new TextDecoder();
  return pieces.map((piece) => decoder.decode(piece, { stream: true })).join(
    "",
  ) + decoder.decode();
}
