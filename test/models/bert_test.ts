import assert from "node:assert/strict";
import fc from "fast-check";
import type { Model } from "../../src/graph/model.ts";
import { bert } from "../../src/models/bert.ts";
import { cellLayers } from "../../src/npu/cell_layers.ts";
import { macsOf } from "../npu/macs_of.ts";
import { seededWeights, shapesOnly } from "../../src/tensor/weights.ts";
import { propertyRuns } from "../property_runs.ts";
import { endings, runRequests } from "../run_requests.ts";
import { parametersOf } from "./parameters.ts";
import { ReferenceBlocks } from "./reference_blocks.ts";
import { plus } from "./reference_layers.ts";

const VOCABULARY = 13;
const TOKENS_MAX = 20;

Deno.test("bert() agrees with the network in double precision", () => {
  const token = fc.record({
    id: fc.nat(VOCABULARY - 1),
    segment: fc.nat(1),
  });
  fc.assert(
    fc.property(
      fc.record({
        layers: fc.integer({ min: 1, max: 3 }),
        hidden: fc.constantFrom(4, 8, 12),
        heads: fc.constantFrom(1, 2, 4),
        inner: fc.integer({ min: 1, max: 20 }),
      }),
      fc.array(token, { minLength: 1, maxLength: TOKENS_MAX }),
      fc.nat(1000),
      (sizes, drawn, seed) => {
        const { hidden, layers } = sizes;
        const classes = 3;
        const model = bert({
          ...sizes,
          classes,
          vocabulary: VOCABULARY,
          tokensMax: TOKENS_MAX,
          weights: seededWeights(seed),
        });
        const tokens = drawn.map(({ id }) => id);
        const segments = drawn.map(({ segment }) => segment);
        const [result] = runRequests(model, [{ tokens, segments }]);
        const reference = new ReferenceBlocks(seededWeights(seed), {
          ...sizes,
          activation: "gelu",
          epsilon: 1e-12,
        });
        const row = (name: string, id: number, count: number) =>
          reference.embedding(`embedding.${name}`, id, count, hidden, hidden);
        let xs = drawn.map(({ id, segment }, t) =>
          reference.norm(
            "embedding.norm",
            plus(
              row("word", id, VOCABULARY),
              row("position", t, TOKENS_MAX),
              row("segment", segment, 2),
            ),
          )
        );
        for (let layer = 1; layer <= layers; layer++) {
          xs = reference.selfAttention(`layer.${layer}.attention`, xs, false);
          xs = reference.feedForward(`layer.${layer}.forward`, xs);
        }
        const pooled = reference.dense("pooler", xs[0], hidden).map(Math.tanh);
        const logits = reference.dense("classifier", pooled, classes);
        const near = (name: string, expected: readonly number[]) =>
          expected.forEach((x, i) => {
            const difference = Math.abs(result[name].data[i] - x);
            assert(difference < 1e-4, `${name} ${i} differs by ${difference}`);
          });
        near("pooled", pooled);
        near("logits", logits);
      },
    ),
    { numRuns: propertyRuns(40) },
  );
});

const TOKENS = 128;

/** Multiply-accumulates of a request of that many tokens. */
function macsOfRequest({ cells }: Model): number {
  return cells.reduce((sum, cell) => {
    const length = cell.tokensMax === undefined ? 1 : TOKENS;
    return sum + cellLayers(cell, 1, [{ length, caches: [] }]).reduce(
      (macs, layer) => macs + macsOf(layer),
      0,
    );
  }, 0);
}
for (
  const { variant, hidden, layers, parameters } of [
    // Devlin et al., section 3: 110M and 340M; the published weights have these, pooler included.
    { variant: "base", hidden: 768, layers: 12, parameters: 109_482_240 },
    { variant: "large", hidden: 1024, layers: 24, parameters: 335_141_888 },
  ] as const
) {
  Deno.test(`bert() has the parameters and products of BERT ${variant}`, () => {
    const { model, total } = parametersOf((weights) =>
      bert({ variant, weights })
    );
    assert.equal(total, parameters);
    assert.equal(
      macsOfRequest(model),
      layers * TOKENS * (12 * hidden ** 2 + 2 * TOKENS * hidden) + hidden ** 2,
    );
  });
}

Deno.test("bert() has the published operations of BERT base", () => {
  const { model } = parametersOf((weights) => bert({ weights }));
  // Sun et al. 2020 (MobileBERT, arXiv 2004.02984), table 4: 22.5G at 128 tokens, two a product.
  const operations = 2 * macsOfRequest(model);
  assert(Math.abs(operations / 22.5e9 - 1) < 0.01, `${operations}`);
});

Deno.test("bert() takes sizes beside a variant", () => {
  const model = bert({ variant: "large", layers: 1, weights: shapesOnly() });
  assert.deepEqual(
    model.cells.map(({ name, inputs }) => [name, inputs[0].width]),
    [["embedding", 1], ["attention_1", 1024], ["forward_1", 1024], [
      "pooler",
      1024,
    ]],
  );
});

Deno.test("bert() refuses what it cannot take, naming the way out", () => {
  assert.throws(() => bert({ hidden: 10, heads: 4 }), {
    name: "RangeError",
    message: /"heads" of model "bert" divides "hidden" \(10\), got 4/,
  });
  const model = bert({
    ...{ layers: 1, hidden: 4, heads: 2, vocabulary: 5, tokensMax: 3 },
  });
  const refused: [unknown, RegExp][] = [
    [{ tokens: [1, 2, 3, 4] }, /4 ids; the model takes up to 3/],
    [
      { tokens: [1, 2], segments: [0] },
      /"segments" .* 1 numbers, for 2 tokens/,
    ],
    [
      { tokens: [1, 2], segments: [0, 0, 1] },
      /"segments" .* 3 numbers, for 2 tokens/,
    ],
    [
      { tokens: [1, 2], segments: [0, 2] },
      /segments\[1\] of a request to "bert" is 2; ids are integers from 0 to 1/,
    ],
  ];
  for (const [input, message] of refused) {
    assert.throws(() => endings(model, [input]), {
      name: "RangeError",
      message,
    });
  }
});
