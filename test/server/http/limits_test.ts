/** What a whole server refuses before a route sees it, and what it says. */
import assert from "node:assert/strict";
import { EngineHost } from "../../../src/server/host/engine_host.ts";
import type { Admission } from "../../../src/server/host/admission.ts";
import { OverloadedError } from "../../../src/server/host/errors.ts";
import { parseJson } from "../../../src/server/http/json.ts";
import type { Protocol } from "../../../src/server/http/route.ts";
import { createServer } from "../../../src/server/server.ts";
import { cellular } from "../../../src/policy/cellular_batching/cellular.ts";
import { TEXT_MODELS, withTextServer } from "../text_models.ts";

/** Says how many bytes came. */
function counting(overloadedStatus?: 429): Protocol {
  return {
    name: "counting",
    routes: [{
      method: "POST",
      path: "/count",
      scope: "infer",
      handle: async ({ body }) =>
        new Response(`${(await body.bytes()).length}`),
    }, {
      method: "POST",
      path: "/names",
      scope: "open",
      handle: async ({ body }) =>
        new Response(JSON.stringify(await body.json())),
    }],
    ...(overloadedStatus && { overloadedStatus }),
    errorBody: ({ status, message }) => ({ status, message }),
  };
}

async function server(
  { admission, status }: { admission?: Admission; status?: 429 } = {},
) {
  const host = await EngineHost.create({
    policy: () => cellular(),
    ...(admission && { admission }),
  });
  return createServer(host, {
    protocols: [counting(status)],
    limits: { bytesMax: 1000, headersMax: 10, headerCharactersMax: 500 },
  });
}

function post(path: string, init: RequestInit = {}): Request {
  return new Request(`http://localhost${path}`, { method: "POST", ...init });
}

Deno.test("heads and bodies are refused by their sizes, each with its status", async () => {
  const serving = await server();
  const statusOf = async (request: Request) => {
    const response = await serving.fetch(request);
    const body = await response.json();
    assert(response.headers.has("x-request-id"));
    return typeof body === "number" ? response.status : body.status;
  };
  const many = Object.fromEntries(
    Array.from({ length: 11 }, (_, i) => [`h${i}`, "1"]),
  );
  assert.equal(await statusOf(post("/count", { body: "abc" })), 200);
  assert.equal(await statusOf(post("/count", { headers: many })), 431);
  const long = { headers: { long: "x".repeat(500) } };
  assert.equal(await statusOf(post("/count", long)), 431);
  assert.equal(await statusOf(post(`/count?${"x".repeat(8200)}`)), 414);
  const large = { body: "x".repeat(1001) };
  assert.equal(await statusOf(post("/count", large)), 413);
  const deep = { body: "[".repeat(101) + "]".repeat(101) };
  assert.equal(await statusOf(post("/names", deep)), 400);
  const twice = { body: '{"a":1,"a":1}' };
  assert.equal(await statusOf(post("/names", twice)), 400);
  await serving.close();
});

Deno.test("what is full is said before a body is read, with the protocol's status and when to come back", async () => {
  const admission: Admission = {
    admit: () => () => {},
    refusal: () => new OverloadedError("full", 1234.2),
  };
  for (const status of [undefined, 429] as const) {
    const serving = await server({ admission, ...(status && { status }) });
    let isRead = false;
    const body = new ReadableStream({
      pull(controller) {
        isRead = true;
        controller.close();
      },
    }, { highWaterMark: 0 });
    const response = await serving.fetch(post("/count", { body }));
    // What asks no model for anything is answered.
    const other = await serving.fetch(post("/names", { body: "1" }));
    // Before anything is said of them: a server that is left behind would keep the test from its end.
    await serving.close();
    assert(!isRead, "a body was read that could not be served");
    assert.equal(response.status, status ?? 503);
    assert.equal(response.headers.get("retry-after"), "2");
    assert.equal(response.headers.get("retry-after-ms"), "1235");
    assert.equal(other.status, 200);
  }
});

Deno.test("where other bodies leave no room that is overload, as each protocol has it", async () => {
  const paths: Record<string, number> = {
    "/v2/models/classifier/infer": 503,
    "/v1/embeddings": 429,
    "/v1/chat/completions": 429,
    "/embed": 429,
    "/v2/rerank": 429,
  };
  await withTextServer(
    async (ask) => {
      // One that has begun, and is all that there is room for.
      let end = () => {};
      const body = new ReadableStream({
        start(controller) {
          controller.enqueue(Uint8Array.of(32));
          end = () => controller.close();
        },
      });
      const begun = ask("/embed", undefined, { method: "POST", body });
      await new Promise((resolve) => setTimeout(resolve, 10));
      for (const [path, status] of Object.entries(paths)) {
        const response = await ask(path, { model: "writer" });
        assert.match(await response.text(), /leave no room/, path);
        assert.equal(response.status, status, path);
        assert.equal(response.headers.get("retry-after"), "1", path);
        assert.equal(response.headers.get("retry-after-ms"), "1000", path);
      }
      end();
      assert.equal((await begun).status, 400);
    },
    TEXT_MODELS,
    { limits: { bytesTogetherMax: 16 * 1024 } },
  );
});

Deno.test("a body of texts has a limit of its own, in every protocol of texts", async () => {
  const limits = { textBytesMax: 200 };
  await withTextServer(
    async (ask) => {
      const long = "fish ".repeat(60);
      const paths: Record<string, object> = {
        "/embed": { inputs: long },
        "/rerank": { query: "fish", texts: [long] },
        "/v1/embeddings": { model: "embedder", input: long },
        "/v1/completions": { model: "writer", prompt: long },
        "/models/writer/v1/completions": { model: "writer", prompt: long },
        "/v2/rerank": { model: "reranker", query: "fish", documents: [long] },
      };
      for (const [path, body] of Object.entries(paths)) {
        const response = await ask(path, body);
        assert.equal(response.status, 413, path);
        assert.match(await response.text(), /at most 200 bytes/);
      }
      assert.equal((await ask("/embed", { inputs: "fish" })).status, 200);
      // Of tensors there may be more: nothing is cut into tokens.
      const tokens = { name: "tokens", datatype: "INT32", shape: [100] };
      const response = await ask("/v2/models/classifier/infer", {
        inputs: [{ ...tokens, data: new Array(100).fill(1) }],
      });
      assert.notEqual(response.status, 413);
    },
    TEXT_MODELS,
    { limits },
  );
});

Deno.test("JSON of more objects than there is memory for is refused before they are made", () => {
  const list = (part: string, count: number) =>
    new TextEncoder().encode(`[${`${part},`.repeat(count)}0]`);
  for (const part of ["{}", "[]", '""']) {
    assert.throws(
      () => parseJson(list(part, 2 ** 22), 100),
      /up to 4194304 arrays, objects and strings/,
    );
  }
  const numbers = parseJson(list("1", 2 ** 22), 100) as number[];
  assert.equal(numbers.length, 2 ** 22 + 1);
});
