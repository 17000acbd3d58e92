import assert from "node:assert/strict";
import fc from "fast-check";
import { Prng } from "../../src/base/prng.ts";
import { CellGraph } from "../../src/graph/cell_graph.ts";
import { las, type LasOptions } from "../../src/models/las.ts";
import { cellLayers } from "../../src/npu/cell_layers.ts";
import { seededWeights, type WeightSource } from "../../src/tensor/weights.ts";
import { attention } from "../kernels/reference/attention.ts";
import { lstmStep } from "../kernels/reference/cells.ts";
import { macsOf } from "../npu/macs_of.ts";
import { propertyRuns } from "../property_runs.ts";
import { endings, runRequests } from "../run_requests.ts";
import { parametersOf } from "./parameters.ts";
import { ReferenceLayers, type Row } from "./reference_layers.ts";

interface Sizes {
  features: number;
  hidden: number;
  pyramidLayers: number;
  spellerHidden: number;
  spellerLayers: number;
}
const VOCABULARY = 7;

/** Large enough that attention is not even, and what it says decides. */
function loudWeights(seed: number): WeightSource {
  const weights = seededWeights(seed);
  return (name, shape, fanIn) => weights(name, shape, fanIn / 16);
}

/** The network step by step in double precision, fed with the ids that it is given. */
class ReferenceLas {
  readonly layers: ReferenceLayers;

  constructor(readonly sizes: Sizes, seed: number) {
    this.layers = new ReferenceLayers(loudWeights(seed));
  }

  #lstm(
    prefix: string,
    x: Row,
    state: { h: Row; c: Row },
  ): { h: number[]; c: number[] } {
    const units = state.h.length;
    const tensor = (part: string, shape: number[]) =>
      this.layers.tensor(`${prefix}.${part}`, shape, units);
    const next = lstmStep(
      {
        w: tensor("W", [4 * units, x.length]),
        r: tensor("R", [4 * units, units]),
        b: [...tensor("Wb", [4 * units]), ...tensor("Rb", [4 * units])],
      },
      x,
      state.h,
      state.c,
    );
    return { h: [...next.h], c: [...next.c] };
  }

  #chain(prefix: string, xs: readonly Row[]): number[][] {
    let state = zeroState(this.sizes.hidden);
    return xs.map((x) => (state = this.#lstm(prefix, x, state)).h);
  }

  #mlp(name: string, x: Row, outputs: number): number[] {
    return this.#affine(name, x, outputs).map(Math.tanh);
  }

  #affine(name: string, x: Row, outputs: number): number[] {
    return this.layers.linear(`${name}.W`, x, {
      outputs,
      fanIn: x.length,
      bias: `${name}.b`,
    });
  }

  listen(frames: readonly Row[]): number[][] {
    let ys = frames;
    for (let layer = 1; layer <= this.sizes.pyramidLayers + 1; layer++) {
      const silence = new Array<number>(2 * this.sizes.hidden).fill(0);
      // Eq. 5: two steps of the layer below, one after the other.
      const xs = layer === 1 ? ys : Array.from(
        { length: Math.ceil(ys.length / 2) },
        (_, u) => [...ys[2 * u], ...(ys[2 * u + 1] ?? silence)],
      );
      const forward = this.#chain(`listener.${layer}.forward`, xs);
      const backward = this.#chain(
        `listener.${layer}.backward`,
        xs.toReversed(),
      ).reverse();
      ys = forward.map((h, t) => [...h, ...backward[t]]);
    }
    return ys as number[][];
  }

  /** Logits of every step, given the ids that the steps read. */
  spell(heard: readonly Row[], ids: readonly number[]): number[][] {
    const { hidden, spellerHidden, spellerLayers } = this.sizes;
    const width = 2 * hidden;
    const keys = heard.flatMap((y) => this.#mlp("attention.key", y, width));
    let context: Row = new Array<number>(width).fill(0);
    const states = Array.from(
      { length: spellerLayers },
      () => zeroState(spellerHidden),
    );
    return ids.map((id) => {
      const oneHot = new Array<number>(VOCABULARY).fill(0).with(id, 1);
      let x: Row = [...oneHot, ...context];
      for (let layer = 1; layer <= spellerLayers; layer++) {
        const state = this.#lstm(`speller.${layer}`, x, states[layer - 1]);
        states[layer - 1] = state;
        x = state.h;
      }
      context = [
        ...attention(
          { heads: 1, kvHeads: 1, headSize: width },
          1,
          this.#mlp("attention.query", x, width),
          keys,
          heard.flat(),
          heard.length,
        ),
      ];
      const inner = this.#mlp(
        "character.hidden",
        [...x, ...context],
        spellerHidden,
      );
      return this.#affine("character.output", inner, VOCABULARY);
    });
  }
}

