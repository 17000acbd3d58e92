/** Node's server, whose requests and responses are not those of the Web. */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex, Writable } from "node:stream";
import { nodeModule } from "../../base/node_module.ts";
import type { Address, Handler, Listener } from "./listener.ts";
import { lastTurns } from "./last_turns.ts";
import { isLoopback } from "./loopback.ts";
import { NodeSockets, type Wanted } from "./node_sockets.ts";
import { asksForSocket, withoutUpgrade } from "./node_upgrade.ts";
import { isHost, urlOf } from "./url.ts";
import { within } from "./within.ts";

/** Bytes of a body that wait to be read before its sender has to. */
const BUFFER_BYTES = 2 ** 16;

/** Status of a body that takes too long. */
const TOO_SLOW = 408;

/** How long a connection is kept for the next request: longer than proxies keep theirs (nginx, AWS: 60 s), or they send it while it ends. */
const IDLE_MS = 75_000;

/** How long the rest of a request is read that has been answered. */
const LINGER_MS = 1000;

/** Listens with node:http, or node:https. */
export function listenInNode(
  handler: Handler,
  { hostname, port, tls }: Address,
): Promise<Listener> {
  const http = nodeModule("node:http");
  const https = nodeModule("node:https");
  if (!http || !https) {
    return Promise.reject(
      new Error("This runtime has no ports: call fetch() of the server"),
    );
  }
  /** Connections, and how many requests each has under way. */
  const underWay = new Map<Duplex, number>();
  /** Connections that do not speak TLS yet, by whom they are with: of these Node's server tells nothing. */
  const beforeTls = new Map<string, Socket>();
  let isEnding = false;
  const serve = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const { socket } = incoming;
    const count = (by: number) => {
      const before = underWay.get(socket);
      if (before !== undefined) underWay.set(socket, before + by);
    };
    count(1);
    outgoing.once("close", () => {
      count(-1);
      // Node would keep it, in case there is another request.
      if (isEnding && underWay.get(socket) === 0) socket.destroySoon();
    });
    void answer(handler, incoming, outgoing, tls !== undefined);
  };
  const server: Server = tls
    ? https.createServer({ ...tls }, serve)
    : http.createServer(serve);
  server.keepAliveTimeout = IDLE_MS;
  server.on(tls ? "secureConnection" : "connection", (connection: Duplex) => {
    // It comes again with each request that would rather speak another protocol.
    if (underWay.has(connection)) return;
    underWay.set(connection, 0);
    connection.once("close", () => underWay.delete(connection));
    if (tls) beforeTls.delete(peerOf(connection as Socket));
  });
  if (tls) {
    server.on("connection", (connection: Socket) => {
      const peer = peerOf(connection);
      beforeTls.set(peer, connection);
      connection.once("close", () => beforeTls.delete(peer));
    });
  }
  const sockets = new NodeSockets();
  /** Connections that Node has handed over: it ends none of them. */
  const handedOver = new Set<Duplex>();
  server.on("upgrade", (incoming, connection, head) => {
    if (!asksForSocket(incoming)) {
      connection.unshift(withoutUpgrade(incoming, head));
      server.emit(tls ? "secureConnection" : "connection", connection);
      return;
    }
    underWay.delete(connection);
    handedOver.add(connection);
    connection.once("close", () => handedOver.delete(connection));
    void upgrade(handler, incoming, connection, head, {
      sockets,
      isSecure: tls !== undefined,
    });
  });
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, hostname, () => {
      server.off("error", reject);
      const { port } = server.address() as AddressInfo;
      resolve({
        url: urlOf(hostname, port, tls !== undefined),
        port,
        async close(graceMs) {
          await lastTurns();
          isEnding = true;
          const closed = new Promise<void>((resolve) =>
            server.close(() => resolve())
          );
          server.closeIdleConnections();
          // Node's leaves those that have sent nothing yet (browsers and balancers open some ahead), or half a head.
          for (const [connection, requests] of underWay) {
            if (requests === 0) connection.destroy();
          }
          for (const connection of beforeTls.values()) connection.destroy();
          sockets.closeAll();
          return within(closed, graceMs, () => {
            server.closeAllConnections();
            for (const connection of handedOver) connection.destroy();
          });
        },
      });
    });
  });
}

