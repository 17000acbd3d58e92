/**
 * Decoder-only Transformer ("GPT"): a prompt all at once, then a token at a time, over keys and values of all tokens
 * before in a cache. A cell is a layer: of prompts ragged ones, of the answer steps; the embedding is part of the first.
 * Source: Radford et al., "Language Models are Unsupervised Multitask Learners" (2019), section 2.3: normalisation in
 * front of each sub-layer and behind the last, learned positions; defaults are GPT-2's smallest model (table 2: 12
 * layers of 768; 50,257 tokens, 1024 positions). Heads are of 64 elements, inner rows 4 hidden, GELU in the form with
 * tanh, one matrix for embeddings and classifier, as its published code has them.
 * Assumption: the token of the largest score is taken, unless requests say otherwise (`sample`, `penalties`).
 */
import { describe, isList } from "../base/describe.ts";
import type { CacheSpec } from "../graph/cache.ts";
import { defineCell, f32, i32, type Operators } from "../graph/cell_builder.ts";
import type { CellGraph, CellNode, Source } from "../graph/cell_graph.ts";
import type { Cell } from "../graph/cell.ts";
import type { Model } from "../graph/model.ts";
import type { CacheRef, Value } from "../graph/operator.ts";
import { nodesMaxFor } from "../graph/nodes_max.ts";
import type { OutputTypes } from "../graph/result.ts";
import type { Tensor } from "../tensor/tensor.ts";
import {
  checkedWeights,
  seededWeights,
  type WeightSource,
} from "../tensor/weights.ts";
import {
  type BlockOptions,
  feedForward,
  layerNorm,
  selfAttention,
  selfKeys,
} from "./attention_blocks.ts";
import {
  checkChoice,
  checkFlag,
  checkHeads,
  checkKeys,
  checkObject,
  checkOptions,
  checkSize,
  readTokens,
} from "./checks.ts";
import type { DrawInput, PenaltyInput } from "./draw_input.ts";
import {
  BEHIND_PROMPT,
  readMaxSteps,
  type Seq2SeqInput,
} from "./seq2seq_input.ts";
import {
  type DecoderOutputs,
  type DrawingModel,
  type DrawOptions,
  TokenDraws,
} from "./token_draws.ts";

/** What a request to `gpt` brings; how tokens are drawn and scores change with its options `sample` and `penalties`. */
export interface GptInput extends Seq2SeqInput, DrawInput, PenaltyInput {}

/** What `gpt` makes. */
export interface GptModel
  extends Model<GptInput, DecoderOutputs & OutputTypes>, DrawingModel {
  /** Ids that end a request. */
  readonly stop: readonly number[];
}

/** Sizes are positive integers. */
export interface GptOptions extends DrawOptions {
  /** Layers; default 12. */
  layers?: number;
  /** Width of a token's row between the sub-layers; default 768. */
  hidden?: number;
  /** Heads of every attention, a divisor of `hidden`; default 12. */
  heads?: number;
  /** Width of the feed-forward sub-layers; default: 4 `hidden`. */
  inner?: number;
  /** Token ids; default 50,257. */
  vocabulary?: number;
  /** Rows of the table of positions: most tokens of a request, prompt and answer; default 1024. */
  positionsMax?: number;
  /** Of the feed-forward sub-layers; default "gelu-tanh". */
  activation?: "relu" | "gelu" | "gelu-tanh";
  /** "scaled": rows of the embedding times the root of `hidden`; default "plain". */
  embeddings?: "plain" | "scaled";
  /** "tied": the embedding, without bias; "separate": a matrix of its own, with bias. Default "tied". */
  classifier?: "tied" | "separate";
  /** Of layer normalisation; default 1e-5. */
  epsilon?: number;
  /** Id, or ids, that end an answer; null: only the length limit does. Default 50,256, or the last one. */
  eos?: number | readonly number[] | null;
  /** Ids that are never chosen; default none. */
  banned?: readonly number[];
  /** Steps beyond the prompt's length, where a request names no limit; default 50. */
  extraSteps?: number;
  /** Where its tensors come from, `namedWeights` for instance; default: random ones of seed 1. */
  weights?: WeightSource;
}

