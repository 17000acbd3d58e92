/** Requests over real sockets, to servers in this process. */
import assert from "node:assert/strict";
import http from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { wallNs } from "../../src/engine/wall/clock.ts";
import { httpWire } from "../../src/load/http_wire.ts";
import type { Wire, WireRequest } from "../../src/load/wire.ts";

/** A server while something is asked of it. */
async function served(
  answer: http.RequestListener,
  ask: (
    wire: Wire,
    server: { sockets: number; left: Promise<void> },
  ) => Promise<void>,
  options: { keepAlive?: boolean } = {},
): Promise<void> {
  const server = http.createServer(answer);
  const seen = { sockets: 0, left: Promise.resolve() };
  let leave = () => {};
  seen.left = new Promise((resolve) => leave = resolve);
  server.on("connection", (socket) => {
    seen.sockets++;
    socket.on("close", leave);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const wire = httpWire({
    origin: new URL(`http://127.0.0.1:${port}`),
    ...{ connections: 8, keepAlive: true, clock: { nowNs: wallNs } },
    ...options,
  });
  try {
    await ask(wire, seen);
  } finally {
    wire.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

const POST: WireRequest = {
  ...{ method: "POST", path: "/a?b=c", headers: { "x-y": "z" } },
  body: new TextEncoder().encode("äö"),
};

Deno.test("a request arrives as it is, and its answer's text, status and times come back", async () => {
  await served(
    (request, response) => {
      request.setEncoding("utf8");
      let body = "";
      request.on("data", (text: string) => body += text);
      request.on("end", () => {
        const { method, url, headers } = request;
        response.statusCode = 201;
        response.end(`${method} ${url} ${headers["x-y"]} ${body}`);
      });
    },
    async (wire) => {
      const beforeNs = wallNs();
      const answer = await wire.send(POST, { wantsText: true });
      assert.equal(answer.text, "POST /a?b=c z äö");
      assert.equal(answer.status, 201);
      assert.equal(answer.error, undefined);
      assert.equal(answer.bytes, 18);
      assert(beforeNs <= answer.firstNs && answer.firstNs <= answer.endNs);
    },
  );
});

for (const keepAlive of [true, false]) {
  Deno.test(`connections are ${keepAlive ? "" : "not "}used again`, async () => {
    await served(
      (request, response) => {
        request.resume();
        response.end("ok");
      },
      async (wire, server) => {
        for (let i = 0; i < 5; i++) {
          assert.equal((await wire.send(POST)).status, 200);
        }
        assert.equal(server.sockets, keepAlive ? 1 : 5);
      },
      { keepAlive },
    );
  });
}

Deno.test("events of a stream are noted as they come", async () => {
  let send = (_text: string) => {};
  let end = () => {};
  await served(
    (_request, response) => {
      response.setHeader("content-type", "text/event-stream");
      send = (text) => response.write(text);
      end = () => response.end("data: [DONE]\n\n");
      send("data: 1\n\n");
    },
    async (wire) => {
      const answering = wire.send(POST);
      await new Promise((resolve) => setTimeout(resolve, 30));
      const betweenNs = wallNs();
      send("data: 2\n\ndata: 3\n\n");
      end();
      const { eventsNs, endNs, error } = await answering;
      assert.equal(error, undefined);
      assert.equal(eventsNs.length, 3);
      assert(eventsNs[0] <= betweenNs && betweenNs <= eventsNs[1]);
      assert(eventsNs[2] <= endNs);
    },
  );
});

Deno.test("a client that leaves closes its connection", async () => {
  await served(
    () => {},
    async (wire, server) => {
      const abandon = new AbortController();
      const answering = wire.send(POST, { abandon: abandon.signal });
      setTimeout(() => abandon.abort(), 20);
      const { status, error } = await answering;
      assert.equal(status, 0);
      assert.equal(error, "abandoned");
      await server.left;
    },
  );
});

Deno.test("what breaks or is left on a connection that was used before is over, and was sent once", async () => {
  const asked: string[] = [];
  const leaving = new AbortController();
  await served(
    (request, response) => {
      asked.push(request.url!);
      if (request.url === "/first") response.end();
      if (request.url === "/cut") response.socket!.destroy();
      if (request.url === "/hang") leaving.abort();
    },
    async (wire, server) => {
      const send = async (path: string, abandon?: AbortSignal) =>
        (await wire.send({ ...POST, path }, abandon && { abandon })).error;
      await send("/first");
      assert.equal(await send("/cut"), "ECONNRESET");
      assert.equal(server.sockets, 1);
      await send("/first");
      assert.equal(await send("/hang", leaving.signal), "abandoned");
      assert.equal(server.sockets, 2);
      // Comes behind whatever would be sent again.
      await send("/first");
      assert.deepEqual(asked, ["/first", "/cut", "/first", "/hang", "/first"]);
    },
  );
});

Deno.test("an answer that is cut off is an error", async () => {
  await served(
    (_request, response) => {
      response.setHeader("content-length", "100");
      response.write("half", () => response.socket!.destroy());
    },
    async (wire) => {
      const { status, error } = await wire.send(POST);
      assert.equal(status, 200);
      assert.notEqual(error, undefined);
    },
  );
});

Deno.test("a server that switches protocols unasked is an error, and is left", async () => {
  await served(
    (_request, { socket }) =>
      socket!.write(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: a\r\nConnection: Upgrade\r\n\r\n",
      ),
    async (wire, server) => {
      const { error } = await wire.send(POST);
      assert.equal(error, "the server switched protocols");
      await server.left;
    },
  );
});

Deno.test("a port at which nobody listens is an error, not a rejection", async () => {
  const wire = httpWire({
    origin: new URL("http://127.0.0.1:1"),
    ...{ connections: 1, keepAlive: true, clock: { nowNs: wallNs } },
  });
  const { status, error } = await wire.send(POST);
  assert.equal(status, 0);
  assert.match(error!, /ECONNREFUSED|refused/);
  wire.close();
});
