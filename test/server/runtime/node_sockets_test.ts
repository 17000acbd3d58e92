/** Node's sockets over a connection that breaks when it likes. */
import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { Duplex } from "node:stream";
import { NodeSockets } from "../../../src/server/runtime/node_sockets.ts";
import { pingFrame } from "../../../src/server/runtime/socket_frames.ts";
import { UNREAD_MAX } from "../../../src/server/runtime/socket_limits.ts";

const HEADERS = {
  "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
  "sec-websocket-version": "13",
};

Deno.test("a connection that breaks while the handshake is computed is told of, once", async () => {
  const connection = new Duplex({
    read() {},
    write: (_bytes, _encoding, done) => done(),
  });
  const told: string[] = [];
  const opening = new NodeSockets().open(
    { headers: HEADERS } as unknown as IncomingMessage,
    connection,
    new Uint8Array(0),
    {
      handlers: {
        opened: () => void told.push("opened"),
        message: () => void told.push("message"),
        closed: () => void told.push("closed"),
      },
      protocol: undefined,
    },
    new Headers(),
  );
  connection.destroy();
  await opening;
  // Its event comes a turn later, if there is one.
  await new Promise((resolve) => setTimeout(resolve));
  assert.deepEqual(told, ["closed"]);
});

Deno.test("a client that says that it closes, and goes without doing so, is told of", async () => {
  const connection = new Duplex({
    read() {},
    write: (_bytes, _encoding, done) => done(),
  });
  const timers: (() => void)[] = [];
  let closed = 0;
  const { setTimeout } = globalThis;
  Object.assign(globalThis, {
    setTimeout: (expire: () => void) => timers.push(expire),
  });
  try {
    await new NodeSockets().open(
      { headers: HEADERS } as unknown as IncomingMessage,
      connection,
      // Its close is masked, with zeros.
      Uint8Array.of(0x88, 0x80, 0, 0, 0, 0),
      {
        handlers: {
          opened() {},
          message() {},
          closed: () => void closed++,
        },
        protocol: undefined,
      },
      new Headers(),
    );
  } finally {
    Object.assign(globalThis, { setTimeout });
  }
  // Nothing more comes of it.
  for (const expire of timers) expire();
  await new Promise((resolve) => setTimeout(resolve));
  assert.equal(closed, 1);
});

Deno.test("who answers no ping has gone, who does stays", async () => {
  const sockets = new NodeSockets(10);
  const closed: string[] = [];
  const ping = String(pingFrame());
  let answered = 0;
  const opened = async (name: string, answers: boolean): Promise<Duplex> => {
    const connection: Duplex = new Duplex({
      read() {},
      write(bytes: Uint8Array, _encoding, done) {
        // The answer is masked, with zeros.
        if (answers && String([...bytes]) === ping) {
          answered++;
          connection.push(Uint8Array.of(0x8a, 0x80, 0, 0, 0, 0));
        }
        done();
      },
    });
    await sockets.open(
      { headers: HEADERS } as unknown as IncomingMessage,
      connection,
      new Uint8Array(0),
      {
        handlers: {
          opened: () => {},
          message: () => {},
          closed: () => void closed.push(name),
        },
        protocol: undefined,
      },
      new Headers(),
    );
    return connection;
  };
  const there = await opened("there", true);
  await opened("gone", false);
  const once = (isSo: () => boolean) =>
    new Promise<void>((resolve) => {
      const look = () => isSo() ? resolve() : setTimeout(look, 1);
      look();
    });
  await once(() => closed.length > 0 || answered > 50);
  const before = answered;
  await once(() => answered > before + 3 || closed.length > 1);
  assert.deepEqual(closed, ["gone"]);
  // Nothing is asked any more: the test would not end.
  there.destroy();
});

Deno.test("who asks with pings and reads no answer is cut off", async () => {
  const connection = new Duplex({ read() {}, write() {} });
  let closed = 0;
  await new NodeSockets().open(
    { headers: HEADERS } as unknown as IncomingMessage,
    connection,
    new Uint8Array(0),
    {
      handlers: { opened() {}, message() {}, closed: () => void closed++ },
      protocol: undefined,
    },
    new Headers(),
  );
  // As large as one may be, its mask and letters zeros.
  const ping = new Uint8Array(131);
  ping.set([0x89, 0xfd]);
  const most = 2 * UNREAD_MAX / ping.length;
  for (let sent = 0; sent < most && closed === 0; sent += 100) {
    for (let i = 0; i < 100; i++) connection.push(ping);
    await new Promise((resolve) => setTimeout(resolve));
  }
  connection.destroy();
  assert.equal(closed, 1);
});
