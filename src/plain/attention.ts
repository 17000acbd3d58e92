/**
 * Attention over heads, with keys and values of the past, masks, windows and a soft cap. Scores and sums in f64,
 * keys in their order; results are rounded once.
 */
import { exp } from "../base/elementary/exponential.ts";
import { tanh } from "../base/elementary/hyperbolic.ts";
import { describeShape } from "../base/describe.ts";
import type { PlainTensor } from "../tensor/plain_tensor.ts";
import {
  checkDims,
  checkRank,
  flag,
  float,
  FLOATS,
  floats,
  int,
  optional,
  optionalFloat,
  optionalFloats,
  optionalWhole,
  type PlainInputs,
  requiredInt,
} from "./given.ts";
import { broadcastPositions, outputOf, permuted } from "./layout.ts";
import { joined } from "./moves.ts";
import type { PlainAttributes, PlainOperator } from "./operator.ts";
import { withDims } from "../tensor/plain_tensor.ts";

type Floats = PlainTensor<"float32">;

/** [batch, length, heads * size] as [batch, heads, length, size]. */
function split(x: Floats, heads: number): Floats {
  const [batch, length, width] = x.dims;
  const size = width / heads;
  if (!Number.isInteger(size)) {
    throw new RangeError(`${width} columns in ${heads} heads`);
  }
  return permuted(withDims(x, [batch, length, heads, size]), [0, 2, 1, 3]);
}

/** Queries, keys and values by head, those of the past before them. */
function headsOf(
  inputs: PlainInputs,
  attributes: PlainAttributes,
): { q: Floats; k: Floats; v: Floats; past: number; isFlat: boolean } {
  let [q, k, v] = ["Q", "K", "V"].map((name, i) => {
    const given = floats(inputs, i, name);
    checkRank(i, name, given, 3, 4);
    return given;
  });
  const isFlat = q.dims.length === 3;
  if (isFlat) {
    checkRank(1, "K", k, 3, 3);
    checkRank(2, "V", v, 3, 3);
    q = split(q, requiredInt(attributes, "q_num_heads"));
    k = split(k, requiredInt(attributes, "kv_num_heads"));
    v = split(v, requiredInt(attributes, "kv_num_heads"));
  }
  const pastKey = optionalFloats(inputs, 4, "past_key");
  const pastValue = optionalFloats(inputs, 5, "past_value");
  if (!pastKey !== !pastValue) {
    throw new TypeError("past_key and past_value come together");
  }
  if (pastKey && pastValue) {
    checkRank(4, "past_key", pastKey, 4, 4);
    checkRank(5, "past_value", pastValue, 4, 4);
    k = joined([pastKey, k], 2) as Floats;
    v = joined([pastValue, v], 2) as Floats;
  }
  const [batch, heads, , size] = q.dims;
  const [, kvHeads, keys] = k.dims;
  checkDims(1, "K", k, [batch, kvHeads, keys, size]);
  checkDims(2, "V", v, [batch, kvHeads, keys, v.dims[3]]);
  if (heads % kvHeads !== 0) {
    throw new RangeError(`${heads} heads of queries share ${kvHeads} of keys`);
  }
  return { q, k, v, past: pastKey?.dims[2] ?? 0, isFlat };
}

/** What is added to the score of every query and key: minus infinity where a key is not attended to. */
function biasOf(
  inputs: PlainInputs,
  attributes: PlainAttributes,
  [batch, heads, queries, keys]: readonly number[],
  past: number,
): Float64Array {
  const bias = new Float64Array(
    outputOf("float32", [batch, heads, queries, keys]).data.length,
  );
  const mask = optional(inputs, 3, "attn_mask", ["float32", "bool"]);
  if (mask) {
    checkRank(3, "attn_mask", mask, 1, 4);
    const columns = mask.dims.at(-1) as number;
    if (columns > keys || columns !== keys && columns === 0) {
      throw new RangeError(
        `input 3 (attn_mask) has dims ${
          describeShape(mask.dims)
        }, there are ${keys} keys`,
      );
    }
    // A mask that is shorter leaves the keys behind it out; one column stands for all of them.
    const isShort = columns > 1 && columns < keys;
    const width = isShort ? columns : keys;
    const at = broadcastPositions(mask.dims, [batch, heads, queries, width]);
    for (let i = 0; i < bias.length; i++) {
      const key = i % keys;
      if (key >= width) {
        bias[i] = -Infinity;
        continue;
      }
      const value = mask.data[at[Math.floor(i / keys) * width + key]];
      bias[i] = mask.type === "bool" ? value ? 0 : -Infinity : Number(value);
    }
  }
  const isCausal = flag(attributes, "is_causal");
  const left = int(attributes, "left_window_size", -1);
  const right = int(attributes, "right_window_size", -1);
  const lengths = optionalWhole(inputs, 6, "nonpad_kv_seqlen");
  if (lengths && (past > 0 || lengths.length !== batch)) {
    throw new RangeError(
      `input 6 (nonpad_kv_seqlen) has ${lengths.length} numbers, expected ${batch} and no past`,
    );
  }
  for (let i = 0; i < bias.length; i++) {
    const key = i % keys;
    const query = Math.floor(i / keys) % queries;
    const length = lengths?.[Math.floor(i / (keys * queries * heads))];
    // Where the query lies among the keys.
    const at = query + (length === undefined ? past : length - queries);
    if (
      isCausal && key > at || left >= 0 && key < at - left ||
      right >= 0 && key > at + right || length !== undefined && key >= length
    ) {
      bias[i] = -Infinity;
    }
  }
  return bias;
}

