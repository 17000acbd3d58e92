/** Who may ask for what, and how much. */
import assert from "node:assert/strict";
import { CostAdmission } from "../../../src/server/admission/cost_admission.ts";
import type { HostRequest } from "../../../src/server/host/host_request.ts";
import {
  ForbiddenError,
  OverloadedError,
} from "../../../src/server/host/errors.ts";
import { Allowance } from "../../../src/server/keys/allowance.ts";
import {
  type KeyEntry,
  KeyRing,
  keySha256,
} from "../../../src/server/keys/key_ring.ts";
import { KeyedAdmission } from "../../../src/server/keys/keyed_admission.ts";
import type { Protocol } from "../../../src/server/http/route.ts";
import { VirtualTime } from "../admission/virtual_time.ts";
import { inferBody, withServer } from "../serving_host.ts";
import { TEXT_MODELS, withTextServer } from "../text_models.ts";

const APP = await keySha256("app-secret");
const ROOT = await keySha256("root-secret");

function bearer(key: string): RequestInit {
  return { headers: { authorization: `Bearer ${key}` } };
}

function basic(text: string): RequestInit {
  return { headers: { authorization: `Basic ${btoa(text)}` } };
}

Deno.test("a key is its SHA-256 (FIPS 180-2, B.1)", async () => {
  assert.equal(
    await keySha256("abc"),
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
  );
});

Deno.test("a ring finds the key that a request brings, in the forms that there are", async () => {
  const keys = new KeyRing([
    { name: "app", sha256: APP.toUpperCase() },
    { name: "root", sha256: ROOT, scope: "admin" },
  ]);
  const found = async ({ headers }: RequestInit) =>
    (await keys.find(new Headers(headers)))?.name;
  assert.equal(await found(bearer("app-secret")), "app");
  assert.equal(await found(bearer("root-secret")), "root");
  assert.equal(await found(basic("anybody:root-secret")), "root");
  const headers = { authorization: "bEaReR   app-secret  " };
  assert.equal(await found({ headers }), "app");
  const offered = (protocols: string) => ({
    headers: { "sec-websocket-protocol": protocols },
  });
  const key = "openai-insecure-api-key.app-secret";
  assert.equal(await found(offered(`realtime, ${key}`)), "app");
  assert.equal(await found(offered(`${key},realtime`)), "app");
  for (const wrong of ["realtime", `${key}x`, `x${key}`, "app-secret"]) {
    assert.equal(await found(offered(wrong)), undefined);
  }
  const both = { ...bearer("another").headers, ...offered(key).headers };
  assert.equal(await found({ headers: both }), undefined);
  for (
    const authorization of [
      ...["", "Bearer", "Bearer ", "app-secret", "Digest app-secret"],
      ...["Bearer app-secre", "Bearer app-secretx", `Bearer ${APP}`],
      ...["Basic app-secret", `Basic ${btoa("app-secret")}`, "Basic %"],
      `Bearer ${"x".repeat(5000)}`,
    ]
  ) {
    assert.equal(await found({ headers: { authorization } }), undefined);
  }
  assert.equal(await found({ headers: {} }), undefined);
});

Deno.test("entries that are none are refused, and a hash is not repeated", () => {
  const entry = { name: "app", sha256: APP };
  for (
    const wrong of [
      { ...entry, sha256: "secret" },
      { ...entry, sha256: `${APP}0` },
      { ...entry, scope: "root" },
      { ...entry, models: "intents" },
      { ...entry, requestsPerSecond: 0 },
      { ...entry, burst: 3 },
      { ...entry, other: 1 },
      { sha256: APP },
    ]
  ) {
    assert.throws(() => new KeyRing([wrong as KeyEntry]), (error: Error) => {
      assert(error instanceof TypeError || error instanceof RangeError);
      assert(!error.message.includes("secret"));
      return true;
    });
  }
});

Deno.test("two keys with one name, or that are one, are refused, and both are named", () => {
  const [app, root] = [{ name: "app", sha256: APP }, {
    name: "root",
    sha256: ROOT,
  }];
  assert.throws(
    () => new KeyRing([app, root, { name: "app", sha256: "0".repeat(64) }]),
    /^RangeError: Keys 1 and 3 have one name, "app": each /,
  );
  assert.throws(
    () => new KeyRing([app, root, { name: "b", sha256: APP.toUpperCase() }]),
    /^RangeError: Keys "app" and "b" are one key, with one "sha256": /,
  );
});

