import assert from "node:assert/strict";
import fc from "fast-check";
import { Prng } from "../../src/base/prng.ts";
import { CellGraph } from "../../src/graph/cell_graph.ts";
import {
  deepSpeech2,
  type DeepSpeech2Options,
} from "../../src/models/deepspeech2.ts";
import { cellLayers } from "../../src/npu/cell_layers.ts";
import { merged } from "../../src/policy/baselines/merged.ts";
import { seededWeights, type WeightSource } from "../../src/tensor/weights.ts";
import { gruStep } from "../kernels/reference/cells.ts";
import { macsOf } from "../npu/macs_of.ts";
import { propertyRuns } from "../property_runs.ts";
import { endings, runRequests } from "../run_requests.ts";
import { parametersOf } from "./parameters.ts";
import { plus, ReferenceLayers, type Row } from "./reference_layers.ts";

interface Sizes {
  features: number;
  channels: number;
  bins: readonly [number, number];
  span: number;
  layers: number;
  hidden: number;
  classes: number;
}

/** A spectrogram or what a convolution makes of it: [channel][bin][instant]. */
type Map3 = readonly (readonly Row[])[];

/** The network over whole utterances in double precision. */
class ReferenceDeepSpeech2 {
  readonly layers: ReferenceLayers;

  constructor(readonly sizes: Sizes, weights: WeightSource) {
    this.layers = new ReferenceLayers(weights);
  }

  /** What a normalisation makes of each channel's values. */
  #norm(prefix: string, channels: number): (x: number, i: number) => number {
    const part = (name: string, around = 0) =>
      this.layers.weights(`${prefix}.${name}`, [channels], 4, around).data;
    const [scale, shift] = [part("weight", 1), part("bias")];
    const [mean, variance] = [part("running_mean"), part("running_var", 1)];
    return (x, i) =>
      scale[i] * (x - mean[i]) / Math.sqrt(variance[i] + 1e-5) + shift[i];
  }

  convolution(layer: 1 | 2, x: Map3): Map3 {
    const { channels, span } = this.sizes;
    const bins = this.sizes.bins[layer - 1];
    const fanIn = x.length * bins * span;
    const weight = this.layers.tensor(
      `conv.${layer}.weight`,
      [channels, x.length, bins, span],
      fanIn / 6,
    );
    const bias = this.layers.tensor(`conv.${layer}.bias`, [channels], fanIn);
    const norm = this.#norm(`conv.${layer}.norm`, channels);
    const stride = layer === 1 ? 2 : 1;
    const lines = Math.floor((x[0].length - bins) / 2) + 1;
    const instants = Math.floor((x[0][0].length - span) / stride) + 1;
    return range(channels).map((o) =>
      range(lines).map((line) =>
        range(instants).map((t) => {
          let sum = bias[o];
          for (const c of range(x.length)) {
            for (const f of range(bins)) {
              for (const i of range(span)) {
                sum += weight[((o * x.length + c) * bins + f) * span + i] *
                  x[c][2 * line + f][stride * t + i];
              }
            }
          }
          return Math.min(20, Math.max(0, norm(sum, o)));
        })
      )
    );
  }

  #gru(prefix: string, xs: readonly Row[]): number[][] {
    const { hidden } = this.sizes;
    const tensor = (part: string, shape: number[]) =>
      this.layers.tensor(`${prefix}.${part}`, shape, hidden);
    const weights = {
      w: tensor("W", [3 * hidden, xs[0].length]),
      r: tensor("R", [3 * hidden, hidden]),
      b: [...tensor("Wb", [3 * hidden]), ...tensor("Rb", [3 * hidden])],
    };
    let h: number[] = new Array<number>(hidden).fill(0);
    return xs.map((x) => (h = [...gruStep(weights, x, h)]));
  }

  logits(frames: readonly Row[]): number[][] {
    const { layers, hidden, classes } = this.sizes;
    const spectrogram = [
      range(frames[0].length).map((bin) => frames.map((frame) => frame[bin])),
    ];
    const heard = this.convolution(2, this.convolution(1, spectrogram));
    let xs: Row[] = range(heard[0][0].length).map((t) =>
      heard.flatMap((lines) => lines.map((line) => line[t]))
    );
    for (let layer = 1; layer <= layers; layer++) {
      if (layer > 1) {
        const norm = this.#norm(`gru.${layer}.norm`, hidden);
        xs = xs.map((x) => x.map(norm));
      }
      const forward = this.#gru(`gru.${layer}.forward`, xs);
      const backward = this.#gru(`gru.${layer}.backward`, xs.toReversed())
        .reverse();
      xs = forward.map((h, t) => plus(h, backward[t]));
    }
    const norm = this.#norm("classifier.norm", hidden);
    return xs.map((x) =>
      this.layers.linear("classifier.W", x.map(norm), {
        outputs: classes,
        fanIn: hidden,
      })
    );
  }
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i);
}

