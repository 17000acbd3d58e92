/**
 * BERT: an encoder over all tokens of a request at once. A cell is a sub-layer, attention or feed-forward,
 * and ragged: its rows are the tokens of each request, so that lengths need no padding.
 * Source: Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers" (arXiv 1810.04805),
 * section 3: base has 12 layers, hidden 768, 12 heads, 110M parameters; large 24, 1024, 16, 340M; feed-forward 4
 * hidden; appendix and published weights: GELU, 512 positions, 30,522 word pieces, pooler over the first token.
 */
import { defineCell, f32, i32 } from "../graph/cell_builder.ts";
import type { Cell } from "../graph/cell.ts";
import type { CellNode } from "../graph/cell_graph.ts";
import type { Model } from "../graph/model.ts";
import type { Classified } from "./classified.ts";
import type { Value } from "../graph/operator.ts";
import {
  checkedWeights,
  seededWeights,
  type WeightSource,
} from "../tensor/weights.ts";
import {
  type BlockOptions,
  feedForward,
  layerNorm,
  linear,
  selfAttention,
} from "./attention_blocks.ts";
import {
  checkChoice,
  checkHeads,
  checkKeys,
  checkObject,
  checkOptionalSize,
  checkOptions,
  checkSize,
  readTokens,
} from "./checks.ts";

const VARIANTS = ["base", "large"] as const;

/** Section 3: L, H and A of the two models. */
const SIZES = {
  base: { layers: 12, hidden: 768, heads: 12 },
  large: { layers: 24, hidden: 1024, heads: 16 },
} as const;

/** Sizes are positive integers. */
export interface BertOptions {
  /** Whose `layers`, `hidden` and `heads` it has where they are not given; default "base". */
  variant?: "base" | "large";
  /** Layers, each of an attention and a feed-forward sub-layer; default 12, of "large" 24. */
  layers?: number;
  /** Width of a token's row between the sub-layers; default 768, of "large" 1024. */
  hidden?: number;
  /** Heads of every attention, a divisor of `hidden`; default 12, of "large" 16. */
  heads?: number;
  /** Width of the feed-forward sub-layers; default: 4 `hidden`. */
  inner?: number;
  /** Token ids; default 30,522. */
  vocabulary?: number;
  /** Most tokens of a request: learned positions; default 512. */
  tokensMax?: number;
  /** Classes of a classifier over the pooled row; 0 for none. Default 0. */
  classes?: number;
  /** Where its tensors come from, `namedWeights` for instance; default: random ones of seed 1. */
  weights?: WeightSource;
}

/** Options that a configuration may name. */
export const BERT_OPTIONS = [
  "variant",
  "layers",
  "hidden",
  "heads",
  "inner",
  "vocabulary",
  "tokensMax",
  "classes",
] as const satisfies readonly (keyof BertOptions)[];

/** What a request to `bert` brings. */
export interface BertInput {
  /**
   * Ids below `vocabulary`, 1 to `tokensMax` of them, in an array or an Int32Array; with what the vocabulary has for
   * [CLS] and [SEP].
   */
  readonly tokens: ArrayLike<number>;
  /** 0 or 1 per token: which sentence it is of; default: all 0. */
  readonly segments?: ArrayLike<number>;
}

const SEGMENTS = 2;
const EPSILON = 1e-12;

/** What BERT's results are, by the number of classes. */
export type BertOutputs<Classes extends number = number> =
  & { readonly pooled: "f32" }
  & Classified<Classes>;

/**
 * BERT: an encoder over all tokens of a request at once, without padding: the rows of a batch are the tokens of all
 * its requests. A cell is a sub-layer.
 * Source: Devlin et al. (arXiv 1810.04805), section 3; defaults are BERT base, `{ variant: "large" }` is BERT large.
 *
 * Results: `pooled` [hidden] of the first token, and `logits` [classes] with a classifier.
 *
 * Cells: `embedding`, `attention_1`, `forward_1`, ..., `pooler`. Tensors: `embedding.word` [vocabulary, hidden],
 * `embedding.position` [tokensMax, hidden], `embedding.segment` [2, hidden]; with L for `layer.i`:
 * `L.attention.qkv.W` [3 hidden, hidden], `L.attention.output.W` [hidden, hidden], `L.forward.up.W` [inner, hidden],
 * `L.forward.down.W` [hidden, inner]; `pooler.W` [hidden, hidden], `classifier.W` [classes, hidden]. Each `.W` has a
 * `.b`; `embedding`, `L.attention` and `L.forward` have a `.norm.scale` and `.norm.bias` [hidden].
 * @throws TypeError or RangeError naming option or tensor when one is not what the model needs
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { bert, type Model } from "@shoal/core";
 *
 * const model: Model = bert({ layers: 1, hidden: 8, heads: 2, vocabulary: 50, tokensMax: 16 });
 * model.check({ tokens: [1, 7, 3, 2], segments: [0, 0, 0, 0] });
 * assert.deepEqual(
 *   model.cells.map(({ name }) => name),
 *   ["embedding", "attention_1", "forward_1", "pooler"],
 * );
 * ```
 */
