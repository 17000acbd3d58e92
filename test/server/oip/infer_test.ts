/** The protocol's endpoints, through `fetch` alone: a client of its own, and the engine's bits. */
import assert from "node:assert/strict";
import { lstm } from "../../../src/models/lstm.ts";
import { loadOnnx } from "../../../src/onnx/load.ts";
import { servedOnnx } from "../../../src/server/models/served_onnx.ts";
import { servedTokens } from "../../../src/server/models/served_tokens.ts";
import { plainOf } from "../../../src/tensor/plain_tensor.ts";
import { node, writeModel } from "../../onnx/write_model.ts";
import { answerOf, binaryOf, requestOf } from "./client.ts";
import { echo, TAGGER, withServer } from "./served.ts";

const INTENTS = servedTokens(
  lstm({ hidden: 8, vocabulary: 10, head: "classifier" }),
  { name: "intents", config: { slo_ms: 50 } },
);

/** y = 2 x + x[0] of every row of two, and ids + 2^53, in rows. */
async function sums(options: { datatypes?: Record<string, "FP16"> } = {}) {
  const file = writeModel({
    graph: {
      inputs: [
        { name: "x", type: "float32", dims: ["rows", 2] },
        { name: "ids", type: "int64", dims: ["rows", 1] },
      ],
      outputs: [{ name: "y" }, { name: "far" }],
      initializers: {
        w: plainOf("float32", [2, 2], [3, 1, 0, 2]),
        far_off: plainOf("int64", [1], [2n ** 53n]),
      },
      nodes: [
        node("MatMul", ["x", "w"], ["y"]),
        node("Add", ["ids", "far_off"], ["far"]),
      ],
    },
  });
  const model = await loadOnnx(file, { name: "sums" });
  return servedOnnx(model, { name: "sums", version: "3", ...options });
}

const TOKENS = {
  name: "tokens",
  datatype: "INT32",
  shape: [5],
  values: [3, 1, 4, 1, 5],
};

Deno.test("an answer has the engine's bits, in JSON and in bytes", async () => {
  await withServer([INTENTS], async (ask, host) => {
    const { outputs: expected } = await host.run(INTENTS, {
      tokens: TOKENS.values,
    });
    for (const form of ["flat", "binary"] as const) {
      for (const isBinary of [false, true]) {
        const response = await ask(
          "/v2/models/intents/infer",
          requestOf([[TOKENS, form]], {
            id: "mine",
            outputs: [{
              name: "logits",
              parameters: { binary_data: isBinary },
            }],
          }),
        );
        const { json, outputs, binary } = await answerOf(response);
        assert.equal(json["id"], "mine");
        assert.equal(json["model_name"], "intents");
        assert.equal(json["model_version"], "1");
        assert.deepEqual(binary, isBinary ? ["logits"] : []);
        const { shape, data } = expected["logits"];
        assert.deepEqual(outputs, [{
          ...{ name: "logits", datatype: "FP32", shape: [...shape] },
          values: [...data],
        }]);
      }
    }
  });
});

Deno.test("health, readiness and metadata, under both spellings", async () => {
  await withServer([INTENTS, await sums()], async (ask) => {
    const json = async (path: string) => await (await ask(path)).json();
    assert.deepEqual(await json("/v2/health/live"), { live: true });
    assert.deepEqual(await json("/v2/health/ready"), { ready: true });
    for (const path of ["/v2", "/v2/"]) {
      assert.deepEqual(await json(path), {
        name: "shoal",
        version: "1.2.3",
        extensions: [
          "binary_tensor_data",
          "model_configuration",
          "parameters",
          "schedule_policy",
          "sequence",
          "statistics",
        ],
      });
    }
    assert.deepEqual(await json("/v2/models/intents"), {
      name: "intents",
      versions: ["1"],
      platform: "shoal_model",
      inputs: [{ name: "tokens", datatype: "INT32", shape: [-1] }],
      outputs: [
        { name: "h", datatype: "FP32", shape: [8] },
        { name: "logits", datatype: "FP32", shape: [5] },
      ],
    });
    assert.deepEqual(await json("/v2/models/sums/versions/3"), {
      name: "sums",
      versions: ["3"],
      platform: "onnx_onnxv1",
      inputs: [
        { name: "x", datatype: "FP32", shape: [-1, 2] },
        { name: "ids", datatype: "INT64", shape: [-1, 1] },
      ],
      outputs: [
        { name: "y", datatype: "FP32", shape: [-1, 2] },
        { name: "far", datatype: "INT64", shape: [-1, 1] },
      ],
    });
    for (const path of ["", "/ready", "/config", "/stats"]) {
      assert.deepEqual(
        await json(`/v2/models/intents${path}`),
        await json(`/v2/models/intents/versions/1${path}`),
      );
    }
    assert.deepEqual(await json("/v2/models/intents/config"), {
      name: "intents",
      platform: "shoal_model",
      backend: "shoal",
      max_batch_size: 0,
      input: [{ name: "tokens", data_type: "TYPE_INT32", dims: [-1] }],
      output: [
        { name: "h", data_type: "TYPE_FP32", dims: [8] },
        { name: "logits", data_type: "TYPE_FP32", dims: [5] },
      ],
      slo_ms: 50,
    });
    const head = await ask("/v2/models/intents/ready", { method: "HEAD" });
    assert.deepEqual([head.status, await head.text()], [200, ""]);
  }, { version: "1.2.3" });
});