/** What tells of itself who may call it. */
const ROUTES: Protocol = {
  name: "gated",
  routes: (["open", "infer", "local", "admin"] as const).map((scope) => ({
    method: "GET",
    path: `/${scope}`,
    scope,
    handle: ({ key }) => new Response(`${key}`),
  })),
  errorBody: ({ message }) => ({ message }),
};

async function statuses(
  keys: KeyRing | undefined,
  init: RequestInit,
  { isLoopback, host = "localhost" }: { isLoopback?: boolean; host?: string } =
    {},
): Promise<number[]> {
  const found: number[] = [];
  const options = { protocols: [ROUTES], ...(keys && { keys }) };
  await withServer(options, async (_ask, server) => {
    for (const { path } of ROUTES.routes) {
      const request = new Request(`http://${host}${path}`, init);
      const origin = isLoopback === undefined ? {} : { isLoopback };
      const response = await server.fetch(request, origin);
      found.push(response.status);
      await response.body?.cancel();
    }
  });
  return found;
}

Deno.test("routes open to whom they are for: open, infer, local, admin", async () => {
  const app = { name: "app", sha256: APP };
  const root = { name: "root", sha256: ROOT, scope: "admin" } as const;
  const both = new KeyRing([app, root]);
  // Without keys calls of administrators are off.
  assert.deepEqual(await statuses(undefined, {}), [200, 200, 403, 403]);
  const here = { isLoopback: true };
  assert.deepEqual(await statuses(undefined, {}, here), [200, 200, 200, 403]);
  // A page that a browser on this machine has under another name.
  for (const host of ["evil.example", "127.0.0.1.evil.example"]) {
    assert.deepEqual(
      await statuses(undefined, {}, { ...here, host }),
      [200, 200, 403, 403],
    );
  }
  assert.deepEqual(
    await statuses(undefined, {}, { ...here, host: "[::1]:80" }),
    [200, 200, 200, 403],
  );
  const elsewhere = { isLoopback: false };
  assert.deepEqual(
    await statuses(undefined, {}, elsewhere),
    [200, 200, 403, 403],
  );
  assert.deepEqual(await statuses(both, {}), [200, 401, 401, 401]);
  assert.deepEqual(await statuses(both, {}, here), [200, 401, 401, 401]);
  assert.deepEqual(
    await statuses(both, bearer("wrong")),
    [200, 401, 401, 401],
  );
  assert.deepEqual(
    await statuses(both, bearer("app-secret")),
    [200, 200, 403, 403],
  );
  assert.deepEqual(
    await statuses(both, bearer("root-secret")),
    [200, 200, 200, 200],
  );
  assert.deepEqual(
    await statuses(new KeyRing([app]), bearer("app-secret")),
    [200, 200, 403, 403],
  );
});

Deno.test("a browser is asked for a password where there is a page", async () => {
  const keys = new KeyRing([{ name: "root", sha256: ROOT, scope: "admin" }]);
  await withServer({ protocols: [ROUTES], keys }, async (ask) => {
    const asked = async (path: string) =>
      (await ask(path)).headers.get("www-authenticate");
    assert.equal(await asked("/local"), 'Basic realm="shoal"');
    assert.equal(await asked("/infer"), 'Bearer realm="shoal"');
  });
});

Deno.test("a password that a browser adds by itself opens the page, and no page's calls", async () => {
  const keys = new KeyRing([{ name: "root", sha256: ROOT, scope: "admin" }]);
  const password = basic("anybody:root-secret").headers;
  assert.deepEqual(await statuses(keys, { headers: password }), [
    ...[200, 200, 200, 200],
  ]);
  for (const origin of ["https://evil.example", "null"]) {
    const made = (headers: HeadersInit | undefined) =>
      statuses(keys, { headers: { ...headers as object, origin } });
    assert.deepEqual(await made(password), [200, 401, 200, 401]);
    // A header that a page sets itself is no such thing.
    const key = bearer("root-secret").headers;
    assert.deepEqual(await made(key), [200, 200, 200, 200]);
  }
});

function request(time: VirtualTime, key?: string): HostRequest {
  return {
    ...{ id: "1", label: "1", priority: 0, finishNs: Infinity },
    served: { name: "m", version: "1", model: { name: "m" } } as never,
    input: { tokens: new Uint8Array(10) },
    arrivalNs: time.nowNs(),
    ...(key !== undefined && { key }),
  };
}

