/** Bun's server. */
import { noHandshake, type SocketHandlers } from "../http/socket.ts";
import { headAnswer } from "./head_answer.ts";
import { lastTurns } from "./last_turns.ts";
import type { Address, Handler, Listener } from "./listener.ts";
import { isLoopback } from "./loopback.ts";
import {
  ENDING,
  GOING_AWAY,
  MESSAGE_MAX,
  SILENT_MS,
  UNREAD_MAX,
} from "./socket_limits.ts";
import { urlOf, urlRefusal } from "./url.ts";
import { within } from "./within.ts";

/** A WebSocket as Bun has it. */
interface BunSocket {
  readonly data: { readonly handlers: SocketHandlers };
  readonly readyState: number;
  send(text: string): number;
  close(code: number, reason: string): void;
}

interface BunServer {
  requestIP(request: Request): { readonly address: string } | null;
  upgrade(
    request: Request,
    options: {
      readonly data: BunSocket["data"];
      readonly headers: Readonly<Record<string, string>>;
    },
  ): boolean;
}

/** As much of Bun as is used. */
interface BunRuntime {
  serve(options: {
    readonly hostname: string;
    readonly port: number;
    readonly tls?: Address["tls"];
    readonly idleTimeout: number;
    readonly maxRequestBodySize: number;
    fetch(request: Request, server: BunServer): Promise<Response | undefined>;
    readonly websocket: {
      readonly maxPayloadLength: number;
      readonly idleTimeout: number;
      readonly backpressureLimit: number;
      readonly closeOnBackpressureLimit: boolean;
      open(socket: BunSocket): void;
      message(socket: BunSocket, data: string | Uint8Array): void;
      close(socket: BunSocket): void;
    };
  }): {
    readonly port: number;
    /** Requests whose answer has not left in full. */
    readonly pendingRequests: number;
    stop(closeActiveConnections?: boolean): Promise<void>;
  };
}

/** Seconds that a connection may be silent, the most there can be: what is computed may take its time. */
const IDLE_S = 255;

/** Between two looks for requests that are under way, when the server ends. */
const LOOK_MS = 10;

/** `readyState` of a socket that is open. */
const OPEN = 1;

const { Bun: bun } = globalThis as { Bun?: BunRuntime };

/** Undefined elsewhere. */
export const listenInBun = bun &&
  ((server: Handler, { hostname, port, tls }: Address) =>
    new Promise<Listener>((resolve) => {
      const open = new Set<BunSocket>();
      let isEnding = false;
      const listening = bun.serve({
        hostname,
        port,
        ...(tls && { tls }),
        idleTimeout: IDLE_S,
        // Bodies have limits of their own.
        maxRequestBodySize: Number.MAX_SAFE_INTEGER,
        async fetch(request, own) {
          const named = withHost(request, tls !== undefined);
          const refusal = urlRefusal(named);
          if (refusal) return refusal;
          let isSocket = false;
          const response = await server.fetch(named, {
            isLoopback: isLoopback(own.requestIP(request)?.address),
            openSocket(handlers, protocol) {
              isSocket = own.upgrade(request, {
                data: { handlers },
                headers: protocol === undefined
                  ? {}
                  : { "sec-websocket-protocol": protocol },
              });
              if (isSocket) return new Response();
              throw noHandshake();
            },
          });
          // Bun has answered it.
          return isSocket ? undefined : headAnswer(request, response);
        },
        websocket: {
          maxPayloadLength: MESSAGE_MAX,
          // It asks before that, and answers count.
          idleTimeout: 2 * SILENT_MS / 1000,
          backpressureLimit: UNREAD_MAX,
          closeOnBackpressureLimit: true,
          open(socket) {
            open.add(socket);
            socket.data.handlers.opened({
              send(text) {
                if (socket.readyState === OPEN) socket.send(text);
              },
              close: (code, reason) => socket.close(code, reason),
            });
            // It was asked for before.
            if (isEnding) socket.close(GOING_AWAY, ENDING);
          },
          message(socket, data) {
            if (typeof data === "string") socket.data.handlers.message(data);
            else socket.close(1003, "Messages are text");
          },
          close(socket) {
            open.delete(socket);
            socket.data.handlers.closed();
          },
        },
      });
      resolve({
        url: urlOf(hostname, listening.port, tls !== undefined),
        port: listening.port,
        async close(graceMs) {
          await lastTurns();
          isEnding = true;
          for (const socket of open) socket.close(GOING_AWAY, ENDING);
          const stopped = listening.stop();
          // Bun waits 12 s for a connection that has sent half a head, and says nothing when a request is over.
          const looking = setInterval(() => {
            if (listening.pendingRequests + open.size === 0) {
              listening.stop(true);
            }
          }, LOOK_MS);
          return within(stopped, graceMs, () => listening.stop(true))
            .finally(() => clearInterval(looking));
        },
      });
    }));

/** Of a client that names no host, as one of HTTP/1.0 may (RFC 9112, section 3.2), Bun has a path in place of a URL. */
function withHost(request: Request, isSecure: boolean): Request {
  const { url } = request;
  return url.startsWith("/")
    ? new Request(`${isSecure ? "https" : "http"}://localhost${url}`, request)
    : request;
}