Deno.test("rows of a request are answered in order, integers beyond 2^53 whole", async () => {
  await withServer([await sums()], async (ask) => {
    const x = {
      ...{ name: "x", datatype: "FP32", shape: [3, 2] },
      values: [1, 2, 3, 4, 5, 6],
    };
    const ids = {
      ...{ name: "ids", datatype: "INT64", shape: [3, 1] },
      values: [1n, 2n ** 62n + 1n, -(2n ** 53n) - 3n],
    };
    for (const form of ["nested", "binary"] as const) {
      const response = await ask(
        "/v2/models/sums/infer",
        requestOf([[x, form], [ids, form]], {
          parameters: { priority: 1, timeout: 5_000_000, mine: "passes" },
        }),
      );
      const { outputs } = await answerOf(response);
      assert.deepEqual(outputs, [
        { ...x, name: "y", values: [3, 5, 9, 11, 15, 17] },
        {
          ...ids,
          name: "far",
          values: [2n ** 53n + 1n, 2n ** 62n + 2n ** 53n + 1n, -3n],
        },
      ]);
    }
    const stats = await (await ask("/v2/models/sums/stats")).json();
    const [of] = stats.model_stats;
    assert.equal(of.inference_count, 6);
    assert.equal(of.inference_stats.success.count, 2);
    const batches: { batch_size: number; compute_infer: { count: number } }[] =
      of.batch_stats;
    assert.equal(
      batches.reduce((sum, batch) => sum + batch.compute_infer.count, 0),
      of.execution_count,
    );
    const rows = batches.reduce(
      (sum, batch) => sum + batch.batch_size * batch.compute_infer.count,
      0,
    );
    assert.equal(rows % 6, 0, "each row is in as many batches");
    assert(of.last_inference > 1.7e12);
    const all = await (await ask("/v2/models/stats")).json();
    assert.equal(all.model_stats.length, 1);
  });
});

Deno.test("a model's output may be half precision on the wire", async () => {
  await withServer(
    [await sums({ datatypes: { y: "FP16", x: "FP16" } })],
    async (ask) => {
      const x = {
        ...{ name: "x", datatype: "FP16", shape: [1, 2] },
        // 1 and 0.5.
        values: [0x3c00, 0x3800],
      };
      const ids = { name: "ids", datatype: "INT8", shape: [1, 1], values: [0] };
      const init = requestOf([[x, "binary"], [ids, "flat"]], {
        outputs: [{ name: "y", parameters: { binary_data: true } }],
      });
      const { outputs } = await answerOf(
        await ask("/v2/models/sums/infer", init),
      );
      // 3 and 2.
      assert.deepEqual(outputs, [{
        ...x,
        name: "y",
        values: [0x4200, 0x4000],
      }]);
      const refused = await ask(
        "/v2/models/sums/infer",
        requestOf([[x, "binary"], [ids, "flat"]], { outputs: [{ name: "y" }] }),
      );
      assert.equal(refused.status, 400);
      assert.match((await refused.json()).error, /"y" is FP16.*binary/);
    },
  );
});