/** Options that a configuration may name. */
export const GPT_OPTIONS = [
  "layers",
  "hidden",
  "heads",
  "inner",
  "vocabulary",
  "positionsMax",
  "activation",
  "embeddings",
  "classifier",
  "epsilon",
  "eos",
  "banned",
  "extraSteps",
  "sample",
  "penalties",
  "scores",
] as const satisfies readonly (keyof GptOptions)[];

const ACTIVATIONS = {
  relu: "Relu",
  gelu: "Gelu",
  "gelu-tanh": "GeluTanh",
} as const;

/**
 * Decoder-only Transformer: a prompt all at once, without padding, then a token at a time over keys and values of all
 * tokens before; the token of the largest score, or one that is drawn. A cell is a layer.
 * Source: Radford et al., "Language Models are Unsupervised Multitask Learners" (2019), section 2.3; defaults are
 * GPT-2's smallest model.
 *
 * A request's `tokens` are the prompt. Results: `tokens`, one id for each step, the one that ended it included; with the
 * option `scores` also `scores`, for each step those of all tokens, the ones that are never chosen included. With the
 * options `sample` and `penalties` requests say how tokens are drawn and what changes their scores, in the fields of a
 * decoder that `loadOnnx` made, by the same rules; the last cell takes them in plain TypeScript then.
 *
 * Cells: `prompt_1`..., `layer_1`..., `classifier`. Tensors: `embedding` [vocabulary, hidden], `position`
 * [positionsMax, hidden]; with L for `layer.i`: `L.attention.qkv.W` [3 hidden, hidden], `L.attention.output.W` [hidden,
 * hidden], `L.forward.up.W` [inner, hidden], `L.forward.down.W` [hidden, inner], each with a `.b`, `L.attention` and
 * `L.forward` with a `.norm.scale` and `.norm.bias` [hidden]; `norm.scale`, `norm.bias` [hidden] behind the last; of a
 * separate classifier `classifier.W` [vocabulary, hidden], `classifier.b`.
 * @throws TypeError or RangeError naming option or tensor when one is not what the model needs
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { gpt, type Model } from "@shoal/core";
 *
 * const model: Model = gpt({ layers: 2, hidden: 8, heads: 2, vocabulary: 50, positionsMax: 16 });
 * model.check({ tokens: [7, 3, 9], maxSteps: 14 });
 * assert.throws(() => model.check({ tokens: [7, 3, 9], maxSteps: 15 }), RangeError);
 * assert.deepEqual(
 *   model.cells.map(({ name }) => name),
 *   ["prompt_1", "prompt_2", "layer_1", "layer_2", "classifier"],
 * );
 * ```
 */
