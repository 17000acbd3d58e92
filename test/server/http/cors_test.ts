/** Pages of other origins: what a server tells browsers about them. */
import assert from "node:assert/strict";
import { cellular } from "../../../src/policy/cellular_batching/cellular.ts";
import { EngineHost } from "../../../src/server/host/engine_host.ts";
import { OverloadedError } from "../../../src/server/host/errors.ts";
import type { CorsOptions } from "../../../src/server/http/cors.ts";
import type { Protocol } from "../../../src/server/http/route.ts";
import { KeyRing, keySha256 } from "../../../src/server/keys/key_ring.ts";
import { Monitor } from "../../../src/server/monitor.ts";
import { createServer } from "../../../src/server/server.ts";
import type { ServerOptions } from "../../../src/server/server_options.ts";
import { inferBody, withServer } from "../serving_host.ts";
import { withTextServer } from "../text_models.ts";

const APP = "https://app.example";
const INFER = "/v2/models/intents/infer";
const HEALTH = "/v2/health/live";
const LOAD = "/v2/repository/models/intents/load";

/** What an answer says about other origins, by header. */
function said({ headers }: Response): Record<string, string> {
  return Object.fromEntries(
    [...headers].filter(([name]) =>
      name === "vary" || name.startsWith("access-control-")
    ),
  );
}

function from(origin: string, init: RequestInit = {}): RequestInit {
  return { ...init, headers: { ...init.headers as object, origin } };
}

function preflight(
  origin: string,
  method = "POST",
  headers?: string,
): RequestInit {
  return {
    method: "OPTIONS",
    headers: {
      origin,
      "access-control-request-method": method,
      ...(headers !== undefined &&
        { "access-control-request-headers": headers }),
    },
  };
}

const OPEN = {
  "access-control-allow-origin": APP,
  "access-control-expose-headers": "*",
  vary: "Origin",
};

const infer = () => ({ method: "POST", body: inferBody() });

Deno.test("without the option nothing is said, and a preflight is a method that there is not", async () => {
  await withServer({}, async (ask) => {
    const response = await ask(HEALTH, from(APP));
    assert.equal(response.status, 200);
    assert.deepEqual(said(response), {});
    const asked = await ask(INFER, preflight(APP));
    assert.equal(asked.status, 405);
    assert.equal(asked.headers.get("allow"), "POST");
    assert.deepEqual(said(asked), {});
  });
});

Deno.test("pages of an origin that is listed may read, those of others may not, and get the same", async () => {
  const cors = { origins: ["https://other.example", APP] };
  await withServer({ cors }, async (ask) => {
    const response = await ask(INFER, from(APP, infer()));
    assert.deepEqual(said(response), OPEN);
    const { outputs } = await response.json();
    for (
      const origin of [
        ...["https://app.example:8443", "http://app.example", "null", "*"],
        ...["https://app.example.evil.example", "https://APP.example"],
      ]
    ) {
      const other = await ask(INFER, from(origin, infer()));
      assert.deepEqual(said(other), { vary: "Origin" }, origin);
      assert.deepEqual((await other.json()).outputs, outputs);
    }
    assert.deepEqual(said(await ask(HEALTH)), { vary: "Origin" });
  });
});

Deno.test("all origins are all, whatever is listed beside, and then the answer is one for all", async () => {
  const all = {
    "access-control-allow-origin": "*",
    "access-control-expose-headers": "*",
  };
  await withServer({ cors: { origins: [APP, "*"] } }, async (ask) => {
    for (const init of [from(APP), from("null"), {}]) {
      assert.deepEqual(said(await ask(HEALTH, init)), all);
    }
  });
});

