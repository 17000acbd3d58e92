/** Products with packed matrices, of f32 and of int8: rows of bytes with a header. */
import { ACTIVATIONS } from "../module/activations.ts";
import { packedGemmFloats } from "../pack/pack_gemm.ts";
import { packedQ8Words, Q8_K_MAX } from "../pack/pack_q8.ts";
import {
  along,
  byRows,
  ELEMENTS_PER_NS,
  type FamilySpecs,
  FLOPS_PER_NS,
  GROUP_COLUMNS,
  packedColumns,
  TILE_ROWS,
} from "./kernel_spec.ts";
import {
  array,
  choice,
  flag,
  float,
  m,
  packed,
  type Parameter,
  rowsIn,
  rowsOut,
  size,
  type Sizes,
} from "./signature.ts";

const segments: readonly Parameter[] = [
  size("k1", 0),
  rowsIn("aRows1", "k1"),
  size("k2", 0),
  rowsIn("aRows2", "k2", { when: ({ k2 }) => k2 > 0 }),
  packed(
    ({ n, k1, k2 }) => packedGemmFloats({ n, k: k1 + k2 }),
    "packGemm()",
    { along: "n" },
  ),
];
const act = choice("act", ACTIVATIONS);
const gemm = {
  cuts: [
    along("n", ({ k1, k2 }) => packedColumns(k1 + k2)),
    byRows(TILE_ROWS),
  ],
  nanoseconds: ({ m, n, k1, k2 }: Sizes) =>
    2 * m * n * (k1 + k2) / FLOPS_PER_NS,
};

const zero = size("zero", 0, { most: 255 });
const quantizedRows = [
  rowsIn("aRows", "k"),
  rowsOut("qRows", "k", { type: "q8" }),
];
const quantize = {
  cuts: [byRows()],
  nanoseconds: ({ m, k }: Sizes) => m * k / ELEMENTS_PER_NS,
};

const product: readonly Parameter[] = [
  m,
  size("n"),
  size("k", 1, { most: Q8_K_MAX }),
  flag("seven"),
  rowsIn("qRows", "k", { type: "q8" }),
  packed(({ n, k }) => packedQ8Words({ n, k }), "packQ8()", {
    along: "n",
    type: "i32",
  }),
];
const gemmQ8 = {
  cuts: [along("n", GROUP_COLUMNS), byRows(TILE_ROWS)],
  nanoseconds: ({ m, n, k }: Sizes) => 2 * m * n * k / FLOPS_PER_NS,
};

/** By export. */
export const MATRICES = {
  gemm_f32: {
    ...gemm,
    parameters: [m, size("n"), ...segments, rowsOut("cRows", "n"), act],
  },
  gemm_residual_f32: {
    ...gemm,
    parameters: [
      m,
      size("n"),
      ...segments,
      rowsIn("rRows", "n"),
      rowsOut("cRows", "n", { over: ["rRows"] }),
      act,
    ],
  },
  pack_gemm_f32: {
    parameters: [
      size("n"),
      size("k", 0),
      rowsIn("bRows", "n", { count: "k", transposed: "transposed" }),
      flag("transposed"),
      array("w", ({ n, k }) => packedGemmFloats({ n, k }), {
        access: "out",
        alignment: 16,
        along: "n",
      }),
    ],
    cuts: [along("n", ({ k }) => packedColumns(k))],
    nanoseconds: ({ n, k }) => n * k / ELEMENTS_PER_NS,
  },
  projection_argmax_f32: {
    parameters: [
      m,
      size("n"),
      size("k"),
      rowsIn("aRows", "k"),
      packed(({ n, k }) => packedGemmFloats({ n, k }), "packGemm()", {
        along: "n",
      }),
      rowsOut("idOutRows", [1], { type: "i32" }),
      rowsOut("logitsRows", "n", { optional: true }),
      array("bestOut", "m", { access: "out" }),
    ],
    cuts: [
      along("n", ({ k }) => packedColumns(k), {
        greatest: "bestOut",
        index: "idOutRows",
      }),
      byRows(TILE_ROWS),
    ],
    nanoseconds: ({ m, n, k }) => 2 * m * n * k / FLOPS_PER_NS,
  },
  quantize_rows_f32: {
    ...quantize,
    parameters: [
      m,
      size("k"),
      choice("levels", { "7 bits": 127, "8 bits": 255 }),
      ...quantizedRows,
    ],
  },
  quantize_static_rows_f32: {
    ...quantize,
    parameters: [m, size("k"), float("scale", true), zero, ...quantizedRows],
  },
  pack_gemm_q8: {
    parameters: [
      size("n"),
      size("k", 1, { most: 33_025 }),
      rowsIn("qRows", "n", {
        count: "k",
        transposed: "transposed",
        type: "q8",
      }),
      flag("transposed"),
      array("w", ({ n, k }) => packedQ8Words({ n, k }), {
        access: "out",
        alignment: 16,
        along: "n",
        type: "i32",
      }),
    ],
    cuts: "whole",
  },
  gemm_q8_f32: {
    ...gemmQ8,
    parameters: [...product, rowsOut("cRows", "n"), act],
  },
  gemm_q8_i32: {
    ...gemmQ8,
    parameters: [...product, rowsOut("cRows", "n", { type: "i32" })],
  },
  gemm_q8_u8: {
    ...gemmQ8,
    parameters: [
      ...product,
      rowsOut("cRows", "n", { type: "q8" }),
      act,
      float("scale", true),
      zero,
    ],
    // A row of bytes ends with its sum, which takes the whole row.
    cuts: [byRows(TILE_ROWS)],
  },
} satisfies FamilySpecs;
