import assert from "node:assert/strict";
import fc from "fast-check";
import { bert } from "../../src/models/bert.ts";
import { cellLayers } from "../../src/npu/cell_layers.ts";
import { macsOf } from "../npu/macs_of.ts";
import { seededWeights } from "../../src/tensor/weights.ts";
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

Deno.test("bert() has the parameters of BERT base", () => {
  const { total } = parametersOf((weights) => bert({ weights }));
  // Devlin et al., section 3: 110M; the published weights have this many, pooler included.
  assert.equal(total, 109_482_240);
});

Deno.test("bert() has the products of BERT base", () => {
  const { model } = parametersOf((weights) => bert({ weights }));
  const tokens = 128;
  const macs = model.cells.reduce((sum, cell) => {
    const length = cell.tokensMax === undefined ? 1 : tokens;
    return sum + cellLayers(cell, 1, [{ length, caches: [] }]).reduce(
      (macs, layer) => macs + macsOf(layer),
      0,
    );
  }, 0);
  assert.equal(
    macs,
    12 * tokens * (12 * 768 ** 2 + 2 * tokens * 768) + 768 ** 2,
  );
  // Sun et al. 2020 (MobileBERT, arXiv 2004.02984), table 4: 22.5G operations at 128 tokens, two a product.
  assert(Math.abs(2 * macs / 22.5e9 - 1) < 0.01, `${2 * macs}`);
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