Deno.test("a body may be one tensor and nothing else", async () => {
  await withServer([INTENTS, await sums()], async (ask) => {
    const raw = (path: string, body: Uint8Array<ArrayBuffer>) =>
      ask(path, {
        method: "POST",
        body,
        headers: { "inference-header-content-length": "0" },
      });
    const bytes = new Uint8Array(binaryOf(TOKENS));
    const { outputs, binary } = await answerOf(
      await raw("/v2/models/intents/infer", bytes),
    );
    assert.deepEqual(binary, ["h", "logits"]);
    const { outputs: expected } = await answerOf(
      await ask("/v2/models/intents/infer", requestOf([[TOKENS, "flat"]])),
    );
    assert.deepEqual(outputs, expected);
    for (
      const [path, body, told] of [
        ["/v2/models/intents/infer", bytes.slice(0, 6), /6 bytes/],
        ["/v2/models/intents/infer", bytes.slice(0, 0), /0 bytes/],
        ["/v2/models/sums/infer", bytes, /2 inputs/],
      ] as const
    ) {
      const response = await raw(path, body);
      assert.equal(response.status, 400, `${told}`);
      assert.match((await response.json()).error, told);
    }
  });
  const strings = echo([{ name: "text", datatype: "BYTES", shape: [1] }]);
  await withServer([strings], async (ask) => {
    const response = await ask("/v2/models/echo/infer", {
      method: "POST",
      body: "a whole text",
      headers: { "inference-header-content-length": "0" },
    });
    const { outputs } = await answerOf(response);
    assert.deepEqual(outputs[0].values, ["a whole text"]);
  });
});

Deno.test("a timeout ends a request when it expires", async () => {
  const model = lstm({ hidden: 64, vocabulary: 10 });
  const served = servedTokens(model, { name: "long" });
  await withServer([served], async (ask, host) => {
    const tokens = {
      ...{ name: "tokens", datatype: "INT32", shape: [4096] },
      values: new Array(4096).fill(1),
    };
    const response = await ask(
      "/v2/models/long/infer",
      requestOf([[tokens, "binary"]], { parameters: { timeout: 1000 } }),
    );
    assert.equal(response.status, 504);
    assert.equal(host.statistics.of(served).fail.count, 1);
    // Both are uint64 in Triton's extension, and clients write the largest one for none.
    const most = await ask("/v2/models/long/infer", {
      method: "POST",
      body:
        `{"inputs": [{"name": "tokens", "datatype": "INT32", "shape": [1], "data": [1]}],
        "parameters": {"timeout": 18446744073709551615, "priority": 18446744073709551615}}`,
    });
    assert.equal(most.status, 200, await most.text());
  });
});

Deno.test("without outputs all are answered, of a list that is empty, too", async () => {
  await withServer([INTENTS], async (ask) => {
    // Null stands for nothing: MLServer's and other clients of pydantic write every field.
    const nulls = { id: null, parameters: null, outputs: null };
    for (const rest of [{}, { outputs: [] }, nulls]) {
      const response = await ask(
        "/v2/models/intents/infer",
        requestOf([[TOKENS, "flat"]], rest),
      );
      const { outputs } = await answerOf(response);
      assert.deepEqual(outputs.map(({ name }) => name), ["h", "logits"]);
    }
  });
});

Deno.test("rows of a model whose length is free are requests of their own, and answered as one tensor", async () => {
  assert.deepEqual(TAGGER.inputs[0].shape, [-1, -1]);
  assert.equal(TAGGER.rowsOf!({ ids: BigInt64Array.of(1n, 2n) }), 1);
  const asked = (shape: readonly number[], values: readonly number[]) =>
    requestOf([[{ name: "ids", datatype: "INT64", shape, values }, "flat"]]);
  await withServer([TAGGER], async (ask) => {
    const answered = async (shape: readonly number[], values: number[]) => {
      const response = await ask(
        "/v2/models/tags/infer",
        asked(shape, values),
      );
      assert.equal(response.status, 200);
      return (await answerOf(response)).outputs[0];
    };
    const ids = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 1];
    const all = await answered([3, 4], ids);
    assert.deepEqual(all.shape.slice(0, 2), [3, 4]);
    const size = all.values.length / 3;
    for (let i = 0; i < 3; i++) {
      const alone = await answered([1, 4], ids.slice(4 * i, 4 * i + 4));
      assert.deepEqual(
        all.values.slice(i * size, (i + 1) * size),
        alone.values,
      );
    }
  });
});
