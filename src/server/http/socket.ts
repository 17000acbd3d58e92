/** WebSockets as protocols see them, whatever the runtime makes of them. */
import { HttpError } from "./http_error.ts";

/** The server's side of a WebSocket of text messages. */
export interface Socket {
  /** Does nothing when it is closed. */
  send(text: string): void;
  /**
   * Ends it.
   * @param code 1000, or from RFC 6455, section 7.4
   */
  close(code: number, reason: string): void;
}

/** Who hears of a socket. */
export interface SocketHandlers {
  /** It may be sent to from now on. */
  opened(socket: Socket): void;
  /** What the client sent. */
  message(text: string): void;
  /** However it came about. Nothing follows. */
  closed(): void;
}

/** What a runtime can do with the connection of a request. */
export interface Connection {
  /**
   * Makes a WebSocket of it.
   * @param protocol that of those that the client offers (`Sec-WebSocket-Protocol`) which is chosen, if any
   * @returns what the request is to be answered with
   * @throws HttpError 400 where the runtime sees at once that it is no handshake; else it is answered so
   */
  openSocket?(handlers: SocketHandlers, protocol?: string): Response;
}

/** Where the runtime finds that a request is none for a WebSocket (RFC 6455, section 4.2.1). */
export function noHandshake(): HttpError {
  return new HttpError(400, "This is no handshake of a WebSocket");
}
