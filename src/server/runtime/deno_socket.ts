/** Deno's WebSockets as protocols see them. */
import { CLIENT_GONE } from "../http/error_status.ts";
import type { Socket, SocketHandlers } from "../http/socket.ts";
import { lastTurns } from "./last_turns.ts";
import { SILENT_MS, UNREAD_MAX } from "./socket_limits.ts";

/** How long it may take from the request to a socket that is open; what is none by then has no client. */
const OPENING_MS = 5000;

/** As much of Deno as is used. */
export interface DenoSockets {
  upgradeWebSocket(
    request: Request,
    options: { readonly protocol?: string; readonly idleTimeout: number },
  ): { readonly socket: WebSocket; readonly response: Response };
}

/**
 * Makes a WebSocket of a request's connection; Deno closes it when the server ends. First it lets what is known of the
 * client arrive: of one that has left Deno would keep the connection for good, and its server, and the process, would
 * not end.
 * @param handlers hear of it, whatever becomes of it
 * @returns what the request is to be answered with; 400 where it is no handshake
 */
export async function openDenoSocket(
  sockets: DenoSockets,
  request: Request,
  handlers: SocketHandlers,
  protocol: string | undefined,
): Promise<Response> {
  await lastTurns();
  if (request.signal.aborted) {
    handlers.closed();
    return new Response(null, { status: CLIENT_GONE });
  }
  const upgraded = upgrade(sockets, request, handlers, protocol);
  if (upgraded === undefined) return new Response(null, { status: 400 });
  const { socket, response } = upgraded;
  // Of a client that leaves before it is answered no event tells, nor, in all of Deno's modes, the request's signal.
  const opening = setTimeout(() => {
    socket.onopen = () => socket.close();
    socket.onclose = null;
    handlers.closed();
  }, OPENING_MS);
  socket.onopen = () => {
    clearTimeout(opening);
    handlers.opened(seenFrom(socket));
  };
  socket.onmessage = ({ data }) => {
    if (typeof data === "string") handlers.message(data);
    else socket.close(1003, "Messages are text");
  };
  socket.onclose = () => {
    clearTimeout(opening);
    handlers.closed();
  };
  // What is told of a connection that breaks is told by "close".
  socket.onerror = () => {};
  return response;
}

/** @returns undefined of what is no handshake, by its headers */
function upgrade(
  { upgradeWebSocket }: DenoSockets,
  request: Request,
  handlers: SocketHandlers,
  protocol: string | undefined,
): ReturnType<DenoSockets["upgradeWebSocket"]> | undefined {
  try {
    return upgradeWebSocket(request, {
      idleTimeout: SILENT_MS / 1000,
      ...(protocol !== undefined && { protocol }),
    });
  } catch (error) {
    handlers.closed();
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

function seenFrom(socket: WebSocket): Socket {
  return {
    send(text) {
      if (socket.readyState !== WebSocket.OPEN) return;
      socket.send(text);
      // Deno keeps for a client whatever it leaves unread.
      if (socket.bufferedAmount > UNREAD_MAX) {
        socket.close(1008, "Too much is left unread");
      }
    },
    close: (code, reason) => socket.close(code, reason),
  };
}
