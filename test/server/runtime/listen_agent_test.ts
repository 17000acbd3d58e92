/** The port of load balancers, which may send something and may keep their side open. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { listenAgent } from "../../../src/server/runtime/listen_agent.ts";

const LINE = "ready up 100%\n";
const SOON_MS = 10_000;

/** Waits for something that would otherwise never come. */
async function soon(what: string, promise: Promise<unknown>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not yet: ${what}`)), SOON_MS);
  });
  await Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** One that closes its side when it is told to. */
function asking(port: number): Socket {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  return socket.on("error", () => {});
}

Deno.test("what a balancer sends is read, however much it is", async () => {
  const listener = await listenAgent(() => LINE, { port: 0 });
  const socket = asking(listener.port);
  let told = "";
  socket.on("data", (bytes) => told += bytes);
  const isClosed = once(socket, "close");
  try {
    // More than buffers hold.
    const isSent = once(socket, "finish");
    socket.end(new Uint8Array(2 ** 25));
    await soon("all is sent", isSent);
    await soon("the connection has ended", isClosed);
    assert.equal(told, LINE);
  } finally {
    socket.destroy();
    await listener.close();
  }
});

Deno.test("closing waits for no balancer that keeps its side open", async () => {
  const listener = await listenAgent(() => LINE, { port: 0 });
  const socket = asking(listener.port);
  await once(socket, "data");
  try {
    await soon("the port is closed", listener.close());
  } finally {
    socket.destroy();
  }
});

Deno.test("who connects while there is no line is told nothing, and the next one is", async () => {
  const logged: unknown[] = [];
  const { error: log } = console;
  console.error = (...said) => logged.push(said);
  let calls = 0;
  const failure = new Error("no state yet");
  const listener = await listenAgent(() => {
    if (calls++ === 0) throw failure;
    return LINE;
  }, { port: 0 });
  try {
    for (const expected of ["", LINE]) {
      const socket = asking(listener.port);
      let told = "";
      socket.on("data", (bytes) => told += bytes);
      socket.on("end", () => socket.end());
      await soon("the connection has ended", once(socket, "close"));
      assert.equal(told, expected);
    }
    assert.deepEqual(logged, [["Shoal:", failure]]);
  } finally {
    console.error = log;
    await listener.close();
  }
  assert.throws(() => listenAgent(LINE as never, { port: 0 }), {
    name: "TypeError",
    message: /^"line" is a function, got "ready/,
  });
});
