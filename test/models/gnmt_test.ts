import assert from "node:assert/strict";
import fc from "fast-check";
import { lstmStep } from "../kernels/reference/cells.ts";
import { additiveAttention } from "../kernels/reference/attention.ts";
import { gnmt, type GnmtOptions, MLPERF_GNMT } from "../../src/models/gnmt.ts";
import { cellLayers } from "../../src/npu/cell_layers.ts";
import { macsOf } from "../npu/macs_of.ts";
import { seededWeights } from "../../src/tensor/weights.ts";
import { propertyRuns } from "../property_runs.ts";
import { endings, runRequests } from "../run_requests.ts";
import { parametersOf } from "./parameters.ts";
import { plus, ReferenceLayers, type Row } from "./reference_layers.ts";

interface Sizes {
  variant: "gnmt" | "gnmt-v2";
  layers: number;
  hidden: number;
  embedding: number;
}
const VOCABULARY = 13;

/** The network step by step in double precision, fed with the ids that it is given. */
class ReferenceGnmt {
  readonly layers: ReferenceLayers;

  constructor(readonly sizes: Sizes, seed: number) {
    this.layers = new ReferenceLayers(seededWeights(seed));
  }

  #lstm(prefix: string, x: Row, state: { h: Row; c: Row }) {
    const { hidden } = this.sizes;
    const tensor = (part: string, shape: number[]) =>
      this.layers.tensor(`${prefix}.${part}`, shape, hidden);
    const next = lstmStep(
      {
        w: tensor("W", [4 * hidden, x.length]),
        r: tensor("R", [4 * hidden, hidden]),
        b: [...tensor("Wb", [4 * hidden]), ...tensor("Rb", [4 * hidden])],
      },
      x,
      state.h,
      state.c,
    );
    return { h: [...next.h], c: [...next.c] };
  }

  #chain(prefix: string, xs: readonly Row[]): number[][] {
    let state = this.#zeros();
    return xs.map((x) => (state = this.#lstm(prefix, x, state)).h);
  }

  #zeros(): { h: number[]; c: number[] } {
    const zeros = new Array<number>(this.sizes.hidden).fill(0);
    return { h: zeros, c: zeros };
  }

  #word(side: "encoder" | "decoder", id: number): number[] {
    const { variant, embedding, hidden } = this.sizes;
    const name = variant === "gnmt-v2" ? "embedding" : `${side}.embedding`;
    return this.layers.embedding(name, id, VOCABULARY, embedding, hidden);
  }

  encode(tokens: readonly number[]): number[][] {
    const words = tokens.map((id) => this.#word("encoder", id));
    const forward = this.#chain("encoder.1.forward", words);
    const backward = this.#chain("encoder.1.backward", words.toReversed())
      .reverse();
    let ys = forward.map((h, t) => [...h, ...backward[t]]);
    for (let layer = 2; layer <= this.sizes.layers; layer++) {
      const hs = this.#chain(`encoder.${layer}`, ys);
      ys = layer === 2 ? hs : hs.map((h, t) => plus(h, ys[t]));
    }
    return ys;
  }

  #attend(query: Row, memory: readonly Row[]): number[] {
    const { hidden, variant } = this.sizes;
    const { layers } = this;
    const q = layers.linear("attention.q", query, {
      outputs: hidden,
      fanIn: hidden,
      bias: "attention.b",
    });
    const keys = memory.flatMap((y) =>
      layers.linear("attention.k", y, { outputs: hidden, fanIn: hidden })
    );
    let v: Row = [...layers.tensor("attention.v", [hidden], hidden)];
    if (variant === "gnmt-v2") {
      const g = layers.tensor("attention.g", [1], 1)[0];
      const norm = Math.hypot(...v);
      v = v.map((x) => g * x / norm);
    }
    return [
      ...additiveAttention(q, v, keys, memory.flat(), {
        length: memory.length,
        valueWidth: hidden,
      }),
    ];
  }

  /** Logits of every step, given the ids that the steps read. */
  decode(memory: readonly Row[], ids: readonly number[]): number[][] {
    const { layers: count, hidden, variant } = this.sizes;
    const states = Array.from({ length: count }, () => this.#zeros());
    return ids.map((id) => {
      let context = this.#attend(states[0].h, memory);
      const word = this.#word("decoder", id);
      const x = variant === "gnmt" ? [...word, ...context] : word;
      states[0] = this.#lstm("decoder.1", x, states[0]);
      if (variant === "gnmt-v2") context = this.#attend(states[0].h, memory);
      let y = states[0].h;
      for (let layer = 2; layer <= count; layer++) {
        const state = this.#lstm(
          `decoder.${layer}`,
          [...y, ...context],
          states[layer - 1],
        );
        states[layer - 1] = state;
        y = layer === 2 ? state.h : plus(state.h, y);
      }
      return this.layers.linear("classifier.W", y, {
        outputs: VOCABULARY,
        fanIn: hidden,
        bias: "classifier.b",
      });
    });
  }
}