function zeroState(units: number): { h: number[]; c: number[] } {
  const zeros = new Array<number>(units).fill(0);
  return { h: zeros, c: zeros };
}

Deno.test("las() agrees with the network in double precision", () => {
  fc.assert(
    fc.property(
      fc.record({
        features: fc.integer({ min: 1, max: 6 }),
        hidden: fc.integer({ min: 1, max: 9 }),
        pyramidLayers: fc.integer({ min: 1, max: 3 }),
        spellerHidden: fc.integer({ min: 1, max: 12 }),
        spellerLayers: fc.integer({ min: 1, max: 3 }),
      }),
      fc.integer({ min: 1, max: 21 }),
      fc.nat(1000),
      (sizes, count, seed) => {
        const model = las({
          ...sizes,
          vocabulary: VOCABULARY,
          eos: null,
          weights: loudWeights(seed),
        });
        const prng = new Prng(seed).fork("frames");
        const frames = Array.from(
          { length: count },
          () =>
            Array.from(
              { length: sizes.features },
              () => Math.fround(6 * prng.float() - 3),
            ),
        );
        const [result] = runRequests(model, [{
          frames: frames.flat(),
          maxSteps: 8,
        }]);
        const made = [...result["tokens"].data];
        assert.equal(made.length, 8);
        const reference = new ReferenceLas(sizes, seed);
        const logits = reference.spell(
          reference.listen(frames),
          [1, ...made.slice(0, -1)],
        );
        logits.forEach((row, t) => {
          const gap = Math.max(...row) - row[made[t]];
          assert(gap < 1e-5, `step ${t} is ${gap} from the best id`);
        });
      },
    ),
    { numRuns: propertyRuns(60) },
  );
});

Deno.test("las() has the parameters of the published sizes", () => {
  const { tensors, total } = parametersOf((weights) => las({ weights }));
  const of = (prefix: string) =>
    [...tensors].reduce(
      (sum, [name, count]) => name.startsWith(prefix) ? sum + count : sum,
      0,
    );
  // Chan et al. print no count. An LSTM of h units over x inputs has 4 h (x + h) weights, and two biases of 4 h as
  // in ONNX; a direction has 256 units, over 40 filter banks or 2 steps of 2 directions.
  const lstm = (x: number, h: number) => 4 * h * (x + h) + 8 * h;
  assert.equal(of("listener.1."), 2 * lstm(40, 256));
  for (const layer of [2, 3, 4]) {
    assert.equal(of(`listener.${layer}.`), 2 * lstm(4 * 256, 256));
  }
  // 43 characters and the context of 512; then the layer below.
  assert.equal(of("speller.1."), lstm(43 + 512, 512));
  assert.equal(of("speller.2."), lstm(512, 512));
  assert.equal(of("attention."), 2 * (512 * 512 + 512));
  assert.equal(of("character."), 512 * (1024 + 1) + 43 * (512 + 1));
  assert.equal(total, 13_849_643);
});

