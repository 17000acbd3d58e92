/**
 * What every runtime's adapter has to do, checked with `fetch` and plain sockets. Runs wherever it is imported: with
 * the sources in Deno, with the bundle in Node and Bun.
 */
import assert from "node:assert/strict";
import { request as httpsRequest } from "node:https";
import process from "node:process";
import { connect } from "node:net";
import { withCertificate } from "./certificate.mjs";

/** A server that listens, while something is done. */
async function listening(listen, handler, run) {
  const listener = await listen({ fetch: handler }, {
    hostname: "127.0.0.1",
    port: 0,
  });
  try {
    await run(listener);
  } finally {
    await listener.close(5000);
  }
}

const SOON_MS = 10_000;

/** Less than Node keeps a connection for the next request. */
const KEPT_MS = 4000;

/** Waits until something holds. */
async function until(what, holds) {
  for (const start = Date.now(); !holds();) {
    assert(Date.now() - start < SOON_MS, `not so after ${SOON_MS} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Of a WebSocket (RFC 6455, section 1.3). */
const HANDSHAKE = [
  "GET / HTTP/1.1",
  "Host: here",
  "Connection: Upgrade",
  "Upgrade: websocket",
  "Sec-WebSocket-Version: 13",
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
  "",
  "",
].join("\r\n");

/** Sends bytes as they are. @returns what comes back until the server closes, or something matches */
function rawly(port, text, until) {
  return new Promise((resolve, reject) => {
    let answer = "";
    const socket = connect(port, "127.0.0.1", () => socket.write(text));
    socket.setTimeout(SOON_MS, () => reject(new Error(`no answer: ${answer}`)));
    socket.on("data", (bytes) => {
      answer += bytes.toString("latin1");
      if (until?.test(answer)) {
        resolve(answer);
        socket.destroy();
      }
    });
    socket.on("close", () => resolve(answer));
    socket.on("error", () => resolve(answer));
  });
}

/**
 * Each takes the adapter's function, whether it cuts off clients that send on when they have their answer (Deno's and
 * Bun's servers wait for them to leave, and read no more), and whether a body is read whose sender has asked for another
 * protocol (Deno's server does not).
 */
export const CHECKS = {
  async "bodies, headers and statuses go both ways"(listen) {
    const seen = [];
    await listening(listen, async (request) => {
      const { pathname, search } = new URL(request.url);
      seen.push(
        request.method,
        pathname + search,
        request.headers.get("x-mine"),
      );
      const bytes = new Uint8Array(await request.arrayBuffer());
      return new Response(bytes.map((byte) => 255 - byte), {
        status: 201,
        headers: { "x-size": `${bytes.length}`, "x-request-id": "a" },
      });
    }, async ({ url }) => {
      const bytes = Uint8Array.from({ length: 300_000 }, (_, i) => i % 251);
      const response = await fetch(`${url}a/b%2Fc?d=1`, {
        method: "POST",
        body: bytes,
        headers: { "x-mine": "yes" },
      });
      assert.equal(response.status, 201);
      assert.equal(response.headers.get("x-size"), "300000");
      assert.deepEqual(
        new Uint8Array(await response.arrayBuffer()),
        bytes.map((byte) => 255 - byte),
      );
      assert.deepEqual(seen, ["POST", "/a/b%2Fc?d=1", "yes"]);
      const head = await fetch(url, { method: "HEAD" });
      assert.deepEqual([head.status, await head.text()], [201, ""]);
    });
  },

  async "a head alone says no other length than with its body"(listen) {
    await listening(listen, (request) => {
      const { pathname } = new URL(request.url);
      const isHead = request.method === "HEAD";
      if (pathname === "/none") {
        return Promise.resolve(new Response(null, { status: 204 }));
      }
      const headers = pathname === "/told" ? { "content-length": "9" } : {};
      return Promise.resolve(
        new Response(isHead ? null : "some text", { headers }),
      );
    }, async ({ port }) => {
      const asked = [
        "HEAD /a",
        "HEAD /told",
        "HEAD /none",
        "HEAD /a",
        "GET /a",
      ];
      const requests = asked.map((line, i) =>
        `${line} HTTP/1.1\r\nHost: here\r\n${
          i + 1 < asked.length ? "" : "Connection: close\r\n"
        }\r\n`
      );
      const heads = (await rawly(port, requests.join("")))
        .split(/(?=HTTP\/1\.1 )/);
      assert.deepEqual(
        heads.map((head) => Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1])),
        [200, 200, 204, 200, 200],
      );
      const get = heads.pop();
      const lengths = heads.map((head) =>
        /^content-length: *(\d+)/im.exec(head)?.[1]
      );
      assert.deepEqual(lengths, [undefined, "9", undefined, undefined]);
      for (const head of heads) assert(head.endsWith("\r\n\r\n"), head);
      assert.match(get, /some text/);
    });
  },

  async "an answer has all of its cookies"(listen) {
    const cookies = ["a=1; Path=/", "b=2; HttpOnly"];
    await listening(listen, (request) => {
      const response = new Response("here");
      const { pathname } = new URL(request.url);
      for (const cookie of pathname === "/none" ? [] : cookies) {
        response.headers.append("set-cookie", cookie);
      }
      return Promise.resolve(response);
    }, async ({ url }) => {
      for (const [path, expected] of [["", cookies], ["none", []]]) {
        const response = await fetch(url + path);
        await response.text();
        assert.deepEqual(response.headers.getSetCookie(), expected);
      }
    });
  },

  async "a client that leaves is noticed while it waits, whatever it has sent"(
    listen,
    cutsOff,
  ) {
    let begun = false;
    let left = false;
    // Deno's own server tells of nobody whose body did not come in one packet with the head.
    const isDeno = "Deno" in globalThis && !cutsOff;
    const sizes = isDeno ? [0] : [0, 100, 1000, 40_000, 1_000_000];
    await listening(
      listen,
      async (request) => {
        await request.arrayBuffer();
        begun = true;
        await new Promise((resolve) =>
          request.signal.addEventListener("abort", resolve)
        );
        left = true;
        return new Response("too late");
      },
      async ({ url }) => {
        for (const size of sizes) {
          begun = left = false;
          const client = new AbortController();
          const { signal } = client;
          const asked = size === 0
            ? fetch(url, { signal })
            : fetch(url, { signal, method: "POST", body: "a".repeat(size) });
          await until("the request came", () => begun);
          client.abort();
          await assert.rejects(asked);
          await until(`the signal is set, of ${size} bytes`, () => left);
        }
      },
    );
  },

  async "a stream goes out piece by piece, and ends when its reader leaves"(
    listen,
  ) {
    let pulled = 0;
    let cancelled = false;
    await listening(listen, () =>
      new Response(
        new ReadableStream({
          pull(controller) {
            pulled++;
            controller.enqueue(new TextEncoder().encode(`data: ${pulled}\n\n`));
            return new Promise((resolve) => setTimeout(resolve, 2));
          },
          cancel() {
            cancelled = true;
          },
        }),
        { headers: { "content-type": "text/event-stream" } },
      ), async ({ url }) => {
      const client = new AbortController();
      const response = await fetch(url, { signal: client.signal });
      const reader = response.body.getReader();
      let text = "";
      while (!text.includes("data: 3\n\n")) {
        text += new TextDecoder().decode((await reader.read()).value);
      }
      assert(text.startsWith("data: 1\n\n"));
      client.abort();
      await until("the stream is cancelled", () => cancelled);
    });
  },

  async "a stream waits for a client that does not read"(listen) {
    let sent = 0;
    const piece = new Uint8Array(2 ** 16);
    await listening(listen, () =>
      new Response(
        new ReadableStream({
          pull(controller) {
            sent += piece.length;
            controller.enqueue(piece);
          },
        }),
      ), async ({ port }) => {
      const socket = connect(port, "127.0.0.1", () => {
        socket.pause();
        socket.write("GET / HTTP/1.1\r\nHost: here\r\n\r\n");
      });
      await until("something is sent", () => sent > 0);
      let before = -1;
      // What buffers take is taken; then nothing more is asked for.
      await until("it waits", () => {
        const waits = sent === before;
        before = sent;
        return waits;
      });
      assert(sent < 2 ** 26, `${sent} bytes for a client that reads none`);
      socket.destroy();
    });
  },

  async "a stream that fails while its client reads nothing ends the connection"(
    listen,
    cutsOff,
  ) {
    const piece = new Uint8Array(2 ** 20);
    let fail;
    let signal;
    let sent = 0;
    await listening(listen, (request) => {
      signal = request.signal;
      return Promise.resolve(
        new Response(
          new ReadableStream({
            start(controller) {
              fail = () => controller.error(new Error("behind"));
            },
            pull(controller) {
              sent += piece.length;
              controller.enqueue(piece);
            },
          }, { highWaterMark: 0 }),
        ),
      );
    }, async ({ port }) => {
      let isClosed = false;
      let got = 0;
      const socket = connect(port, "127.0.0.1", () => {
        socket.pause();
        socket.write("GET / HTTP/1.1\r\nHost: here\r\n\r\n");
      });
      socket.on("data", (bytes) => got += bytes.length);
      socket.on("error", () => {});
      socket.on("close", () => isClosed = true);
      let before = -1;
      await until("it waits", () => {
        const waits = sent > 0 && sent === before;
        before = sent;
        return waits;
      });
      fail();
      // Deno's and Bun's servers do not hear of it before their client reads on.
      if (cutsOff) await until("it is cut off", () => signal.aborted);
      // Whoever reads on gets what was on its way, and no more.
      socket.resume();
      await until("the connection has ended", () => isClosed);
      assert(got < sent + 2 ** 20, `${got} bytes of ${sent}`);
    });
  },

  async "a body that never ends is refused while it comes"(listen, cutsOff) {
    await listening(listen, async (request) => {
      let size = 0;
      const reader = request.body.getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return new Response("all of it");
        size += value.length;
        if (size <= 2 ** 16) continue;
        void reader.cancel().catch(() => {});
        return new Response("too much", { status: 413 });
      }
    }, async ({ port }) => {
      const answer = await new Promise((resolve, reject) => {
        let answer = "";
        let isOver = false;
        const socket = connect(port, "127.0.0.1", () => {
          socket.write(
            "POST / HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n",
          );
          const send = () => {
            if (isOver) return;
            const size = 4096;
            socket.write(`${size.toString(16)}\r\n${"x".repeat(size)}\r\n`);
            setTimeout(send, 1);
          };
          send();
        });
        socket.setTimeout(SOON_MS, () => reject(new Error("no end")));
        socket.on("data", (bytes) => {
          answer += bytes.toString("latin1");
          if (!cutsOff) socket.destroy();
        });
        socket.on("error", () => {});
        socket.on("close", () => {
          clearTimeout(timer);
          isOver = true;
          resolve(answer);
        });
        const timer = setTimeout(() => {
          isOver = true;
          reject(new Error(`the connection is still open: ${answer}`));
        }, SOON_MS);
      });
      assert.match(answer, /^HTTP\/1\.1 413 /);
    });
  },

  async "a connection is used again whose body nobody has read to its end"(
    listen,
    cutsOff,
  ) {
    const refused = () => new Response("refused", { status: 400 });
    const reads = {
      none: () => refused(),
      async some({ body }) {
        const reader = body.getReader();
        await reader.read();
        void reader.cancel();
        return refused();
      },
    };
    // Deno's server ends connections whose body has not come by then; it counts as one here that is read in Node. A
    // client that is cut off while it sends much often sees that and not its answer.
    const sizes = cutsOff ? [100, 40_000, 1_000_000] : [100];
    for (const [what, read] of Object.entries(reads)) {
      for (const size of sizes) {
        await listening(listen, async (request) => await read(request), async ({
          port,
        }) => {
          const pieces = [
            `POST / HTTP/1.1\r\nHost: here\r\nContent-Length: ${size}\r\n\r\n${
              "x".repeat(size / 2)
            }`,
            "x".repeat(size / 2),
          ];
          const socket = connect(port, "127.0.0.1");
          socket.on("error", () => {});
          let answers = "";
          socket.on("data", (bytes) => answers += bytes.toString("latin1"));
          const count = () => answers.split("refused").length - 1;
          for (let i = 1; i <= 3; i++) {
            if (!cutsOff) socket.write(pieces.join(""));
            else {
              socket.write(pieces[0]);
              await until(
                `${what} of ${size}: answer ${i}`,
                () => count() === i,
              );
              socket.write(pieces[1]);
            }
            await until(`${what} of ${size}: answer ${i}`, () => count() === i);
          }
          socket.destroy();
        });
      }
    }
  },

  async "a refusal that is the last answer does not cost a client that sends its answer"(
    listen,
    cutsOff,
  ) {
    // Deno's server waits for it, Bun's cuts it off.
    if (!cutsOff) return;
    await listening(
      listen,
      () => Promise.resolve(new Response("refused", { status: 413 })),
      async ({ port }) => {
        for (
          const [version, header] of [["1.1", "Connection: close\r\n"], [
            "1.0",
            "",
          ]]
        ) {
          const piece = "x".repeat(2 ** 20);
          let answer = "";
          let error;
          let isClosed = false;
          const socket = connect({
            ...{ port, host: "127.0.0.1", allowHalfOpen: true },
          });
          socket.on("data", (bytes) => answer += bytes.toString("latin1"));
          socket.on("error", (thrown) => error = thrown);
          socket.on("close", () => isClosed = true);
          socket.write(
            `POST / HTTP/${version}\r\nHost: here\r\n${header}Content-Length: ${
              3 * piece.length
            }\r\n\r\n`,
          );
          for (let i = 0; i < 3; i++) {
            await new Promise((resolve) => socket.write(piece, resolve));
            await until("the answer is there", () => /refused/.test(answer));
          }
          socket.end();
          await until("the connection has ended", () => isClosed);
          assert.ifError(error);
          assert.match(answer, /^HTTP\/1\.1 413 /);
        }
      },
    );
  },

  async "no timer is left of a request that was read and answered"(listen) {
    const { setTimeout: set, clearTimeout: clear } = globalThis;
    const left = new Set();
    await listening(
      listen,
      async (request) => new Response(await request.text()),
      async ({ port }) => {
        globalThis.setTimeout = (...given) => {
          const timer = set(...given);
          left.add(timer);
          return timer;
        };
        globalThis.clearTimeout = (timer) => {
          left.delete(timer);
          clear(timer);
        };
        try {
          await rawly(
            port,
            "POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 3\r\n\r\nall",
            /\r\n\r\n[^]*all/,
          );
          // Of an answer it is told when its client has it already.
          await new Promise((resolve) => set(resolve, 20));
        } finally {
          Object.assign(globalThis, { setTimeout: set, clearTimeout: clear });
        }
        assert.equal(left.size, 0);
      },
    );
  },

  async "a body that is cut off is an error of its reader"(listen) {
    let error;
    let isRead = false;
    await listening(listen, async (request) => {
      try {
        await request.arrayBuffer();
        isRead = true;
      } catch (thrown) {
        error = thrown;
      }
      return new Response("");
    }, async ({ port }) => {
      const socket = connect(port, "127.0.0.1", () => {
        socket.write(
          "POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 100\r\n\r\nabc",
        );
        setTimeout(() => socket.destroy(), 50);
      });
      socket.on("error", () => {});
      await until(
        "the reader hears of it",
        () => error !== undefined || isRead,
      );
      assert(!isRead);
    });
  },

  async "what is no request does not get through"(listen) {
    const paths = [];
    await listening(listen, (request) => {
      paths.push(new URL(request.url).pathname);
      return Promise.resolve(new Response("fine"));
    }, async ({ port }) => {
      for (
        const text of [
          "nonsense\r\n\r\n",
          "GET / HTTP/1.1\r\nHost: a b\r\nbad header\r\n\r\n",
          "POST / HTTP/1.1\r\nHost: here\r\nContent-Length: -5\r\n\r\n",
          "POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
          "POST / HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        ]
      ) {
        const answer = await rawly(port, text, /\r\n\r\n/);
        assert(
          answer === "" || /^HTTP\/1\.1 (4|200)/.test(answer),
          `${JSON.stringify(text)}: ${answer}`,
        );
      }
      // The server is still there, and what looks like a host is a path.
      const answer = await rawly(
        port,
        "GET //evil/v2?x HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n",
      );
      assert.match(answer, /^HTTP\/1\.1 200 /);
      assert.equal(paths.at(-1), "//evil/v2");
    });
  },

  async "a host that is none is refused, and never a part of the path"(listen) {
    const urls = [];
    await listening(listen, (request) => {
      urls.push(new URL(request.url).href);
      return Promise.resolve(new Response("fine"));
    }, async ({ port }) => {
      const ask = async (host) => {
        const answer = await rawly(
          port,
          `GET /shown HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
          /\r\n\r\n/,
        );
        return Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]);
      };
      const none = [
        ...["a/hidden?", "a\\hidden?", "a?", "a#", "a/", "localhost\\", "/"],
        ...["a b", "a b/c?", "u@a", "u:p@localhost", "a:99999", "a%20b"],
        ...["1.2.3.4.5", "[::1", "a\r\nHost: a/hidden?"],
      ];
      for (const host of none) assert.equal(await ask(host), 400, host);
      assert.deepEqual(urls, []);
      const hosts = ["a_b.example:8000", "[::1]:80", "127.0.0.1", "A-b."];
      for (const host of hosts) assert.equal(await ask(host), 200, host);
      assert.deepEqual(urls, [
        "http://a_b.example:8000/shown",
        "http://[::1]/shown",
        "http://127.0.0.1/shown",
        "http://a-b./shown",
      ]);
    });
  },

  async "a connection is kept for longer than proxies keep theirs"(listen) {
    await listening(
      listen,
      () => Promise.resolve(new Response("here")),
      async ({ port }) => {
        const asked = "GET / HTTP/1.1\r\nHost: here\r\n\r\n";
        const answer = await rawly(port, asked, /here/);
        // Node says how long; the others keep it without a word, Deno for ever, Bun for 255 s.
        const [, told] = /^keep-alive: timeout=(\d+)/im.exec(answer) ?? [];
        assert(told === undefined || Number(told) > 60, answer);
      },
    );
  },

  async "a client of HTTP/1.0 need not name a host, as HAProxy's checks do not"(
    listen,
  ) {
    const asked = [];
    let left = false;
    await listening(listen, async (request) => {
      const { pathname, search } = new URL(request.url);
      asked.push(`${request.method} ${pathname}${search}`);
      if (pathname === "/waits") {
        await new Promise((resolve) =>
          request.signal.addEventListener("abort", resolve)
        );
        left = true;
      }
      const { headers } = request;
      return new Response(`${await request.text()} ${headers.get("x-mine")}`);
    }, async ({ port }) => {
      const head = "HTTP/1.0\r\nx-mine: yes\r\n";
      const read = await rawly(port, `GET //a?b ${head}\r\n`);
      assert.match(read, /^HTTP\/1\.[01] 200 [^]*\r\n\r\n yes$/);
      const sent = await rawly(
        port,
        `POST / ${head}Content-Length: 4\r\n\r\nbody`,
      );
      assert.match(sent, /^HTTP\/1\.[01] 200 [^]*\r\n\r\nbody yes$/);
      const socket = connect(port, "127.0.0.1", () => {
        socket.write(`GET /waits ${head}\r\n`);
      });
      await until("the request came", () => asked.length === 3);
      socket.destroy();
      await until("the signal is set", () => left);
      assert.deepEqual(asked, ["GET //a?b", "POST /", "GET /waits"]);
    });
  },

  async "a target may be a whole URL, as clients of proxies have it"(listen) {
    const urls = [];
    await listening(listen, (request) => {
      urls.push(request.url);
      return Promise.resolve(new Response("fine"));
    }, async ({ port }) => {
      const answer = await rawly(
        port,
        "GET http://here/a/b?c HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n",
      );
      assert.match(answer, /^HTTP\/1\.1 200 /);
      assert.deepEqual(urls, ["http://here/a/b?c"]);
    });
  },

  async "who would rather speak HTTP/2 is answered as it asked"(
    listen,
    _cutsOff,
    keepsBodies,
  ) {
    const head = (lines) =>
      ["Host: here", "Connection: Upgrade, HTTP2-Settings", ...lines, "", ""]
        .join("\r\n");
    const wish = ["Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"];
    await listening(listen, async (request) => {
      const { method, headers } = request;
      const body = await request.text();
      return new Response(`${method} ${headers.get("x-mine")} ${body}.`);
    }, async ({ port }) => {
      const told = [...wish, "x-mine: \u00e9", "Content-Length: 4"];
      const requests = [
        [`GET /a HTTP/1.1\r\n${head(wish)}`, /GET null \./],
        // Deno's own server refuses such a request where it has a body.
        ...(keepsBodies
          ? [
            [`POST /a HTTP/1.1\r\n${head(told)}told`, /POST \u00e9 told\./],
            // The body comes later, and then another request.
            [`POST /a HTTP/1.1\r\n${head(told)}`, /POST \u00e9 late\./, "late"],
          ]
          : []),
      ];
      for (const [text, expected, late] of requests) {
        const answer = await new Promise((resolve, reject) => {
          let answer = "";
          const socket = connect(port, "127.0.0.1", () => {
            socket.write(text, "latin1");
            if (late) setTimeout(() => socket.write(late), 50);
          });
          socket.setTimeout(
            SOON_MS,
            () => reject(new Error(`no answer: ${answer}`)),
          );
          let isAskedAgain = false;
          socket.on("data", (bytes) => {
            answer += bytes.toString("utf8");
            if (!expected.test(answer) || isAskedAgain) return;
            isAskedAgain = true;
            socket.write(
              "GET /b HTTP/1.1\r\nHost: here\r\nConnection: close\r\nx-mine: again\r\n\r\n",
            );
          });
          socket.on("close", () => resolve(answer));
          socket.on("error", () => resolve(answer));
        });
        assert.match(answer, /^HTTP\/1\.1 200 /);
        assert.match(answer, expected);
        assert.match(answer, /GET again \./);
      }
    });
  },

  async "who would rather speak HTTP/2 in every request leaves nothing at the connection"(
    listen,
  ) {
    const warnings = [];
    const onWarning = ({ message }) => warnings.push(message);
    process.on("warning", onWarning);
    try {
      await listening(
        listen,
        () => Promise.resolve(new Response("fine")),
        async ({ port }) => {
          const socket = connect(port, "127.0.0.1");
          const wish = "GET / HTTP/1.1\r\nHost: here\r\n" +
            "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n" +
            "HTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n";
          // More than an emitter has listeners without a warning.
          for (let request = 0; request < 12; request++) {
            socket.write(wish);
            let answer = "";
            for await (
              const bytes of socket.iterator({ destroyOnReturn: false })
            ) {
              answer += bytes;
              if (answer.includes("fine")) break;
            }
            assert.match(answer, /^HTTP\/1\.1 200 /);
          }
          socket.destroy();
        },
      );
    } finally {
      process.off("warning", onWarning);
    }
    assert.deepEqual(warnings, []);
  },

  async "who asks for a socket and leaves before there is one is told of, once"(
    listen,
  ) {
    const [asked, count] = [[], 10];
    let goOn;
    const gone = new Promise((resolve) => goOn = resolve);
    const listener = await listen({
      async fetch(_request, { openSocket }) {
        const told = { opened: 0, closed: 0 };
        asked.push(told);
        await gone;
        return openSocket({
          opened: () => told.opened++,
          message() {},
          closed: () => told.closed++,
        });
      },
    }, { hostname: "127.0.0.1", port: 0 });
    const sockets = Array.from({ length: count }, () => {
      const socket = connect(listener.port, "127.0.0.1", () => {
        socket.write(HANDSHAKE);
      });
      socket.on("error", () => {});
      return socket;
    });
    await until("all have asked", () => asked.length === count);
    for (const socket of sockets) socket.resetAndDestroy();
    goOn();
    await until(
      "all are told of",
      () => asked.every(({ closed }) => closed > 0),
    );
    assert(asked.every(({ opened, closed }) => opened <= 1 && closed === 1));
    // Deno's own server waits for them still.
    await listener.close(10);
  },

  async "a socket that was asked for before the port closes is closed with it"(
    listen,
  ) {
    let [asked, goOn] = [() => {}, () => {}];
    const looked = new Promise((resolve) => asked = resolve);
    const closing = new Promise((resolve) => goOn = resolve);
    let closed = 0;
    const listener = await listen({
      async fetch(_request, { openSocket }) {
        asked();
        await closing;
        return openSocket({
          opened() {},
          message() {},
          closed: () => void closed++,
        });
      },
    }, { hostname: "127.0.0.1", port: 0 });
    const client = connect(listener.port, "127.0.0.1");
    client.on("error", () => {});
    client.on("end", () => client.end());
    client.on("data", (bytes) => {
      if (bytes.includes("The server ends")) client.destroy();
    });
    client.write(HANDSHAKE);
    await looked;
    // Without a time: it would be waited for.
    const done = listener.close(Infinity);
    for (let turn = 0; turn < 10; turn++) {
      await new Promise((resolve) => setTimeout(resolve));
    }
    goOn();
    await done;
    await until("the route is told", () => closed === 1);
  },

  async "who asks for a socket where there is none is answered piece by piece"(
    listen,
  ) {
    let cancelled = 0;
    const listener = await listen({
      fetch: () =>
        Promise.resolve(
          new Response(
            new ReadableStream({
              start(controller) {
                controller.enqueue(new TextEncoder().encode("first"));
              },
              cancel: () => void cancelled++,
            }),
          ),
        ),
    }, { hostname: "127.0.0.1", port: 0 });
    const answer = await rawly(listener.port, HANDSHAKE, /first/);
    assert.match(answer, /^HTTP\/1\.1 200 [^]*first/);
    await until("the stream is cancelled", () => cancelled === 1);
    // One that stays is cut off in the end.
    const stays = connect(listener.port, "127.0.0.1");
    stays.on("error", () => {});
    stays.write(HANDSHAKE);
    await new Promise((resolve) => stays.once("data", resolve));
    await listener.close(10);
    stays.destroy();
  },

  async "closing waits for what is under way"(listen) {
    let answer;
    const gate = new Promise((resolve) => answer = resolve);
    let begun = false;
    const listener = await listen({
      fetch() {
        begun = true;
        return gate.then(() => new Response("done"));
      },
    }, { hostname: "127.0.0.1", port: 0 });
    const asked = fetch(listener.url).then((response) => response.text());
    await until("the request came", () => begun);
    const closed = listener.close(20_000);
    // What reaches the port at the same moment is taken still.
    let isRefused = false;
    while (!isRefused) {
      const socket = connect(listener.port, "127.0.0.1");
      isRefused = await new Promise((resolve) => {
        socket.once("connect", () => resolve(false));
        socket.once("error", () => resolve(true));
      });
      socket.destroy();
    }
    answer();
    assert.equal(await asked, "done");
    await closed;
  },

  async "closing answers what has reached the port, read or not"(listen) {
    const listener = await listen({
      fetch: (request) => Promise.resolve(new Response(request.url)),
    }, { hostname: "127.0.0.1", port: 0 });
    const asks = (path) => `GET ${path} HTTP/1.1\r\nHost: here\r\n\r\n`;
    let answers = "";
    const socket = connect(listener.port, "127.0.0.1", () => {
      socket.write(asks("/first"));
    });
    socket.on("data", (bytes) => answers += bytes);
    socket.on("error", () => {});
    await until("the connection is there", () => answers.includes("/first"));
    socket.write(asks("/second"));
    await listener.close(SOON_MS);
    await until("the second is answered", () => answers.includes("/second"));
    socket.destroy();
  },

  async "closing waits for no connection that has asked for nothing"(listen) {
    const opened = [];
    await listening(listen, () => new Response("here"), async (listener) => {
      for (const text of ["", "GET / HTTP/1.1\r\nHo"]) {
        const socket = connect(listener.port, "127.0.0.1");
        socket.on("error", () => {});
        await new Promise((resolve) => socket.on("connect", resolve));
        socket.write(text);
        opened.push(socket);
      }
      // The server has heard of them when it answers who came later.
      assert.equal(await (await fetch(listener.url)).text(), "here");
      const started = Date.now();
      await listener.close(20_000);
      const ms = Date.now() - started;
      assert(ms < SOON_MS, `closing took ${ms} ms`);
    }).finally(() => opened.forEach((socket) => socket.destroy()));
  },

  async "closing waits for no connection that has not begun to encrypt"(
    listen,
    cutsOff,
  ) {
    // Deno's own server waits for them, and does not say whom it waits for.
    if ("Deno" in globalThis && !cutsOff) return;
    await withCertificate(async ({ cert, key }) => {
      const opened = [];
      const listener = await listen(
        { fetch: () => Promise.resolve(new Response("here")) },
        { hostname: "127.0.0.1", port: 0, tls: { cert, key } },
      );
      for (const text of ["", "\x16\x03\x01"]) {
        const socket = connect(listener.port, "127.0.0.1");
        socket.on("error", () => {});
        await new Promise((resolve) => socket.on("connect", resolve));
        socket.write(text, "latin1");
        opened.push(socket);
      }
      // What is no greeting is refused, by a server that has heard of those that came before.
      await rawly(listener.port, "GET / HTTP/1.1\r\nhost: a\r\n\r\n");
      const started = Date.now();
      await listener.close(20_000);
      const ms = Date.now() - started;
      opened.forEach((socket) => socket.destroy());
      assert(ms < SOON_MS, `closing took ${ms} ms`);
    });
  },

  async "closing waits for answers, and not for what their clients may ask next"(
    listen,
  ) {
    let goOn;
    const gate = new Promise((resolve) => goOn = resolve);
    const bytes = (text) => new TextEncoder().encode(text);
    const listener = await listen({
      fetch: () =>
        Promise.resolve(
          new Response(
            new ReadableStream({
              async start(controller) {
                controller.enqueue(bytes("first "));
                await gate;
                controller.enqueue(bytes("last"));
                controller.close();
              },
            }),
          ),
        ),
    }, { hostname: "127.0.0.1", port: 0 });
    let begun = false;
    const answer = new Promise((resolve) => {
      let text = "";
      // Node's server would wait 5 s for another request.
      const socket = connect(listener.port, "127.0.0.1", () => {
        socket.write("GET / HTTP/1.1\r\nHost: here\r\n\r\n");
      });
      socket.on("data", (bytes) => {
        text += bytes;
        begun ||= text.includes("first");
      });
      socket.on("error", () => {});
      socket.on("close", () => resolve(text));
    });
    await until("the answer has begun", () => begun);
    const closed = listener.close(20_000);
    const started = Date.now();
    goOn();
    await closed;
    const ms = Date.now() - started;
    assert(ms < KEPT_MS, `closing took ${ms} ms`);
    assert.match(await answer, /first [^]*last/);
  },

  async "an answer may say that it is the last of its connection"(listen) {
    const handler = () =>
      new Response("the last", { headers: { connection: "close" } });
    await listening(listen, handler, async ({ port }) => {
      const text = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";
      // Deno leaves it to the client to close it.
      const answer = await rawly(port, text, /the last/);
      assert.match(answer, /\r\nconnection: close\r\n/i);
    });
  },

  async "what takes too long is cut off when it closes"(listen) {
    let begun = false;
    const listener = await listen({
      fetch() {
        begun = true;
        return new Promise(() => {});
      },
    }, { hostname: "127.0.0.1", port: 0 });
    const asked = fetch(listener.url).then(({ status }) => status, () => 503);
    await until("the request came", () => begun);
    await listener.close(10);
    assert.equal(await asked, 503);
  },

  async "certificate and key make it HTTPS"(listen) {
    await withCertificate(async ({ ca, cert, key }) => {
      const seen = [];
      const listener = await listen({
        async fetch(request) {
          seen.push(request.url, await request.text());
          return new Response("secret", { headers: { "x-mine": "yes" } });
        },
      }, { hostname: "127.0.0.1", port: 0, tls: { cert, key } });
      const { url, port } = listener;
      assert.equal(url, `https://127.0.0.1:${port}/`);
      const ask = (options) =>
        new Promise((resolve, reject) => {
          const request = httpsRequest(`${url}a?b=1`, {
            method: "POST",
            agent: false,
            ...options,
          }, (response) => {
            let text = "";
            response.on("data", (bytes) => text += bytes);
            response.on("end", () => resolve({ response, text }));
          });
          request.on("error", reject);
          request.end("told");
        });
      const { response, text } = await ask({ ca });
      assert.deepEqual(
        [response.statusCode, response.headers["x-mine"], text],
        [200, "yes", "secret"],
      );
      assert.deepEqual(seen, [`${url}a?b=1`, "told"]);
      // Nobody knows who has signed it.
      await assert.rejects(ask({}));
      // What is not encrypted is not answered.
      assert.doesNotMatch(
        await rawly(port, "GET / HTTP/1.1\r\nhost: a\r\n\r\n"),
        /secret/,
      );
      assert.equal(seen.length, 2);
      await listener.close(1000);
    });
  },
};
