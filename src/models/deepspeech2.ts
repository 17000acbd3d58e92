/**
 * DeepSpeech-2: two convolutions over time and frequency of a spectrogram, bidirectional GRU layers, and a layer of
 * characters for every instant (CTC). A cell is one layer's step: of a convolution all that makes up one instant of
 * its output.
 * Source: Amodei et al., "Deep Speech 2: End-to-End Speech Recognition in English and Mandarin" (arXiv 1512.02595;
 * ICML 2016), section 3: clipped ReLU min(max(x, 0), 20) (Eq. 2), batch normalisation of what a recurrent layer reads
 * from below (Eq. 5), the sum of both directions, GRU; table 1: "all networks have 38 million parameters". Sizes are
 * those of MLPerf training v0.5 (speech_recognition/pytorch, model.py and params.py): spectrograms of 161 bins every
 * 10 ms, convolutions of 32 channels, 41 x 11 of stride 2 x 2 and 21 x 11 of stride 2 x 1, 5 layers of 800, 29
 * characters, nothing padded. LazyBatching (Fig. 7) takes it as the network that cellular batching cannot batch.
 * Deviation: no beam search over the characters, no language model; the result is what they would read.
 */
import type { CellGraph, CellNode, Source } from "../graph/cell_graph.ts";
import type { Model } from "../graph/model.ts";
import { nodesMaxFor } from "../graph/nodes_max.ts";
import {
  checkedWeights,
  seededWeights,
  type WeightSource,
} from "../tensor/weights.ts";
import {
  checkKeys,
  checkObject,
  checkOptions,
  checkSize,
  checkSizes,
  LENGTH_MAX,
  readFrames,
} from "./checks.ts";
import { deepSpeech2Cells } from "./deepspeech2_cells.ts";
import type { FramesInput } from "./speech_input.ts";

/** Sizes are positive integers. */
export interface DeepSpeech2Options {
  /** Numbers of a frame: bins of the spectrogram; default 161. */
  features?: number;
  /** Channels of both convolutions; default 32. */
  channels?: number;
  /** Bins that the two convolutions see at once; default 41 and 21. Both skip every second one. */
  bins?: readonly number[];
  /** Instants that a convolution sees at once; default 11. The first one skips every second frame. */
  span?: number;
  /** Recurrent layers, of two directions each; default 5. */
  layers?: number;
  /** Units of every layer, a direction; default 800. */
  hidden?: number;
  /** Characters, with CTC's blank; default 29. */
  classes?: number;
  /** Most frames of an utterance; default 16,384. */
  framesMax?: number;
  /** Where its tensors come from, `namedWeights` for instance; default: random ones of seed 1. */
  weights?: WeightSource;
}

/** Options that a configuration may name. */
export const DEEP_SPEECH_2_OPTIONS = [
  "features",
  "channels",
  "bins",
  "span",
  "layers",
  "hidden",
  "classes",
  "framesMax",
] as const satisfies readonly (keyof DeepSpeech2Options)[];

/** Positions of a window of `span` that skips `stride` at a time; less than 1 where it does not fit. */
function windows(length: number, span: number, stride: number): number {
  return Math.floor((length - span) / stride) + 1;
}

/**
 * DeepSpeech-2: two convolutions over time and frequency of a spectrogram, bidirectional GRU layers and a layer of
 * characters for every instant. A cell is one layer's step.
 * Source: Amodei et al. (arXiv 1512.02595), section 3, in the sizes of MLPerf training v0.5.
 *
 * Results: `logits` [instants][classes]; an utterance of n frames has floor((n - 11) / 2) - 9 instants with a span of
 * 11, and 31 frames or more.
 *
 * Cells: `conv_1`, `conv_2`, `gru_1_forward`, `gru_1_backward`, ..., `classifier`. Tensors: `conv.1.weight` [channels,
 * 1, bins, span], `conv.2.weight` [channels, channels, bins, span], each with a `.bias` [channels] and a `.norm`; with L
 * for `gru.1.forward`, `gru.1.backward`, ...: `L.W` [3 hidden, inputs], `L.R` [3 hidden, hidden], `L.Wb` and `L.Rb` [3
 * hidden], gates z, r, h; the first layer's inputs are [channels][bins] of the convolution. `gru.2.norm`, ... and
 * `classifier.norm` [hidden], `classifier.W` [classes, hidden]. A `.norm` has `.weight`, `.bias`, `.running_mean` and
 * `.running_var`.
 * @throws TypeError or RangeError naming option or tensor when one is not what the model needs
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { deepSpeech2, type Model } from "@shoal/core";
 *
 * const model: Model = deepSpeech2({ features: 12, bins: [3, 2], span: 3, channels: 2, layers: 1, hidden: 4 });
 * model.check({ frames: new Float32Array(7 * 12) });
 * assert.deepEqual(
 *   model.cells.map(({ name }) => name),
 *   ["conv_1", "conv_2", "gru_1_forward", "gru_1_backward", "classifier"],
 * );
 * ```
 */
