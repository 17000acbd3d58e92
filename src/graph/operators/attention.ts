import { describe } from "../../base/describe.ts";
import { isShape, type Tensor } from "../../tensor/tensor.ts";
import type { CellBody } from "../cell_body.ts";
import type { CacheRef, Value } from "../operator.ts";
import { axesOf, lastAxis, shapeOf } from "../row_layout.ts";

/** How an attention cuts rows into heads, and what it looks at. */
export interface HeadOptions {
  /** Heads of queries; a divisor of the query's width. */
  readonly heads: number;
  /** Heads of keys and values, a divisor of `heads`; default: `heads`. */
  readonly kvHeads?: number;
  /** Factor of q K^T; default: 1 / sqrt of a head's width. */
  readonly scale?: number;
  /** Whether a token sees only what comes before it, and itself; default false. */
  readonly causal?: boolean;
}

/** What is done with scores before softmax. */
export interface AttentionOptions extends HeadOptions {
  /** Scores are cap tanh(score); default 0: they are as they are. ONNX Attention's softcap is score / cap before. */
  readonly cap?: number;
  /**
   * Added to the score of a position that is so many before the last that a token sees, [heads, distances], as many
   * distances as the cache may have positions.
   */
  readonly bias?: Tensor;
}

/** Attention over a cache, and the normalisation that goes with it. */
export interface AttentionOperators {
  /** Fills the positions of the node's tokens with keys k of `keyWidth` and values v of `valueWidth` elements. */
  CacheAppend(k: Value, v: Value, cache: CacheRef): void;
  /**
   * ONNX Attention (opset 23): softmax(scale q K^T) V for every head, over a cache, or over the keys and values
   * of the node's own tokens (in a ragged cell). As wide as q.
   */
  Attention(
    q: Value,
    over: CacheRef | { readonly k: Value; readonly v: Value },
    options: AttentionOptions,
  ): Value;
  /**
   * ONNX Attention without past, between rows of one request that all have as many: q [.., queries, width], k and v
   * [.., keys, kvHeads width / heads]; axes in front are the same, and each of them is by itself. As many rows as q.
   */
  RowAttention(q: Value, k: Value, v: Value, options: HeadOptions): Value;
  /**
   * Not in ONNX: the mean of the cache's values weighted by the softmax of v . tanh(q + key), v [keyWidth]
   * (Bahdanau, Cho, Bengio 2015, appendix A.1.2, with projected queries and keys). `valueWidth` elements.
   */
  AdditiveAttention(q: Value, cache: CacheRef, v: Tensor): Value;
  /**
   * (x - mean) / sqrt(variance + epsilon) scale + bias over the last axis; scale and bias as long as it, bias default
   * none, epsilon at least 0, default 1e-5.
   */
  LayerNormalization(
    x: Value,
    weights: { scale: Tensor; bias?: Tensor; epsilon?: number },
  ): Value;
  /** x / sqrt(mean of x^2 + epsilon) scale over the last axis; scale and epsilon as of LayerNormalization. */
  RMSNormalization(
    x: Value,
    weights: { scale: Tensor; epsilon?: number },
  ): Value;
}

const HEAD_OPTIONS = ["heads", "kvHeads", "scale", "causal"] as const;

