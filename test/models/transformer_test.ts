import assert from "node:assert/strict";
import fc from "fast-check";
import { transformer } from "../../src/models/transformer.ts";
import { cellLayers } from "../../src/npu/cell_layers.ts";
import { macsOf } from "../npu/macs_of.ts";
import { seededWeights } from "../../src/tensor/weights.ts";
import { propertyRuns } from "../property_runs.ts";
import { runRequests } from "../run_requests.ts";
import { parametersOf } from "./parameters.ts";
import { ReferenceBlocks } from "./reference_blocks.ts";
import { plus, type Row } from "./reference_layers.ts";

const VOCABULARY = 13;

interface Sizes {
  layers: number;
  hidden: number;
  heads: number;
  inner: number;
}

/** The whole network over all positions at once: the decoder without a cache, causally masked. */
class ReferenceTransformer extends ReferenceBlocks {
  constructor(readonly shape: Sizes, seed: number) {
    super(seededWeights(seed), {
      ...shape,
      activation: "relu",
      epsilon: 1e-6,
    });
  }

  #embed(ids: readonly number[]): number[][] {
    const { hidden } = this.shape;
    return ids.map((id, at) => {
      const row = this.embedding("embedding", id, VOCABULARY, hidden, hidden);
      const place = row.map((_, i) => {
        const angle = at / 10_000 ** (2 * Math.floor(i / 2) / hidden);
        return i % 2 ? Math.cos(angle) : Math.sin(angle);
      });
      return plus(row.map((x) => x * Math.sqrt(hidden)), place);
    });
  }

  encode(tokens: readonly number[]): number[][] {
    let xs = this.#embed(tokens);
    for (let layer = 1; layer <= this.shape.layers; layer++) {
      xs = this.selfAttention(`encoder.${layer}.attention`, xs, false);
      xs = this.feedForward(`encoder.${layer}.forward`, xs);
    }
    return xs;
  }

  /** Logits of every step, given the ids that the steps read. */
  decode(source: readonly Row[], ids: readonly number[]): number[][] {
    let xs = this.#embed(ids);
    for (let layer = 1; layer <= this.shape.layers; layer++) {
      xs = this.selfAttention(`decoder.${layer}.attention`, xs, true);
      xs = this.crossAttention(`decoder.${layer}.source`, xs, source);
      xs = this.feedForward(`decoder.${layer}.forward`, xs);
    }
    const { hidden } = this.shape;
    return xs.map((x) =>
      this.linear("embedding", x, { outputs: VOCABULARY, fanIn: hidden })
    );
  }
}

Deno.test("transformer() with its cache agrees with the network over all positions in double precision", () => {
  fc.assert(
    fc.property(
      fc.record({
        layers: fc.integer({ min: 1, max: 3 }),
        hidden: fc.constantFrom(4, 8, 12),
        heads: fc.constantFrom(1, 2, 4),
        inner: fc.integer({ min: 1, max: 20 }),
      }),
      fc.array(fc.nat(VOCABULARY - 1), { minLength: 1, maxLength: 20 }),
      fc.nat(1000),
      (sizes, tokens, seed) => {
        const model = transformer({
          ...sizes,
          vocabulary: VOCABULARY,
          eos: null,
          tokensMax: 20,
          weights: seededWeights(seed),
        });
        const [result] = runRequests(model, [{ tokens, maxSteps: 11 }]);
        const made = [...result["tokens"].data];
        assert.equal(made.length, 11);
        const reference = new ReferenceTransformer(sizes, seed);
        const logits = reference.decode(
          reference.encode(tokens),
          [1, ...made.slice(0, -1)],
        );
        logits.forEach((row, t) => {
          const gap = Math.max(...row) - row[made[t]];
          assert(gap < 1e-4, `step ${t} is ${gap} from the best id`);
        });
      },
    ),
    { numRuns: propertyRuns(40) },
  );
});

Deno.test("transformer() has the parameters of Vaswani et al.'s base model", () => {
  const { total } = parametersOf((weights) => transformer({ weights }));
  const norm = 2 * 512;
  const attention = 4 * 512 * 512 + 4 * 512 + norm;
  const forward = 2 * 512 * 2048 + 2048 + 512 + norm;
  assert.equal(
    total,
    37_000 * 512 + 6 * (attention + forward) + 6 * (2 * attention + forward),
  );
  assert.equal(total, 63_082_496);
  // Table 3 says 65M, without the exact size of the vocabulary ("about 37000").
  assert(Math.abs(total / 65e6 - 1) < 0.03);
});

Deno.test("transformer() has the parameters of Vaswani et al.'s big model", () => {
  const { total } = parametersOf((weights) =>
    transformer({ hidden: 1024, heads: 16, weights })
  );
  // Table 3: 213M.
  assert(Math.abs(total / 213e6 - 1) < 0.007, `${total}`);
});

Deno.test("transformer() has the products of the paper's table 1", () => {
  const { model } = parametersOf((weights) => transformer({ weights }));
  const [n, t, d] = [20, 7, 512];
  /** Products of all cells of a phase, for n source tokens, at the step behind t others. */
  const macs = (isGrowing: boolean) =>
    model.cells.filter(({ phase }) => (phase === "decoder") === isGrowing)
      .reduce((sum, cell) => {
        const length = cell.tokensMax === undefined ? 1 : n;
        const caches = cell.caches.map(({ name }) => ({
          seen: name === "steps" ? t + 1 : n,
        }));
        return sum + cellLayers(cell, 1, [{ length, caches }]).reduce(
          (macs, layer) => macs + macsOf(layer),
          0,
        );
      }, 0);
  // Per layer: projections n d^2 each, scores and means n^2 d each; feed-forward 8 n d^2.
  const keys = 2 * n * d * d;
  assert.equal(macs(false), 6 * (12 * n * d * d + 2 * n * n * d + keys));
  assert.equal(
    macs(true),
    6 * (14 * d * d + 2 * (t + 1) * d + 2 * n * d) + 37_000 * d,
  );
});
