/** The Open Inference Protocol through `fetch` alone. */
import assert from "node:assert/strict";
import { lstm } from "../../src/models/lstm.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import { EngineHost } from "../../src/server/host/engine_host.ts";
import { servedTokens } from "../../src/server/models/served_tokens.ts";
import { createServer } from "../../src/server/server.ts";

const MODEL = lstm({ hidden: 8, vocabulary: 10, head: "classifier" });

async function withServer(
  run: (
    ask: (path: string, init?: RequestInit) => Promise<Response>,
    host: EngineHost,
  ) => Promise<void>,
): Promise<void> {
  const host = await EngineHost.create({
    models: [servedTokens(MODEL, { name: "intents" })],
    policy: () => cellular(),
    engine: { workers: 0, warmUp: false },
  });
  const server = createServer(host);
  try {
    await run(
      (path, init) =>
        server.fetch(new Request(`http://localhost${path}`, init)),
      host,
    );
  } finally {
    await server.close();
  }
}

Deno.test("a request goes through the server and has the engine's bits", async () => {
  await withServer(async (ask, host) => {
    const tokens = [3, 1, 4, 1, 5];
    const response = await ask("/v2/models/intents/infer", {
      method: "POST",
      body: JSON.stringify({
        id: "mine",
        inputs: [{
          name: "tokens",
          shape: [5],
          datatype: "INT32",
          data: tokens,
        }],
        outputs: [{ name: "logits" }],
      }),
    });
    assert.equal(response.status, 200);
    const answer = await response.json();
    const { outputs } = await host.run(host.find("intents"), { tokens });
    assert.deepEqual(answer, {
      model_name: "intents",
      model_version: "1",
      id: "mine",
      outputs: [{
        name: "logits",
        datatype: "FP32",
        shape: [...outputs["logits"].shape],
        data: [...outputs["logits"].data],
      }],
    });
  });
});

Deno.test("health and metadata", async () => {
  await withServer(async (ask) => {
    assert.deepEqual(await (await ask("/v2/health/live")).json(), {
      live: true,
    });
    assert.deepEqual(await (await ask("/v2/health/ready")).json(), {
      ready: true,
    });
    assert.equal((await (await ask("/v2/")).json()).name, "shoal");
    const metadata = await (await ask("/v2/models/intents")).json();
    assert.deepEqual(metadata.inputs, [
      { name: "tokens", datatype: "INT32", shape: [-1] },
    ]);
    assert.deepEqual(
      metadata,
      await (await ask("/v2/models/intents/versions/1")).json(),
    );
    for (
      const [path, method, status] of [
        ["/v2/models/none/ready", "GET", 404],
        ["/v2/models/intents/versions/2", "GET", 404],
        ["/v2/models/intents/infer", "GET", 405],
        ["/v3", "GET", 404],
        ["/v2/models/intents/infer", "POST", 400],
      ] as const
    ) {
      const response = await ask(path, { method });
      assert.equal(response.status, status, path);
      assert.equal(typeof (await response.json()).error, "string", path);
    }
  });
});
