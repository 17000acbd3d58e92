/** Types on the wire that a model is served with: those that can be are what its inputs have, others are refused. */
import assert from "node:assert/strict";
import { defineCell, f32 } from "../../../src/graph/cell_builder.ts";
import type { Model } from "../../../src/graph/model.ts";
import { gpt } from "../../../src/models/gpt.ts";
import { lstm } from "../../../src/models/lstm.ts";
import { loadOnnx } from "../../../src/onnx/load.ts";
import type { Datatype } from "../../../src/server/host/datatypes.ts";
import type { WireTensor } from "../../../src/server/host/served_model.ts";
import { servedBuilt } from "../../../src/server/models/served_built.ts";
import { servedDecoder } from "../../../src/server/models/served_decoder.ts";
import { servedTokens } from "../../../src/server/models/served_tokens.ts";
import { tinyDecoder } from "../../onnx/decoder_files.ts";
import { answerOf, requestOf } from "../oip/client.ts";
import { withServer } from "../oip/served.ts";

const cell = defineCell({
  name: "double",
  inputs: { x: f32(2) },
  body: (op, { x }) => ({ y: op.Add(x, x) }),
});
/** Twice an image of two numbers. */
const double: Model<{ image: ArrayLike<number> }> = {
  name: "double",
  cells: [cell],
  shape: "dag",
  image: { height: 1, width: 2, channels: 1 },
  check() {},
  unfold({ image }, graph) {
    const x = graph.row(graph.rows(image), 0, 2);
    graph.result("y", graph.output(graph.node(cell, { x }), "y"));
  },
};

Deno.test("an image may be half precision on the wire", async () => {
  const served = servedBuilt(double, "image", {
    name: "double",
    datatypes: { image: "FP16" },
  });
  assert.equal(served.inputs[0].datatype, "FP16");
  await withServer([served], async (ask) => {
    // 1 and 0.5, as halves and as singles.
    const given = [["FP16", [0x3c00, 0x3800]], ["FP32", [1, 0.5]]] as const;
    for (const [datatype, values] of given) {
      const image = { name: "image", datatype, shape: [1, 2, 1], values };
      const { outputs: [{ values: twice }] } = await answerOf(
        await ask(
          "/v2/models/double/infer",
          requestOf([[{ ...image, values: [...values] }, "binary"]]),
        ),
      );
      assert.deepEqual(twice, [2, 1]);
    }
  });
});

Deno.test("types that an input cannot have are refused", () => {
  const writer = gpt({
    ...{ layers: 1, hidden: 8, heads: 2, vocabulary: 10, positionsMax: 8 },
  });
  const cases: [Model, Record<string, Datatype>, RegExp][] = [
    [lstm({ hidden: 8, vocabulary: 10 }), { tokens: "INT64" }, /"tokens" is/],
    [writer, { max_steps: "FP32" }, /"max_steps" is INT32, and cannot be FP32/],
  ];
  for (const [model, datatypes, message] of cases) {
    assert.throws(() => servedTokens(model, { name: "model", datatypes }), {
      name: "RangeError",
      message,
    });
  }
});

Deno.test("settings of a decoder have the types that it is served with", async () => {
  const file = tinyDecoder({
    ...{ shared: "no", mask: "input", scale: "scores", positions: "table" },
    ...{ layers: 1, heads: 2, size: 4, vocabulary: 6, seed: 11 },
  });
  const model = await loadOnnx(file, {
    decoder: { positionsMax: 8, sample: true },
  });
  const datatypes = { temperature: "FP16", top_p: "FP64" } as const;
  const served = servedDecoder(model, { name: "writer", datatypes });
  const tensor = (name: string, datatype: Datatype, data: unknown) =>
    [name, { name, datatype, shape: [1], data } as WireTensor] as const;
  const input = served.toInput(
    new Map([
      tensor("tokens", "INT32", Int32Array.of(1)),
      // 0.5.
      tensor("temperature", "FP16", Uint16Array.of(0x3800)),
      tensor("top_p", "FP64", Float64Array.of(0.75)),
      tensor("seed", "INT64", BigInt64Array.of(7n)),
    ]),
  );
  assert.deepEqual(input, {
    tokens: Int32Array.of(1),
    temperature: 0.5,
    topP: 0.75,
    seed: 7,
  });
  const wrong: Record<string, Datatype>[] = [
    { top_k: "FP32" },
    { seed: "INT32" },
  ];
  for (const datatypes of wrong) {
    assert.throws(
      () => servedDecoder(model, { name: "writer", datatypes }),
      /"(top_k|seed)" is INT(32|64), and cannot be /,
    );
  }
});
