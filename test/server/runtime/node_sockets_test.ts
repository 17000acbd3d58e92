/** Node's sockets over a connection that breaks when it likes. */
import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { Duplex } from "node:stream";
import { NodeSockets } from "../../../src/server/runtime/node_sockets.ts";

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
