/**
 * LSTM over a sentence: embedding and one LSTM step per token, then a head over the last state.
 * Source: Cellular Batching, sections 2.1 and 7.2 (hidden size 1024; chain-structured).
 */
import { defineCell, f32, i32 } from "../graph/cell_builder.ts";
import type { CellNode } from "../graph/cell_graph.ts";
import type { Value } from "../graph/operator.ts";
import type { Model } from "../graph/model.ts";
import { nodesMaxFor } from "../graph/nodes_max.ts";
import {
  checkedWeights,
  seededWeights,
  type WeightSource,
} from "../tensor/weights.ts";
import {
  checkChoice,
  checkKeys,
  checkObject,
  checkOptions,
  checkSize,
  LENGTH_MAX,
  readTokens,
} from "./checks.ts";
import { pickState, rnnStep, stepInputs } from "./rnn_cell.ts";

/** What an LSTM does with its last state. */
export type LstmHead = "classifier" | "language-model" | "none";

const HEADS: readonly LstmHead[] = ["classifier", "language-model", "none"];

/** Sizes are positive integers. */
export interface LstmOptions {
  /** Units of the LSTM; default 1024. */
  hidden?: number;
  /** Width of a token's embedding; default: `hidden`. */
  embedding?: number;
  /** Number of token ids; default 30,000. */
  vocabulary?: number;
  /**
   * "classifier": logits over `classes`; "language-model": the id of the next token, an arg-max over
   * the vocabulary; "none": only the last state, as in the paper's measurements. Default "none".
   */
  head?: LstmHead;
  /** Classes of the classifier; default 5. */
  classes?: number;
  /** Most tokens of a request; default 16,384. */
  tokensMax?: number;
  /** Where its tensors come from, `namedWeights` for instance; default: random ones of seed 1. */
  weights?: WeightSource;
}

/** Options that a configuration may name. */
export const LSTM_OPTIONS = [
  "hidden",
  "embedding",
  "vocabulary",
  "head",
  "classes",
  "tokensMax",
] as const satisfies readonly (keyof LstmOptions)[];

/** What a request to `lstm` brings. */
export interface LstmInput {
  /** Ids below `vocabulary`, 1 to `tokensMax` of them, in an array or an Int32Array. */
  readonly tokens: ArrayLike<number>;
}

/** What an LSTM's results are, by head. */
export type LstmOutputs<Head extends LstmHead = LstmHead> =
  & { readonly h: "f32" }
  & (Head extends "classifier" ? { readonly logits: "f32" }
    : Head extends "language-model" ? { readonly next: "i32" }
    : Record<never, never>);

/**
 * LSTM over a sentence: embedding and one LSTM step per token, then a head over the last state.
 * Source: Cellular Batching, sections 2.1 and 7.2.
 *
 * Results: `h` [hidden], and `logits` [classes] or `next`, an id, by head.
 *
 * Cells: `lstm_step`, `lstm_head`. Tensors: `embedding` [vocabulary, embedding], `lstm.W` [4 hidden, embedding],
 * `lstm.R` [4 hidden, hidden], `lstm.Wb` and `lstm.Rb` [4 hidden], gates i, o, f, c as in ONNX; `head.W`
 * [classes or vocabulary, hidden], `head.b`.
 * @throws TypeError or RangeError naming option or tensor when one is not what the model needs
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { lstm, type Model } from "@shoal/core";
 *
 * const model: Model = lstm({ hidden: 8, vocabulary: 100, head: "classifier" });
 * assert.deepEqual(model.cells.map(({ name }) => name), ["lstm_step", "lstm_head"]);
 * assert.throws(() => model.check({ tokens: [3, 100] }), RangeError);
 * ```
 */
export function lstm<Head extends LstmHead = "none">(
  options: LstmOptions & { head?: Head } = {},
): Model<LstmInput, LstmOutputs<Head>> {
  const name = "lstm";
  checkOptions(name, options, LSTM_OPTIONS);
  const hidden = checkSize(name, "hidden", options.hidden ?? 1024);
  const embedding = checkSize(name, "embedding", options.embedding ?? hidden);
  const vocabulary = checkSize(
    name,
    "vocabulary",
    options.vocabulary ?? 30_000,
  );
  const classes = checkSize(name, "classes", options.classes ?? 5);
  const tokensMax = checkSize(
    name,
    "tokensMax",
    options.tokensMax ?? LENGTH_MAX,
  );
  const weights = checkedWeights(name, options.weights ?? seededWeights(1));
  const headKind = checkChoice(name, "head", options.head ?? "none", HEADS);

  const table = weights("embedding", [vocabulary, embedding], hidden);
  const rnn = rnnStep("lstm", "lstm", embedding, hidden, weights);
  const step = defineCell({
    name: "lstm_step",
    phase: "encoder",
    recurrent: true,
    inputs: { token: i32(), ...rnn.ports },
    body: (op, { token, h, c }) =>
      pickState(rnn, rnn.apply(op, op.Gather(table, token), { h, c })),
  });
  const outputs = headKind === "classifier" ? classes : vocabulary;
  const head = headKind === "none" ? undefined : defineCell<"h", string>({
    name: "lstm_head",
    priority: 1,
    inputs: { h: f32(hidden) },
    body: (op, { h }) => {
      const logits = op.Gemm(
        h,
        weights("head.W", [outputs, hidden], hidden),
        weights("head.b", [outputs], hidden),
      );
      const result: Record<string, Value> = headKind === "classifier"
        ? { logits }
        : { next: op.ArgMax(logits) };
      return result;
    },
  });

  return {
    name,
    cells: head ? [step, head] : [step],
    shape: "chain",
    outputs: outputTypes(headKind) as LstmOutputs<Head>,
    tokensMax,
    nodesMax: nodesMaxFor(tokensMax + 1),
    check(input): asserts input is LstmInput {
      checkObject(name, input);
      checkKeys(name, input, ["tokens"]);
      readTokens(name, input["tokens"], vocabulary, tokensMax);
    },
    unfold(input, graph) {
      const tokens = readTokens(name, input.tokens, vocabulary, tokensMax);
      const ids = graph.ids(tokens);
      let last: CellNode | undefined;
      for (let t = 0; t < tokens.length; t++) {
        last = graph.node(step, stepInputs(rnn, graph, graph.id(ids, t), last));
      }
      const h = graph.output(last!, "h");
      graph.result("h", h);
      if (head) {
        const port = head.outputs[0].name;
        graph.result(port, graph.output(graph.node(head, { h }), port));
      }
    },
  };
}

function outputTypes(head: LstmHead): LstmOutputs {
  switch (head) {
    case "classifier":
      return { h: "f32", logits: "f32" };
    case "language-model":
      return { h: "f32", next: "i32" };
    case "none":
      return { h: "f32" };
  }
}
