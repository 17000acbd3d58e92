/** Frames of RFC 6455: its own examples, any split of any messages, and what breaks the protocol. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { execFile } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import fc from "fast-check";
import {
  acceptKey,
  closeFrame,
  pongFrame,
  type SocketMessage,
  SocketReader,
  textFrame,
} from "../../../src/server/runtime/socket_frames.ts";
import { propertyRuns } from "../../property_runs.ts";

const SIZE_MAX = 70_000;

const HELD_FRAMES = fileURLToPath(new URL("./held_frames.ts", import.meta.url));

function hex(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text.replaceAll(" ", ""), "hex"));
}

/** What comes in pieces, be they arrays or, as Node brings them, Buffers within larger ones. */
function read(...pieces: Uint8Array[]): SocketMessage[] {
  const [messages, ofBuffers] = [pieces, pieces.map(withinBuffer)].map(
    (pieces) => {
      const reader = new SocketReader(SIZE_MAX);
      return pieces.flatMap((piece) => [...reader.push(piece)]);
    },
  );
  assert.deepEqual(ofBuffers, messages);
  return messages;
}

function withinBuffer(piece: Uint8Array): Buffer {
  return Buffer.concat([Uint8Array.of(0), piece]).subarray(1);
}

/** A client's frame. */
function frame(
  opcode: number,
  payload: Uint8Array,
  { isLast = true, mask = [1, 2, 3, 4] } = {},
): Uint8Array {
  const size = payload.length;
  const header = size > 0xffff ? 14 : size > 125 ? 8 : 6;
  const bytes = Buffer.alloc(header + size);
  bytes[0] = (isLast ? 128 : 0) | opcode;
  bytes[1] = 128 | (size > 0xffff ? 127 : size > 125 ? 126 : size);
  if (size > 0xffff) bytes.writeBigUInt64BE(BigInt(size), 2);
  else if (size > 125) bytes.writeUInt16BE(size, 2);
  bytes.set(mask, header - 4);
  payload.forEach((byte, i) => bytes[header + i] = byte ^ mask[i % 4]);
  return new Uint8Array(bytes);
}

const utf8 = (text: string) => new TextEncoder().encode(text);

Deno.test("the RFC's own examples are read and written", async () => {
  // Section 5.7.
  assert.deepEqual(read(hex("81 85 37 fa 21 3d 7f 9f 4d 51 58")), [
    { kind: "text", text: "Hello" },
  ]);
  assert.deepEqual(textFrame("Hello"), hex("81 05 48 65 6c 6c 6f"));
  assert.deepEqual(pongFrame(utf8("Hello")), hex("8a 05 48 65 6c 6c 6f"));
  // Section 1.3.
  assert.equal(
    await acceptKey("dGhlIHNhbXBsZSBub25jZQ=="),
    "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=",
  );
});

Deno.test("frames have the length that fits", () => {
  assert.deepEqual([...textFrame("x".repeat(125)).slice(0, 2)], [129, 125]);
  assert.deepEqual([...textFrame("x".repeat(126)).slice(0, 4)], [
    129,
    126,
    0,
    126,
  ]);
  assert.deepEqual(
    [...textFrame("x".repeat(65_536)).slice(0, 10)],
    [129, 127, 0, 0, 0, 0, 0, 1, 0, 0],
  );
  assert.deepEqual(closeFrame(1000, "bye"), hex("88 05 03e8 62 79 65"));
  assert.deepEqual(closeFrame(1005), hex("88 00"));
  assert.equal(closeFrame(1000, "x".repeat(500)).length, 127);
});