export function gpt(
  options: GptOptions = {},
): GptModel {
  const name = "gpt";
  checkOptions(name, options, GPT_OPTIONS);
  const size = (option: string, value: number) =>
    checkSize(name, option, value);
  const layers = size("layers", options.layers ?? 12);
  const hidden = size("hidden", options.hidden ?? 768);
  const heads = checkHeads(name, options.heads ?? 12, hidden);
  const inner = size("inner", options.inner ?? 4 * hidden);
  const vocabulary = size("vocabulary", options.vocabulary ?? 50_257);
  const positionsMax = size("positionsMax", options.positionsMax ?? 1024);
  const extraSteps = size("extraSteps", options.extraSteps ?? 50);
  const activation = ACTIVATIONS[
    checkChoice(name, "activation", options.activation ?? "gelu-tanh", [
      ...["relu", "gelu", "gelu-tanh"] as const,
    ])
  ];
  const isScaled = checkChoice(
    name,
    "embeddings",
    options.embeddings ?? "plain",
    ["plain", "scaled"],
  ) === "scaled";
  const isTied = checkChoice(
    name,
    "classifier",
    options.classifier ?? "tied",
    ["tied", "separate"],
  ) === "tied";
  const { eos = vocabulary - 1, epsilon = 1e-5, banned = [] } = options;
  const fail = (option: string, what: string, got: unknown): never => {
    throw new RangeError(
      `"${option}" of model "${name}" is ${what}, got ${describe(got)}`,
    );
  };
  const isId = (id: unknown) =>
    Number.isInteger(id) && Number(id) >= 0 && Number(id) < vocabulary;
  const ends = eos === null ? [] : isList(eos) ? [...eos] : [eos];
  if (!ends.every(isId)) {
    fail("eos", `an id below ${vocabulary}, a list of them, or null`, eos);
  }
  if (!isList(banned) || !banned.every(isId)) {
    fail("banned", `a list of ids below ${vocabulary}`, banned);
  }
  if (typeof epsilon !== "number" || !(epsilon >= 0 && epsilon < 1)) {
    fail("epsilon", "at least 0 and below 1", epsilon);
  }
  const draws = new TokenDraws(name, {
    ...{ vocabulary, banned, ends, positionsMax },
    sample: checkFlag(name, "sample", options.sample),
    penalties: checkFlag(name, "penalties", options.penalties),
  });
  const isScored = checkFlag(name, "scores", options.scores);
  const weights = eachOnce(
    checkedWeights(name, options.weights ?? seededWeights(1)),
  );
  const block: BlockOptions = {
    ...{ hidden, heads, inner, activation, epsilon, preNorm: true },
  };

  const table = weights("embedding", [vocabulary, hidden], hidden);
  const places = weights("position", [positionsMax, hidden], hidden);
  const scale = new Array<number>(hidden).fill(Math.sqrt(hidden));
  const embed = (
    op: Operators,
    { token, position }: Record<"token" | "position", Value>,
  ) => {
    const row = op.Gather(table, token);
    return op.Add(
      isScaled ? op.Mul(row, op.Constant(scale)) : row,
      op.Gather(places, position),
    );
  };
  const cache = { keyWidth: hidden, valueWidth: hidden, positionsMax };
  const count = Array.from({ length: layers }, (_, i) => i + 1);
  let priority = 0;

  const prompts = count.map((layer): Cell => {
    const isLast = layer === layers;
    const attention = `layer.${layer}.attention`;
    const attend = selfAttention(attention, block, weights);
    const forward = feedForward(`layer.${layer}.forward`, block, weights);
    const keys = selfKeys(attention, block, weights);
    return layerCell(layer, embed, hidden, {
      name: `prompt_${layer}`,
      tokensMax: Math.max(1, positionsMax - 1),
      priority: priority++,
      caches: { cache },
      compute(op, x, cache): Record<string, Value> {
        if (!isLast) return { y: forward(op, attend(op, x, cache)) };
        // Of the last layer an answer looks at keys and values alone.
        keys(op, x, cache);
        return {};
      },
    });
  });
  const growing = () => ({
    phase: "decoder" as const,
    recurrent: true,
    priority: priority++,
  });
  const steps = count.map((layer) => {
    const attend = selfAttention(`layer.${layer}.attention`, block, weights);
    const forward = feedForward(`layer.${layer}.forward`, block, weights);
    return layerCell(layer, embed, hidden, {
      name: `layer_${layer}`,
      ...growing(),
      caches: { cache },
      compute: (op, x, cache) => ({ y: forward(op, attend(op, x, cache)) }),
    });
  });
  const norm = layerNorm("norm", block, weights);
  const [w, b] = isTied ? [table, undefined] : [
    weights("classifier.W", [vocabulary, hidden], hidden),
    weights("classifier.b", [vocabulary], hidden),
  ];
  const classifier = defineCell({
    name: "classifier",
    ...growing(),
    inputs: { x: f32(hidden), ...draws.ports },
    body(op, { x, ...drawn }): Record<string, Value> {
      const scores = op.Gemm(norm(op, x), w, b);
      const taken = draws.next(op, scores, drawn);
      return { ...taken, ...(isScored && { scores }) };
    },
    stop: draws.stop,
  });

  /** One step. Inputs of the graph: prompt, positions, of draws; caches: of every layer. */
  function step(graph: CellGraph, token: Source, before?: CellNode): void {
    const [, positions] = graph.inputs;
    const { filled } = graph.caches[0];
    const position = graph.id(positions, filled);
    let inputs: Record<string, Source> = { token, position };
    steps.forEach((cell, i) => {
      const node = graph.node(cell, inputs, {
        caches: { cache: graph.caches[i] },
      });
      inputs = { x: graph.output(node, "y") };
    });
    const next = graph.node(classifier, {
      ...inputs,
      ...draws.sources(graph, filled, before),
    });
    graph.collect("tokens", graph.output(next, "next"));
    if (isScored) graph.collect("scores", graph.output(next, "scores"));
  }

  function read(input: unknown) {
    checkObject(name, input);
    checkKeys(name, input, ["tokens", "maxSteps", ...draws.fields]);
    const tokens = readTokens(
      name,
      input["tokens"],
      vocabulary,
      positionsMax,
      "tokens",
      "positionsMax",
    );
    const limit = readMaxSteps(name, input["maxSteps"], {
      steps: tokens.length + extraSteps,
      stepsMax: positionsMax - tokens.length + 1,
      from: BEHIND_PROMPT,
    });
    return { tokens, limit, drawn: draws.read(input) };
  }

  return {
    name,
    cells: [...prompts, ...steps, classifier],
    shape: "chain",
    outputs: { tokens: "i32", ...(isScored && { scores: "f32" }) },
    tokensMax: positionsMax,
    nodesMax: nodesMaxFor(layers + (layers + 1) * positionsMax),
    isSampled: draws.isSampled,
    isPenalised: draws.isPenalised,
    stop: ends,
    check(input): asserts input is GptInput {
      read(input);
    },
    unfold(input, graph) {
      const { tokens, limit, drawn } = read(input);
      const last = tokens.length - 1;
      const ids = graph.ids(tokens);
      const positions = graph.ids(
        Array.from({ length: last + limit }, (_, i) => i),
      );
      draws.bring(graph, tokens, limit, drawn);
      for (let layer = 0; layer < layers; layer++) {
        graph.cache(cache, last + limit);
      }
      let before: CellNode | undefined;
      for (let layer = 0; last > 0 && layer < layers; layer++) {
        before = graph.node(
          prompts[layer],
          before ? { x: graph.output(before, "y") } : {
            token: graph.id(ids, 0),
            position: graph.id(positions, 0),
          },
          { length: last, caches: { cache: graph.caches[layer] } },
        );
      }
      step(graph, graph.id(ids, last));
      graph.grows(limit, isScored ? 1 + vocabulary : 1);
    },
    grow: (node, graph) => step(graph, graph.output(node, "next"), node),
  };
}