Deno.test("a preflight hears the path's methods and the headers that it asks for", async () => {
  const keys = new KeyRing([{ name: "app", sha256: await keySha256("a") }]);
  await withServer({ keys, cors: { origins: [APP] } }, async (ask) => {
    const names = "authorization, content-type,x-stainless-os";
    const asked = await ask(INFER, preflight(APP, "POST", names));
    assert.equal(asked.status, 204);
    assert.deepEqual(said(asked), {
      ...OPEN,
      "access-control-allow-methods": "POST",
      "access-control-allow-headers": names,
      "access-control-max-age": "7200",
    });
    assert.equal(await asked.text(), "");
    const plain = said(await ask("/v2/models/stats", preflight(APP, "GET")));
    assert.equal(plain["access-control-allow-methods"], "GET");
    assert.equal(plain["access-control-allow-headers"], undefined);
    // Whatever method is asked for.
    const put = said(await ask("/health", preflight(APP, "PUT")));
    assert.equal(put["access-control-allow-methods"], "GET");
    for (const wrong of ["a b", "a,,b", "a;b", "x".repeat(1025), "a,"]) {
      const { "access-control-allow-headers": allowed } = said(
        await ask(INFER, preflight(APP, "POST", wrong)),
      );
      assert.equal(allowed, undefined, wrong);
    }
    const other = await ask(INFER, preflight("https://evil.example"));
    assert.equal(other.status, 204);
    assert.deepEqual(said(other), { vary: "Origin" });
    // One that asks nothing, and one about nothing.
    assert.equal((await ask(INFER, { method: "OPTIONS" })).status, 405);
    assert.equal((await ask("/nothing", preflight(APP))).status, 404);
  });
});

Deno.test("errors may be read as well: 400, 401, 404, 405, 414, 429, 503", async () => {
  const keys = new KeyRing([
    { name: "app", sha256: await keySha256("a"), requestsPerSecond: 1e-6 },
  ]);
  const refusing = (admission: object): ServerOptions & { host: object } => ({
    keys,
    host: {
      admission: { admit: () => Promise.resolve(() => {}), ...admission },
    },
    cors: { origins: [APP] },
  });
  const authorization = "Bearer a";
  const withKey = (init: RequestInit = {}) =>
    from(APP, { ...init, headers: { authorization } });
  await withServer(refusing({}), async (ask) => {
    const told = async (status: number, path: string, init: RequestInit) => {
      const response = await ask(path, init);
      assert.equal(response.status, status);
      assert.deepEqual(said(response), OPEN);
      await response.body?.cancel();
    };
    await told(400, INFER, withKey({ method: "POST", body: "{" }));
    await told(401, INFER, from(APP, infer()));
    await told(404, "/nothing", from(APP));
    await told(405, INFER, withKey());
    await told(414, `/${"x".repeat(9000)}`, from(APP));
  });
  for (const reason of ["key", "full"] as const) {
    const admission = { refusal: () => new OverloadedError("no", 5, reason) };
    await withServer(refusing(admission), async (ask) => {
      const response = await ask(INFER, withKey(infer()));
      assert.equal(response.status, reason === "key" ? 429 : 503);
      assert.deepEqual(said(response), OPEN);
      assert.equal(response.headers.get("retry-after"), "1");
    });
  }
});

Deno.test("what is of administrators is shared with nobody", async () => {
  const monitor = new Monitor();
  const host = { observers: monitor.observers };
  for (const keys of [undefined, await rooted()]) {
    const options = { monitor, host, cors: { origins: ["*"] } };
    await withServer(
      { ...options, ...(keys && { keys }) },
      async (_, server) => {
        const ask = (path: string, init: RequestInit) => {
          const request = new Request(`http://localhost${path}`, init);
          return server.fetch(request, { isLoopback: true });
        };
        const headers = { authorization: "Bearer root" };
        for (const path of ["/", "/live"]) {
          const page = await ask(path, from(APP, { headers }));
          assert.equal(page.status, 200);
          assert.deepEqual(said(page), {}, path);
          await page.body?.cancel();
        }
        const loaded = await ask(LOAD, from(APP, { method: "POST", headers }));
        assert.equal(loaded.status, keys ? 501 : 403);
        assert.deepEqual(said(loaded), {});
        const asked = await ask(LOAD, preflight(APP, "POST", "authorization"));
        assert.equal(asked.status, 405);
        // Of "/" the texts' half is shared.
        const root = await ask("/", preflight(APP, "GET"));
        assert.equal(said(root)["access-control-allow-methods"], "POST");
      },
    );
  }
});

