/** Attention of `com.microsoft`, in parts: products, a mask that is added, softmax. */
import { plainTensor } from "../../tensor/plain_tensor.ts";
import type { Expand, Expansion } from "./expansion.ts";
import { scaled } from "./quantized.ts";

/** What is added where a token may not look ahead: nothing is left of it. */
const NEVER = -1e30;

/** [batch, tokens, heads size] as [batch, heads, tokens, size], or with the last two turned. */
function inHeads(given: Expansion, x: string, isTurned = false): string {
  const heads = given.int("num_heads");
  const split = given.add("Reshape", [x, given.whole(0, 0, heads, -1)]);
  const perm = isTurned ? [0, 2, 3, 1] : [0, 2, 1, 3];
  return given.add("Transpose", [split], { perm });
}

/**
 * What is added to scores: 0 where a key counts.
 * @param i the input that is a mask of every key, or how many count
 * @param from the input that has as many tokens as there are keys
 */
function maskOf(given: Expansion, i: number, from: number): string {
  const mask = given.input(i);
  const filter = given.floats(given.float("mask_filter_value", -10000));
  const { length } = given.dims(i);
  given.refuse(length > 2, `a mask of ${length} axes`);
  let counts = mask;
  if (length === 1) {
    // As many lengths as sequences; other forms have more.
    const isLengths = given.size(i, 0) === given.size(0, 0);
    given.refuse(!isLengths, "a mask of starts and ends");
    const tokens = Array.from({ length: given.tokens(from, 1) }, (_, at) => at);
    const numbers = given.add("Cast", [given.whole(...tokens)], { to: INT32 });
    const lengths = given.add("Unsqueeze", [mask, given.whole(1)]);
    counts = given.add("Less", [numbers, lengths]);
  } else counts = given.add("Cast", [mask], { to: BOOL });
  const one = given.add("Cast", [counts], { to: FLOAT });
  const missing = given.add("Sub", [given.floats(1), one]);
  const added = given.add("Mul", [missing, filter]);
  return given.add("Unsqueeze", [added, given.whole(1, 2)]);
}

/** Of onnx.proto. */
const FLOAT = 1;
const INT32 = 6;
const BOOL = 9;

/** Softmax of scores, times the values. */
function attend(
  given: Expansion,
  [q, k, v]: readonly string[],
  scale: number,
  added: readonly string[],
): void {
  const scores = given.add("MatMul", [
    inHeads(given, q),
    inHeads(given, k, true),
  ]);
  let all = given.add("Mul", [scores, given.floats(scale)]);
  for (const one of added) all = given.add("Add", [all, one]);
  const weights = given.add("Softmax", [all], { axis: -1 });
  const heads = given.add("MatMul", [weights, inHeads(given, v)]);
  const rows = given.add("Transpose", [heads], { perm: [0, 2, 1, 3] });
  given.add(
    "Reshape",
    [rows, given.whole(0, 0, -1)],
    {},
    given.node.outputs[0],
  );
}

function causal(given: Expansion, tokens: number): string {
  const data = Float32Array.from(
    { length: tokens * tokens },
    (_, i) => i % tokens > Math.floor(i / tokens) ? NEVER : 0,
  );
  return given.constant(plainTensor("float32", [tokens, tokens], data));
}

function scaleOf(given: Expansion, size: number): number {
  return given.float("scale", 0) || 1 / Math.sqrt(size);
}

/**
 * Attention by one product for queries, keys and values.
 * @param mask the input that is one
 */
function attendProduct(given: Expansion, all: string, mask: number): void {
  given.refuse(given.int("do_rotary") !== 0, "do_rotary");
  const columns = given.size(1, 1);
  const sizes = given.attribute("qkv_hidden_sizes", "ints", []);
  const widths = sizes.length === 3
    ? sizes
    : [columns / 3, columns / 3, columns / 3];
  const qkv = given.several(
    "Split",
    [all, given.whole(...widths)],
    { axis: -1 },
    given.fresh(3),
  );
  const added: string[] = [];
  if (given.has(mask)) added.push(maskOf(given, mask, 0));
  if (given.node.op === "Attention" && given.has(5)) added.push(given.input(5));
  if (given.int("unidirectional") !== 0) {
    added.push(causal(given, given.tokens(0, 1)));
  }
  attend(given, qkv, scaleOf(given, widths[0] / given.int("num_heads")), added);
}

