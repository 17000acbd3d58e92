/**
 * GNMT: LSTM layers with residual connections, of which the lowest decoder layer attends to the outputs of
 * the highest encoder layer. A cell is one layer's step: what LazyBatching calls a node.
 * Source: Wu et al., "Google's Neural Machine Translation System" (arXiv 1609.08144), section 3: 8 + 8
 * layers of 1024, the first encoder layer bidirectional, residual connections from the third layer on,
 * attention by the lowest decoder layer's output of the step before, handed to all decoder layers.
 * "gnmt-v2" is the network of MLPerf, which LazyBatching takes its GNMT from (section V): see MLPERF_GNMT.
 * It attends by the lowest layer's output of the step itself, for the layers above, with a normalised v,
 * and shares one embedding between the languages (NVIDIA's PyTorch implementation).
 * Assumption: decoding starts from zero states, as in that implementation; the paper does not say.
 * Assumption: attention has a bias. Deviation: greedy decoding, no beam search.
 */
import type { CellGraph, CellNode, Source } from "../graph/cell_graph.ts";
import type { Model } from "../graph/model.ts";
import { nodesMaxFor } from "../graph/nodes_max.ts";
import {
  checkedWeights,
  seededWeights,
  type WeightSource,
} from "../tensor/weights.ts";
import { checkChoice, checkOptions, checkSize, LENGTH_MAX } from "./checks.ts";
import { gnmtCells } from "./gnmt_cells.ts";
import { checkEnds, readSeq2Seq, type Seq2SeqInput } from "./seq2seq_input.ts";

const VARIANTS = ["gnmt", "gnmt-v2"] as const;

/** Sizes are positive integers. */
export interface GnmtOptions {
  /** "gnmt": the paper's; "gnmt-v2": MLPerf's (see `MLPERF_GNMT`). Default "gnmt". */
  variant?: "gnmt" | "gnmt-v2";
  /** Layers of the encoder and of the decoder, at least 2; default 8. */
  layers?: number;
  /** Units of every layer; default 1024. */
  hidden?: number;
  /** Width of a token's embedding; default: `hidden`. */
  embedding?: number;
  /** Token ids of the source; default 32,000 (section 4.1: 8K to 32K wordpieces). */
  sourceVocabulary?: number;
  /** Token ids of the target; default: `sourceVocabulary`; the same in "gnmt-v2". */
  targetVocabulary?: number;
  /** Id that starts decoding; default 1. */
  go?: number;
  /** Id that ends decoding; null: only the length limit does. Default 2. */
  eos?: number | null;
  /** Most tokens of a source; default 512. */
  tokensMax?: number;
  /** Steps beyond the source length before decoding is cut off, where a request names no limit; default 50. */
  extraSteps?: number;
  /** Most decoder steps of a request; default 16,384, or `tokensMax` + `extraSteps` if that is more. */
  stepsMax?: number;
  /** Where its tensors come from, `namedWeights` for instance; default: random ones of seed 1. */
  weights?: WeightSource;
}

/** Options that a configuration may name. */
export const GNMT_OPTIONS = [
  "variant",
  "layers",
  "hidden",
  "embedding",
  "sourceVocabulary",
  "targetVocabulary",
  "go",
  "eos",
  "tokensMax",
  "extraSteps",
  "stepsMax",
] as const satisfies readonly (keyof GnmtOptions)[];

/**
 * Options of the GNMT of MLPerf: training's rnn_translator, and inference v0.5 with a vocabulary of 32,000 or so.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { gnmt } from "@shoal/core";
 * import { MLPERF_GNMT } from "@shoal/core/simulate";
 *
 * const { cells } = gnmt({ ...MLPERF_GNMT, hidden: 8, sourceVocabulary: 50 });
 * assert.equal(cells.filter(({ phase }) => phase === "decoder").length, 5); // 4 layers and the classifier
 * ```
 */
export const MLPERF_GNMT = {
  variant: "gnmt-v2",
  layers: 4,
  sourceVocabulary: 32_320,
} as const satisfies GnmtOptions;

/**
 * GNMT: LSTM layers with residual connections, of which the lowest decoder layer attends to the outputs of the
 * highest encoder layer; greedy decoding. A cell is one layer's step.
 * Source: Wu et al. (arXiv 1609.08144), section 3; "gnmt-v2" as in MLPerf.
 *
 * Results: `tokens`, one id per decoder step, the final `<eos>` included.
 *
 * Cells: `encoder_1_forward`, `encoder_1_backward`, `encoder_2`..., `decoder_1`..., `classifier`. Tensors, with L
 * for `encoder.1.forward`, `encoder.1.backward`, `encoder.2`, ..., `decoder.1`, ...: `L.W` [4 hidden, inputs], `L.R`
 * [4 hidden, hidden], `L.Wb` and `L.Rb` [4 hidden], gates i, o, f, c; `encoder.embedding` and `decoder.embedding`
 * [vocabulary, embedding] (one `embedding` in "gnmt-v2"); `attention.q` and `attention.k` [hidden, hidden],
 * `attention.b` and `attention.v` [hidden] (and `attention.g` [1] in "gnmt-v2"); `classifier.W`
 * [targetVocabulary, hidden], `classifier.b`.
 * @throws TypeError or RangeError naming option or tensor when one is not what the model needs
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { gnmt, type Model } from "@shoal/core";
 *
 * const model: Model = gnmt({ layers: 2, hidden: 8, sourceVocabulary: 50 });
 * model.check({ tokens: [7, 3, 9] });
 * assert.deepEqual(
 *   model.cells.map(({ name }) => name),
 *   ["encoder_1_forward", "encoder_1_backward", "encoder_2", "decoder_1", "decoder_2", "classifier"],
 * );
 * ```
 */
