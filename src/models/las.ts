/**
 * Listen, Attend and Spell: speech to characters. The listener is a bidirectional LSTM layer over the frames and
 * pyramidal ones above it, each of which reads two steps of the layer below at once; the speller's LSTM layers attend
 * to what the highest has heard. A cell is one layer's step in one direction: what LazyBatching calls a node.
 * Source: Chan, Jaitly, Le, Vinyals, "Listen, Attend and Spell" (arXiv 1508.01211; ICASSP 2016), section 3: Eq. 5
 * (pyramid), 6 to 8 (speller), 9 to 11 (attention); section 4: 40 log-mel filter banks every 10 ms, 3 pyramidal layers
 * on top of a bidirectional one, 256 units a direction, speller of 2 layers of 512 units. LazyBatching (section VI-C)
 * has it as "LAS".
 * Assumption: an MLP is one layer of tanh, as wide as what is attended to; the one of the characters, as wide as the
 * speller, has the softmax's layer on top. A character is a one-hot row. States, and the context before the first
 * step, are zero. An odd step at the end is paired with zeros. The paper is silent on all of these.
 * Deviation: greedy decoding, no beam search, no language model.
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
  LENGTH_MAX,
  readFrames,
} from "./checks.ts";
import { lasCells } from "./las_cells.ts";
import { checkEnds, readMaxSteps } from "./seq2seq_input.ts";
import type { SpeechInput } from "./speech_input.ts";

/** Sizes are positive integers. */
export interface LasOptions {
  /** Numbers of a frame; default 40. */
  features?: number;
  /** Units of every layer of the listener, a direction; default 256. */
  hidden?: number;
  /** Pyramidal layers above the first, each half as long as the one below; at most 16, default 3. */
  pyramidLayers?: number;
  /** Units of every layer of the speller; default: 2 `hidden`. */
  spellerHidden?: number;
  /** Layers of the speller; default 2. */
  spellerLayers?: number;
  /** Characters; default 43: a to z, 0 to 9, space, comma, period, apostrophe, unknown, start and end. */
  vocabulary?: number;
  /** Id that starts decoding; default 1. */
  go?: number;
  /** Id that ends decoding; null: only the length limit does. Default 2. */
  eos?: number | null;
  /** Most frames of an utterance; default 16,384. */
  framesMax?: number;
  /** Most decoder steps of a request; default: `framesMax`. */
  stepsMax?: number;
  /** Where its tensors come from, `namedWeights` for instance; default: random ones of seed 1. */
  weights?: WeightSource;
}

/** Options that a configuration may name. */
export const LAS_OPTIONS = [
  "features",
  "hidden",
  "pyramidLayers",
  "spellerHidden",
  "spellerLayers",
  "vocabulary",
  "go",
  "eos",
  "framesMax",
  "stepsMax",
] as const satisfies readonly (keyof LasOptions)[];

/** Every layer halves the steps of the one below. */
const PYRAMID_LAYERS_MAX = 16;

/**
 * Listen, Attend and Spell: a bidirectional LSTM layer over frames of speech, pyramidal ones above it, and an LSTM
 * decoder of characters that attends to what they have heard; greedy decoding. A cell is one layer's step in one
 * direction.
 * Source: Chan et al. (arXiv 1508.01211), section 3.
 *
 * Results: `tokens`, one id per decoder step, the final `<eos>` included.
 *
 * Cells: `listener_1_forward`, `listener_1_backward`, `listener_2_forward`..., `speller_1`..., `character`. Tensors, with
 * L for `listener.1.forward`, `listener.1.backward`, ..., `speller.1`, ...: `L.W` [4 units, inputs], `L.R` [4 units,
 * units], `L.Wb` and `L.Rb` [4 units], gates i, o, f, c. Inputs are the frame; forward and backward of two steps, the
 * earlier first (4 hidden); the speller's one-hot character and context (vocabulary + 2 hidden), or the layer below.
 * `attention.query.W` [2 hidden, spellerHidden], `attention.key.W` [2 hidden, 2 hidden], `character.hidden.W`
 * [spellerHidden, spellerHidden + 2 hidden], `character.output.W` [vocabulary, spellerHidden]; each has a `.b`.
 * @throws TypeError or RangeError naming option or tensor when one is not what the model needs
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { las, type Model } from "@shoal/core";
 *
 * const model: Model = las({ features: 3, hidden: 4, pyramidLayers: 1, spellerLayers: 1 });
 * model.check({ frames: new Float32Array(5 * 3), maxSteps: 8 });
 * assert.deepEqual(
 *   model.cells.map(({ name }) => name),
 *   [
 *     ...["listener_1_forward", "listener_1_backward", "listener_2_forward", "listener_2_backward"],
 *     ...["speller_1", "character"],
 *   ],
 * );
 * ```
 */
