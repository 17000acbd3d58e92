/** WebSockets over the connections that Node hands over (RFC 6455): it brings none of its own. */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Socket, SocketHandlers } from "../http/socket.ts";
import {
  acceptKey,
  closeFrame,
  pingFrame,
  pongFrame,
  SocketProtocolError,
  SocketReader,
  textFrame,
} from "./socket_frames.ts";
import {
  ENDING,
  GOING_AWAY,
  MESSAGE_MAX,
  SILENT_MS,
  UNREAD_MAX,
} from "./socket_limits.ts";

/** How long a client has to answer a close, or to leave when its own was answered. */
const CLOSE_MS = 2000;

/** What a route asked for. */
export interface Wanted {
  readonly handlers: SocketHandlers;
  readonly protocol: string | undefined;
}

/** Sockets of one server. */
export class NodeSockets {
  readonly #open = new Set<NodeSocket>();
  readonly #silentMs: number;
  #looking: ReturnType<typeof setInterval> | undefined;
  #isEnding = false;

  /** @param silentMs how long a client may be silent before it is asked whether it is there, and after that */
  constructor(silentMs = SILENT_MS) {
    this.#silentMs = silentMs;
  }

  /** Finishes the handshake (section 4.2.2). */
  async open(
    incoming: IncomingMessage,
    connection: Duplex,
    head: Uint8Array,
    { handlers, protocol }: Wanted,
    headers: Headers,
  ): Promise<void> {
    const key = incoming.headers["sec-websocket-key"];
    const isHandshake = key !== undefined &&
      incoming.headers["sec-websocket-version"] === "13";
    const accepted = isHandshake ? await acceptKey(key) : undefined;
    // Of what broke while this was computed, too, no event tells any more.
    if (accepted === undefined || connection.destroyed) {
      handlers.closed();
      connection.end(
        "HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
      );
      return;
    }
    const lines = [
      "HTTP/1.1 101 Switching Protocols",
      "upgrade: websocket",
      "connection: Upgrade",
      `sec-websocket-accept: ${accepted}`,
      ...(protocol === undefined
        ? []
        : [`sec-websocket-protocol: ${protocol}`]),
      ...[...headers].map(([name, value]) => `${name}: ${value}`),
    ];
    connection.write(`${lines.join("\r\n")}\r\n\r\n`);
    const socket = new NodeSocket(connection, handlers);
    this.#open.add(socket);
    this.#looking ??= setInterval(() => this.#look(), this.#silentMs);
    connection.once("close", () => this.#forget(socket));
    socket.begin(head);
    if (this.#isEnding) socket.close(GOING_AWAY, ENDING);
  }

  /** The server is about to end: those that are open are closed, and those that were asked for, when they are. */
  closeAll(): void {
    this.#isEnding = true;
    for (const socket of this.#open) socket.close(GOING_AWAY, ENDING);
  }

  /** Of clients whose network is gone no event tells. */
  #look(): void {
    for (const socket of this.#open) socket.look();
  }

  #forget(socket: NodeSocket): void {
    this.#open.delete(socket);
    if (this.#open.size > 0) return;
    clearInterval(this.#looking);
    this.#looking = undefined;
  }
}

class NodeSocket implements Socket {
  readonly #connection: Duplex;
  readonly #handlers: SocketHandlers;
  readonly #reader = new SocketReader(MESSAGE_MAX);
  #isClosing = false;
  /** Since the last look. */
  #isHeard = true;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(connection: Duplex, handlers: SocketHandlers) {
    this.#connection = connection;
    this.#handlers = handlers;
  }

  /** @param head what has come behind the handshake */
  begin(head: Uint8Array): void {
    const connection = this.#connection;
    // What is told of a connection that breaks is told by "close".
    connection.on("error", () => {});
    connection.once("close", () => {
      clearTimeout(this.#timer);
      this.#isClosing = true;
      this.#handlers.closed();
    });
    connection.on("end", () => connection.end());
    this.#handlers.opened(this);
    connection.on("data", (bytes: Uint8Array) => this.#take(bytes));
    if (head.length > 0) this.#take(head);
  }

  send(text: string): void {
    if (!this.#isClosing) this.#write(textFrame(text));
  }

  close(code: number, reason: string): void {
    if (!this.#isClosing) this.#close(closeFrame(code, reason));
  }

  /** A client has so long for its part: one that has gone does nothing any more. */
  #close(frame: Uint8Array): void {
    this.#isClosing = true;
    this.#connection.write(frame);
    this.#timer = setTimeout(() => this.#connection.destroy(), CLOSE_MS);
  }

  /** Asks a client that was silent since the last look; one that did not answer that has gone. */
  look(): void {
    if (this.#isClosing) return;
    if (!this.#isHeard) {
      this.#connection.destroy();
      return;
    }
    this.#isHeard = false;
    this.#connection.write(pingFrame());
  }

  #write(frame: Uint8Array): void {
    this.#connection.write(frame);
    if (this.#connection.writableLength > UNREAD_MAX) {
      this.#connection.destroy();
    }
  }

  #take(bytes: Uint8Array): void {
    this.#isHeard = true;
    try {
      for (const message of this.#reader.push(bytes)) {
        switch (message.kind) {
          case "text":
            if (!this.#isClosing) this.#handlers.message(message.text);
            break;
          case "binary":
            this.close(1003, "Messages are text");
            break;
          case "ping":
            this.#write(pongFrame(message.bytes));
            break;
          case "close":
            // It is answered, or was the answer (section 5.5.1).
            if (!this.#isClosing) this.#close(closeFrame(message.code));
            this.#connection.end();
        }
      }
    } catch (error) {
      if (!(error instanceof SocketProtocolError)) throw error;
      this.#connection.removeAllListeners("data");
      this.#connection.resume();
      this.close(error.code, error.message);
    }
  }
}
