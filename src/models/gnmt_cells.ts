/** The cells of GNMT; see gnmt.ts. */
import type { CacheSpec } from "../graph/cache.ts";
import type { Cell } from "../graph/cell.ts";
import { defineCell, f32, i32, type Operators } from "../graph/cell_builder.ts";
import type { Value } from "../graph/operator.ts";
import { type Tensor, tensor } from "../tensor/tensor.ts";
import type { WeightSource } from "../tensor/weights.ts";
import { rnnStep } from "./rnn_cell.ts";

export interface GnmtSizes {
  readonly hidden: number;
  readonly embedding: number;
  readonly layers: number;
  readonly sourceVocabulary: number;
  readonly targetVocabulary: number;
  readonly variant: "gnmt" | "gnmt-v2";
  readonly eos: number | null;
  readonly tokensMax: number;
}

export interface GnmtCells {
  /** The lowest layer, in both directions. */
  readonly forward: Cell;
  readonly backward: Cell;
  /** Layers 2 to the highest. */
  readonly encoder: readonly Cell[];
  readonly attending: Cell;
  /** Layers 2 to the highest. */
  readonly decoder: readonly Cell[];
  readonly classifier: Cell;
  /** Keys and outputs of the highest encoder layer. */
  readonly memory: CacheSpec;
}

export function gnmtCells(sizes: GnmtSizes, weights: WeightSource): GnmtCells {
  const { hidden, embedding, layers, variant } = sizes;
  const memory = {
    keyWidth: hidden,
    valueWidth: hidden,
    positionsMax: sizes.tokensMax,
  };
  const shared = variant === "gnmt-v2";
  const sourceTable = weights(
    shared ? "embedding" : "encoder.embedding",
    [sizes.sourceVocabulary, embedding],
    hidden,
  );
  const targetTable = shared ? sourceTable : weights(
    "decoder.embedding",
    [sizes.targetVocabulary, embedding],
    hidden,
  );
  const attention = attentionWeights(sizes, weights);
  let priority = 0;
  const lstm = (prefix: string, inputs: number) =>
    rnnStep("lstm", prefix, inputs, hidden, weights);

  const lowest = (direction: "forward" | "backward"): Cell => {
    const step = lstm(`encoder.1.${direction}`, embedding);
    return defineCell({
      name: `encoder_1_${direction}`,
      phase: "encoder",
      recurrent: true,
      priority: priority++,
      inputs: { token: i32(), ...step.ports },
      body: (op, { token, h, c }) =>
        step.apply(op, op.Gather(sourceTable, token), { h, c }),
    });
  };

  const upperEncoder = (layer: number): Cell => {
    const step = lstm(`encoder.${layer}`, layer === 2 ? 2 * hidden : hidden);
    const below: Record<string, ReturnType<typeof f32>> = layer === 2
      ? { forward: f32(hidden), backward: f32(hidden) }
      : { x: f32(hidden) };
    const isHighest = layer === layers;
    return defineCell<string, string, "memory">({
      name: `encoder_${layer}`,
      phase: "encoder",
      recurrent: true,
      priority: priority++,
      inputs: { ...below, ...step.ports },
      ...(isHighest && { caches: { memory } }),
      body(op, ports, caches) {
        const x = layer === 2
          ? op.Concat(ports["forward"], ports["backward"])
          : ports["x"];
        const state = { h: ports["h"], c: ports["c"] };
        const { h, c } = step.apply(op, x, state);
        const y = layer === 2 ? h : op.Add(h, x);
        if (isHighest) {
          op.CacheAppend(op.Gemm(y, attention.k), y, caches.memory);
        }
        // What nobody reads is not an output: the highest layer's goes into the memory.
        return { h, c, ...(!isHighest && layer > 2 && { y }) };
      },
    });
  };

  const attend = (
    op: Operators,
    h: Value,
    cache: Parameters<Operators["AdditiveAttention"]>[1],
  ) =>
    op.AdditiveAttention(
      op.Gemm(h, attention.q, attention.b),
      cache,
      attention.v,
    );
  const attendingStep = lstm(
    "decoder.1",
    shared ? embedding : embedding + hidden,
  );
  const attending = (): Cell =>
    defineCell({
      name: "decoder_1",
      phase: "decoder",
      recurrent: true,
      priority: priority++,
      inputs: { token: i32(), ...attendingStep.ports },
      caches: { memory },
      body(op, { token, h, c }, caches) {
        const word = op.Gather(targetTable, token);
        if (shared) {
          const next = attendingStep.apply(op, word, { h, c });
          return { ...next, context: attend(op, next.h, caches.memory) };
        }
        const context = attend(op, h, caches.memory);
        const x = op.Concat(word, context);
        return { ...attendingStep.apply(op, x, { h, c }), context };
      },
    });

  const upperDecoder = (layer: number): Cell => {
    const step = lstm(`decoder.${layer}`, 2 * hidden);
    return defineCell<"x" | "context" | "h" | "c", string>({
      name: `decoder_${layer}`,
      phase: "decoder",
      recurrent: true,
      priority: priority++,
      inputs: { x: f32(hidden), context: f32(hidden), ...step.ports },
      body(op, { x, context, h, c }) {
        const next = step.apply(op, op.Concat(x, context), { h, c });
        return { ...next, ...(layer > 2 && { y: op.Add(next.h, x) }) };
      },
    });
  };

  const upper = Array.from({ length: layers - 1 }, (_, i) => i + 2);
  return {
    forward: lowest("forward"),
    backward: lowest("backward"),
    encoder: upper.map(upperEncoder),
    attending: attending(),
    decoder: upper.map(upperDecoder),
    classifier: defineCell({
      name: "classifier",
      phase: "decoder",
      recurrent: true,
      priority: priority++,
      inputs: { x: f32(hidden) },
      body: (op, { x }) => ({
        next: op.ArgMax(
          op.Gemm(
            x,
            weights("classifier.W", [sizes.targetVocabulary, hidden], hidden),
            weights("classifier.b", [sizes.targetVocabulary], hidden),
          ),
        ),
      }),
      stop: { output: "next", token: sizes.eos },
    }),
    memory,
  };
}

/** Projections of queries and keys, bias, and v; of "gnmt-v2" v is normalised: g v / |v| (Salimans and Kingma 2016). */
function attentionWeights(
  { hidden, variant }: GnmtSizes,
  weights: WeightSource,
): Record<"q" | "k" | "b" | "v", Tensor> {
  const q = weights("attention.q", [hidden, hidden], hidden);
  const k = weights("attention.k", [hidden, hidden], hidden);
  const b = weights("attention.b", [hidden], hidden);
  const v = weights("attention.v", [hidden], hidden);
  if (variant === "gnmt") return { q, k, b, v };
  const g = weights("attention.g", [1], 1).data[0];
  const norm = Math.sqrt(v.data.reduce((sum, x) => sum + x * x, 0));
  // Weights without values, as simulations have them, have no direction.
  const factor = norm === 0 ? 0 : g / norm;
  return { q, k, b, v: tensor([hidden], v.data.map((x) => x * factor)) };
}