export function deepSpeech2(
  options: DeepSpeech2Options = {},
): Model<FramesInput, { logits: "f32" }> {
  const name = "deepspeech2";
  checkOptions(name, options, DEEP_SPEECH_2_OPTIONS);
  const size = (option: string, value: number) =>
    checkSize(name, option, value);
  const features = size("features", options.features ?? 161);
  const channels = size("channels", options.channels ?? 32);
  const span = size("span", options.span ?? 11);
  const layers = size("layers", options.layers ?? 5);
  const hidden = size("hidden", options.hidden ?? 800);
  const classes = size("classes", options.classes ?? 29);
  const framesMax = size("framesMax", options.framesMax ?? LENGTH_MAX);
  const bins = checkSizes(
    name,
    "bins",
    options.bins ?? [41, 21],
    "what each convolution sees",
  );
  if (bins.length !== 2) {
    throw new RangeError(
      `"bins" of model "${name}" are of 2 convolutions, got ${bins.length}`,
    );
  }
  const [first, second] = bins as [number, number];
  const heard = windows(features, first, 2);
  if (!(heard >= second)) {
    throw new RangeError(
      `"features" of model "${name}" is at least ${
        first + 2 * (second - 1)
      } with "bins" [${bins.join(", ")}], got ${features}`,
    );
  }
  const framesMin = span + 2 * (span - 1);
  if (!(framesMax >= framesMin)) {
    throw new RangeError(
      `"framesMax" of model "${name}" is at least ${framesMin} with "span" ${span}, got ${framesMax}`,
    );
  }
  const limits = { frameSize: features, framesMin, framesMax };
  const { conv1, conv2, recurrent, classifier } = deepSpeech2Cells(
    {
      features,
      channels,
      bins: [first, second],
      span,
      layers,
      hidden,
      classes,
    },
    checkedWeights(name, options.weights ?? seededWeights(1)),
  );
  const frameNames = conv1.inputs.map(({ name }) => name);
  const instantsMax = windows(framesMax, span, 2);

  /** A port for each of the instants that a convolution sees. */
  const seen = (of: (instant: number) => Source) =>
    Object.fromEntries(frameNames.map((name, i) => [name, of(i)]));
  const state = (graph: CellGraph, before: CellNode | undefined) => ({
    h: before ? graph.output(before, "h") : graph.zeros(hidden),
  });

  return {
    name,
    cells: [
      conv1,
      conv2,
      ...recurrent.flatMap(({ forward, backward }) => [forward, backward]),
      classifier,
    ],
    shape: "chain",
    frameSize: features,
    outputs: { logits: "f32" },
    nodesMax: nodesMaxFor((2 * layers + 3) * instantsMax),
    check(input): asserts input is FramesInput {
      checkObject(name, input);
      checkKeys(name, input, ["frames"]);
      readFrames(name, input["frames"], limits);
    },
    unfold({ frames }, graph) {
      const numbers = readFrames(name, frames, limits);
      const rows = graph.rows(numbers);
      const count = windows(numbers.length / features, span, 2);
      const firsts = Array.from(
        { length: count },
        (_, t) =>
          graph.node(
            conv1,
            seen((i) => graph.row(rows, 2 * t + i, features)),
          ),
      );
      const length = windows(count, span, 1);
      /** What an instant of each layer reads. */
      let below: Record<string, Source>[] = Array.from({ length }, (_, t) => {
        const node = graph.node(
          conv2,
          seen((i) => graph.output(firsts[t + i], "y")),
        );
        return { x: graph.output(node, "y") };
      });
      for (const { forward, backward } of recurrent) {
        const forwards: CellNode[] = [];
        const backwards: CellNode[] = [];
        for (let t = 0; t < length; t++) {
          const before = state(graph, forwards[t - 1]);
          forwards.push(graph.node(forward, { ...below[t], ...before }));
        }
        for (let t = length - 1; t >= 0; t--) {
          const before = state(graph, backwards[t + 1]);
          backwards[t] = graph.node(backward, { ...below[t], ...before });
        }
        below = forwards.map((node, t) => ({
          forward: graph.output(node, "h"),
          backward: graph.output(backwards[t], "h"),
        }));
      }
      for (const inputs of below) {
        const node = graph.node(classifier, inputs);
        graph.collect("logits", graph.output(node, "logits"));
      }
    },
  };
}