export function gnmt(
  options: GnmtOptions = {},
): Model<Seq2SeqInput, { tokens: "i32" }> {
  const name = "gnmt";
  checkOptions(name, options, GNMT_OPTIONS);
  const size = (option: string, value: number) =>
    checkSize(name, option, value);
  const variant = checkChoice(
    name,
    "variant",
    options.variant ?? "gnmt",
    VARIANTS,
  );
  const layers = size("layers", options.layers ?? 8);
  const hidden = size("hidden", options.hidden ?? 1024);
  const embedding = size("embedding", options.embedding ?? hidden);
  const sourceVocabulary = size(
    "sourceVocabulary",
    options.sourceVocabulary ?? 32_000,
  );
  const targetVocabulary = size(
    "targetVocabulary",
    options.targetVocabulary ?? sourceVocabulary,
  );
  const tokensMax = size("tokensMax", options.tokensMax ?? 512);
  const extraSteps = size("extraSteps", options.extraSteps ?? 50);
  const stepsMax = size(
    "stepsMax",
    options.stepsMax ?? Math.max(LENGTH_MAX, tokensMax + extraSteps),
  );
  const limits = {
    vocabulary: sourceVocabulary,
    ...{ tokensMax, extraSteps, stepsMax },
  };
  const { go = 1, eos = 2 } = options;
  checkEnds(name, { go, eos }, targetVocabulary);
  if (layers < 2) {
    throw new RangeError(
      `"layers" of model "${name}" is at least 2, got ${layers}`,
    );
  }
  if (variant === "gnmt-v2" && targetVocabulary !== sourceVocabulary) {
    throw new RangeError(
      `Model "${name}" of variant "${variant}" has one vocabulary, got ${sourceVocabulary} and ${targetVocabulary}`,
    );
  }
  const cells = gnmtCells({
    ...{ hidden, embedding, layers, variant, eos, tokensMax },
    ...{ sourceVocabulary, targetVocabulary },
  }, checkedWeights(name, options.weights ?? seededWeights(1)));
  const { forward, backward, encoder, attending, decoder, classifier } = cells;

  /** Inputs of a layer's step: its states come from the node before, if there is one. */
  const state = (graph: CellGraph, before: CellNode | undefined) => {
    const of = (port: string): Source =>
      before ? graph.output(before, port) : graph.zeros(hidden);
    return { h: of("h"), c: of("c") };
  };
  const output = (graph: CellGraph, node: CellNode): Source =>
    graph.output(node, node.cell.outputs.at(-1)!.name === "y" ? "y" : "h");

  /** One decoder step; `before` holds the nodes of the step before by layer. */
  function step(
    graph: CellGraph,
    token: Source,
    before: readonly CellNode[],
  ): void {
    const lowest = graph.node(
      attending,
      { token, ...state(graph, before[0]) },
      { caches: { memory: graph.caches[0] } },
    );
    const context = graph.output(lowest, "context");
    let x: Source = graph.output(lowest, "h");
    decoder.forEach((cell, i) => {
      const inputs = { x, context, ...state(graph, before[i + 1]) };
      x = output(graph, graph.node(cell, inputs));
    });
    const next = graph.node(classifier, { x });
    graph.collect("tokens", graph.output(next, "next"));
  }

  return {
    name,
    cells: [forward, backward, ...encoder, attending, ...decoder, classifier],
    shape: "chain",
    outputs: { tokens: "i32" },
    tokensMax,
    nodesMax: nodesMaxFor((layers + 1) * (tokensMax + stepsMax)),
    check(input): asserts input is Seq2SeqInput {
      readSeq2Seq(name, input, limits);
    },
    unfold(input, graph) {
      const { tokens, steps } = readSeq2Seq(name, input, limits);
      const { length } = tokens;
      const ids = graph.ids(tokens);
      const memory = graph.cache(cells.memory, length);
      const forwards: CellNode[] = [];
      const backwards: CellNode[] = [];
      for (let t = 0; t < length; t++) {
        const inputs = state(graph, forwards[t - 1]);
        const token = graph.id(ids, t);
        forwards.push(graph.node(forward, { token, ...inputs }));
      }
      for (let t = length - 1; t >= 0; t--) {
        const inputs = state(graph, backwards[t + 1]);
        const token = graph.id(ids, t);
        backwards[t] = graph.node(backward, { token, ...inputs });
      }
      let below: CellNode[] = [];
      encoder.forEach((cell, i) => {
        const nodes: CellNode[] = [];
        for (let t = 0; t < length; t++) {
          const x: Record<string, Source> = i === 0
            ? {
              forward: graph.output(forwards[t], "h"),
              backward: graph.output(backwards[t], "h"),
            }
            : { x: output(graph, below[t]) };
          const options = i === encoder.length - 1
            ? { caches: { memory } }
            : {};
          nodes.push(
            graph.node(cell, { ...x, ...state(graph, nodes[t - 1]) }, options),
          );
        }
        below = nodes;
      });
      step(graph, graph.id(graph.ids([go]), 0), []);
      graph.grows(steps);
    },
    grow(node, graph) {
      const first = node.index - layers;
      step(
        graph,
        graph.output(node, "next"),
        graph.nodes.slice(first, node.index),
      );
    },
  };
}
