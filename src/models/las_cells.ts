/** The cells of Listen, Attend and Spell; see las.ts. */
import type { CacheSpec } from "../graph/cache.ts";
import type { Cell } from "../graph/cell.ts";
import { defineCell, f32, i32 } from "../graph/cell_builder.ts";
import { tensor } from "../tensor/tensor.ts";
import type { WeightSource } from "../tensor/weights.ts";
import { linear } from "./attention_blocks.ts";
import { rnnStep } from "./rnn_cell.ts";

export interface LasSizes {
  readonly features: number;
  readonly hidden: number;
  readonly pyramidLayers: number;
  readonly spellerHidden: number;
  readonly spellerLayers: number;
  readonly vocabulary: number;
  readonly eos: number | null;
  /** Most steps of the listener's highest layer. */
  readonly positionsMax: number;
}

export interface LasCells {
  /** From the lowest layer to the highest. */
  readonly listener: readonly {
    readonly forward: Cell;
    readonly backward: Cell;
  }[];
  /** From the lowest layer to the highest, which attends. */
  readonly speller: readonly Cell[];
  readonly character: Cell;
  /** Keys and outputs of the highest layer, in the order in which its backward direction makes them: the last first. */
  readonly memory: CacheSpec;
}

/** Two steps of the layer below, in both directions. */
const PAIR = ["forward_1", "backward_1", "forward_2", "backward_2"] as const;

export function lasCells(sizes: LasSizes, weights: WeightSource): LasCells {
  const { hidden, pyramidLayers, spellerHidden, spellerLayers } = sizes;
  const heard = 2 * hidden;
  const memory: CacheSpec = {
    keyWidth: heard,
    valueWidth: heard,
    positionsMax: sizes.positionsMax,
  };
  const key = linear("attention.key", heard, heard, weights);
  const query = linear("attention.query", spellerHidden, heard, weights);
  let priority = 0;

  const listening = (
    layer: number,
    direction: "forward" | "backward",
  ): Cell => {
    const isLowest = layer === 1;
    const appends = layer === pyramidLayers + 1 && direction === "backward";
    const step = rnnStep(
      "lstm",
      `listener.${layer}.${direction}`,
      isLowest ? sizes.features : 4 * hidden,
      hidden,
      weights,
    );
    const below: Record<string, ReturnType<typeof f32>> = isLowest
      ? { x: f32(sizes.features) }
      : Object.fromEntries(PAIR.map((name) => [name, f32(hidden)]));
    return defineCell<string, "h" | "c", "memory">({
      name: `listener_${layer}_${direction}`,
      phase: "encoder",
      recurrent: true,
      priority: priority++,
      inputs: {
        ...below,
        ...step.ports,
        ...(appends && { forward: f32(hidden) }),
      },
      ...(appends && { caches: { memory } }),
      body(op, ports, caches) {
        const x = isLowest
          ? ports["x"]
          : op.Concat(...PAIR.map((name) => ports[name]));
        const state = { h: ports["h"], c: ports["c"] };
        const next = step.apply(op, x, state);
        if (appends) {
          const y = op.Concat(ports["forward"], next.h);
          op.CacheAppend(op.Tanh(key(op, y)), y, caches.memory);
        }
        return next;
      },
    });
  };

  const characters = oneHot(sizes.vocabulary);
  const spelling = (layer: number): Cell => {
    const isLowest = layer === 1;
    const attends = layer === spellerLayers;
    const step = rnnStep(
      "lstm",
      `speller.${layer}`,
      isLowest ? sizes.vocabulary + heard : spellerHidden,
      spellerHidden,
      weights,
    );
    const below: Record<string, ReturnType<typeof f32>> = isLowest
      ? { token: i32(), context: f32(heard) }
      : { x: f32(spellerHidden) };
    return defineCell<string, string, "memory">({
      name: `speller_${layer}`,
      phase: "decoder",
      recurrent: true,
      priority: priority++,
      inputs: { ...below, ...step.ports },
      ...(attends && { caches: { memory } }),
      body(op, ports, caches) {
        const x = isLowest
          ? op.Concat(op.Gather(characters, ports["token"]), ports["context"])
          : ports["x"];
        const next = step.apply(op, x, { h: ports["h"], c: ports["c"] });
        if (!attends) return next;
        const context = op.Attention(
          op.Tanh(query(op, next.h)),
          caches.memory,
          { heads: 1, scale: 1 },
        );
        return { ...next, context };
      },
    });
  };

  const layers = (count: number) =>
    Array.from({ length: count }, (_, i) => i + 1);
  const listener = layers(pyramidLayers + 1).map((layer) => ({
    forward: listening(layer, "forward"),
    backward: listening(layer, "backward"),
  }));
  const speller = layers(spellerLayers).map(spelling);
  const inner = linear(
    "character.hidden",
    spellerHidden + heard,
    spellerHidden,
    weights,
  );
  const output = linear(
    "character.output",
    spellerHidden,
    sizes.vocabulary,
    weights,
  );
  return {
    listener,
    speller,
    character: defineCell({
      name: "character",
      phase: "decoder",
      recurrent: true,
      priority: priority++,
      inputs: { s: f32(spellerHidden), context: f32(heard) },
      body: (op, { s, context }) => ({
        next: op.ArgMax(
          output(op, op.Tanh(inner(op, op.Concat(s, context)))),
        ),
      }),
      stop: { output: "next", token: sizes.eos },
    }),
    memory,
  };
}

/** Row i is 1 at i, otherwise 0. */
function oneHot(count: number) {
  const data = new Float32Array(count * count);
  for (let i = 0; i < count; i++) data[i * count + i] = 1;
  return tensor([count, count], data);
}
