/** Exchanges on the wire, from captures that are written here byte by byte. */
import assert from "node:assert/strict";
import { segmentsOf } from "../../../bench/server/pcap.ts";
import { wireExchanges } from "../../../bench/server/wire_exchanges.ts";

const SERVER = 8000;
const START_S = 1_700_000_000;

interface Packet {
  readonly atMs: number;
  readonly from: number;
  readonly to: number;
  readonly sequence: number;
  readonly text: string;
  /** Bytes of its text that were captured. */
  readonly captured?: number;
  readonly isFirst?: boolean;
}

/** A packet with options in both headers, as Linux sends them. */
function frameOf(
  { from, to, sequence, text, captured, isFirst = false }: Packet,
): Uint8Array {
  const [ip, tcp] = [14, 14 + 24];
  const data = tcp + 32;
  const frame = new Uint8Array(data + text.length);
  const view = new DataView(frame.buffer);
  view.setUint16(12, 0x0800);
  view.setUint8(ip, 0x46);
  view.setUint16(ip + 2, frame.length - ip);
  view.setUint8(ip + 9, 6);
  view.setUint16(tcp, from);
  view.setUint16(tcp + 2, to);
  view.setUint32(tcp + 4, sequence);
  view.setUint8(tcp + 12, 8 << 4);
  view.setUint8(tcp + 13, isFirst ? 0x02 : 0x10);
  frame.set(new TextEncoder().encode(text), data);
  return frame.subarray(0, data + (captured ?? text.length));
}

function captureOf(
  packets: readonly Packet[],
  { isLittle, perMs }: { isLittle: boolean; perMs: 1e3 | 1e6 },
): Uint8Array {
  const frames = packets.map(frameOf);
  const file = new Uint8Array(
    frames.reduce((bytes, { length }) => bytes + 16 + length, 24),
  );
  const view = new DataView(file.buffer);
  view.setUint32(0, perMs === 1e6 ? 0xa1b23c4d : 0xa1b2c3d4, isLittle);
  view.setUint32(20, 1, isLittle);
  let at = 24;
  frames.forEach((frame, i) => {
    const { atMs } = packets[i];
    view.setUint32(at, START_S + Math.floor(atMs / 1000), isLittle);
    view.setUint32(at + 4, Math.round((atMs % 1000) * perMs), isLittle);
    view.setUint32(at + 8, frame.length, isLittle);
    view.setUint32(at + 12, frame.length, isLittle);
    file.set(frame, at + 16);
    at += 16 + frame.length;
  });
  return file;
}

/** One connection's packets: of each side one behind the other. */
class Talk {
  readonly #next: Record<"client" | "server", number>;

  constructor(readonly port: number, clientStart = 100, serverStart = 900) {
    this.#next = { client: clientStart, server: serverStart };
  }

  client(atMs: number, text: string, captured?: number): Packet {
    return this.#packet("client", atMs, text, captured);
  }

  server(atMs: number, text: string, captured?: number): Packet {
    return this.#packet("server", atMs, text, captured);
  }

  #packet(
    side: "client" | "server",
    atMs: number,
    text: string,
    captured?: number,
  ): Packet {
    const sequence = this.#next[side];
    this.#next[side] = (sequence + text.length) % 2 ** 32;
    const [from, to] = side === "client"
      ? [this.port, SERVER]
      : [SERVER, this.port];
    return {
      ...{ atMs, from, to, sequence, text },
      ...(captured !== undefined && { captured }),
    };
  }
}

const ask = (number: number) =>
  `POST /v2/models/m/infer HTTP/1.1\r\nX-Request-Id: ${number}\r\n\r\n{}`;
const REFUSED = "HTTP/1.1 503 Service Unavailable\r\n\r\n";
const DONE = "HTTP/1.1 200 OK\r\n\r\n";

const UNITS = [
  { isLittle: true, perMs: 1e6 },
  { isLittle: false, perMs: 1e6 },
  { isLittle: true, perMs: 1e3 },
] as const;

function found(
  packets: readonly Packet[],
  units: typeof UNITS[number] = UNITS[0],
) {
  const { exchanges, gaps } = wireExchanges(
    segmentsOf(captureOf(packets, units)),
    SERVER,
  );
  const since = (ms: number) => Math.round((ms - 1000 * START_S) * 1000) / 1000;
  return {
    gaps,
    exchanges: exchanges.map((
      { number, status, firstMs, lastMs, answerMs },
    ) => [
      number,
      status,
      ...[firstMs, lastMs, answerMs].map(since),
    ]),
  };
}

