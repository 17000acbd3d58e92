import {
  array,
  flag,
  float,
  type FromSizes,
  type KernelName,
  m,
  rowsIn,
  rowsOut,
  type Signatures,
  size,
  type Sizes,
} from "./signature.ts";
import type { CellKernel } from "./cells.ts";
import type { ImageKernel } from "./images.ts";
import type { MatrixKernel } from "./matrices.ts";

const n: FromSizes = (sizes) => sizes.n!;
const k: FromSizes = (sizes) => sizes.k!;
const unary = [
  m,
  size("n"),
  rowsIn("aRows", n),
  rowsOut("outRows", n, { over: ["aRows"] }),
];
const binary = [
  m,
  size("n"),
  rowsIn("aRows", n),
  rowsIn("bRows", n),
  rowsOut("outRows", n, { over: ["aRows", "bRows"] }),
];
const headWidth = (heads: string) => (sizes: Sizes) =>
  sizes[heads]! * sizes.headSize!;
/** Caches up to `each` positions: keys in panels of 8. */
const keysUpTo = (width: FromSizes): FromSizes => (sizes, kernels) =>
  Math.ceil(sizes.each! / 8) * 8 * width(sizes, kernels);
const valuesUpTo = (width: FromSizes): FromSizes => (sizes, kernels) =>
  sizes.each! * width(sizes, kernels);
/** Caches with room for position `each`. */
const upToIt = (width: FromSizes): FromSizes => (sizes, kernels) =>
  width({ ...sizes, each: sizes.each! + 1 }, kernels);
const keyWidth: FromSizes = (sizes) => sizes.keyWidth!;
const valueWidth: FromSizes = (sizes) => sizes.valueWidth!;
const kvWidth = headWidth("kvHeads");
/** From the first byte of a block to its last. */
const blocksUpTo = (side: string) => (sizes: Sizes) =>
  (sizes.lines! - 1) * sizes[`${side}Line`]! +
  (sizes.pieces! - 1) * sizes[`${side}Piece`]! + sizes.bytes!;
const indices = (
  name: string,
  limit: (sizes: Sizes) => number = () => 2 ** 31 - 1,
) =>
  array(name, ({ m }) => m!, {
    type: "i32",
    greatest: "longest",
    below: { limit, offsets: [0], stride: 1, inclusive: true },
  });

/** Kernels over plain rows, and attention. */
export const ROWS: Signatures<
  Exclude<KernelName, MatrixKernel | CellKernel | ImageKernel>
> = {
  attention_append_f32: [
    m,
    size("keyWidth"),
    size("valueWidth"),
    rowsIn("kRows", keyWidth),
    rowsIn("vRows", valueWidth),
    indices("positions"),
    // Several positions of one request may be written at once.
    rowsOut("kCaches", upToIt(keysUpTo(keyWidth)), {
      each: "positions",
      repeats: true,
    }),
    rowsOut("vCaches", upToIt(valuesUpTo(valueWidth)), {
      each: "positions",
      repeats: true,
    }),
  ],
  attention_f32: [
    m,
    size("heads"),
    size("kvHeads"),
    size("headSize"),
    size("capacity", 0, { multipleOf: 8 }),
    float("scale"),
    rowsIn("qRows", headWidth("heads")),
    rowsIn("kCaches", keysUpTo(kvWidth), { each: "lengths" }),
    rowsIn("vCaches", valuesUpTo(kvWidth), { each: "lengths" }),
    indices("lengths", ({ capacity }) => capacity!),
    rowsOut("outRows", headWidth("heads"), { over: ["qRows"] }),
    array(
      "scratch",
      ({ capacity }, kernels) => kernels.attention_scratch_bytes(capacity!) / 4,
      { access: "scratch", from: "attention_scratch_bytes()" },
    ),
  ],
  additive_attention_f32: [
    m,
    size("keyWidth"),
    size("valueWidth"),
    rowsIn("qRows", keyWidth),
    array("v", keyWidth),
    rowsIn("kCaches", keysUpTo(keyWidth), { each: "lengths" }),
    rowsIn("vCaches", valuesUpTo(valueWidth), { each: "lengths" }),
    indices("lengths"),
    rowsOut("outRows", valueWidth),
    array(
      "scratch",
      ({ longest }, kernels) =>
        kernels.attention_scratch_bytes(Math.ceil(longest! / 8) * 8) / 16,
      { access: "scratch", from: "attention_scratch_bytes() / 4" },
    ),
  ],
  layer_norm_f32: [
    m,
    size("n"),
    rowsIn("aRows", n),
    array("gamma", n),
    { ...array("beta", n), optional: true },
    float("epsilon"),
    rowsOut("outRows", n, { over: ["aRows"] }),
  ],
  rms_norm_f32: [
    m,
    size("n"),
    rowsIn("aRows", n),
    array("gamma", n),
    float("epsilon"),
    rowsOut("outRows", n, { over: ["aRows"] }),
  ],
  topk_rows_f32: [
    m,
    size("n"),
    size("k"),
    flag("largest"),
    rowsIn("aRows", n),
    rowsOut("valueRows", k),
    rowsOut("idRows", k, { type: "i32" }),
  ],
  argmax_rows_f32: [
    m,
    size("n"),
    rowsIn("aRows", n),
    rowsOut("idOutRows", () => 1, { type: "i32" }),
  ],
  gather_rows: [
    m,
    rowsIn("idRows", () => 1, { type: "i32" }),
    array("table", ({ rowBytes, count }) => rowBytes! / 4 * count!),
    size("rowBytes", 4, { multipleOf: 4 }),
    size("count"),
    array("outRows", ({ m }) => m!, { type: "address", access: "out" }),
  ],
  copy_rows: [
    m,
    size("bytes", 0),
    rowsIn("aRows", ({ bytes }) => bytes!, { type: "byte" }),
    rowsOut("outRows", ({ bytes }) => bytes!, { type: "byte" }),
  ],
  copy_blocks: [
    m,
    size("lines"),
    size("pieces"),
    size("bytes", 0, { multipleOf: 4 }),
    size("aLine", 0, { multipleOf: 4 }),
    size("aPiece", 0, { multipleOf: 4 }),
    size("outLine", 0, { multipleOf: 4 }),
    size("outPiece", 0, { multipleOf: 4 }),
    rowsIn("aRows", blocksUpTo("a"), { type: "byte" }),
    rowsOut("outRows", blocksUpTo("out"), { type: "byte" }),
  ],
  transpose_rows_f32: [
    m,
    size("height"),
    size("width"),
    rowsIn("aRows", ({ height, width }) => height! * width!),
    rowsOut("outRows", ({ height, width }) => height! * width!),
  ],
  softmax_rows_f32: unary,
  relu_f32: unary,
  sigmoid_f32: unary,
  tanh_f32: unary,
  exp_f32: unary,
  erf_f32: unary,
  gelu_f32: unary,
  gelu_tanh_f32: unary,
  silu_f32: unary,
  sqrt_f32: unary,
  neg_f32: unary,
  abs_f32: unary,
  add_f32: binary,
  sub_f32: binary,
  mul_f32: binary,
  div_f32: binary,
  max_f32: binary,
  min_f32: binary,
};