export const attentionOperators = (body: CellBody): AttentionOperators => {
  const append = (k: Value, v: Value, cache: CacheRef): void => {
    body.float("CacheAppend", k, v);
    body.ownCache("CacheAppend", cache);
    body.expect(
      k.width === cache.keyWidth && v.width === cache.valueWidth,
      `CacheAppend of a key of ${k.width} and a value of ${v.width} to a cache of ${cache.keyWidth} and ${cache.valueWidth}`,
    );
    body.appendsTo(cache);
    body.operators.push({
      op: "CacheAppend",
      cache,
      inputs: [k, v],
      outputs: [],
    });
  };

  /** Heads that fit a width, or what is wrong with them. */
  const headsOf = (op: string, width: number, options: HeadOptions) => {
    const { heads, kvHeads = heads, scale, causal = false } = options;
    body.expect(
      (scale === undefined || Number.isFinite(scale)) &&
        typeof causal === "boolean",
      `${op} takes a finite scale and causal true or false, got ${
        describe(scale)
      } and ${describe(causal)}`,
    );
    const isCount = (n: number) => Number.isInteger(n) && n >= 1;
    body.expect(
      isCount(heads) && isCount(kvHeads) && heads % kvHeads === 0 &&
        width % heads === 0,
      `${op} of ${describe(heads)} heads and ${
        describe(kvHeads)
      } key-value heads over queries of ${width}`,
    );
    const headSize = width / heads;
    return {
      heads,
      kvHeads,
      headSize,
      scale: Math.fround(scale ?? 1 / Math.sqrt(headSize)),
      causal,
    };
  };

  return {
    CacheAppend: append,

    Attention(q, over, options) {
      body.float("Attention", q);
      body.known("Attention", options, [...HEAD_OPTIONS, "cap", "bias"]);
      const { headSize, ...given } = headsOf("Attention", q.width, options);
      const { heads, kvHeads } = given;
      const { cap = 0, bias } = options;
      body.expect(
        Number.isFinite(cap) && cap >= 0,
        `Attention takes a finite cap of at least 0, got ${describe(cap)}`,
      );
      let cache: CacheRef;
      if ("kind" in over) cache = over;
      else {
        body.float("Attention", over.k, over.v);
        cache = body.localCache(over.k.width, over.v.width);
        append(over.k, over.v, cache);
      }
      body.ownCache("Attention", cache);
      body.expect(
        cache.keyWidth === kvHeads * headSize &&
          cache.valueWidth === kvHeads * headSize,
        `Attention of ${kvHeads} key-value heads of ${headSize} over a cache of ${cache.keyWidth} and ${cache.valueWidth}`,
      );
      if (bias) {
        body.shape("Attention bias", bias, [heads, cache.positionsMax]);
      }
      return body.emit({
        op: "Attention",
        cache,
        ...given,
        cap: Math.fround(cap),
        ...(bias && { bias }),
        inputs: [q],
        outputs: [body.declare("f32", heads * headSize)],
      });
    },

    RowAttention(q, k, v, options) {
      body.float("RowAttention", q, k, v);
      body.known("RowAttention", options, HEAD_OPTIONS);
      const given = headsOf("RowAttention", lastAxis(q), options);
      const { kvHeads, headSize, ...rest } = given;
      const before = (x: Value) => axesOf(x).slice(0, -2);
      const keys = axesOf(k).at(-2);
      body.expect(
        [q, k, v].every((x) => !x.image && axesOf(x).length >= 2) &&
          isShape(before(k), before(q)) && isShape(axesOf(v), axesOf(k)) &&
          lastAxis(k) === kvHeads * headSize &&
          (!rest.causal || keys === axesOf(q).at(-2)),
        `RowAttention${
          rest.causal ? ", causal," : ""
        } of ${rest.heads} heads and ${kvHeads} key-value heads over ${
          [q, k, v].map(shapeOf).join(", ")
        }`,
      );
      return body.emit({
        op: "RowAttention",
        kvHeads,
        ...rest,
        inputs: [q, k, v],
        outputs: [body.alongside(q)],
      });
    },

    AdditiveAttention(q, cache, v) {
      body.float("AdditiveAttention", q);
      body.ownCache("AdditiveAttention", cache);
      body.expect(
        q.width === cache.keyWidth,
        `AdditiveAttention of a query of ${q.width} over keys of ${cache.keyWidth}`,
      );
      body.shape("AdditiveAttention v", v, [cache.keyWidth]);
      return body.emit({
        op: "AdditiveAttention",
        cache,
        v,
        inputs: [q],
        outputs: [body.declare("f32", cache.valueWidth)],
      });
    },

    LayerNormalization(x, weights) {
      body.known("LayerNormalization", weights, ["scale", "bias", "epsilon"]);
      const { scale, bias, epsilon = 1e-5 } = weights;
      body.float("LayerNormalization", x);
      body.shape("LayerNormalization scale", scale, [lastAxis(x)]);
      if (bias) body.shape("LayerNormalization bias", bias, [lastAxis(x)]);
      body.expect(
        Number.isFinite(epsilon) && epsilon >= 0,
        `LayerNormalization epsilon is at least 0, got ${describe(epsilon)}`,
      );
      return body.emit({
        op: "LayerNormalization",
        scale,
        ...(bias && { bias }),
        epsilon: Math.fround(epsilon),
        inputs: [x],
        outputs: [body.alongside(x)],
      });
    },

    RMSNormalization(x, weights) {
      body.known("RMSNormalization", weights, ["scale", "epsilon"]);
      const { scale, epsilon = 1e-5 } = weights;
      body.float("RMSNormalization", x);
      body.shape("RMSNormalization scale", scale, [lastAxis(x)]);
      body.expect(
        Number.isFinite(epsilon) && epsilon >= 0,
        `RMSNormalization epsilon is at least 0, got ${describe(epsilon)}`,
      );
      return body.emit({
        op: "RMSNormalization",
        scale,
        epsilon: Math.fround(epsilon),
        inputs: [x],
        outputs: [body.alongside(x)],
      });
    },
  };
};
