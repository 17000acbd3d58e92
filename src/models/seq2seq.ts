/**
 * Sequence to sequence with a "feed previous" decoder: encoder steps over the source, then decoder
 * steps that feed back the arg-max over the vocabulary until `<eos>` or the length limit.
 * Source: Cellular Batching, section 7.4 and Fig. 12 (hidden 1024, vocabulary 30K, LSTM cells,
 * encoder and decoder do not share weights).
 */
import { defineCell, i32 } from "../graph/cell_builder.ts";
import type { CellNode } from "../graph/cell_graph.ts";
import type { Model } from "../graph/model.ts";
import { nodesMaxFor } from "../graph/nodes_max.ts";
import {
  checkedWeights,
  seededWeights,
  type WeightSource,
} from "../tensor/weights.ts";
import { checkChoice, checkOptions, checkSize, LENGTH_MAX } from "./checks.ts";
import { pickState, RNN_KINDS, rnnStep, stepInputs } from "./rnn_cell.ts";
import { checkEnds, readSeq2Seq, type Seq2SeqInput } from "./seq2seq_input.ts";

/** Sizes are positive integers. */
export interface Seq2SeqOptions {
  /** Recurrent cell of encoder and decoder; default "lstm". */
  rnn?: "lstm" | "gru";
  /** Units of a recurrent cell; default 1024. */
  hidden?: number;
  /** Width of a token's embedding; default: `hidden`. */
  embedding?: number;
  /** Token ids of the source; default 30,000. */
  sourceVocabulary?: number;
  /** Token ids of the target; default: `sourceVocabulary`. */
  targetVocabulary?: number;
  /** Id that starts decoding; default 1. */
  go?: number;
  /** Id that ends decoding; null: only the length limit does. Default 2. */
  eos?: number | null;
  /**
   * Steps beyond the source length before decoding is cut off, where a request names no limit.
   * Default 50 (section 7.4: "input sequence length plus a fixed threshold of extra steps").
   */
  extraSteps?: number;
  /** Most tokens of a source; default 16,384. */
  tokensMax?: number;
  /** Most decoder steps of a request; default: `tokensMax` + `extraSteps`. */
  stepsMax?: number;
  /** Where its tensors come from, `namedWeights` for instance; default: random ones of seed 1. */
  weights?: WeightSource;
}

/** Options that a configuration may name. */
export const SEQ2SEQ_OPTIONS = [
  "rnn",
  "hidden",
  "embedding",
  "sourceVocabulary",
  "targetVocabulary",
  "go",
  "eos",
  "extraSteps",
  "tokensMax",
  "stepsMax",
] as const satisfies readonly (keyof Seq2SeqOptions)[];

/**
 * Sequence to sequence with a "feed previous" decoder: encoder steps over the source, then decoder steps that
 * feed back the arg-max over the vocabulary until `<eos>` or the length limit.
 * Source: Cellular Batching, section 7.4 and Fig. 12.
 *
 * Results: `tokens`, one id per decoder step, the final `<eos>` included.
 *
 * Cells: `encoder`, `decoder`. Tensors, with E for `encoder` and `decoder`: `E.embedding` [vocabulary, embedding],
 * `E.W` [gates hidden, embedding], `E.R` [gates hidden, hidden], `E.Wb` and `E.Rb` [gates hidden] in ONNX's order
 * (LSTM i, o, f, c; GRU z, r, h with linear_before_reset = 1); `projection.W` [targetVocabulary, hidden],
 * `projection.b`.
 * @throws TypeError or RangeError naming option or tensor when one is not what the model needs
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { seq2seq, type Model } from "@shoal/core";
 *
 * const model: Model = seq2seq({ hidden: 8, sourceVocabulary: 100, stepsMax: 20 });
 * model.check({ tokens: [7, 3, 9], maxSteps: 10 });
 * assert.throws(() => model.check({ tokens: [7], maxSteps: 21 }), /stepsMax/);
 * ```
 */
