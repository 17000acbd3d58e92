/** Deno's sockets whose clients leave early, without Deno's server. */
import assert from "node:assert/strict";
import { connect } from "node:net";
import type { SocketHandlers } from "../../../src/server/http/socket.ts";
import { listen } from "../../../src/server/runtime/listen.ts";
import { openDenoSocket } from "../../../src/server/runtime/deno_socket.ts";
import { SILENT_MS } from "../../../src/server/runtime/socket_limits.ts";

/** Runs with timers of seconds that expire when it is over, those that were not cleared. */
async function withTimers(run: () => Promise<void>): Promise<void> {
  const { setTimeout, clearTimeout } = globalThis;
  const timers = new Map<number, () => void>();
  let ids = 0;
  Object.assign(globalThis, {
    setTimeout: (expire: () => void, delayMs = 0) =>
      delayMs === 0 ? setTimeout(expire) : timers.set(--ids, expire) && ids,
    clearTimeout: (id: number) => timers.delete(id) || clearTimeout(id),
  });
  try {
    await run();
    for (const expire of timers.values()) expire();
  } finally {
    Object.assign(globalThis, { setTimeout, clearTimeout });
  }
}

Deno.test("a socket that never opens, or closes before it does, is told of once", async () => {
  for (const closes of [false, true]) {
    const socket = {} as WebSocket;
    let closed = 0;
    const handlers: SocketHandlers = {
      opened: () => assert.fail("it never was"),
      message() {},
      closed: () => void closed++,
    };
    await withTimers(async () => {
      await openDenoSocket(
        { upgradeWebSocket: () => ({ socket, response: new Response() }) },
        new Request("http://localhost/"),
        handlers,
        undefined,
      );
      if (closes) socket.onclose?.(new CloseEvent("close"));
    });
    assert.equal(closed, 1);
  }
});

Deno.test("Deno is told when to ask whether a client is there", async () => {
  const asked: number[] = [];
  await withTimers(async () => {
    await openDenoSocket(
      {
        upgradeWebSocket(_request, { idleTimeout }) {
          asked.push(idleTimeout);
          return { socket: {} as WebSocket, response: new Response() };
        },
      },
      new Request("http://localhost/"),
      { opened() {}, message() {}, closed() {} },
      undefined,
    );
  });
  // Seconds.
  assert.deepEqual(asked, [SILENT_MS / 1000]);
});

Deno.test("of a client that has left, or leaves while its socket is made, Deno makes none", async () => {
  for (const turns of [0, 1]) {
    const client = new AbortController();
    let closed = 0;
    const opening = openDenoSocket(
      { upgradeWebSocket: () => assert.fail("it has left") },
      new Request("http://localhost/", { signal: client.signal }),
      {
        opened: () => assert.fail("it has left"),
        message() {},
        closed: () => void closed++,
      },
      undefined,
    );
    for (let i = 0; i < turns; i++) {
      await new Promise((resolve) => setTimeout(resolve));
    }
    client.abort();
    const { status } = await opening;
    assert.deepEqual([status, closed], [499, 1]);
  }
});

Deno.test("what is no handshake is its sender's mistake, and told of once; anything else is not", async () => {
  const given = [
    [new TypeError("Invalid Header: no key"), 400],
    [new Error("the connection is another one's"), undefined],
  ] as const;
  for (const [error, expected] of given) {
    let closed = 0;
    const status = await openDenoSocket(
      {
        upgradeWebSocket() {
          throw error;
        },
      },
      new Request("http://localhost/"),
      {
        opened: () => assert.fail("there is none"),
        message() {},
        closed: () => void closed++,
      },
      undefined,
    ).then(({ status }) => status, (thrown) => {
      assert.equal(thrown, error);
      return undefined;
    });
    assert.deepEqual([status, closed], [expected, 1]);
  }
});

Deno.test("a client that leaves while its request for a socket is looked at leaves nothing behind in Deno", async () => {
  let [asked, goOn] = [() => {}, () => {}];
  const looked = new Promise<void>((resolve) => asked = resolve);
  const left = new Promise<void>((resolve) => goOn = resolve);
  let closed = 0;
  const listener = await listen({
    async fetch({ signal }, connection) {
      signal.addEventListener("abort", goOn);
      asked();
      await left;
      return connection!.openSocket!({
        opened: () => assert.fail("it has left"),
        message() {},
        closed: () => void closed++,
      });
    },
  }, { port: 0 });
  const client = connect(listener.port, "127.0.0.1");
  client.write([
    ...["GET / HTTP/1.1", "host: localhost", "connection: Upgrade"],
    ...["upgrade: websocket", "sec-websocket-version: 13"],
    ...["sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==", "\r\n"],
  ].join("\r\n"));
  await looked;
  client.destroy();
  // Without a time: Deno's server would wait for it.
  await listener.close(Infinity);
  assert.equal(closed, 1);
});
