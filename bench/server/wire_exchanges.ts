/**
 * What a server took for each request by what passed on the wire: neither its own event loop nor its client's is asked.
 * Requests and answers of a connection alternate (HTTP/1.1 without pipelining), so that they are matched by order.
 */
import type { Segment } from "./pcap.ts";

/** A request and its answer. Times are when the kernel had them, in milliseconds since 1970. */
export interface Exchange {
  /** Its `x-request-id`, where that is a number that was captured. */
  readonly number: number | undefined;
  readonly status: number;
  /** Its first byte had reached the server's socket. */
  readonly firstMs: number;
  /** Its last byte had; or, where it was answered before, the last one that had come by then. */
  readonly lastMs: number;
  /** The first byte of the answer left. */
  readonly answerMs: number;
}

/** What was found. */
export interface WireExchanges {
  readonly exchanges: readonly Exchange[];
  /** Segments that were not captured, by the numbers of those that were; what they belonged to is left out. */
  readonly gaps: number;
}

const REQUEST = /^[A-Z]+ \//;
const STATUS = /^HTTP\/1\.1 (\d{3})/;
const NUMBER = /\r\nx-request-id: *(\d+)\r\n/i;

/** One side of a connection. */
class Side {
  #next: number | undefined;

  /** @returns whether a segment is the next one, was there before, or comes after one that is missing */
  follows({ sequence, length }: Segment): "next" | "again" | "after a gap" {
    const ahead = this.#next === undefined ? 0 : (sequence - this.#next) | 0;
    if (ahead < 0) return "again";
    this.#next = (sequence + length) >>> 0;
    return ahead === 0 ? "next" : "after a gap";
  }
}

class Connection {
  readonly client = new Side();
  readonly server = new Side();
  /** A request that has no answer yet. */
  open:
    | { number: number | undefined; firstMs: number; lastMs: number }
    | undefined;
}

/** Puts the segments from and to a server's port together. */
export function wireExchanges(
  segments: Iterable<Segment>,
  serverPort: number,
): WireExchanges {
  const connections = new Map<number, Connection>();
  const exchanges: Exchange[] = [];
  let gaps = 0;
  for (const segment of segments) {
    const { atMs, fromPort, toPort } = segment;
    const isRequest = toPort === serverPort;
    if (!isRequest && fromPort !== serverPort) continue;
    const clientPort = isRequest ? fromPort : toPort;
    // A port of a client that has left is given to another one.
    if (isRequest && segment.isFirst) connections.delete(clientPort);
    let connection = connections.get(clientPort);
    if (connection === undefined) {
      connections.set(clientPort, connection = new Connection());
    }
    if (segment.isFirst) continue;
    const side = isRequest ? connection.client : connection.server;
    const place = side.follows(segment);
    if (place === "again") continue;
    if (place === "after a gap") {
      gaps++;
      connection.open = undefined;
    }
    const text = textOf(segment);
    if (isRequest && REQUEST.test(text)) {
      const number = NUMBER.exec(text)?.[1];
      connection.open = {
        number: number === undefined ? undefined : Number(number),
        ...{ firstMs: atMs, lastMs: atMs },
      };
      continue;
    }
    const { open } = connection;
    if (open === undefined) continue;
    if (isRequest) open.lastMs = atMs;
    else {
      const status = STATUS.exec(text)?.[1];
      connection.open = undefined;
      if (status === undefined) continue;
      exchanges.push({ ...open, status: Number(status), answerMs: atMs });
    }
  }
  return { exchanges, gaps };
}

/** Heads are ASCII; what is not captured of them is not looked for. */
function textOf({ payload }: Segment): string {
  return String.fromCharCode(...payload);
}
