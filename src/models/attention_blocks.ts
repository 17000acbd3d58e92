/**
 * The sub-layers that attention networks are made of, each with its residual; normalised behind it (post-norm), or in
 * front of the sub-layer (pre-norm).
 */
import type { Operators } from "../graph/cell_builder.ts";
import type { CacheRef, Value } from "../graph/operator.ts";
import type { Tensor } from "../tensor/tensor.ts";
import type { WeightSource } from "../tensor/weights.ts";

export interface BlockOptions {
  readonly hidden: number;
  readonly heads: number;
  /** Width of the feed-forward sub-layer's inner rows. */
  readonly inner: number;
  readonly activation: "Relu" | "Gelu" | "GeluTanh";
  /** Of layer normalisation. */
  readonly epsilon: number;
  /** x + layer(norm(x)) in place of norm(x + layer(x)); default false. */
  readonly preNorm?: boolean;
}

/** A matrix product whose weights are known by name. */
type Linear = (op: Operators, x: Value) => Value;

/** Weights `<prefix>.W` [outputs, inputs] and `.b` [outputs]. */
export function linear(
  prefix: string,
  inputs: number,
  outputs: number,
  weights: WeightSource,
): Linear {
  const w = weights(`${prefix}.W`, [outputs, inputs], inputs);
  const b = weights(`${prefix}.b`, [outputs], inputs);
  return (op, x) => op.Gemm(x, w, b);
}

/** Weights `<prefix>.scale` and `.bias` [hidden]. */
export function layerNorm(
  prefix: string,
  { hidden, epsilon }: Pick<BlockOptions, "hidden" | "epsilon">,
  weights: WeightSource,
): Linear {
  const scale: Tensor = weights(`${prefix}.scale`, [hidden], hidden);
  const bias: Tensor = weights(`${prefix}.bias`, [hidden], hidden);
  return (op, x) => op.LayerNormalization(x, { scale, bias, epsilon });
}

/** A sub-layer with its residual and its normalisation. Weights: `<prefix>.norm`. */
function residual(
  prefix: string,
  options: BlockOptions,
  weights: WeightSource,
): (op: Operators, x: Value, layer: (x: Value) => Value) => Value {
  const norm = layerNorm(`${prefix}.norm`, options, weights);
  return options.preNorm
    ? (op, x, layer) => op.Add(layer(norm(op, x)), x)
    : (op, x, layer) => norm(op, op.Add(layer(x), x));
}

/** Equal parts of a row. */
function parts(op: Operators, x: Value, count: number): Value[] {
  const width = x.width / count;
  return Array.from(
    { length: count },
    (_, i) => op.Slice(x, i * width, (i + 1) * width),
  );
}

/**
 * Attention of tokens to themselves: x and W attention(q, k, v).
 * Weights: `<prefix>.qkv`, `.output`, `.norm`.
 * @returns what applies it; with a cache, keys and values go there first and what it holds, up to a token, is attended
 * to
 */
export function selfAttention(
  prefix: string,
  options: BlockOptions,
  weights: WeightSource,
): (op: Operators, x: Value, cache?: CacheRef) => Value {
  const { hidden, heads } = options;
  const qkv = linear(`${prefix}.qkv`, hidden, 3 * hidden, weights);
  const output = linear(`${prefix}.output`, hidden, hidden, weights);
  const add = residual(prefix, options, weights);
  return (op, x, cache) =>
    add(op, x, (x) => {
      const [q, k, v] = parts(op, qkv(op, x), 3) as [Value, Value, Value];
      if (cache) op.CacheAppend(k, v, cache);
      const mixed = op.Attention(q, cache ?? { k, v }, {
        heads,
        causal: cache !== undefined,
      });
      return output(op, mixed);
    });
}

/**
 * What `selfAttention` appends to a cache, where nobody asks for more: of the last layer of a prompt.
 * Weights: those of it.
 */
export function selfKeys(
  prefix: string,
  options: BlockOptions,
  weights: WeightSource,
): (op: Operators, x: Value, cache: CacheRef) => void {
  const { hidden } = options;
  const qkv = linear(`${prefix}.qkv`, hidden, 3 * hidden, weights);
  const norm = layerNorm(`${prefix}.norm`, options, weights);
  return (op, x, cache) => {
    const [, k, v] = parts(
      op,
      qkv(op, options.preNorm ? norm(op, x) : x),
      3,
    ) as [Value, Value, Value];
    op.CacheAppend(k, v, cache);
  };
}

/** Keys and values of the source for one decoder layer. Weights: `<prefix>.kv`. */
export function sourceKeys(
  prefix: string,
  { hidden }: BlockOptions,
  weights: WeightSource,
): (op: Operators, x: Value, cache: CacheRef) => void {
  const kv = linear(`${prefix}.kv`, hidden, 2 * hidden, weights);
  return (op, x, cache) => {
    const [k, v] = parts(op, kv(op, x), 2) as [Value, Value];
    op.CacheAppend(k, v, cache);
  };
}

/** Attention to the source: x and W attention(q, cache). Weights: `<prefix>.q`, `.output`, `.norm`. */
export function crossAttention(
  prefix: string,
  options: BlockOptions,
  weights: WeightSource,
): (op: Operators, x: Value, cache: CacheRef) => Value {
  const { hidden, heads } = options;
  const query = linear(`${prefix}.q`, hidden, hidden, weights);
  const output = linear(`${prefix}.output`, hidden, hidden, weights);
  const add = residual(prefix, options, weights);
  return (op, x, cache) =>
    add(op, x, (x) => output(op, op.Attention(query(op, x), cache, { heads })));
}

/** x and W2 act(W1 x). Weights: `<prefix>.up`, `.down`, `.norm`. */
export function feedForward(
  prefix: string,
  options: BlockOptions,
  weights: WeightSource,
): Linear {
  const { hidden, inner, activation } = options;
  const up = linear(`${prefix}.up`, hidden, inner, weights);
  const down = linear(`${prefix}.down`, inner, hidden, weights);
  const add = residual(prefix, options, weights);
  return (op, x) => add(op, x, (x) => down(op, op[activation](up(op, x))));
}
