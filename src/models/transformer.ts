/**
 * Transformer: an encoder over all tokens of the source at once, a decoder step by step with keys and
 * values of the steps before in a cache. A cell is a sub-layer: attention, attention to the source, or
 * feed-forward. The encoder's are ragged, so that lengths need no padding. A step's embedding is part of
 * its first cell; keys and values of the source are computed once, by a cell per decoder layer.
 * Source: Vaswani et al., "Attention Is All You Need" (arXiv 1706.03762), section 3: base has 6 + 6 layers,
 * hidden 512, 8 heads, feed-forward 2048; section 5.1: a shared vocabulary of about 37,000; section 3.4:
 * one matrix for both embeddings and the classifier.
 * Assumption: projections have biases, the classifier has none; epsilon is 1e-6 (tensor2tensor's).
 * Deviation: greedy decoding; the paper searches with a beam of 4 (section 6.1).
 */
import { power } from "../base/elementary/power.ts";
import { cos, sin } from "../base/elementary/trigonometric.ts";
import { defineCell, f32, i32, type Operators } from "../graph/cell_builder.ts";
import type { CellGraph, CellNode, Source } from "../graph/cell_graph.ts";
import type { Cell } from "../graph/cell.ts";
import type { Model } from "../graph/model.ts";
import type { Value } from "../graph/operator.ts";
import { type Tensor, tensor } from "../tensor/tensor.ts";
import { nodesMaxFor } from "../graph/nodes_max.ts";
import {
  checkedWeights,
  seededWeights,
  type WeightSource,
} from "../tensor/weights.ts";
import {
  type BlockOptions,
  crossAttention,
  feedForward,
  selfAttention,
  sourceKeys,
} from "./attention_blocks.ts";
import { checkHeads, checkOptions, checkSize } from "./checks.ts";
import { checkEnds, readSeq2Seq, type Seq2SeqInput } from "./seq2seq_input.ts";

/** Sizes are positive integers. */
export interface TransformerOptions {
  /** Layers of the encoder and of the decoder; default 6. */
  layers?: number;
  /** Width of a token's row between the sub-layers; default 512. */
  hidden?: number;
  /** Heads of every attention, a divisor of `hidden`; default 8. */
  heads?: number;
  /** Width of the feed-forward sub-layers; default: 4 `hidden`. */
  inner?: number;
  /** Token ids of source and target; default 37,000. */
  vocabulary?: number;
  /** Id that starts decoding; default 1. */
  go?: number;
  /** Id that ends decoding; null: only the length limit does. Default 2. */
  eos?: number | null;
  /** Most tokens of a source; default 512. */
  tokensMax?: number;
  /** Steps beyond the source length before decoding is cut off, where a request names no limit; default 50 (section 6.1). */
  extraSteps?: number;
  /** Most decoder steps of a request; default: `tokensMax` + `extraSteps`. */
  stepsMax?: number;
  /** Where its tensors come from, `namedWeights` for instance; default: random ones of seed 1. */
  weights?: WeightSource;
}

/** Options that a configuration may name. */
export const TRANSFORMER_OPTIONS = [
  "layers",
  "hidden",
  "heads",
  "inner",
  "vocabulary",
  "go",
  "eos",
  "tokensMax",
  "extraSteps",
  "stepsMax",
] as const satisfies readonly (keyof TransformerOptions)[];

/**
 * Transformer: an encoder over all tokens of the source at once, without padding, and a decoder step by step with
 * keys and values of the steps before in a cache; greedy decoding. A cell is a sub-layer.
 * Source: Vaswani et al., "Attention Is All You Need" (arXiv 1706.03762), section 3; defaults are its base model.
 *
 * Results: `tokens`, one id per decoder step, the final `<eos>` included.
 *
 * Cells: `embedding`, `encoder_1_attention`, `encoder_1_forward`..., `decoder_1_keys`..., `decoder_1_attention`,
 * `decoder_1_source`, `decoder_1_forward`..., `classifier`. Tensors: `embedding` [vocabulary, hidden], also the
 * classifier's; with A for `encoder.i.attention` and `decoder.i.attention`: `A.qkv.W` [3 hidden, hidden],
 * `A.output.W` [hidden, hidden]; with S for `decoder.i.source`: `S.q.W`, `S.output.W` [hidden, hidden], `S.kv.W`
 * [2 hidden, hidden]; with F for `encoder.i.forward` and `decoder.i.forward`: `F.up.W` [inner, hidden], `F.down.W`
 * [hidden, inner]. Each `.W` has a `.b`, each of A, S, F a `.norm.scale` and `.norm.bias` [hidden].
 * @throws TypeError or RangeError naming option or tensor when one is not what the model needs
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { transformer, type Model } from "@shoal/core";
 *
 * const model: Model = transformer({ layers: 1, hidden: 8, heads: 2, vocabulary: 50 });
 * model.check({ tokens: [7, 3, 9] });
 * const ragged = model.cells.filter(({ tokensMax }) => tokensMax !== undefined);
 * assert.deepEqual(
 *   ragged.map(({ name }) => name),
 *   ["embedding", "encoder_1_attention", "encoder_1_forward", "decoder_1_keys"],
 * );
 * ```
 */