/** A lane of scores, to probabilities; all 0 where no key is attended to, NaN where one is and no score is above minus infinity. */
function probabilities(scores: Float64Array, isMasked: boolean): void {
  const most = scores.reduce((a, b) => Math.max(a, b), -Infinity);
  if (isMasked) {
    scores.fill(0);
    return;
  }
  let sum = 0;
  for (let i = 0; i < scores.length; i++) {
    scores[i] = exp(scores[i] - most);
    sum += scores[i];
  }
  for (let i = 0; i < scores.length; i++) scores[i] /= sum;
}

const Attention: PlainOperator = {
  since: [23, 24, 25],
  types: FLOATS,
  limits: "softmax_precision: always f64",
  run: (inputs, attributes, { outputs }) => {
    const { q, k, v, past, isFlat } = headsOf(inputs, attributes);
    const [batch, heads, queries, size] = q.dims;
    const [, kvHeads, keys] = k.dims;
    const width = v.dims[3];
    const scale = optionalFloat(attributes, "scale") ?? 1 / Math.sqrt(size);
    const cap = float(attributes, "softcap", 0);
    const shown = int(attributes, "qk_matmul_output_mode", 0);
    const dims = [batch, heads, queries, keys];
    const bias = biasOf(inputs, attributes, dims, past);
    const scores = outputOf("float32", dims);
    const y = outputOf("float32", [batch, heads, queries, width]);
    const lane = new Float64Array(keys);
    for (let row = 0; row < batch * heads * queries; row++) {
      const head = Math.floor(row / queries);
      const kvHead = Math.floor(head / heads) * kvHeads +
        Math.floor(head % heads / (heads / kvHeads));
      const show = (stage: number) => {
        if (stage === shown) scores.data.set(lane, row * keys);
      };
      for (let key = 0; key < keys; key++) {
        let sum = 0;
        const from = (kvHead * keys + key) * size;
        for (let i = 0; i < size; i++) {
          sum += q.data[row * size + i] * k.data[from + i];
        }
        lane[key] = sum * scale;
      }
      show(0);
      if (cap > 0) {
        for (let i = 0; i < keys; i++) lane[i] = cap * tanh(lane[i] / cap);
      }
      show(1);
      let isMasked = true;
      for (let i = 0; i < keys; i++) {
        const more = bias[row * keys + i];
        // What is left out counts for nothing, whatever it holds, as in kernels.
        lane[i] = more === -Infinity ? more : lane[i] + more;
        if (more !== -Infinity) isMasked = false;
      }
      show(2);
      probabilities(lane, isMasked);
      show(3);
      for (let i = 0; i < width; i++) {
        let sum = 0;
        for (let key = 0; key < keys; key++) {
          if (bias[row * keys + key] === -Infinity) continue;
          sum += lane[key] * v.data[(kvHead * keys + key) * width + i];
        }
        y.data[row * width + i] = isMasked ? 0 : sum;
      }
    }
    const result = isFlat
      ? withDims(permuted(y, [0, 2, 1, 3]), [batch, queries, heads * width])
      : y;
    return [result, k, v, scores].slice(0, Math.max(1, outputs));
  },
};

/** Pairs of elements turned by an angle that depends on the token's position; [B, heads, S, size] or [B, S, width]. */
const RotaryEmbedding: PlainOperator = {
  since: [23],
  types: FLOATS,
  run: (inputs, attributes) => {
    const given = floats(inputs, 0, "X");
    checkRank(0, "X", given, 3, 4);
    const cos = floats(inputs, 1, "cos_cache");
    const sin = floats(inputs, 2, "sin_cache");
    const positions = optionalWhole(inputs, 3, "position_ids");
    const isInterleaved = flag(attributes, "interleaved");
    const isFlat = given.dims.length === 3;
    const x = isFlat
      ? split(given, requiredInt(attributes, "num_heads"))
      : given;
    const [batch, heads, length, size] = x.dims;
    const turned = int(attributes, "rotary_embedding_dim", 0) || size;
    const half = turned / 2;
    if (!Number.isInteger(half) || turned > size) {
      throw new RangeError(
        `attribute rotary_embedding_dim is ${turned}, heads have ${size}`,
      );
    }
    const dims = positions ? [cos.dims[0], half] : [batch, length, half];
    checkDims(1, "cos_cache", cos, dims);
    checkDims(2, "sin_cache", sin, dims);
    if (positions && positions.length !== batch * length) {
      throw new RangeError(
        `input 3 (position_ids) has ${positions.length} numbers, expected ${
          batch * length
        }`,
      );
    }
    const y = outputOf("float32", x.dims);
    y.data.set(x.data);
    for (let row = 0; row < batch * heads * length; row++) {
      const token = Math.floor(row / (heads * length)) * length + row % length;
      const position = positions ? positions[token] : token;
      if (!(position >= 0 && position < cos.data.length / half)) {
        throw new RangeError(`input 3 (position_ids) has ${position}`);
      }
      for (let i = 0; i < half; i++) {
        const [a, b] = isInterleaved ? [2 * i, 2 * i + 1] : [i, half + i];
        const [c, s] = [
          cos.data[position * half + i],
          sin.data[position * half + i],
        ];
        const [u, w] = [x.data[row * size + a], x.data[row * size + b]];
        y.data[row * size + a] = c * u - s * w;
        y.data[row * size + b] = s * u + c * w;
      }
    }
    return [
      isFlat ? withDims(permuted(y, [0, 2, 1, 3]), given.dims) : y,
    ];
  },
};

export const ATTENTIONS: Readonly<Record<string, PlainOperator>> = {
  Attention,
  RotaryEmbedding,
};
