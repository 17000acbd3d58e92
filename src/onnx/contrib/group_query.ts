/**
 * Attention of `com.microsoft` over a past: heads of queries that share keys in groups, and rotary positions.
 * Source: ContribOperators.md of onnxruntime, GroupQueryAttention.
 */
import type { Expand, Expansion } from "./expansion.ts";
import { countOf, turn } from "./rotary.ts";

/** Of onnx.proto. */
const INT64 = 7;

/** Where inputs are. */
const PAST = 3;
const LENGTHS = 5;
const COS = 7;
const POSITIONS = 9;
const BIAS = 10;
const SINK = 11;

/** Queries, keys and values, of which a file may have made one. */
function partsOf(given: Expansion, size: number): string[] {
  if (given.has(1)) return [0, 1, 2].map((i) => given.input(i));
  const [heads, kvHeads] = ["num_heads", "kv_num_heads"].map((name) =>
    given.int(name) * size
  );
  return [
    ...given.several(
      "Split",
      [given.input(0), given.whole(heads, kvHeads, kvHeads)],
      { axis: -1 },
      given.fresh(3),
    ),
  ];
}

/** ONNX's own attention: a past, keys in order behind it; those that count are as many as `seqlens_k` says. */
export const groupQueryAttention: Expand = (given) => {
  const [heads, kvHeads] = [given.int("num_heads"), given.int("kv_num_heads")];
  given.refuse(given.int("smooth_softmax") > 0, "smooth_softmax");
  given.refuse(given.has(SINK), "head_sink");
  given.refuse(given.wantsFrom(3), "the products as a result");
  for (const kind of ["k_quant_type", "v_quant_type"]) {
    given.refuse(given.attribute(kind, "string", "NONE") !== "NONE", kind);
  }
  const isOne = !given.has(1);
  const count = heads + (isOne ? 2 * kvHeads : 0);
  given.refuse(count === 0, "a number of heads that is none");
  const size = given.size(0, 2) / count;
  given.refuse(
    !Number.isInteger(size),
    `${given.size(0, 2)} columns for ${count} heads`,
  );
  const hasPast = given.has(PAST);
  // One of a fixed size is a buffer that is longer than what it holds.
  const isBuffer = hasPast && typeof given.dims(PAST, 4)[2] === "number";
  given.refuse(isBuffer, "a past of a fixed size, which is filled in place,");

  const tokens = countOf(given, given.input(0), 1);
  const last = given.add("Unsqueeze", [
    given.add("Cast", [given.input(LENGTHS)], { to: INT64 }),
    given.whole(1),
  ]);
  const before = given.add("Sub", [
    last,
    given.add("ReduceMax", [tokens], { keepdims: 0 }),
  ]);
  let [q, k, v] = partsOf(given, size);
  if (given.int("do_rotary") !== 0) {
    const half = given.size(COS, 1);
    const positions = given.has(POSITIONS)
      ? given.input(POSITIONS)
      : hasPast
      ? given.add("Add", [before, tokens])
      : given.add("Unsqueeze", [tokens, given.whole(0)]);
    [q, k] = [[q, heads] as const, [k, kvHeads] as const].map(([x, heads]) =>
      turn(given, {
        ...{ x, positions, heads, size },
        tables: [given.input(COS), given.input(COS + 1)],
        turned: 2 * half,
        isInterleaved: given.int("rotary_interleaved") !== 0,
      })
    );
  }
  const keys = hasPast
    ? given.add("Concat", [
      countOf(given, given.input(PAST), 2),
      given.add("Add", [pastSize(given), tokens]),
    ], { axis: 0 })
    : tokens;
  let counts = given.add("LessOrEqual", [keys, last]);
  const window = given.int("local_window_size", -1);
  if (window > 0) {
    given.refuse(
      given.size(0, 1) !== 1,
      "a window over several tokens at once",
    );
    const from = given.add("Sub", [last, given.wholeNumber(window)]);
    counts = given.add("And", [counts, given.add("Greater", [keys, from])]);
  }
  let mask = given.add("Unsqueeze", [counts, given.whole(1, 2)]);
  if (given.has(BIAS)) {
    mask = given.add("Where", [
      ...[mask, given.input(BIAS), given.floats(-Infinity)],
    ]);
  }
  const scale = given.float("scale", 0) || 1 / Math.sqrt(size);
  const softcap = given.float("softcap", 0);
  given.several(
    "Attention",
    [
      ...[q, k, v, mask],
      ...(hasPast ? [given.input(PAST), given.input(PAST + 1)] : []),
    ],
    {
      ...{ q_num_heads: heads, kv_num_heads: kvHeads, is_causal: 1 },
      ...{ scale: { float: scale }, softcap: { float: softcap } },
    },
    given.node.outputs.slice(0, 3),
    23,
  );
};

function pastSize(given: Expansion): string {
  const sizes = given.add("Shape", [given.input(PAST)]);
  return given.add("Gather", [sizes, given.wholeNumber(2)]);
}
