/** Rows: each element by itself, computed as wholes, moved. */
import {
  along,
  byRows,
  BYTES_PER_NS,
  type CutKernel,
  ELEMENTS_PER_NS,
  type FamilySpecs,
} from "./kernel_spec.ts";
import {
  array,
  flag,
  float,
  type FromSizes,
  m,
  rowsIn,
  rowsOut,
  size,
  type Sizes,
} from "./signature.ts";

const a = rowsIn("aRows", "n");
/** Where a result may be written over the input. */
const overInput = rowsOut("outRows", "n", { over: ["aRows"] });
const ids = rowsOut("idOutRows", [1], { type: "i32" });
/** About so many passes over each row. */
const rowwise = (passes: number) => ({
  cuts: [byRows()],
  nanoseconds: ({ m, n }: Sizes) => passes * m * n / ELEMENTS_PER_NS,
});
/** From the first byte of a block to its last. */
const blocks = (side: string): FromSizes => (sizes) =>
  (sizes.lines - 1) * sizes[`${side}Line`] +
  (sizes.pieces - 1) * sizes[`${side}Piece`] + sizes.bytes;
const distance = (name: string) => size(name, 0, { multipleOf: 4 });
const bytes = { type: "byte" } as const;

/** Columns of a part, so that parts write different cache lines. */
const COLUMNS = 64;

/** Each element of these operands by itself; results may be written over any of them. */
function elementwise(...operands: readonly string[]): CutKernel {
  return {
    parameters: [
      m,
      size("n"),
      ...operands.map((name) => rowsIn(name, "n")),
      rowsOut("outRows", "n", { over: operands }),
    ],
    cuts: [byRows(), along("n", COLUMNS)],
    nanoseconds: ({ m, n }) => m * n / ELEMENTS_PER_NS,
  };
}

const unary = elementwise("aRows");
const binary = elementwise("aRows", "bRows");

export const ROWS = {
  softmax_rows_f32: {
    ...rowwise(1),
    parameters: [m, size("n"), a, overInput],
  },
  layer_norm_f32: {
    ...rowwise(2),
    parameters: [
      m,
      size("n"),
      a,
      array("gamma", "n"),
      array("beta", "n", { optional: true }),
      float("epsilon"),
      overInput,
    ],
  },
  rms_norm_f32: {
    ...rowwise(2),
    parameters: [
      m,
      size("n"),
      a,
      array("gamma", "n"),
      float("epsilon"),
      overInput,
    ],
  },
  topk_rows_f32: {
    ...rowwise(1),
    parameters: [
      m,
      size("n"),
      size("k"),
      flag("largest"),
      a,
      rowsOut("valueRows", "k"),
      rowsOut("idRows", "k", { type: "i32" }),
    ],
    relation: ({ n, k }) =>
      k <= n
        ? undefined
        : `k is ${k}, rows have ${n} elements: ask for at most ${n}`,
    practice: { k: 4 },
  },
  argmax_rows_f32: {
    ...rowwise(1),
    parameters: [m, size("n"), a, ids],
  },
  gather_rows: {
    parameters: [
      m,
      rowsIn("idRows", [1], { type: "i32" }),
      array("table", ({ rowBytes, count }) => rowBytes / 4 * count),
      size("rowBytes", 4, { multipleOf: 4 }),
      size("count"),
      array("outRows", "m", { type: "address", access: "out" }),
    ],
    cuts: "whole",
    practice: { rowBytes: 160, count: 4 },
  },
  copy_rows: {
    parameters: [
      m,
      size("bytes", 0),
      rowsIn("aRows", "bytes", bytes),
      rowsOut("outRows", "bytes", bytes),
    ],
    cuts: [byRows()],
    nanoseconds: ({ m, bytes }) => m * bytes / BYTES_PER_NS,
    practice: { bytes: 160 },
  },
  copy_blocks: {
    parameters: [
      m,
      size("lines"),
      size("pieces"),
      distance("bytes"),
      distance("aLine"),
      distance("aPiece"),
      distance("outLine"),
      distance("outPiece"),
      rowsIn("aRows", blocks("a"), bytes),
      rowsOut("outRows", blocks("out"), bytes),
    ],
    cuts: [byRows()],
    nanoseconds: ({ m, lines, pieces, bytes }) =>
      2 * m * lines * pieces * bytes / BYTES_PER_NS,
    practice: {
      ...{ lines: 4, pieces: 4, bytes: 160 },
      ...{ aLine: 640, aPiece: 160, outLine: 640, outPiece: 160 },
    },
  },
  transpose_rows_f32: {
    parameters: [
      m,
      size("height"),
      size("width"),
      rowsIn("aRows", ["height", "width"]),
      rowsOut("outRows", ["height", "width"]),
    ],
    cuts: [byRows()],
    nanoseconds: ({ m, height, width }) =>
      4 * m * height * width / BYTES_PER_NS,
  },
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
  magnitude_f32: binary,
  max_f32: binary,
  min_f32: binary,
} satisfies FamilySpecs;