export function bert<Classes extends number = 0>(
  options: BertOptions & { classes?: Classes } = {},
): Model<BertInput, BertOutputs<Classes>> {
  const name = "bert";
  checkOptions(name, options, BERT_OPTIONS);
  const defaults = SIZES[
    checkChoice(name, "variant", options.variant ?? "base", VARIANTS)
  ];
  const layers = checkSize(name, "layers", options.layers ?? defaults.layers);
  const hidden = checkSize(name, "hidden", options.hidden ?? defaults.hidden);
  const heads = checkHeads(name, options.heads ?? defaults.heads, hidden);
  const inner = checkSize(name, "inner", options.inner ?? 4 * hidden);
  const vocabulary = checkSize(
    name,
    "vocabulary",
    options.vocabulary ?? 30_522,
  );
  const tokensMax = checkSize(name, "tokensMax", options.tokensMax ?? 512);
  const classes = checkOptionalSize(name, "classes", options.classes);
  const weights = checkedWeights(name, options.weights ?? seededWeights(1));
  const block: BlockOptions = {
    ...{ hidden, heads, inner, activation: "Gelu", epsilon: EPSILON },
  };

  const words = weights("embedding.word", [vocabulary, hidden], hidden);
  const positions = weights("embedding.position", [tokensMax, hidden], hidden);
  const types = weights("embedding.segment", [SEGMENTS, hidden], hidden);
  const norm = layerNorm("embedding.norm", block, weights);
  const embedding = defineCell({
    name: "embedding",
    tokensMax,
    inputs: { token: i32(), position: i32(), segment: i32() },
    body: (op, { token, position, segment }) => {
      const word = op.Add(
        op.Gather(words, token),
        op.Gather(types, segment),
      );
      return { y: norm(op, op.Add(word, op.Gather(positions, position))) };
    },
  });
  const subLayer = (
    label: string,
    body: (op: Parameters<typeof norm>[0], x: Value) => Value,
  ): Cell =>
    defineCell({
      name: label,
      tokensMax,
      inputs: { x: f32(hidden) },
      body: (op, { x }) => ({ y: body(op, x) }),
    });
  const encoder = Array.from({ length: layers }, (_, i) => {
    const attend = selfAttention(`layer.${i + 1}.attention`, block, weights);
    const forward = feedForward(`layer.${i + 1}.forward`, block, weights);
    return [
      subLayer(`attention_${i + 1}`, (op, x) => attend(op, x)),
      subLayer(`forward_${i + 1}`, forward),
    ];
  }).flat();
  const dense = linear("pooler", hidden, hidden, weights);
  const classify = classes === 0
    ? undefined
    : linear("classifier", hidden, classes, weights);
  const pooler = defineCell<"x", string>({
    name: "pooler",
    inputs: { x: f32(hidden) },
    body(op, { x }) {
      const pooled = op.Tanh(dense(op, x));
      return { pooled, ...(classify && { logits: classify(op, pooled) }) };
    },
  });

  /** Tokens and segments, in `check` and again in `unfold`: see readTokens. */
  const read = ({ tokens, segments }: Record<string, unknown>) => {
    const ids = readTokens(name, tokens, vocabulary, tokensMax);
    if (segments === undefined) return { ids, of: new Int32Array(ids.length) };
    const of = readTokens(name, segments, SEGMENTS, tokensMax, "segments");
    if (of.length !== ids.length) {
      throw new RangeError(
        `"segments" of a request to "${name}" are ${of.length} numbers, for ${ids.length} tokens`,
      );
    }
    return { ids, of };
  };

  return {
    name,
    cells: [embedding, ...encoder, pooler],
    shape: "chain",
    outputs: {
      pooled: "f32",
      ...(classify && { logits: "f32" }),
    } as BertOutputs<Classes>,
    tokensMax,
    check(input): asserts input is BertInput {
      checkObject(name, input);
      checkKeys(name, input, ["tokens", "segments"]);
      read(input);
    },
    unfold(input, graph) {
      const { ids, of } = read({ ...input });
      const { length } = ids;
      const row = (numbers: ArrayLike<number>) =>
        graph.id(graph.ids(numbers), 0);
      let last: CellNode = graph.node(embedding, {
        token: row(ids),
        position: row(ids.map((_, i) => i)),
        segment: row(of),
      }, { length });
      for (const cell of encoder) {
        last = graph.node(cell, { x: graph.output(last, "y") }, { length });
      }
      const node = graph.node(pooler, { x: graph.output(last, "y", 0) });
      for (const { name } of pooler.outputs) {
        graph.result(name, graph.output(node, name));
      }
    },
  };
}
