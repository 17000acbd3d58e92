/** What server and models tell of themselves: what HTTP tells. */
import assert from "node:assert/strict";
import { lstm } from "../../../src/models/lstm.ts";
import { lstmStream } from "../../../src/models/rnn_stream.ts";
import { loadOnnx } from "../../../src/onnx/load.ts";
import { servedOnnx } from "../../../src/server/models/served_onnx.ts";
import { servedStream } from "../../../src/server/models/served_stream.ts";
import { servedTokens } from "../../../src/server/models/served_tokens.ts";
import { scaleFile } from "../repository/folders.ts";
import { TEXT_MODELS } from "../text_models.ts";
import { grpc, grpcClient } from "./client.ts";
import { asked, refused, withGrpc } from "./serving.ts";

const { status } = grpc;

const INTENTS = servedTokens(
  lstm({ hidden: 8, vocabulary: 10, head: "classifier" }),
  { name: "intents", config: { parameters: { mine: "text", other: [1] } } },
);
const SCALE = servedOnnx(await loadOnnx(scaleFile(2), { name: "scale" }), {
  name: "scale",
  version: "3",
});
const GESTURES = servedStream(lstmStream({ hidden: 4, features: 2 }), {
  name: "gestures",
  config: {
    max_batch_size: 0,
    sequence_batching: {
      max_sequence_idle_microseconds: 5,
      oldest: { max_candidate_sequences: 9 },
    },
    version_policy: { specific: { versions: [1, 2] } },
  },
});

/** As JSON of HTTP has it: numbers, and nothing where there is nothing. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(
      Object.entries(value).flatMap(([name, inner]) =>
        inner === null || name === "policy_choice" ? [] : [[name, plain(inner)]]
      ),
    );
  }
  return typeof value === "string" && /^-?\d+$/.test(value)
    ? Number(value)
    : value;
}

Deno.test("what server and models tell of themselves is what HTTP tells", async () => {
  await withGrpc([INTENTS, SCALE, GESTURES], async ({ client, ask }) => {
    const http = async (path: string) => plain(await (await ask(path)).json());
    assert.deepEqual(await client.call("ServerLive", {}), { live: true });
    assert.deepEqual(await client.call("ServerReady", {}), { ready: true });
    assert.deepEqual(
      plain(await client.call("ServerMetadata", {})),
      await http("/v2"),
    );
    for (const name of ["intents", "scale", "gestures"]) {
      assert.deepEqual(
        await client.call("ModelReady", { name }),
        { ready: true },
      );
      assert.deepEqual(
        plain(await client.call("ModelMetadata", { name })),
        await http(`/v2/models/${name}`),
      );
    }
    for (
      const asked of [{ name: "none" }, { name: "scale", version: "2" }]
    ) {
      assert.deepEqual(
        await client.call("ModelReady", asked),
        { ready: false },
      );
      for (
        const method of ["ModelMetadata", "ModelConfig", "ModelStatistics"]
      ) {
        assert.equal(
          (await refused(client, method, asked)).code,
          status["NOT_FOUND"],
        );
      }
    }
  });
});

Deno.test("a model's settings are Triton's message of them", async () => {
  const writer = TEXT_MODELS.find(({ name }) => name === "writer")!;
  await withGrpc([INTENTS, SCALE, GESTURES, writer], async ({ client }) => {
    const configOf = async (name: string) => {
      const { config } = await client.call("ModelConfig", { name });
      return plain(config) as Record<string, unknown>;
    };
    assert.deepEqual(await configOf("intents"), {
      name: "intents",
      platform: "shoal_model",
      backend: "shoal",
      max_batch_size: 0,
      input: [
        {
          name: "tokens",
          data_type: "TYPE_INT32",
          dims: [-1],
          optional: false,
        },
      ],
      output: [
        { name: "h", data_type: "TYPE_FP32", dims: [8] },
        { name: "logits", data_type: "TYPE_FP32", dims: [5] },
      ],
      parameters: {
        mine: { string_value: "text" },
        other: { string_value: "[1]" },
      },
    });
    const scale = await configOf("scale");
    assert.equal(scale["max_batch_size"], SCALE.maxBatchSize);
    assert.deepEqual(scale["input"], [
      { name: "x", data_type: "TYPE_FP32", dims: [2], optional: false },
    ]);
    const gestures = await configOf("gestures");
    assert.deepEqual(gestures["sequence_batching"], {
      max_sequence_idle_microseconds: 5,
      oldest: { max_candidate_sequences: 9 },
    });
    assert.deepEqual(gestures["version_policy"], {
      specific: { versions: [1, 2] },
    });
    assert.deepEqual((await configOf("writer"))["model_transaction_policy"], {
      decoupled: true,
    });
  });
});

Deno.test("statistics are those of HTTP, of one model or of all", async () => {
  await withGrpc([INTENTS, SCALE], async ({ client, ask }) => {
    await client.call("ModelInfer", asked());
    await refused(client, "ModelInfer", asked([10]));
    for (const [name, path] of [["", ""], ["intents", "/intents"]]) {
      const http = await (await ask(`/v2/models${path}/stats`)).json();
      const told = plain(await client.call("ModelStatistics", { name }));
      assert.deepEqual(told, plain(http));
      assert.equal(http.model_stats[0].inference_count, 1);
      assert.equal(http.model_stats[0].inference_stats.fail.count, 1);
    }
  });
});

Deno.test("load balancers are told whether it serves", async () => {
  await withGrpc([INTENTS], async ({ port, server }) => {
    const client = grpcClient(`127.0.0.1:${port}`, { service: "health" });
    try {
      for (const service of ["", "inference.GRPCInferenceService"]) {
        assert.deepEqual(
          await client.call("Check", { service }),
          { status: "SERVING" },
        );
      }
      assert.equal(
        (await refused(client, "Check", { service: "x" })).code,
        status["NOT_FOUND"],
      );
      await server.close();
      assert.deepEqual(
        await client.call("Check", {}),
        { status: "NOT_SERVING" },
      );
    } finally {
      client.close();
    }
  });
});
