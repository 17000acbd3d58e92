/**
 * Requests that would rather speak another protocol. A server may go on as if they had not said so (RFC 9110, section
 * 7.8), and has to for HTTP/2 without encryption, which Java's client and `curl --http2` ask for with every first
 * request. But where one listens for upgrades at all, Node stops reading behind the head of each of them, so that the
 * body is lost.
 */
import type { IncomingMessage } from "node:http";

/** Names that are about the connection, and mean nothing without the upgrade. */
const OF_UPGRADE: readonly string[] = ["upgrade", "http2-settings"];

/** Whether it is the handshake of a WebSocket (RFC 6455, section 4.1). */
export function asksForSocket({ method, headers }: IncomingMessage): boolean {
  return method === "GET" &&
    tokensOf(headers.upgrade ?? "").includes("websocket");
}

/**
 * The request's bytes without its wish, to be read anew.
 * @param rest what has come behind its head
 */
export function withoutUpgrade(
  { method, url, httpVersion, rawHeaders }: IncomingMessage,
  rest: Uint8Array,
): Uint8Array {
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const [name, value] = [rawHeaders[i].toLowerCase(), rawHeaders[i + 1]];
    if (OF_UPGRADE.includes(name)) continue;
    const kept = name === "connection"
      ? tokensOf(value).filter((token) => !OF_UPGRADE.includes(token)).join()
      : value;
    lines.push(`${name}: ${kept}`);
  }
  const head = `${lines.join("\r\n")}\r\n\r\n`;
  const bytes = new Uint8Array(head.length + rest.length);
  // As Node has read it: a byte is a character.
  for (let i = 0; i < head.length; i++) bytes[i] = head.charCodeAt(i);
  bytes.set(rest, head.length);
  return bytes;
}

function tokensOf(value: string): string[] {
  return value.split(",").map((token) => token.trim().toLowerCase());
}