async function rooted(): Promise<KeyRing> {
  const sha256 = await keySha256("root");
  return new KeyRing([{ name: "root", sha256, scope: "admin" }]);
}

Deno.test("a stream may be read", async () => {
  await withTextServer(
    async (ask) => {
      const body = {
        model: "writer",
        prompt: "fish",
        max_tokens: 3,
        stream: true,
      };
      const response = await ask("/v1/completions", body, from(APP));
      assert.match(
        response.headers.get("content-type")!,
        /^text\/event-stream/,
      );
      assert.deepEqual(said(response), OPEN);
      assert.match(await response.text(), /\[DONE\]/);
    },
    undefined,
    { cors: { origins: [APP] } },
  );
});

Deno.test("an origin that no browser would send is refused, with the one that it would", async () => {
  const good = [
    ...["https://app.example", "http://localhost:5173", "http://[::1]:8080"],
    ...[
      "tauri://localhost",
      "chrome-extension://abcdefgh",
      "app://obsidian.md",
    ],
    "*",
  ];
  await withServer({ cors: { origins: good } }, async (ask) => {
    assert.equal((await ask(HEALTH)).status, 200);
  });
  const bad: [unknown, RegExp][] = [
    ["https://app.example/", /\("https:\/\/app\.example"\?\)/],
    ["https://App.example", /\("https:\/\/app\.example"\?\)/],
    ["https://app.example:443", /\("https:\/\/app\.example"\?\)/],
    ["https://app.example/page?x", /\("https:\/\/app\.example"\?\)/],
    ["https://b\u00fccher.example", /\("https:\/\/xn--bcher-kva\.example"\?\)/],
    ["https://*.example", /as browsers send it/],
    ["app.example", /as browsers send it/],
    ["null", /as browsers send it/],
    ["file://", /as browsers send it/],
    ["", /as browsers send it/],
    [7, /as browsers send it/],
    [undefined, /as browsers send it/],
  ];
  await withServer({}, (_, { host }) => {
    const made = (cors: unknown) =>
      createServer(host, { cors } as ServerOptions);
    for (const [origin, told] of bad) {
      assert.throws(
        () => made({ origins: [APP, origin] }),
        ({ message }: Error) => {
          assert.match(message, /^"origins\[1\]" is "\*" or an origin/);
          assert.match(message, told);
          assert(message.endsWith(`, got ${JSON.stringify(origin)}`), message);
          return true;
        },
      );
    }
    assert.throws(() => made({ origins: APP }), /"origins" is an array, got/);
    assert.throws(() => made({}), /"origins" is an array, got undefined/);
    assert.throws(
      () => made({ origins: [], credentials: true }),
      /credentials/,
    );
    return Promise.resolve();
  });
});

Deno.test("a WebSocket is for pages that may read, where the option says which", async () => {
  const talk: Protocol = {
    name: "talk",
    routes: [{
      method: "GET",
      path: "/talk",
      scope: "infer",
      handle: ({ openSocket }) =>
        openSocket!({ opened() {}, message() {}, closed() {} }),
    }],
    errorBody: ({ message }) => ({ message }),
  };
  const host = await EngineHost.create({ policy: () => cellular() });
  const statusOf = async (origin?: string, cors?: CorsOptions) => {
    const server = createServer(host, {
      protocols: [talk],
      ...(cors && { cors }),
    });
    const response = await server.fetch(
      new Request("http://shoal.example:8000/talk", {
        headers: {
          host: "shoal.example:8000",
          upgrade: "websocket",
          ...(origin !== undefined && { origin }),
        },
      }),
      { openSocket: () => new Response() },
    );
    return response.status;
  };
  const cors = { origins: [APP] };
  assert.equal(await statusOf(APP, cors), 200);
  assert.equal(await statusOf("https://shoal.example:8000", cors), 200);
  // No browser.
  assert.equal(await statusOf(undefined, cors), 200);
  const others = ["https://other.example", "null", "http://shoal.example", ""];
  for (const origin of others) {
    assert.equal(await statusOf(origin, cors), 403, origin);
    assert.equal(await statusOf(origin, { origins: ["*"] }), 200);
    assert.equal(await statusOf(origin), 200);
  }
  await host.close();
});