function peerOf(
  { localAddress, remoteAddress, remotePort }: Socket,
): string {
  return `${localAddress} ${remoteAddress} ${remotePort}`;
}

async function answer(
  handler: Handler,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  isSecure: boolean,
): Promise<void> {
  const gone = new AbortController();
  outgoing.on("close", () => {
    if (outgoing.writableFinished) return;
    gone.abort(new DOMException("The client has left", "AbortError"));
  });
  // What is told of a connection that breaks is told by "close".
  outgoing.on("error", () => {});
  let request: Request;
  try {
    request = requestOf(incoming, isSecure, gone.signal);
  } catch {
    outgoing.writeHead(400, { connection: "close" }).end();
    return;
  }
  const response = await handler.fetch(request, {
    isLoopback: isLoopback(incoming.socket.remoteAddress),
  });
  await write(response, incoming, outgoing, gone.signal);
}

/** A request for a WebSocket: it becomes one if a route makes one of it; otherwise it is one like any other, the last one. */
async function upgrade(
  handler: Handler,
  incoming: IncomingMessage,
  connection: Duplex,
  head: Uint8Array,
  { sockets, isSecure }: {
    readonly sockets: NodeSockets;
    readonly isSecure: boolean;
  },
): Promise<void> {
  const gone = new AbortController();
  const leave = () =>
    gone.abort(new DOMException("The client has left", "AbortError"));
  connection.once("close", leave);
  connection.on("error", () => {});
  let request: Request;
  try {
    request = requestOf(incoming, isSecure, gone.signal);
  } catch {
    connection.end(headOf(new Response(null, { status: 400 })));
    return;
  }
  let wanted: Wanted | undefined;
  const response = await handler.fetch(request, {
    isLoopback: isLoopback(incoming.socket.remoteAddress),
    openSocket(handlers, protocol) {
      wanted = { handlers, protocol };
      return new Response();
    },
  });
  if (wanted) {
    const { headers } = response;
    await sockets.open(incoming, connection, head, wanted, headers);
    return;
  }
  // Whatever else comes is read only to see that its sender leaves.
  connection.once("end", leave).resume();
  connection.write(headOf(response));
  await writeBody(response, connection, gone.signal);
}

/** Of an answer after which the connection ends. */
function headOf({ status, headers }: Response): string {
  const lines = [...headers].map(([name, value]) => `${name}: ${value}`);
  const head = [`HTTP/1.1 ${status} `, ...lines, "connection: close"];
  return `${head.join("\r\n")}\r\n\r\n`;
}

/** @throws TypeError on a target, a method or a header that the Web's requests do not have, and on what is no host */
function requestOf(
  incoming: IncomingMessage,
  isSecure: boolean,
  signal: AbortSignal,
): Request {
  const { method = "GET", rawHeaders } = incoming;
  const target = pathOf(incoming.url ?? "/");
  const headers = new Headers();
  for (let i = 0; i < rawHeaders.length; i += 2) {
    headers.append(rawHeaders[i], rawHeaders[i + 1]);
  }
  // A client of HTTP/1.0 need not name one.
  const host = headers.get("host") || "localhost";
  if (!isHost(host)) throw new TypeError("No host");
  const hasBody = method !== "GET" && method !== "HEAD";
  return new Request(`${isSecure ? "https" : "http"}://${host}${target}`, {
    method,
    headers,
    signal,
    ...(hasBody && { body: bodyOf(incoming), duplex: "half" }),
  });
}

/**
 * What begins with two slashes is a path, too, and no host; a target that is a whole URL, as clients send it to a proxy,
 * has to be taken (RFC 9112, section 3.2.2).
 * @throws TypeError on any other
 */