const attention: Expand = (given) => {
  given.refuse(given.has(4) || given.wantsFrom(1), "a past or present state");
  const product = given.add("MatMul", [given.input(0), given.input(1)]);
  const all = given.has(2)
    ? given.add("Add", [product, given.input(2)])
    : product;
  attendProduct(given, all, 3);
};

/** Of bytes, which the optimiser's Attention becomes where it is quantised. */
const qAttention: Expand = (given) => {
  given.refuse(given.has(8) || given.wantsFrom(1), "a past or present state");
  const [x, w, bias, xScale, wScale, , xZero = "", wZero = ""] =
    given.node.inputs;
  const product = scaled(given, [x, w, xZero, wZero], [xScale, wScale], bias);
  attendProduct(given, product, 5);
};

/** Of queries, keys and values [batch, tokens, width]. */
const multiHead: Expand = (given) => {
  const { inputs } = given.node;
  const isMore = inputs.slice(8).some((name) => name !== "");
  given.refuse(isMore, "a past that is filled in place, or of beams,");
  const hasPast = given.has(6) && given.has(7);
  given.refuse(
    !hasPast && (given.has(6) || given.has(7) || given.wantsFrom(1)),
    "a present state without keys and values of the past",
  );
  given.refuse(given.wantsFrom(3), "the products as a result");
  const qkv = [0, 1, 2].map((i) => given.input(i));
  for (const i of [0, 1, 2]) given.dims(i, 3);
  const width = given.size(0, 2);
  const parts = [...qkv];
  if (given.has(3)) {
    const widths = [width, given.size(1, 2), given.size(2, 2)];
    const biases = given.several(
      "Split",
      [given.input(3), given.whole(...widths)],
      { axis: 0 },
      given.fresh(3),
    );
    qkv.forEach((name, i) => parts[i] = given.add("Add", [name, biases[i]]));
  }
  const added: string[] = [];
  if (given.has(4)) {
    const isLengths = given.dims(4).length === 1;
    given.refuse(isLengths && hasPast, "a mask of lengths with a past");
    added.push(maskOf(given, 4, 1));
  }
  if (given.has(5)) added.push(given.input(5));
  const isCausal = given.int("unidirectional") !== 0;
  const scale = scaleOf(given, width / given.int("num_heads"));
  if (hasPast) return attendPast(given, parts, scale, added, isCausal);
  if (isCausal) {
    const [queries, keys] = [given.tokens(0, 1), given.dims(1)[1]];
    // ONNX Runtime lets the last query alone see all that is behind it.
    given.refuse(
      queries > 1 && typeof keys === "number" && keys !== queries,
      `unidirectional with ${queries} queries and ${keys} keys`,
    );
    added.push(causal(given, queries));
  }
  attend(given, parts, scale, added);
};

/** ONNX's own attention with a past. */
function attendPast(
  given: Expansion,
  parts: readonly string[],
  scale: number,
  added: readonly string[],
  isCausal: boolean,
): void {
  const heads = given.int("num_heads");
  const mask = added.length === 2 ? given.add("Add", added) : added[0] ?? "";
  given.several(
    "Attention",
    [...parts, mask, given.input(6), given.input(7)],
    {
      ...{ q_num_heads: heads, kv_num_heads: heads },
      ...{ is_causal: isCausal ? 1 : 0, scale: { float: scale } },
    },
    given.node.outputs.slice(0, 3),
    23,
  );
}

export const ATTENTIONS: Readonly<Record<string, Expand>> = {
  Attention: attention,
  MultiHeadAttention: multiHead,
  QAttention: qAttention,
};
