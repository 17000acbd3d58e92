/** Attention over caches: keys in panels of 8 positions, values position by position. */
import {
  byRows,
  ELEMENTS_PER_NS,
  type FamilySpecs,
  FLOPS_PER_NS,
} from "./kernel_spec.ts";
import {
  array,
  type Count,
  countOf,
  float,
  type FromSizes,
  m,
  rowsIn,
  rowsOut,
  size,
  type Sizes,
} from "./signature.ts";

/** Positions in whole panels. */
const panels = (positions: number) => Math.ceil(positions / 8) * 8;
/** What is read of a cache, from as many positions as the row sees; or is there beyond its last one. */
const keys = (width: Count, beyond = 0): FromSizes => (sizes, kernels, own) =>
  panels(own + beyond) * countOf(width, sizes, kernels);
const values = (width: Count, beyond = 0): FromSizes => (sizes, kernels, own) =>
  (own + beyond) * countOf(width, sizes, kernels);
const KV_WIDTH = ["kvHeads", "headSize"];

/** Floats behind the last row of a bias: the last vector of scores is read beyond it. */
export const BIAS_BEHIND = 3;

/** Positions whose scores, 16 of each, are fewer bytes than 32 bits count (assembly/attention.ts). */
const CAPACITY_MAX = 2 ** 26 - 8;

/** One integer a row. */
const perRow = (
  name: string,
  limit: (sizes: Sizes) => number = () => 2 ** 31 - 1,
) =>
  array(name, "m", {
    type: "i32",
    greatest: "longest",
    below: { limit, offsets: [0], stride: 1, inclusive: true },
  });
// Several positions of one request may be written at once.
const appended = { each: "positions", repeats: true } as const;
const read = { each: "lengths" };

export const ATTENTION = {
  attention_append_f32: {
    parameters: [
      m,
      size("keyWidth"),
      size("valueWidth"),
      rowsIn("kRows", "keyWidth"),
      rowsIn("vRows", "valueWidth"),
      perRow("positions"),
      rowsOut("kCaches", keys("keyWidth", 1), appended),
      rowsOut("vCaches", values("valueWidth", 1), appended),
    ],
    cuts: "whole",
  },
  attention_f32: {
    parameters: [
      m,
      size("heads"),
      size("kvHeads"),
      size("headSize"),
      size("capacity", 0, { multipleOf: 8, most: CAPACITY_MAX }),
      float("scale"),
      float("cap"),
      rowsIn("qRows", ["heads", "headSize"]),
      rowsIn("kCaches", keys(KV_WIDTH), read),
      rowsIn("vCaches", values(KV_WIDTH), read),
      perRow("lengths", ({ capacity }) => capacity),
      array("bias", ({ heads, capacity }) => heads * capacity + BIAS_BEHIND, {
        optional: true,
      }),
      rowsOut("outRows", ["heads", "headSize"], { over: ["qRows"] }),
      array(
        "scratch",
        // Half of memory and more is less than 0 to a host that takes addresses for signed.
        ({ capacity }, kernels) =>
          (kernels.attention_scratch_bytes(capacity) >>> 0) / 4,
        { access: "scratch", from: "attention_scratch_bytes()" },
      ),
    ],
    relation: ({ heads, kvHeads }) =>
      heads % kvHeads === 0
        ? undefined
        : `${kvHeads} key-value heads do not divide ${heads} heads: give every key-value head the same number of heads`,
    // Heads share rows of a cache, so that a part of them is no call of its own.
    cuts: [byRows(4)],
    nanoseconds: ({ m, heads, headSize, capacity }) =>
      4 * m * heads * headSize * capacity / FLOPS_PER_NS,
  },
  additive_attention_f32: {
    parameters: [
      m,
      size("keyWidth"),
      size("valueWidth"),
      rowsIn("qRows", "keyWidth"),
      array("v", "keyWidth"),
      rowsIn("kCaches", keys("keyWidth"), read),
      rowsIn("vCaches", values("valueWidth"), read),
      perRow("lengths"),
      rowsOut("outRows", "valueWidth"),
      array(
        "scratch",
        ({ longest }) => panels(longest),
        { access: "scratch", from: "attention_scratch_bytes() / 16" },
      ),
    ],
    cuts: [byRows()],
    nanoseconds: ({ m, keyWidth, longest }) =>
      m * keyWidth * panels(longest) / ELEMENTS_PER_NS,
  },
} satisfies FamilySpecs;