Deno.test("gnmt() agrees with the network in double precision", () => {
  fc.assert(
    fc.property(
      fc.record({
        variant: fc.constantFrom("gnmt" as const, "gnmt-v2" as const),
        layers: fc.integer({ min: 2, max: 4 }),
        hidden: fc.integer({ min: 1, max: 12 }),
        embedding: fc.integer({ min: 1, max: 9 }),
      }),
      fc.array(fc.nat(VOCABULARY - 1), { minLength: 1, maxLength: 12 }),
      fc.nat(1000),
      (sizes, tokens, seed) => {
        const model = gnmt({
          ...sizes,
          sourceVocabulary: VOCABULARY,
          eos: null,
          weights: seededWeights(seed),
        });
        const [result] = runRequests(model, [{ tokens, maxSteps: 8 }]);
        const made = [...result["tokens"].data];
        assert.equal(made.length, 8);
        const reference = new ReferenceGnmt(sizes, seed);
        const logits = reference.decode(
          reference.encode(tokens),
          [1, ...made.slice(0, -1)],
        );
        logits.forEach((row, t) => {
          const gap = Math.max(...row) - row[made[t]];
          assert(gap < 1e-5, `step ${t} is ${gap} from the best id`);
        });
      },
    ),
    { numRuns: propertyRuns(40) },
  );
});

Deno.test("gnmt() has the parameters of MLPerf's GNMT", () => {
  const { total } = parametersOf((weights) =>
    gnmt({ ...MLPERF_GNMT, weights })
  );
  // NVIDIA/apex, apex/contrib/test: "MLPerf GNMT has 160671297 parameters".
  assert.equal(total, 160_671_297);
});

Deno.test("gnmt() has the parameters and products of Wu et al.'s network", () => {
  const { model, tensors, total } = parametersOf((weights) =>
    gnmt({ weights })
  );
  // Shazeer et al. 2017 (arXiv 1701.06538), tables 2 and 3: 278M parameters, 214M multiply-adds a timestep.
  const of = (...names: RegExp[]) =>
    [...tensors].reduce(
      (sum, [name, count]) =>
        names.some((pattern) => pattern.test(name)) ? sum + count : sum,
      0,
    );
  const matrices = of(/\.[WR]$/, /embedding$/);
  assert.equal(matrices, 278_659_072);
  assert.equal(of(/^attention/), 2 * 1024 ** 2 + 2 * 1024);
  // Every LSTM has two biases, as in ONNX.
  assert.equal(total, 278_659_072 + 2_099_200 + 17 * 8192 + 32_000);
  const macs = model.cells.reduce((sum, cell) => {
    const extents = [{
      length: 1,
      caches: cell.caches.map(() => ({ seen: 1 })),
    }];
    return sum +
      cellLayers(cell, 1, extents).reduce(
        (macs, layer) => macs + macsOf(layer),
        0,
      );
  }, 0);
  // One position of source and target: LSTMs, classifier, attention's two projections, score and mean.
  assert.equal(macs, 180_355_072 + 32_768_000 + 2 * 1024 ** 2 + 2 * 1024);
  assert(Math.abs(macs / 214e6 - 1) < 0.006);
});

Deno.test("gnmt() refuses what it cannot take, naming the way out", () => {
  const small: GnmtOptions = { hidden: 2, sourceVocabulary: 5, tokensMax: 3 };
  const cases: [GnmtOptions, RegExp][] = [
    [{ ...small, layers: 1 }, /"layers" of model "gnmt" is at least 2, got 1/],
    [
      { ...small, variant: "gnmt-v2", targetVocabulary: 6 },
      /variant "gnmt-v2" has one vocabulary, got 5 and 6/,
    ],
    [{ ...small, eos: 5 }, /"eos" of model "gnmt" is an id below 5, got 5/],
  ];
  for (const [options, message] of cases) {
    assert.throws(() => gnmt(options), { name: "RangeError", message });
  }
  assert.throws(
    () => endings(gnmt(small), [{ tokens: [1, 2, 3, 4] }]),
    {
      name: "RangeError",
      message:
        /"tokens" of a request to "gnmt" are 4 ids; the model takes up to 3/,
    },
  );
});