/** Prompts and steps share their tensors. */
function eachOnce(weights: WeightSource): WeightSource {
  const known = new Map<string, Tensor>();
  return (name, ...wanted) => {
    const tensor = known.get(name) ?? weights(name, ...wanted);
    known.set(name, tensor);
    return tensor;
  };
}

/** What a layer's cell is, but for how it gets its row. */
interface LayerCell {
  readonly name: string;
  readonly phase?: "decoder";
  readonly recurrent?: boolean;
  readonly priority: number;
  readonly tokensMax?: number;
  readonly caches: { readonly cache: CacheSpec };
  compute(op: Operators, x: Value, cache: CacheRef): Record<string, Value>;
}

/** The first layer reads a token and its position, others the row of the layer before. */
function layerCell(
  layer: number,
  embed: (op: Operators, ports: Record<"token" | "position", Value>) => Value,
  hidden: number,
  { compute, ...definition }: LayerCell,
): Cell {
  return layer === 1
    ? defineCell({
      ...definition,
      inputs: { token: i32(), position: i32() },
      body: (op, ports, { cache }) => compute(op, embed(op, ports), cache),
    })
    : defineCell({
      ...definition,
      inputs: { x: f32(hidden) },
      body: (op, { x }, { cache }) => compute(op, x, cache),
    });
}
