/** Deno's sockets whose clients leave early, without Deno's server. */
import assert from "node:assert/strict";
import type { SocketHandlers } from "../../../src/server/http/socket.ts";
import { openDenoSocket } from "../../../src/server/runtime/deno_socket.ts";
import { SILENT_MS } from "../../../src/server/runtime/socket_limits.ts";

/** Runs with timers that expire when it is over, those that were not cleared. */
function withTimers(run: () => void): void {
  const { setTimeout, clearTimeout } = globalThis;
  const timers = new Map<number, () => void>();
  let ids = 0;
  Object.assign(globalThis, {
    setTimeout: (expire: () => void) => timers.set(++ids, expire) && ids,
    clearTimeout: (id: number) => timers.delete(id),
  });
  try {
    run();
    for (const expire of timers.values()) expire();
  } finally {
    Object.assign(globalThis, { setTimeout, clearTimeout });
  }
}

Deno.test("a socket that closes before it opens is told of once", () => {
  const socket = {} as WebSocket;
  let closed = 0;
  const handlers: SocketHandlers = {
    opened: () => assert.fail("it never was"),
    message() {},
    closed: () => void closed++,
  };
  withTimers(() => {
    openDenoSocket(
      { upgradeWebSocket: () => ({ socket, response: new Response() }) },
      new Request("http://localhost/"),
      handlers,
      undefined,
    );
    socket.onclose?.(new CloseEvent("close"));
  });
  assert.equal(closed, 1);
});

Deno.test("Deno is told when to ask whether a client is there", () => {
  const asked: number[] = [];
  withTimers(() => {
    openDenoSocket(
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