Deno.test("messages are the same however they are cut into frames, and frames into pieces", () => {
  const message = fc.record({
    text: fc.string({ unit: "grapheme", maxLength: 300 }),
    cuts: fc.array(fc.nat(300), { maxLength: 4 }),
    ping: fc.boolean(),
    mask: fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255)),
  });
  fc.assert(
    fc.property(
      fc.array(message, { maxLength: 5 }),
      fc.array(fc.nat(2000), { maxLength: 12 }),
      (messages, cuts) => {
        const frames: Uint8Array[] = [];
        const expected: SocketMessage[] = [];
        for (const { text, cuts, ping, mask } of messages) {
          const bytes = utf8(text);
          const ends = [...cuts.filter((cut) => cut < bytes.length)]
            .sort((a, b) => a - b).concat(bytes.length);
          ends.forEach((end, i) => {
            const part = bytes.slice(i === 0 ? 0 : ends[i - 1], end);
            const isLast = i === ends.length - 1;
            frames.push(frame(i === 0 ? 1 : 0, part, { isLast, mask }));
            if (!ping || isLast) return;
            frames.push(frame(9, part.slice(0, 125), { mask }));
            expected.push({
              kind: "ping",
              bytes: part.slice(0, 125) as Uint8Array<ArrayBuffer>,
            });
          });
          expected.push({ kind: "text", text });
        }
        const bytes = new Uint8Array(Buffer.concat(frames));
        const ends = [...cuts.filter((cut) => cut < bytes.length)]
          .sort((a, b) => a - b).concat(bytes.length);
        const pieces = ends.map((end, i) =>
          bytes.slice(i === 0 ? 0 : ends[i - 1], end)
        );
        assert.deepEqual(read(...pieces), expected);
      },
    ),
    { numRuns: propertyRuns(100) },
  );
});

Deno.test("what breaks the protocol ends the connection with its status", () => {
  const cases: [string, number, Uint8Array[]][] = [
    ["no mask", 1002, [hex("81 05 48 65 6c 6c 6f")]],
    ["a bit of an extension", 1002, [hex("c1 80 00 00 00 00")]],
    ["an opcode that there is not", 1002, [frame(3, utf8("a"))]],
    ["a long ping", 1002, [frame(9, new Uint8Array(126))]],
    ["a ping in parts", 1002, [frame(9, utf8("a"), { isLast: false })]],
    ["nothing to continue", 1002, [frame(0, utf8("a"))]],
    [
      "a message within another one",
      1002,
      [frame(1, utf8("a"), { isLast: false }), frame(1, utf8("b"))],
    ],
    ["half a status", 1002, [frame(8, Uint8Array.of(3))]],
    ["a status that is not sent", 1002, [frame(8, Uint8Array.of(3, 0xed))]],
    ["text that is not UTF-8", 1007, [frame(1, Uint8Array.of(0xff))]],
    ["a message that is too large", 1009, [
      hex("81 ff 00 00 00 00 10 00 00 00 00 00 00 00"),
    ]],
    ["parts that are too large together", 1009, [
      frame(1, new Uint8Array(40_000), { isLast: false }),
      frame(0, new Uint8Array(40_000)),
    ]],
  ];
  for (const [what, code, pieces] of cases) {
    assert.throws(
      () => read(...pieces),
      { name: "SocketProtocolError", code },
      what,
    );
  }
});

Deno.test("a close has the client's status, or none", () => {
  assert.deepEqual(read(frame(8, new Uint8Array())), [
    { kind: "close", code: 1005 },
  ]);
  assert.deepEqual(
    read(frame(8, Uint8Array.of(3, 0xe8, ...utf8("bye")))),
    [{ kind: "close", code: 1000 }],
  );
});

Deno.test("a large frame in small pieces is put together once", () => {
  const bytes = frame(2, new Uint8Array(60_000).fill(7));
  const reader = new SocketReader(SIZE_MAX);
  const messages: SocketMessage[] = [];
  for (let at = 0; at < bytes.length; at += 10) {
    messages.push(...reader.push(bytes.subarray(at, at + 10)));
  }
  assert.deepEqual(messages, [
    { kind: "binary", bytes: new Uint8Array(60_000).fill(7) },
  ]);
});

Deno.test("small frames and pieces take no more memory than what is in them", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...["run", "-A", "--no-check", "--v8-flags=--expose-gc", HELD_FRAMES],
  ]);
  const held: Readonly<Record<string, number>> = JSON.parse(stdout);
  for (const [what, bytes] of Object.entries(held)) {
    assert(bytes < 2 ** 20, `${what}: ${bytes} bytes`);
  }
});
