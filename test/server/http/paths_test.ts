/** What is answered at paths where nothing is, and by other mistakes that are found before a route is. */
import assert from "node:assert/strict";
import { withTextServer } from "../text_models.ts";

const openai = (message: string, code: string | null = "not_found") => ({
  error: { message, type: "invalid_request_error", param: null, code },
});

const nothing = (...like: string[]) =>
  `There is nothing at this path; like it there is ${like.join(", ")}`;

Deno.test("a path where nothing is is answered in the words of those that it is like, which are told", async () => {
  const expected: Record<string, unknown> = {
    // What AI SDK's client asks unless told otherwise.
    "/v1/responses": openai(nothing(
      ...["/v1/models", "/v1/models/{name}", "/v1/embeddings"],
      ...["/v1/completions", "/v1/chat/completions", "/v1/realtime"],
      "/v1/rerank",
    )),
    "/v1/chat/completion": openai(nothing("/v1/chat/completions")),
    // Of a client whose address has no "/v1", or more than that.
    "/chat/completions": openai(
      nothing("/v1/chat/completions", "/models/{model}/v1/chat/completions"),
    ),
    "/v1/embeddings/embeddings/": openai(nothing("/v1/embeddings")),
    "/v1/v1/chat/completions": openai(nothing("/v1/chat/completions")),
    // Of a proxy that has kept what is in front, and of an address that ends in a slash.
    "/shoal/v1/embeddings": openai(nothing("/v1/embeddings")),
    "//v1/embeddings": openai(nothing("/v1/embeddings")),
    "/shoal/v2/models/writer/infer": {
      error: nothing("/v2/models/{model}/infer"),
    },
    "/shoal/embed": { error: nothing("/embed"), error_type: "Validation" },
    "/infer": {
      error: nothing(
        "/v2/models/{model}/infer",
        "/v2/models/{model}/versions/{version}/infer",
      ),
    },
    "/v2/models/writer/versions/1/generate": {
      error: nothing(
        ...["/ready", "", "/config", "/stats", "/infer"].map((end) =>
          `/v2/models/{model}/versions/{version}${end}`
        ),
      ),
    },
    "/embeddings/of/texts": { error: "There is nothing at this path" },
  };
  await withTextServer(async (ask) => {
    for (const [path, body] of Object.entries(expected)) {
      const response = await ask(path, {});
      assert.equal(response.status, 404, path);
      assert.deepEqual(await response.json(), body, path);
    }
  });
});

Deno.test("methods that are not there and URLs that are too long are told in the words of the path", async () => {
  await withTextServer(async (ask) => {
    const refused = await ask("/v1/embeddings");
    assert.equal(refused.status, 405);
    assert.equal(refused.headers.get("allow"), "POST");
    assert.deepEqual(
      await refused.json(),
      openai("This path takes POST", null),
    );
    // HEAD is GET's, and answered wherever that is.
    const models = await ask("/v1/models", {});
    assert.equal(models.status, 405);
    assert.equal(models.headers.get("allow"), "GET, HEAD");
    assert.deepEqual(
      await models.json(),
      openai("This path takes GET, HEAD", null),
    );
    const tei = await ask("/embed");
    assert.deepEqual(await tei.json(), {
      error: "This path takes POST",
      error_type: "Validation",
    });
    const long = await ask(`/v1/realtime?model=${"x".repeat(9000)}`);
    assert.equal(long.status, 414);
    assert.deepEqual(
      await long.json(),
      openai("A URL has at most 8192 characters", null),
    );
  });
});