Deno.test("a key's requests are limited for each second, and told when to come back", async () => {
  const time = new VirtualTime();
  const keys = new KeyRing([
    { name: "app", sha256: APP, requestsPerSecond: 2, burst: 3 },
    { name: "root", sha256: ROOT },
  ]);
  const admission = new KeyedAdmission(keys, new CostAdmission({}, time));
  const asks = (key?: string) => admission.admit(request(time, key));
  for (let i = 0; i < 3; i++) asks("app");
  assert.throws(() => asks("app"), (error) => {
    assert(error instanceof OverloadedError);
    assert.equal(error.reason, "key");
    assert.equal(error.retryAfterMs, 500);
    return true;
  });
  asks("root");
  asks();
  await time.until(499e6);
  assert.throws(() => asks("app"));
  await time.until(1001e6);
  asks("app");
  asks("app");
  assert.throws(() => asks("app"));
});

Deno.test("a key's work is limited by what its requests cost", async () => {
  const time = new VirtualTime();
  const keys = new KeyRing([{ name: "app", sha256: APP, costMsPerSecond: 50 }]);
  const inner = new CostAdmission({}, time);
  const admission = new KeyedAdmission(keys, inner);
  const { model } = request(time).served;
  // Ten elements take 20 ms.
  for (let i = 0; i < 50; i++) inner.estimateOf(model).ran(10, 20e6, 0);
  const asks = () =>
    admission.admit({
      ...request(time, "app"),
      served: { name: "m", model } as never,
    });
  asks();
  asks();
  assert.throws(asks, OverloadedError);
  await time.until(1000e6);
  asks();
});

Deno.test("what is refused for others' sake is no work of its key's", async () => {
  const time = new VirtualTime();
  const keys = new KeyRing([{ name: "app", sha256: APP, costMsPerSecond: 50 }]);
  const inner = new CostAdmission({ runningMax: 1, queueMax: 1 }, time);
  const admission = new KeyedAdmission(keys, inner);
  const { served } = request(time);
  // Ten elements take 20 ms.
  for (let i = 0; i < 50; i++) {
    inner.estimateOf(served.model).ran(10, 20e6, 0);
  }
  const asks = (more: Partial<HostRequest> = {}) =>
    admission.admit({ ...request(time), served, ...more });
  const endOther = asks({ label: "other" }) as () => void;
  // One that waits, and whose client leaves.
  for (let i = 0; i < 5; i++) {
    const leaves = new AbortController();
    const waits = asks({ key: "app", label: "left", signal: leaves.signal });
    assert.throws(() => asks({ key: "app", label: "full" }), {
      reason: "full",
    });
    leaves.abort();
    await assert.rejects(async () => await waits, { name: "AbortError" });
  }
  endOther();
  for (let i = 0; i < 2; i++) {
    (asks({ key: "app", label: `own ${i}` }) as () => void)();
  }
  assert.throws(() => asks({ key: "app" }), { reason: "key" });
});

Deno.test("what is larger than a share is owed", () => {
  const share = new Allowance(10, 10, 0);
  assert.equal(share.take(25, 0), 0);
  assert.equal(share.take(1, 0), 1600);
  assert.equal(share.take(1, 1.6e9), 0);
});

Deno.test("a key that may not use a model is told so, whatever the protocol", async () => {
  const keys = new KeyRing([{ name: "app", sha256: APP, models: ["others"] }]);
  const admission = new KeyedAdmission(keys, new CostAdmission());
  const time = new VirtualTime();
  assert.throws(() => admission.admit(request(time, "app")), ForbiddenError);
  await withServer({ keys, host: { admission } }, async (ask) => {
    const infer = async (model: string) =>
      (await ask(`/v2/models/${model}/infer`, {
        method: "POST",
        body: inferBody(),
        ...bearer("app-secret"),
      })).status;
    assert.equal(await infer("others"), 200);
    assert.equal(await infer("intents"), 403);
  });
});

Deno.test("a key that may not use a model has no texts of its tokenizer either", async () => {
  const keys = new KeyRing([
    { name: "app", sha256: APP, models: ["classifier"] },
  ]);
  const admission = new KeyedAdmission(keys, new CostAdmission());
  await withTextServer(
    async (ask) => {
      for (
        const [path, body] of [
          ["tokenize", { inputs: "fish" }],
          ["decode", { ids: [1] }],
        ] as const
      ) {
        const status = async (model: string) => {
          const url = `/models/${model}/${path}`;
          const response = await ask(url, body, bearer("app-secret"));
          await response.body?.cancel();
          return response.status;
        };
        assert.equal(await status("classifier"), 200);
        assert.equal(await status("embedder"), 403);
      }
    },
    TEXT_MODELS,
    { keys, host: { admission } },
  );
});
