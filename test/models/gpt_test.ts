import assert from "node:assert/strict";
import fc from "fast-check";
import type { Model } from "../../src/graph/model.ts";
import type { PenaltyInput } from "../../src/models/draw_input.ts";
import { gpt } from "../../src/models/gpt.ts";
import { tensor } from "../../src/tensor/tensor.ts";
import { seededWeights, type WeightSource } from "../../src/tensor/weights.ts";
import { naiveScores } from "../naive_draws.ts";
import { propertyRuns } from "../property_runs.ts";
import { runRequests } from "../run_requests.ts";
import { parametersOf } from "./parameters.ts";
import { ReferenceBlocks } from "./reference_blocks.ts";
import { plus } from "./reference_layers.ts";

const VOCABULARY = 13;
const POSITIONS = 24;

interface Sizes {
  layers: number;
  hidden: number;
  heads: number;
  inner: number;
  activation: "relu" | "gelu" | "gelu-tanh";
  embeddings: "plain" | "scaled";
  classifier: "tied" | "separate";
  epsilon: number;
}

/** Weights of which every sub-layer weighs as much as the embedding, or what tokens look at would hardly matter. */
function loud(seed: number): WeightSource {
  const weights = seededWeights(seed);
  return (name, ...wanted) => {
    const { shape, data } = weights(name, ...wanted);
    const factor = name.startsWith("layer") && name.endsWith("W") ? 4 : 1;
    return tensor(shape, data.map((w) => factor * w));
  };
}

/** The whole network over all positions at once: without a cache, causally masked. */
class ReferenceGpt extends ReferenceBlocks {
  constructor(readonly shape: Sizes, seed: number) {
    super(loud(seed), { ...shape, preNorm: true });
  }

  /** Scores of what follows each token. */
  scores(ids: readonly number[]): number[][] {
    const { hidden, layers, embeddings, classifier } = this.shape;
    const scale = embeddings === "scaled" ? Math.sqrt(hidden) : 1;
    const tied = classifier === "tied";
    let xs = ids.map((id, at) =>
      plus(
        this.embedding("embedding", id, VOCABULARY, hidden, hidden)
          .map((x) => x * scale),
        this.embedding("position", at, POSITIONS, hidden, hidden),
      )
    );
    for (let layer = 1; layer <= layers; layer++) {
      xs = this.selfAttention(`layer.${layer}.attention`, xs, true);
      xs = this.feedForward(`layer.${layer}.forward`, xs);
    }
    return xs.map((x) =>
      this.linear(tied ? "embedding" : "classifier.W", this.norm("norm", x), {
        outputs: VOCABULARY,
        fanIn: hidden,
        ...(!tied && { bias: "classifier.b" }),
      })
    );
  }
}

Deno.test("gpt() with its cache agrees with the network over all positions in double precision", () => {
  fc.assert(
    fc.property(
      fc.record({
        layers: fc.integer({ min: 1, max: 3 }),
        hidden: fc.constantFrom(4, 8, 12),
        heads: fc.constantFrom(1, 2, 4),
        inner: fc.integer({ min: 1, max: 20 }),
        activation: fc.constantFrom("relu", "gelu", "gelu-tanh"),
        embeddings: fc.constantFrom("plain", "scaled"),
        classifier: fc.constantFrom("tied", "separate"),
        epsilon: fc.constantFrom(1e-5, 0.5),
      }),
      fc.array(fc.nat(VOCABULARY - 1), { minLength: 1, maxLength: 14 }),
      fc.subarray([1, 4, 9]),
      fc.constantFrom<PenaltyInput>({}, {
        ...{ repetitionPenalty: 1.5, presencePenalty: 0.2 },
        ...{ frequencyPenalty: 0.1, noRepeatNgramSize: 2 },
      }),
      fc.nat(1000),
      (sizes, tokens, banned, says, seed) => {
        const model = gpt({
          ...sizes,
          vocabulary: VOCABULARY,
          eos: null,
          positionsMax: POSITIONS,
          banned,
          penalties: Object.keys(says).length > 0,
          weights: loud(seed),
        });
        const [result] = runRequests(model, [{
          ...{ tokens, maxSteps: 11, ...says },
        }]);
        const made = [...result["tokens"].data];
        assert.equal(made.length, 11);
        const reference = new ReferenceGpt(sizes, seed);
        const scores = reference.scores([...tokens, ...made.slice(0, -1)]);
        scores.slice(tokens.length - 1).forEach((own, t) => {
          const answer = made.slice(0, t).map(Number);
          const row = naiveScores(says, own, { prompt: tokens, answer });
          const allowed = row.filter((_, id) => !banned.includes(id));
          assert(!banned.includes(made[t]), `step ${t} is banned`);
          const gap = Math.max(...allowed) - row[Number(made[t])];
          assert(gap < 1e-4, `step ${t} is ${gap} from the best id`);
        });
      },
    ),
    { numRuns: propertyRuns(60) },
  );
});

Deno.test("gpt() asks for each of its tensors once: prompts and steps share them", () => {
  const asked: string[] = [];
  const weights = seededWeights(1);
  gpt({
    ...{ layers: 2, hidden: 4, heads: 2, vocabulary: 5, positionsMax: 8 },
    weights(name, ...wanted) {
      asked.push(name);
      return weights(name, ...wanted);
    },
  });
  assert.deepEqual(asked, [...new Set(asked)]);
});

Deno.test("gpt() has the parameters of GPT-2's smallest model", () => {
  const { total } = parametersOf((weights) => gpt({ weights }));
  const layer = 12 * 768 * 768 + 13 * 768;
  assert.equal(total, (50_257 + 1024) * 768 + 12 * layer + 2 * 768);
  // As published with its code.
  assert.equal(total, 124_439_808);
});

Deno.test("gpt() refuses ids and lengths that it does not have", () => {
  const sizes = { layers: 1, hidden: 4, heads: 2, vocabulary: VOCABULARY };
  for (const options of [{ eos: 13 }, { banned: [0, -1] }, { heads: 3 }]) {
    assert.throws(() => gpt({ ...sizes, ...options }), RangeError);
  }
  const model: Model = gpt({ ...sizes, positionsMax: 8 });
  model.check({ tokens: [1, 2, 3], maxSteps: 6 });
  for (
    const input of [
      { tokens: [] },
      { tokens: [13] },
      { tokens: [1, 2, 3], maxSteps: 7 },
      { tokens: Array(9).fill(1) },
    ]
  ) {
    assert.throws(() => model.check(input), RangeError);
  }
});