Deno.test("exchanges of connections that take turns are told apart, in all spellings of a file", () => {
  for (const units of UNITS) {
    const [a, b] = [new Talk(40_000), new Talk(40_001)];
    assert.deepEqual(
      found([
        a.client(1, ask(1)),
        b.client(2, ask(2)),
        b.server(2.5, REFUSED),
        a.server(4, DONE),
        a.client(1004.25, ask(3)),
        a.server(1005, REFUSED),
      ], units),
      {
        gaps: 0,
        exchanges: [
          [2, 503, 2, 2, 2.5],
          [1, 200, 1, 1, 4],
          [3, 503, 1004.25, 1004.25, 1005],
        ],
      },
    );
  }
});

Deno.test("a request counts from its first and its last byte, an answer from its first", () => {
  const talk = new Talk(40_000);
  assert.deepEqual(
    found([
      talk.client(1, ask(1)),
      talk.client(3, "the rest of its body"),
      talk.server(4, DONE),
      talk.server(9, "HTTP/1.1 is what its body begins with"),
      talk.client(10, ask(2)),
      talk.server(11, DONE),
    ]).exchanges,
    [[1, 200, 1, 3, 4], [2, 200, 10, 10, 11]],
  );
});

Deno.test("what comes of a body behind the answer is no request", () => {
  const talk = new Talk(40_000);
  assert.deepEqual(
    found([
      talk.client(1, ask(1)),
      talk.server(2, REFUSED),
      talk.client(3, "the rest of its body"),
      talk.client(5, ask(2)),
      talk.server(6, REFUSED),
    ]).exchanges,
    [[1, 503, 1, 1, 2], [2, 503, 5, 5, 6]],
  );
});

Deno.test("segments are told by their lengths on the wire, not by what was captured", () => {
  const talk = new Talk(40_000, 2 ** 32 - 20);
  assert.deepEqual(
    found([
      talk.client(1, ask(1)),
      talk.client(2, "x".repeat(500), 3),
      talk.server(3, REFUSED, 20),
      talk.client(4, ask(2), 40),
      talk.server(5, REFUSED),
    ]),
    {
      gaps: 0,
      exchanges: [[1, 503, 1, 2, 3], [undefined, 503, 4, 4, 5]],
    },
  );
});

Deno.test("what is sent again is counted once, and what a lost segment belonged to not at all", () => {
  const talk = new Talk(40_000);
  const first = talk.client(1, ask(1));
  const second = [talk.client(5, ask(2)), talk.client(6, "lost")];
  assert.deepEqual(
    found([
      first,
      { ...talk.server(3, REFUSED) },
      ...[second[0], talk.client(7, "after it")],
      talk.server(8, REFUSED),
      talk.client(10, ask(3)),
      talk.server(11, "x"),
      talk.client(12, ask(4)),
      talk.server(13, REFUSED),
    ]),
    {
      gaps: 1,
      exchanges: [[1, 503, 1, 1, 3], [4, 503, 12, 12, 13]],
    },
  );
  const again = new Talk(40_000);
  const asked = again.client(1, ask(1));
  const part = again.client(1.5, "body");
  assert.deepEqual(
    found([
      asked,
      part,
      { ...part, atMs: 2 },
      again.server(3, REFUSED),
    ]).exchanges,
    [[1, 503, 1, 1.5, 3]],
  );
});

Deno.test("a port that another client has got begins anew, wherever its numbers do", () => {
  for (const [first, next] of [[5000, 100], [100, 5000]]) {
    const before = new Talk(40_000, first, first);
    const after = new Talk(40_000, next, next);
    const begins = [after.client(2.5, ""), after.server(2.6, "")];
    assert.deepEqual(
      found([
        before.client(1, ask(1)),
        before.server(2, REFUSED),
        ...begins.map((packet) => ({ ...packet, isFirst: true })),
        after.client(3, ask(2)),
        after.server(4, REFUSED),
      ]),
      { gaps: 0, exchanges: [[1, 503, 1, 1, 2], [2, 503, 3, 3, 4]] },
    );
  }
});

Deno.test("a file that was cut off ends where it does, and what is no capture is refused", () => {
  const talk = new Talk(40_000);
  const file = captureOf(
    [talk.client(1, ask(1)), talk.server(2, REFUSED)],
    UNITS[0],
  );
  assert.equal([...segmentsOf(file.subarray(0, file.length - 1))].length, 1);
  assert.throws(() => [...segmentsOf(new Uint8Array(24))], RangeError);
  assert.throws(() => [...segmentsOf(new Uint8Array(3))], RangeError);
});