export function las(
  options: LasOptions = {},
): Model<SpeechInput, { tokens: "i32" }> {
  const name = "las";
  checkOptions(name, options, LAS_OPTIONS);
  const size = (option: string, value: number) =>
    checkSize(name, option, value);
  const features = size("features", options.features ?? 40);
  const hidden = size("hidden", options.hidden ?? 256);
  const pyramidLayers = size("pyramidLayers", options.pyramidLayers ?? 3);
  if (pyramidLayers > PYRAMID_LAYERS_MAX) {
    throw new RangeError(
      `"pyramidLayers" of model "${name}" is at most ${PYRAMID_LAYERS_MAX}, got ${pyramidLayers}`,
    );
  }
  const spellerHidden = size(
    "spellerHidden",
    options.spellerHidden ?? 2 * hidden,
  );
  const spellerLayers = size("spellerLayers", options.spellerLayers ?? 2);
  const vocabulary = size("vocabulary", options.vocabulary ?? 43);
  const framesMax = size("framesMax", options.framesMax ?? LENGTH_MAX);
  const stepsMax = size("stepsMax", options.stepsMax ?? framesMax);
  const { go = 1, eos = 2 } = options;
  checkEnds(name, { go, eos }, vocabulary);
  const cells = lasCells({
    ...{ features, hidden, pyramidLayers, spellerHidden, spellerLayers },
    ...{ vocabulary, eos },
    positionsMax: Math.ceil(framesMax / 2 ** pyramidLayers),
  }, checkedWeights(name, options.weights ?? seededWeights(1)));
  const { listener, speller, character } = cells;

  /** Frames and the limit of steps, in `check` and again in `unfold`: see readTokens. */
  const read = (input: Record<string, unknown>) => {
    const frames = readFrames(name, input["frames"], {
      frameSize: features,
      framesMax,
    });
    const count = frames.length / features;
    const steps = readMaxSteps(name, input["maxSteps"], {
      steps: count,
      stepsMax,
    });
    return { frames, count, steps };
  };

  /** The state that a node hands on, or zeros. */
  const state = (
    graph: CellGraph,
    before: CellNode | undefined,
    units: number,
  ) => ({
    h: before ? graph.output(before, "h") : graph.zeros(units),
    c: before ? graph.output(before, "c") : graph.zeros(units),
  });

  /** One decoder step; `before` holds the nodes of the step before by layer. */
  function step(
    graph: CellGraph,
    token: Source,
    before: readonly CellNode[],
  ): void {
    const highest = before[spellerLayers - 1];
    const context = highest
      ? graph.output(highest, "context")
      : graph.zeros(2 * hidden);
    let last: CellNode | undefined;
    speller.forEach((cell, i) => {
      const x: Record<string, Source> = last
        ? { x: graph.output(last, "h") }
        : { token, context };
      const options = i === spellerLayers - 1
        ? { caches: { memory: graph.caches[0] } }
        : {};
      const inputs = { ...x, ...state(graph, before[i], spellerHidden) };
      last = graph.node(cell, inputs, options);
    });
    const next = graph.node(character, {
      s: graph.output(last!, "h"),
      context: graph.output(last!, "context"),
    });
    graph.collect("tokens", graph.output(next, "next"));
  }

  return {
    name,
    cells: [
      ...listener.flatMap(({ forward, backward }) => [forward, backward]),
      ...speller,
      character,
    ],
    shape: "chain",
    frameSize: features,
    outputs: { tokens: "i32" },
    // Frames of all layers, halved and rounded up, in both directions.
    nodesMax: nodesMaxFor(
      4 * framesMax + 2 * pyramidLayers + (spellerLayers + 1) * stepsMax,
    ),
    check(input): asserts input is SpeechInput {
      checkObject(name, input);
      checkKeys(name, input, ["frames", "maxSteps"]);
      read(input);
    },
    unfold(input, graph) {
      const { frames, count, steps } = read({ ...input });
      const rows = graph.rows(frames);
      const memory = graph.cache(
        cells.memory,
        Math.ceil(count / 2 ** pyramidLayers),
      );
      /** What a step of each layer reads. */
      let below: Record<string, Source>[] = Array.from(
        { length: count },
        (_, t) => ({ x: graph.row(rows, t, features) }),
      );
      listener.forEach(({ forward, backward }, layer) => {
        const isHighest = layer === pyramidLayers;
        const { length } = below;
        const forwards: CellNode[] = [];
        const backwards: CellNode[] = [];
        for (let t = 0; t < length; t++) {
          const inputs = state(graph, forwards[t - 1], hidden);
          forwards.push(graph.node(forward, { ...below[t], ...inputs }));
        }
        for (let t = length - 1; t >= 0; t--) {
          const inputs = {
            ...below[t],
            ...state(graph, backwards[t + 1], hidden),
            ...(isHighest && { forward: graph.output(forwards[t], "h") }),
          };
          const options = isHighest ? { caches: { memory } } : {};
          backwards[t] = graph.node(backward, inputs, options);
        }
        const heard = (nodes: readonly CellNode[], t: number): Source =>
          t < length ? graph.output(nodes[t], "h") : graph.zeros(hidden);
        below = Array.from({ length: Math.ceil(length / 2) }, (_, u) => ({
          forward_1: heard(forwards, 2 * u),
          backward_1: heard(backwards, 2 * u),
          forward_2: heard(forwards, 2 * u + 1),
          backward_2: heard(backwards, 2 * u + 1),
        }));
      });
      step(graph, graph.id(graph.ids([go]), 0), []);
      graph.grows(steps);
    },
    grow(node, graph) {
      const first = node.index - spellerLayers;
      step(
        graph,
        graph.output(node, "next"),
        graph.nodes.slice(first, node.index),
      );
    },
  };
}