Deno.test("deepSpeech2() agrees with the network in double precision", () => {
  fc.assert(
    fc.property(
      fc.record({
        features: fc.integer({ min: 8, max: 14 }),
        channels: fc.integer({ min: 1, max: 4 }),
        bins: fc.tuple(
          fc.integer({ min: 1, max: 4 }),
          fc.integer({ min: 1, max: 3 }),
        ),
        span: fc.integer({ min: 1, max: 4 }),
        layers: fc.integer({ min: 1, max: 3 }),
        hidden: fc.integer({ min: 1, max: 9 }),
        classes: fc.integer({ min: 1, max: 6 }),
      }),
      fc.array(fc.nat(12), { minLength: 1, maxLength: 3 }),
      fc.constantFrom(1, 40),
      fc.nat(1000),
      (sizes, more, loud, seed) => {
        const weights = seededWeights(seed);
        const model = deepSpeech2({ ...sizes, weights });
        const prng = new Prng(seed).fork("frames");
        const utterances = more.map((extra) =>
          range(3 * sizes.span - 2 + extra).map(() =>
            range(sizes.features).map(() =>
              // Loud ones are clipped.
              Math.fround(loud * (2 * prng.float() - 1))
            )
          )
        );
        const results = runRequests(
          model,
          utterances.map((frames) => ({ frames: frames.flat() })),
          { policy: merged({ batchSizeMax: 3 }) },
        );
        const reference = new ReferenceDeepSpeech2(sizes, weights);
        utterances.forEach((frames, r) => {
          const expected = reference.logits(frames);
          const { shape, data } = results[r]["logits"];
          assert.deepEqual(shape, [expected.length, sizes.classes]);
          expected.flat().forEach((x, i) => {
            const difference = Math.abs(data[i] - x);
            assert(difference < 1e-4, `logits[${i}] differs by ${difference}`);
          });
        });
      },
    ),
    { numRuns: propertyRuns(60) },
  );
});

/** Statistics of a normalisation are measured, not learned. */
const NOT_LEARNED = /\.running_(mean|var)$/;

Deno.test("deepSpeech2() has the parameters of MLPerf's network, 38 million", () => {
  const { tensors } = parametersOf((weights) => deepSpeech2({ weights }));
  const total = [...tensors].reduce(
    (sum, [name, count]) => NOT_LEARNED.test(name) ? sum : sum + count,
    0,
  );
  // PyTorch's modules of mlcommons/training, speech_recognition/pytorch/model.py: two Conv2d and BatchNorm2d; the GRUs,
  // in two directions, of 3 x 800 gates with two biases, over 21 bins of 32 channels, then over 800 units behind a
  // BatchNorm1d; BatchNorm1d and Linear without a bias.
  const gru = (inputs: number) => 2 * 3 * 800 * (inputs + 800 + 2);
  assert.equal(
    total,
    32 * (41 * 11 + 1) + 2 * 32 + 32 * (32 * 21 * 11 + 1) + 2 * 32 +
      gru(21 * 32) + 4 * (2 * 800 + gru(800)) + 2 * 800 + 29 * 800,
  );
  assert.equal(total, 38_115_968);
  // Amodei et al., table 1: "all networks have 38 million parameters".
  assert.equal(Math.round(total / 1e6), 38);
});

Deno.test("deepSpeech2() has the products of an utterance of the published sizes", () => {
  const { model } = parametersOf((weights) => deepSpeech2({ weights }));
  const frames = 201;
  const graph = new CellGraph(model);
  model.unfold({ frames: new Float32Array(frames * 161) }, graph);
  const macs = graph.nodes.reduce(
    (sum, { cell }) =>
      cellLayers(cell, 1).reduce((all, layer) => all + macsOf(layer), sum),
    0,
  );
  // Floor((201 - 11) / 2) + 1 = 96 instants, then 86; 61 bins of 161, then 21. Not printed anywhere: the sum over
  // the layers.
  assert.equal(
    macs,
    96 * 61 * 32 * 41 * 11 + 86 * 21 * 32 * 32 * 21 * 11 +
      86 * (2 * 3 * 800 * (672 + 800) + 4 * 2 * 3 * 800 * 1600 + 29 * 800),
  );
});

Deno.test("deepSpeech2() is what LazyBatching's Fig. 7 has before and behind its recurrent layers", () => {
  const { cells } = deepSpeech2({
    ...{ features: 12, bins: [3, 2], span: 3, channels: 2, hidden: 4 },
  });
  assert.deepEqual(
    cells.filter(({ recurrent }) => !recurrent).map(({ name }) => name),
    ["conv_1", "conv_2", "classifier"],
  );
  assert.equal(cells.length, 2 + 2 * 5 + 1);
});

Deno.test("deepSpeech2() refuses what it cannot take, naming the way out", () => {
  const small: DeepSpeech2Options = {
    ...{ features: 12, bins: [3, 2], span: 3, channels: 2, layers: 1 },
    ...{ hidden: 2, framesMax: 9 },
  };
  const cases: [DeepSpeech2Options, RegExp][] = [
    [
      { features: 80 },
      /"features" of model "deepspeech2" is at least 81 with "bins" \[41, 21\], got 80/,
    ],
    [{ bins: [] }, /"bins" .* lists what each convolution sees, got \[\]/],
    [{ bins: [3] }, /"bins" .* are of 2 convolutions, got 1/],
    [{ bins: [3, 0] }, /"bins\[1\]" .* positive integer, got 0/],
    [
      { ...small, framesMax: 6 },
      /"framesMax" .* is at least 7 with "span" 3, got 6/,
    ],
  ];
  for (const [options, message] of cases) {
    assert.throws(() => deepSpeech2(options), { name: "RangeError", message });
  }
  const model = deepSpeech2(small);
  const refused: [unknown, string, RegExp][] = [
    [
      { frames: new Float32Array(6 * 12) },
      "RangeError",
      /are 72 numbers; the model takes 7 to 9 frames \(up to its option "framesMax"\) of 12 numbers each/,
    ],
    [{ frames: new Float32Array(10 * 12) }, "RangeError", /are 120 numbers/],
    [
      { frames: new Float32Array(8 * 12), maxSteps: 1 },
      "TypeError",
      /maxSteps/,
    ],
  ];
  for (const [input, name, message] of refused) {
    assert.throws(() => endings(model, [input as never]), { name, message });
  }
});
