/** The sub-layers of attention networks in double precision, over all tokens at once: no cache, no batch. */
import { attention } from "../kernels/reference/attention.ts";
import { gelu, geluTanh } from "../kernels/reference/activation.ts";
import { normalize } from "../kernels/reference/norm.ts";
import { plus, ReferenceLayers, type Row } from "./reference_layers.ts";

export interface BlockSizes {
  hidden: number;
  heads: number;
  inner: number;
  activation: "relu" | "gelu" | "gelu-tanh";
  epsilon: number;
  /** Whether the norm is in front of a sub-layer, not behind its residual. */
  preNorm?: boolean;
}

export class ReferenceBlocks extends ReferenceLayers {
  constructor(
    weights: ConstructorParameters<typeof ReferenceLayers>[0],
    readonly sizes: BlockSizes,
  ) {
    super(weights);
  }

  dense(name: string, x: Row, outputs: number): number[] {
    return this.linear(`${name}.W`, x, {
      outputs,
      fanIn: x.length,
      bias: `${name}.b`,
    });
  }

  norm(name: string, x: Row): number[] {
    const { hidden, epsilon } = this.sizes;
    const tensor = (part: string) =>
      this.tensor(`${name}.${part}`, [hidden], hidden);
    return [
      ...normalize(x, tensor("scale"), tensor("bias"), epsilon, true),
    ];
  }

  /** @param causal a token sees itself and those before it */
  selfAttention(name: string, xs: readonly Row[], causal: boolean): number[][] {
    const { hidden } = this.sizes;
    const qkv = xs.map((x) =>
      this.dense(`${name}.qkv`, this.#before(name, x), 3 * hidden)
    );
    const part = (i: number) =>
      qkv.map((row) => row.slice(i * hidden, (i + 1) * hidden));
    const [q, k, v] = [part(0), part(1), part(2)];
    return xs.map((x, t) => {
      const seen = causal ? t + 1 : xs.length;
      return this.#mix(name, x, q[t], k.slice(0, seen), v.slice(0, seen));
    });
  }

  crossAttention(
    name: string,
    xs: readonly Row[],
    source: readonly Row[],
  ): number[][] {
    const { hidden } = this.sizes;
    const kv = source.map((y) => this.dense(`${name}.kv`, y, 2 * hidden));
    return xs.map((x) =>
      this.#mix(
        name,
        x,
        this.dense(`${name}.q`, this.#before(name, x), hidden),
        kv.map((row) => row.slice(0, hidden)),
        kv.map((row) => row.slice(hidden)),
      )
    );
  }

  feedForward(name: string, xs: readonly Row[]): number[][] {
    const { hidden, inner, activation } = this.sizes;
    const act = {
      gelu,
      "gelu-tanh": geluTanh,
      relu: (x: number) => Math.max(0, x),
    }[activation];
    return xs.map((x) => {
      const up = this.dense(`${name}.up`, this.#before(name, x), inner)
        .map(act);
      const y = plus(this.dense(`${name}.down`, up, hidden), x);
      return this.#behind(name, y);
    });
  }

  /** What a sub-layer reads. */
  #before(name: string, x: Row): Row {
    return this.sizes.preNorm ? this.norm(`${name}.norm`, x) : x;
  }

  /** What becomes of a sub-layer with its residual. */
  #behind(name: string, y: number[]): number[] {
    return this.sizes.preNorm ? y : this.norm(`${name}.norm`, y);
  }

  /** Attention of one query, its projection, the residual and the norm. */
  #mix(
    name: string,
    x: Row,
    q: Row,
    k: readonly Row[],
    v: readonly Row[],
  ): number[] {
    const { hidden, heads } = this.sizes;
    const headSize = hidden / heads;
    const mixed = attention(
      { heads, kvHeads: heads, headSize },
      1 / Math.sqrt(headSize),
      q,
      k.flat(),
      v.flat(),
      k.length,
    );
    const y = plus(this.dense(`${name}.output`, [...mixed], hidden), x);
    return this.#behind(name, y);
  }
}
