/** What requests of the Open Inference Protocol say of how a decoder's tokens are drawn. */
import assert from "node:assert/strict";
import { DRAW_FIELDS, PENALTY_FIELDS } from "../../../src/models/draw_input.ts";
import { gpt } from "../../../src/models/gpt.ts";
import { loadOnnx } from "../../../src/onnx/load.ts";
import { wireName } from "../../../src/server/host/wire_names.ts";
import type { WireTensor } from "../../../src/server/host/served_model.ts";
import { servedDecoder } from "../../../src/server/models/served_decoder.ts";
import { servedTokens } from "../../../src/server/models/served_tokens.ts";
import { tinyDecoder } from "../../onnx/decoder_files.ts";

const ONE: Readonly<Record<string, WireTensor["data"]>> = {
  FP32: Float32Array.of(1),
  INT32: Int32Array.of(1),
  INT64: BigInt64Array.of(1n),
};

Deno.test("all that a decoder takes of numbers is an input that may be left out, and reaches it", async () => {
  const file = tinyDecoder({
    ...{ shared: "no", mask: "input", scale: "scores", positions: "table" },
    ...{ layers: 1, heads: 2, size: 4, vocabulary: 6, seed: 11 },
  });
  const numbers: readonly string[] = [...DRAW_FIELDS, ...PENALTY_FIELDS].filter(
    (field) => field !== "logitBias",
  );
  const cases = [[true, true], [true, false], [false, true]] as const;
  for (const [sample, penalties] of cases) {
    const options = { positionsMax: 8, sample, penalties };
    const model = await loadOnnx(file, { decoder: options });
    const built = gpt({
      ...{ layers: 1, hidden: 8, heads: 2, vocabulary: 6, ...options },
    });
    const name = "writer";
    for (
      const served of [
        servedDecoder(model, { name }),
        servedTokens(built, { name }),
      ]
    ) {
      const tokens = Int32Array.of(1);
      const given = new Map<string, WireTensor>([
        ["tokens", {
          name: "tokens",
          datatype: "INT32",
          shape: [1],
          data: tokens,
        }],
      ]);
      const taken: string[] = [
        ...(sample ? DRAW_FIELDS : []),
        ...(penalties ? PENALTY_FIELDS : []),
      ].filter((field) => numbers.includes(field));
      for (const field of taken) {
        const name = wireName(field);
        const spec = served.inputs.find((input) => input.name === name);
        assert.equal(spec?.optional, true, name);
        const { datatype } = spec!;
        given.set(name, { name, datatype, shape: [1], data: ONE[datatype] });
      }
      assert.deepEqual(served.toInput(given), {
        tokens,
        ...Object.fromEntries(taken.map((field) => [field, 1])),
      });
      const names = served.inputs.map(({ name }) => name);
      for (const field of numbers) {
        assert.equal(names.includes(wireName(field)), taken.includes(field));
      }
    }
  }
});