function pathOf(target: string): string {
  if (target.startsWith("/")) return target;
  if (!/^https?:\/\//i.test(target)) throw new TypeError("No path");
  const { pathname, search } = new URL(target);
  return pathname + search;
}

/** What comes in, no faster than it is read. */
function bodyOf(incoming: IncomingMessage): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    start(controller) {
      incoming.pause();
      incoming.on("data", (piece: Uint8Array) => {
        controller.enqueue(piece);
        if ((controller.desiredSize ?? 0) <= 0) incoming.pause();
      });
      incoming.once("end", () => controller.close());
      const fail = () => {
        if (incoming.complete) return;
        controller.error(new TypeError("The body ended early"));
      };
      incoming.once("close", fail);
      incoming.once("error", fail);
    },
    pull() {
      incoming.resume();
    },
    cancel() {
      incoming.removeAllListeners("data");
      incoming.removeAllListeners("end");
      incoming.pause();
    },
  }, new ByteLengthQueuingStrategy({ highWaterMark: BUFFER_BYTES }));
}

/** An answer, head and body. */
async function write(
  response: Response,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  gone: AbortSignal,
): Promise<void> {
  const headers = {
    ...Object.fromEntries(response.headers),
    // The only ones that are not joined.
    "set-cookie": response.headers.getSetCookie(),
  };
  linger(incoming, outgoing);
  // One that comes too slowly will not end soon.
  const isUsedAgain = incoming.complete || response.status !== TOO_SLOW;
  outgoing.writeHead(
    response.status,
    isUsedAgain ? headers : { ...headers, connection: "close" },
  );
  await writeBody(response, outgoing, gone);
}

/**
 * Reads what nobody has read of a request that is answered: it is in front of the next one, and a client whose
 * connection is cut while it sends would often see that and not its answer, also where that is the last one of the
 * connection, as proxies often ask for (RFC 9112, section 9.6). Whoever sends on has been told enough.
 */
function linger(incoming: IncomingMessage, outgoing: ServerResponse): void {
  outgoing.once("finish", () => incoming.removeAllListeners("data").resume());
  if (incoming.complete) return;
  const { socket } = incoming;
  const own: { destroySoon?: () => void } = socket;
  let isLast = false;
  // Node ends a connection by it, behind the last answer.
  own.destroySoon = () => {
    isLast = true;
    socket.end();
  };
  outgoing.once("close", () => {
    const end = () => {
      clearTimeout(timer);
      socket.off("close", end);
      delete own.destroySoon;
      if (isLast || !incoming.complete) socket.destroySoon();
    };
    const timer = setTimeout(end, LINGER_MS);
    // Of a request that was answered its connection tells nothing any more.
    socket.once("close", end);
    if (incoming.closed || socket.closed) end();
    else incoming.once("close", end);
  });
}

/** What goes out behind the head, no faster than the client reads. */
async function writeBody(
  { body }: Response,
  outgoing: Writable,
  gone: AbortSignal,
): Promise<void> {
  const reader = body?.getReader();
  const leave = () => void reader?.cancel(gone.reason).catch(() => {});
  gone.addEventListener("abort", leave);
  if (gone.aborted) leave();
  // Also while the client reads nothing.
  reader?.closed.catch(() => outgoing.destroy());
  try {
    for (;;) {
      const piece = await reader?.read();
      if (piece === undefined || piece.done) break;
      if (!outgoing.write(piece.value)) await drained(outgoing);
    }
    outgoing.end();
  } catch {
    // The head has gone out: that the rest is missing is all that can be said.
    outgoing.destroy();
  } finally {
    gone.removeEventListener("abort", leave);
  }
}

function drained(outgoing: Writable): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      outgoing.off("drain", done);
      outgoing.off("close", done);
      resolve();
    };
    outgoing.once("drain", done);
    outgoing.once("close", done);
    if (outgoing.destroyed) done();
  });
}