export function transformer(
  options: TransformerOptions = {},
): Model<Seq2SeqInput, { tokens: "i32" }> {
  const name = "transformer";
  checkOptions(name, options, TRANSFORMER_OPTIONS);
  const size = (option: string, value: number) =>
    checkSize(name, option, value);
  const layers = size("layers", options.layers ?? 6);
  const hidden = size("hidden", options.hidden ?? 512);
  const heads = checkHeads(name, options.heads ?? 8, hidden);
  const inner = size("inner", options.inner ?? 4 * hidden);
  const vocabulary = size("vocabulary", options.vocabulary ?? 37_000);
  const tokensMax = size("tokensMax", options.tokensMax ?? 512);
  const extraSteps = size("extraSteps", options.extraSteps ?? 50);
  const { go = 1, eos = 2 } = options;
  checkEnds(name, { go, eos }, vocabulary);
  const weights = checkedWeights(name, options.weights ?? seededWeights(1));
  const stepsMax = size("stepsMax", options.stepsMax ?? tokensMax + extraSteps);
  const limits = { vocabulary, tokensMax, extraSteps, stepsMax };
  const block: BlockOptions = {
    ...{ hidden, heads, inner, activation: "Relu", epsilon: 1e-6 },
  };

  const table = weights("embedding", [vocabulary, hidden], hidden);
  const places = sinusoids(Math.max(tokensMax, stepsMax), hidden);
  const scale = new Array<number>(hidden).fill(Math.sqrt(hidden));
  /** Section 3.4 and 3.5. */
  const embed = (
    op: Operators,
    { token, position }: Record<"token" | "position", Value>,
  ) =>
    op.Add(
      op.Mul(op.Gather(table, token), op.Constant(scale)),
      op.Gather(places, position),
    );
  const kv = { keyWidth: hidden, valueWidth: hidden };
  const source = { ...kv, positionsMax: tokensMax };
  const steps = { ...kv, positionsMax: stepsMax };
  let priority = 0;

  const embedding = defineCell({
    name: "embedding",
    tokensMax,
    inputs: { token: i32(), position: i32() },
    body: (op, ports) => ({ y: embed(op, ports) }),
  });
  const count = Array.from({ length: layers }, (_, i) => i + 1);
  const encoder = count.flatMap((layer): Cell[] => {
    const attend = selfAttention(`encoder.${layer}.attention`, block, weights);
    const forward = feedForward(`encoder.${layer}.forward`, block, weights);
    return [
      defineCell({
        name: `encoder_${layer}_attention`,
        tokensMax,
        priority: ++priority,
        inputs: { x: f32(hidden) },
        body: (op, { x }) => ({ y: attend(op, x) }),
      }),
      defineCell({
        name: `encoder_${layer}_forward`,
        tokensMax,
        priority: ++priority,
        inputs: { x: f32(hidden) },
        body: (op, { x }) => ({ y: forward(op, x) }),
      }),
    ];
  });
  const keys = count.map((layer) => {
    const project = sourceKeys(`decoder.${layer}.source`, block, weights);
    return defineCell({
      name: `decoder_${layer}_keys`,
      tokensMax,
      priority: ++priority,
      inputs: { x: f32(hidden) },
      caches: { source },
      body(op, { x }, caches) {
        project(op, x, caches.source);
        return {};
      },
    });
  });
  const growing = () => ({
    phase: "decoder" as const,
    recurrent: true,
    priority: ++priority,
  });
  const decoder = count.map((layer) => {
    const attend = selfAttention(`decoder.${layer}.attention`, block, weights);
    const look = crossAttention(`decoder.${layer}.source`, block, weights);
    const forward = feedForward(`decoder.${layer}.forward`, block, weights);
    const attention = {
      name: `decoder_${layer}_attention`,
      ...growing(),
      caches: { steps },
    };
    return {
      attention: layer === 1
        ? defineCell({
          ...attention,
          inputs: { token: i32(), position: i32() },
          body: (op, ports, caches) => ({
            y: attend(op, embed(op, ports), caches.steps),
          }),
        })
        : defineCell({
          ...attention,
          inputs: { x: f32(hidden) },
          body: (op, { x }, caches) => ({ y: attend(op, x, caches.steps) }),
        }),
      source: defineCell({
        name: `decoder_${layer}_source`,
        ...growing(),
        inputs: { x: f32(hidden) },
        caches: { source },
        body: (op, { x }, caches) => ({ y: look(op, x, caches.source) }),
      }),
      forward: defineCell({
        name: `decoder_${layer}_forward`,
        ...growing(),
        inputs: { x: f32(hidden) },
        body: (op, { x }) => ({ y: forward(op, x) }),
      }),
    };
  });
  const classifier = defineCell({
    name: "classifier",
    ...growing(),
    inputs: { x: f32(hidden) },
    body: (op, { x }) => ({ next: op.ArgMax(op.Gemm(x, table)) }),
    stop: { output: "next", token: eos },
  });

  /** One decoder step. Inputs of the graph: source, positions, `go`; caches: of every layer, steps and source. */
  function step(graph: CellGraph, token: Source): void {
    const [, positions] = graph.inputs;
    const position = graph.id(positions, graph.caches[0].filled);
    let inputs: Record<string, Source> = { token, position };
    decoder.forEach((layer, i) => {
      const [steps, source] = graph.caches.slice(2 * i);
      const attended = graph.node(layer.attention, inputs, {
        caches: { steps: steps },
      });
      const looked = graph.node(
        layer.source,
        { x: graph.output(attended, "y") },
        { caches: { source: source } },
      );
      const forwarded = graph.node(layer.forward, {
        x: graph.output(looked, "y"),
      });
      inputs = { x: graph.output(forwarded, "y") };
    });
    const next = graph.node(classifier, inputs);
    graph.collect("tokens", graph.output(next, "next"));
  }

  return {
    name,
    cells: [
      ...[embedding, ...encoder, ...keys],
      ...decoder.flatMap((layer) => [
        ...[layer.attention, layer.source, layer.forward],
      ]),
      classifier,
    ],
    shape: "chain",
    outputs: { tokens: "i32" },
    tokensMax,
    nodesMax: nodesMaxFor(1 + 3 * layers + (1 + 3 * layers) * stepsMax),
    check(input): asserts input is Seq2SeqInput {
      readSeq2Seq(name, input, limits);
    },
    unfold(input, graph) {
      const { tokens, steps: limit } = readSeq2Seq(name, input, limits);
      const { length } = tokens;
      const ids = graph.ids(tokens);
      const positions = graph.ids(
        Array.from({ length: Math.max(length, limit) }, (_, i) => i),
      );
      let last: CellNode = graph.node(embedding, {
        token: graph.id(ids, 0),
        position: graph.id(positions, 0),
      }, { length });
      for (const cell of encoder) {
        last = graph.node(cell, { x: graph.output(last, "y") }, { length });
      }
      for (const cell of keys) {
        graph.cache(steps, limit);
        const cache = graph.cache(source, length);
        graph.node(cell, { x: graph.output(last, "y") }, {
          length,
          caches: { source: cache },
        });
      }
      step(graph, graph.id(graph.ids([go]), 0));
      graph.grows(limit);
    },
    grow: (node, graph) => step(graph, graph.output(node, "next")),
  };
}

/** Section 3.5: sines at even columns, cosines at odd ones. */
function sinusoids(positions: number, width: number): Tensor {
  const data = new Float32Array(positions * width);
  for (let at = 0; at < positions; at++) {
    for (let i = 0; i < width; i++) {
      const angle = at / power(10_000, (i - i % 2) / width);
      data[at * width + i] = i % 2 === 0 ? sin(angle) : cos(angle);
    }
  }
  return tensor([positions, width], data);
}