export function seq2seq(
  options: Seq2SeqOptions = {},
): Model<Seq2SeqInput, { tokens: "i32" }> {
  const name = "seq2seq";
  checkOptions(name, options, SEQ2SEQ_OPTIONS);
  const hidden = checkSize(name, "hidden", options.hidden ?? 1024);
  const embedding = checkSize(name, "embedding", options.embedding ?? hidden);
  const sourceVocabulary = checkSize(
    name,
    "sourceVocabulary",
    options.sourceVocabulary ?? 30_000,
  );
  const targetVocabulary = checkSize(
    name,
    "targetVocabulary",
    options.targetVocabulary ?? sourceVocabulary,
  );
  const extraSteps = checkSize(name, "extraSteps", options.extraSteps ?? 50);
  const tokensMax = checkSize(
    name,
    "tokensMax",
    options.tokensMax ?? LENGTH_MAX,
  );
  const stepsMax = checkSize(
    name,
    "stepsMax",
    options.stepsMax ?? tokensMax + extraSteps,
  );
  const limits = {
    vocabulary: sourceVocabulary,
    ...{ tokensMax, extraSteps, stepsMax },
  };
  const go = options.go ?? 1;
  const eos = options.eos === undefined ? 2 : options.eos;
  checkEnds(name, { go, eos }, targetVocabulary);
  const weights = checkedWeights(name, options.weights ?? seededWeights(1));
  const kind = checkChoice(name, "rnn", options.rnn ?? "lstm", RNN_KINDS);

  const sourceTable = weights("encoder.embedding", [
    sourceVocabulary,
    embedding,
  ], hidden);
  const encoderStep = rnnStep(kind, "encoder", embedding, hidden, weights);
  const encoder = defineCell({
    name: "encoder",
    phase: "encoder",
    recurrent: true,
    inputs: pickInputs(encoderStep.state, {
      token: i32(),
      ...encoderStep.ports,
    }),
    body: (op, { token, h, c }) =>
      pickState(
        encoderStep,
        encoderStep.apply(op, op.Gather(sourceTable, token), { h, c }),
      ),
  });

  const targetTable = weights("decoder.embedding", [
    targetVocabulary,
    embedding,
  ], hidden);
  const decoderStep = rnnStep(kind, "decoder", embedding, hidden, weights);
  const projection = weights(
    "projection.W",
    [targetVocabulary, hidden],
    hidden,
  );
  const bias = weights("projection.b", [targetVocabulary], hidden);
  const decoder = defineCell({
    name: "decoder",
    phase: "decoder",
    recurrent: true,
    priority: 1,
    inputs: pickInputs(decoderStep.state, {
      token: i32(),
      ...decoderStep.ports,
    }),
    body: (op, { token, h, c }) => {
      const next = decoderStep.apply(op, op.Gather(targetTable, token), {
        h,
        c,
      });
      return {
        ...pickState(decoderStep, next),
        next: op.ArgMax(op.Gemm(next.h, projection, bias)),
      };
    },
    stop: { output: "next", token: eos },
  });

  return {
    name,
    cells: [encoder, decoder],
    shape: "chain",
    outputs: { tokens: "i32" },
    tokensMax,
    nodesMax: nodesMaxFor(tokensMax + stepsMax),
    check(input): asserts input is Seq2SeqInput {
      readSeq2Seq(name, input, limits);
    },
    unfold(input, graph) {
      const { tokens, steps } = readSeq2Seq(name, input, limits);
      const ids = graph.ids(tokens);
      let last: CellNode | undefined;
      for (let t = 0; t < tokens.length; t++) {
        last = graph.node(
          encoder,
          stepInputs(encoderStep, graph, graph.id(ids, t), last),
        );
      }
      const start = graph.id(graph.ids([go]), 0);
      const first = graph.node(
        decoder,
        stepInputs(decoderStep, graph, start, last),
      );
      graph.collect("tokens", graph.output(first, "next"));
      graph.grows(steps);
    },
    grow(node, graph) {
      const next = graph.node(
        decoder,
        stepInputs(decoderStep, graph, graph.output(node, "next"), node),
      );
      graph.collect("tokens", graph.output(next, "next"));
    },
  };
}

/** The token and the state ports that the cell has. */
function pickInputs<T>(
  state: readonly ("h" | "c")[],
  all: Record<"token" | "h" | "c", T>,
): Record<"token" | "h" | "c", T> {
  return Object.fromEntries(
    ["token" as const, ...state].map((name) => [name, all[name]]),
  ) as Record<
    "token" | "h" | "c",
    T
  >;
}