Deno.test("las() has the products of an utterance of the published sizes", () => {
  const { model } = parametersOf((weights) => las({ weights }));
  // 2.4 s: the mean of the 3 million utterances, 2000 hours, of Chan et al., section 4.
  const [frames, characters] = [240, 36];
  const graph = new CellGraph(model);
  model.unfold(
    { frames: new Float32Array(frames * 40), maxSteps: characters },
    graph,
  );
  graph.growing(() => {
    for (let step = 1; step < characters; step++) {
      model.grow!(graph.nodes.at(-1)!, graph);
    }
  });
  const macs = graph.nodes.reduce(
    (sum, { cell, length, caches }) =>
      cellLayers(cell, 1, [{
        length,
        caches: caches.map(({ seen }) => ({ seen })),
      }]).reduce((all, layer) => all + macsOf(layer), sum),
    0,
  );
  const lstm = (x: number, h: number) => 4 * h * (x + h);
  const heard = frames / 8;
  assert.equal(
    macs,
    2 * frames * lstm(40, 256) +
      2 * (frames / 2 + frames / 4 + heard) * lstm(1024, 256) +
      heard * 512 * 512 + // keys
      characters *
        (lstm(43 + 512, 512) + lstm(512, 512) + 512 * 512 + // query
          2 * heard * 512 + 1024 * 512 + 512 * 43),
  );
});

Deno.test("las() listens to half the steps in every layer, the odd one at the end with silence", () => {
  const model = las({ features: 1, hidden: 2, vocabulary: 5 });
  for (const [frames, steps] of [[1, [1, 1, 1, 1]], [11, [11, 6, 3, 2]]]) {
    const graph = new CellGraph(model);
    model.unfold({ frames: new Float32Array(frames as number) }, graph);
    const nodes = (name: string) =>
      graph.nodes.filter(({ cell }) => cell.name === name);
    for (const direction of ["forward", "backward"]) {
      assert.deepEqual(
        [1, 2, 3, 4].map((layer) =>
          nodes(`listener_${layer}_${direction}`).length
        ),
        steps,
      );
    }
    const last = nodes("listener_2_forward").at(-1)!;
    assert.deepEqual(
      last.inputs.slice(0, 4).map(({ kind }) => kind),
      ["node", "node", "zeros", "zeros"],
    );
    assert.equal(graph.stepsMax, frames);
  }
});

Deno.test("las() refuses what it cannot take, naming the way out", () => {
  const small: LasOptions = {
    ...{ features: 2, hidden: 2, vocabulary: 5, framesMax: 3, stepsMax: 2 },
  };
  const cases: [LasOptions, RegExp][] = [
    [{ pyramidLayers: 17 }, /"pyramidLayers" .* is at most 16, got 17/],
    [{ ...small, eos: 5 }, /"eos" of model "las" is an id below 5, got 5/],
    [{ ...small, go: 5 }, /"go" of model "las" is an id below 5, got 5/],
  ];
  for (const [options, message] of cases) {
    assert.throws(() => las(options), { name: "RangeError", message });
  }
  const refused: [unknown, string, RegExp][] = [
    [
      { frames: new Float32Array(8) },
      "RangeError",
      /"frames" of a request to "las" are 8 numbers; the model takes 1 to 3 frames \(up to its option "framesMax"\) of 2 numbers each/,
    ],
    [{ frames: [1, 2, 3] }, "RangeError", /are 3 numbers/],
    [{ frames: [] }, "RangeError", /are 0 numbers/],
    [{ frames: [1, NaN] }, "RangeError", /frames\[1\] .* is NaN/],
    [{ frames: new Float64Array(2) }, "TypeError", /got Float64Array of 2/],
    [{ tokens: [1] }, "TypeError", /has no field "tokens"/],
    [
      { frames: [1, 2], maxSteps: 3 },
      "RangeError",
      /"maxSteps" .* up to 2 \(the model's option "stepsMax"\), got 3/,
    ],
  ];
  const model = las(small);
  for (const [input, name, message] of refused) {
    assert.throws(() => endings(model, [input as never]), { name, message });
  }
});
