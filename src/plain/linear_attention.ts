/**
 * Layers whose state has one size however long the sequence is: linear attention and causal convolution. Sums in
 * f64; a state is f64 from token to token and rounded where it is handed out.
 */
import { exp } from "../base/elementary/exponential.ts";
import { describeShape } from "../base/describe.ts";
import { zerosOf } from "../tensor/plain_tensor.ts";
import { convolved } from "./convolution.ts";
import { sigmoid } from "./functions.ts";
import {
  checkDims,
  checkRank,
  choice,
  FLOATS,
  floats,
  optionalFloat,
  optionalFloats,
  requiredInt,
} from "./given.ts";
import { outputOf } from "./layout.ts";
import { joined, part } from "./moves.ts";
import type { PlainOperator } from "./operator.ts";

const RULES = ["gated_delta", "linear", "gated", "delta"] as const;

/**
 * A matrix for each head of keys, [size of keys][size of values]: decayed, then moved by what a token's value differs
 * from what the matrix has for its key (or by the value itself), then read by the token's queries.
 */
const LinearAttention: PlainOperator = {
  since: [27],
  types: FLOATS,
  run: (inputs, attributes) => {
    const [q, k, v] = ["query", "key", "value"].map((name, i) => {
      const given = floats(inputs, i, name);
      checkRank(i, name, given, 3, 3);
      return given;
    });
    const past = optionalFloats(inputs, 3, "past_state");
    const decay = optionalFloats(inputs, 4, "decay");
    const beta = optionalFloats(inputs, 5, "beta");
    const rule = choice(attributes, "update_rule", RULES);
    const isGated = rule === "gated" || rule === "gated_delta";
    const isDelta = rule === "delta" || rule === "gated_delta";
    if (isGated !== (decay !== undefined) || isDelta !== (beta !== undefined)) {
      throw new TypeError(
        `attribute update_rule is ${rule}: input 4 (decay) and 5 (beta) do not go with it`,
      );
    }
    const heads = requiredInt(attributes, "q_num_heads");
    const kvHeads = requiredInt(attributes, "kv_num_heads");
    const [batch, length, width] = q.dims;
    const size = width / heads;
    const valueSize = v.dims[2] / kvHeads;
    if (
      !(heads >= 1 && kvHeads >= 1) || heads % kvHeads !== 0 ||
      !Number.isInteger(size) || !Number.isInteger(valueSize)
    ) {
      throw new RangeError(
        `${heads} heads of ${describeShape(q.dims)} and ${kvHeads} of ${
          describeShape(v.dims)
        }`,
      );
    }
    checkDims(1, "key", k, [batch, length, kvHeads * size]);
    checkDims(2, "value", v, [batch, length, kvHeads * valueSize]);
    const stateDims = [batch, kvHeads, size, valueSize];
    if (past) checkDims(3, "past_state", past, stateDims);
    // A decay for each head, or for each of its columns; a beta for each head, or for all.
    const decays = decay?.dims.at(-1) === kvHeads ? kvHeads : kvHeads * size;
    const betas = beta?.dims.at(-1) === 1 ? 1 : kvHeads;
    if (decay) checkDims(4, "decay", decay, [batch, length, decays]);
    if (beta) checkDims(5, "beta", beta, [batch, length, betas]);
    const scale = optionalFloat(attributes, "scale") || 1 / Math.sqrt(size);
    const y = outputOf("float32", [batch, length, heads * valueSize]);
    const states = outputOf("float32", stateDims);
    if (past) states.data.set(past.data);
    const shared = heads / kvHeads;
    const cells = size * valueSize;
    for (let lane = 0; lane < batch * kvHeads; lane++) {
      const head = lane % kvHeads;
      const state = Float64Array.from(
        states.data.subarray(lane * cells, (lane + 1) * cells),
      );
      for (let t = 0; t < length; t++) {
        const token = Math.floor(lane / kvHeads) * length + t;
        const key = (i: number) => k.data[(token * kvHeads + head) * size + i];
        if (decay) {
          for (let i = 0; i < cells; i++) {
            const row = Math.floor(i / valueSize);
            const at = decays === kvHeads ? head : head * size + row;
            state[i] *= exp(decay.data[token * decays + at]);
          }
        }
        for (let m = 0; m < valueSize; m++) {
          let value = v.data[(token * kvHeads + head) * valueSize + m];
          if (beta) {
            let known = 0;
            for (let i = 0; i < size; i++) {
              known += state[i * valueSize + m] * key(i);
            }
            const rate = beta.data[token * betas + (betas === 1 ? 0 : head)];
            value = rate * (value - known);
          }
          for (let i = 0; i < size; i++) {
            state[i * valueSize + m] += key(i) * value;
          }
        }
        for (let g = 0; g < shared; g++) {
          const reader = token * heads + head * shared + g;
          for (let m = 0; m < valueSize; m++) {
            let sum = 0;
            for (let i = 0; i < size; i++) {
              sum += q.data[reader * size + i] * state[i * valueSize + m];
            }
            y.data[reader * valueSize + m] = sum * scale;
          }
        }
      }
      states.data.set(state, lane * cells);
    }
    return [y, states];
  },
};

/** A convolution of every channel with itself and what was before; the last inputs are the next state. */
const CausalConvWithState: PlainOperator = {
  since: [27],
  types: FLOATS,
  run: (inputs, attributes) => {
    const x = floats(inputs, 0, "input");
    const w = floats(inputs, 1, "weight");
    const bias = optionalFloats(inputs, 2, "bias");
    checkRank(0, "input", x, 3, 3);
    checkRank(1, "weight", w, 3, 3);
    const [batch, channels, length] = x.dims;
    const kernel = w.dims[2];
    checkDims(1, "weight", w, [channels, 1, kernel]);
    if (bias) checkDims(2, "bias", bias, [channels]);
    const before = [batch, channels, kernel - 1];
    const past = optionalFloats(inputs, 3, "past_state") ??
      zerosOf("float32", before);
    checkDims(3, "past_state", past, before);
    const padded = joined([past, x], 2) as typeof x;
    const { dims, sums } = convolved(
      padded,
      w,
      new Map([["group", { kind: "int", value: channels }]]),
    );
    const isSmooth =
      choice(attributes, "activation", ["none", "silu", "swish"]) !== "none";
    const y = outputOf("float32", dims);
    for (let i = 0; i < sums.length; i++) {
      const channel = Math.floor(i / length) % channels;
      const value = Math.fround(sums[i] + (bias?.data[channel] ?? 0));
      y.data[i] = isSmooth ? value * sigmoid(value) : value;
    }
    return [y, part(padded, 2, length, kernel - 1)];
  },
};

export const LINEAR_ATTENTIONS: Readonly<Record<string, PlainOperator>> = {
  LinearAttention,
  CausalConvWithState,
};
