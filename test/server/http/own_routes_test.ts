/** Answers of somebody's own routes that are not as the server's. */
import assert from "node:assert/strict";
import { EngineHost } from "../../../src/server/host/engine_host.ts";
import { HttpError } from "../../../src/server/http/http_error.ts";
import type { Protocol, Route } from "../../../src/server/http/route.ts";
import { createServer } from "../../../src/server/server.ts";
import { cellular } from "../../../src/policy/cellular_batching/cellular.ts";

async function answerOf(
  handle: Route["handle"],
  { errorBody = ({ message }) => ({ message }), onError }: {
    errorBody?: Protocol["errorBody"];
    onError?: () => void;
  } = {},
): Promise<{ response: Response; errors: unknown[] }> {
  const errors: unknown[] = [];
  const own: Protocol = {
    name: "own",
    routes: [{ method: "GET", path: "/own", scope: "open", handle }],
    errorBody,
  };
  const server = createServer(
    await EngineHost.create({ policy: () => cellular() }),
    {
      protocols: [own],
      cors: { origins: ["*"] },
      onError(error) {
        errors.push(error);
        return onError?.();
      },
    },
  );
  const request = new Request("http://localhost/own", {
    headers: { "x-request-id": "r1", origin: "https://app.example" },
  });
  try {
    return { response: await server.fetch(request), errors };
  } finally {
    await server.close();
  }
}

Deno.test("an answer whose headers cannot be changed has the server's all the same", async () => {
  const { response, errors } = await answerOf(() =>
    Response.redirect("http://localhost/elsewhere", 307)
  );
  assert.equal(response.status, 307);
  assert.equal(response.headers.get("location"), "http://localhost/elsewhere");
  assert.equal(response.headers.get("x-request-id"), "r1");
  assert.equal(response.headers.get("access-control-allow-origin"), "*");
  assert.deepEqual(errors, []);
});

Deno.test("what is no answer is the server's mistake, of which its operator hears", async () => {
  for (const wrong of [undefined, {}, "text", Response.error()]) {
    const { response, errors } = await answerOf(() => wrong as Response);
    assert.equal(response.status, 500);
    assert.equal(response.headers.get("x-request-id"), "r1");
    assert.equal(errors.length, 1);
    await response.body?.cancel();
  }
});

Deno.test("an operator's function and a protocol that fail themselves leave nobody without an answer", async () => {
  const mistake = new Error("a route's");
  const second = new Error("behind it");
  const handle = () => {
    throw mistake;
  };
  const fails = () => {
    throw second;
  };
  const rejects = () => Promise.reject(second) as unknown as void;
  for (const onError of [fails, rejects]) {
    const { response, errors } = await answerOf(handle, { onError });
    assert.equal(response.status, 500);
    assert.deepEqual(await response.json(), {
      message: "An error of the server's; its log says more",
    });
    assert.deepEqual(errors, [mistake]);
  }
  for (const errorBody of [fails, () => 1n]) {
    const { response, errors } = await answerOf(handle, { errorBody });
    assert.equal(response.status, 500);
    assert.equal(response.headers.get("x-request-id"), "r1");
    assert.equal(await response.text(), "");
    assert.equal(errors.length, 2);
  }
});

Deno.test("an answer that was given before is the server's mistake, too", async () => {
  const once = new Response("the same for everybody");
  const first = await answerOf(() => once);
  assert.equal(await first.response.text(), "the same for everybody");
  const locked = new Response("read by somebody");
  locked.body!.getReader();
  for (const answer of [once, locked]) {
    const { response, errors } = await answerOf(() => answer);
    assert.equal(response.status, 500);
    assert.equal(errors.length, 1);
    assert.match(`${errors[0]}`, /TypeError: .* read already/);
    await response.body?.cancel();
  }
});

Deno.test("while its host ends a server asks clients to come on another connection, but for one that is a socket", async () => {
  const host = await EngineHost.create({ policy: () => cellular() });
  const route = (path: string, handle: Route["handle"]): Route => ({
    ...{ method: "GET", path, scope: "open" as const },
    handle,
  });
  const server = createServer(host, {
    protocols: [{
      name: "own",
      routes: [
        route("/own", () => new Response("here")),
        route(
          "/talk",
          ({ openSocket }) =>
            openSocket!({ opened() {}, message() {}, closed() {} }),
        ),
      ],
      errorBody: ({ message }) => ({ message }),
    }],
  });
  const connectionOf = async (path: string) => {
    const response = await server.fetch(
      new Request(`http://localhost${path}`),
      { openSocket: () => new Response() },
    );
    await response.body?.cancel();
    return response.headers.get("connection");
  };
  for (const path of ["/own", "/talk", "/nothing"]) {
    assert.equal(await connectionOf(path), null, path);
  }
  await server.close();
  assert.equal(await connectionOf("/own"), "close");
  assert.equal(await connectionOf("/nothing"), "close");
  assert.equal(await connectionOf("/talk"), null);
});

Deno.test("no cache keeps an answer that does not say that it may be kept", async () => {
  const kept = async (headers: Record<string, string>) => {
    const { response } = await answerOf(() => new Response("", { headers }));
    return response.headers.get("cache-control");
  };
  assert.equal(await kept({}), "no-store");
  assert.equal(
    await kept({ "cache-control": "max-age=9" }),
    "max-age=9",
  );
  // Nor one that is none.
  const { response } = await answerOf(() => {
    throw new HttpError(404, "There is none yet");
  });
  assert.equal(response.headers.get("cache-control"), "no-store");
});
