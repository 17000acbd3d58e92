/** A client of a WebSocket that asks and reads no answer, in the listeners of Deno and of Node (as Deno has it). */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout } from "node:timers/promises";
import type { Socket } from "../../../src/server/http/socket.ts";
import { listen } from "../../../src/server/runtime/listen.ts";
import type {
  Handler,
  Listener,
} from "../../../src/server/runtime/listener.ts";
import { listenInNode } from "../../../src/server/runtime/node.ts";
import { UNREAD_MAX } from "../../../src/server/runtime/socket_limits.ts";

const LISTENERS: Readonly<
  Record<string, (handler: Handler) => Promise<Listener>>
> = {
  "Deno's listener": (handler) => listen(handler, { port: 0 }),
  "Node's listener": (handler) =>
    listenInNode(handler, { hostname: "127.0.0.1", port: 0 }),
};

const HANDSHAKE = [
  ...["GET / HTTP/1.1", "host: localhost", "connection: Upgrade"],
  ...["upgrade: websocket", "sec-websocket-version: 13"],
  ...["sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==", "\r\n"],
].join("\r\n");

/** A message without a letter. */
const MESSAGE = Buffer.from([129, 128, 0, 0, 0, 0]);

const ANSWER = "x".repeat(10_000);

/** What systems keep for both ends besides. */
const ON_THE_WAY = 2 ** 24;

for (const [what, start] of Object.entries(LISTENERS)) {
  Deno.test(`a client that leaves too much unread is cut off: ${what}`, async () => {
    let answered = 0;
    let isClosed = false;
    const listener = await start({
      fetch(_request, connection) {
        let socket: Socket;
        return Promise.resolve(connection!.openSocket!({
          opened: (opened) => void (socket = opened),
          message() {
            answered += ANSWER.length;
            socket.send(ANSWER);
          },
          closed: () => void (isClosed = true),
        }));
      },
    });
    const client = connect(listener.port, "127.0.0.1");
    client.on("error", () => {});
    client.write(HANDSHAKE);
    await once(client, "data");
    client.pause();
    const most = 4 * UNREAD_MAX + ON_THE_WAY;
    while (!isClosed && answered < most) {
      client.write(MESSAGE);
      await setTimeout();
    }
    client.destroy();
    await listener.close(1000);
    assert(isClosed);
    assert(answered < most, `${answered} bytes`);
  });
}
