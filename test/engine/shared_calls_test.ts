/** Cells whose calls are large enough that a team shares them: int8, rows with axes, products of values. */
import assert from "node:assert/strict";
import { Prng } from "../../src/base/prng.ts";
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import { defineCell, image, row } from "../../src/graph/cell_builder.ts";
import type { Model } from "../../src/graph/model.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import { runRequests } from "../run_requests.ts";
import { bytes, floats } from "./quantized_numbers.ts";
import { onceModel } from "./random_cells.ts";

function large(): Model<number[][]> {
  const random = new Prng(9);
  const [tokens, width] = [48, 96];
  return onceModel(defineCell({
    name: "large",
    inputs: { x: row("f32", [tokens, width]), picture: image(24, 24, 8) },
    body: (op, { x, picture }) => {
      const q = op.DynamicQuantizeLinear(x);
      const y = op.MatMulIntegerToFloat(q, bytes(random, width, width));
      const heads = op.RowAttention(y, x, y, { heads: 4 });
      const convolved = op.QLinearConv(
        op.DynamicQuantizeLinear(picture),
        bytes(random, 16, 8, 3, 3),
        { scale: 1, zero: 128 },
      );
      return {
        y: op.Add(op.Gemm(heads, floats(random, width, width)), y),
        z: op.MatMul(y, y, { transposed: true }),
        picture: op.ConvInteger(convolved, bytes(random, 16, 1, 3, 3), {
          group: 16,
        }),
      };
    },
  }));
}

for (
  const [what, options] of Object.entries({
    "two workers": { workers: 2 },
    "a team of two threads": { workers: 1, threadsPerWorker: 2 },
    "the engine's own thread": { workers: 0 },
  })
) {
  Deno.test(`int8, rows with axes and products of values have the same bits on ${what}`, async () => {
    const model = large();
    const requests = Array.from({ length: 9 }, (_, seed) => {
      const random = new Prng(seed);
      return [[...floats(random, 48 * 96).data], [
        ...floats(random, 24 * 24 * 8).data,
      ]];
    });
    await using engine = await ServingEngine.create({
      models: [model],
      policy: cellular(),
      slotBytes: 2 ** 24,
      ...options,
    });
    const results = await Promise.all(
      requests.map((request) => engine.run(model, request)),
    );
    assert.deepEqual(
      results.map(({ outputs }) => outputs),
      runRequests(model, requests),
    );
  });
}
