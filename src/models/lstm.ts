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

const HEADS = ["classifier", "language-model", "none"] as const;

export interface LstmOptions {
  /** Default 1024. */
  hidden?: number;
  /** Width of a token's embedding; default: `hidden`. */
  embedding?: number;
  /** Number of token ids; default 30,000. */
  vocabulary?: number;
  /**
   * "classifier": logits over `classes`; "language-model": the id of the next token, an arg-max over
   * the vocabulary; "none": only the last state, as in the paper's measurements. Default "none".
   */
  head?: (typeof HEADS)[number];
  /** Classes of the classifier; default 5. */
  classes?: number;
  /** Most tokens of a request; default 16,384. */
  tokensMax?: number;
  /** Default: seeded with 1. */
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

export interface LstmInput {
  readonly tokens: ArrayLike<number>;
}

/** Results: `h` [hidden], and `logits` [classes] or `next` [1] by head. */
export function lstm(options: LstmOptions = {}): Model<LstmInput> {
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
        const port = head.outputs[0]!.name;
        graph.result(port, graph.output(graph.node(head, { h }), port));
      }
    },
  };
}
