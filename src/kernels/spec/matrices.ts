import { ACTIVATIONS } from "../module/activations.ts";
import { packedGemmFloats } from "../pack/pack_gemm.ts";
import { packedQ8Words } from "../pack/pack_q8.ts";
import {
  array,
  choice,
  flag,
  float,
  type FromSizes,
  m,
  maybeRowsOut,
  packed,
  rowsIn,
  rowsOut,
  type Signatures,
  size,
} from "./signature.ts";

const n: FromSizes = (sizes) => sizes.n!;
const k: FromSizes = (sizes) => sizes.k!;
const act = choice("act", ACTIVATIONS);
const segments = [
  size("k1", 0),
  rowsIn("aRows1", ({ k1 }) => k1!),
  size("k2", 0),
  rowsIn("aRows2", ({ k2 }) => k2!, { when: ({ k2 }) => k2! > 0 }),
  packed(
    "w",
    ({ n, k1, k2 }) => packedGemmFloats({ n: n!, k: k1! + k2! }),
    "packGemm()",
  ),
];
const levels = choice("levels", { "7 bits": 127, "8 bits": 255 });
const zero = size("zero", 0, { most: 255 });
const q8 = [
  size("k"),
  flag("seven"),
  rowsIn("qRows", k, { type: "q8" }),
  packed("w", ({ n, k }) => packedQ8Words({ n: n!, k: k! }), "packQ8()", "i32"),
];

/** Their names. */
export type MatrixKernel =
  | "gemm_f32"
  | "gemm_residual_f32"
  | "pack_gemm_f32"
  | "projection_argmax_f32"
  | "quantize_rows_f32"
  | "quantize_static_rows_f32"
  | "gemm_q8_f32"
  | "gemm_q8_i32"
  | "gemm_q8_u8";

/** Matrix kernels. */
export const MATRICES: Signatures<MatrixKernel> = {
  gemm_f32: [m, size("n"), ...segments, rowsOut("cRows", n), act],
  gemm_residual_f32: [
    m,
    size("n"),
    ...segments,
    rowsIn("rRows", n),
    rowsOut("cRows", n, { over: ["rRows"] }),
    act,
  ],
  pack_gemm_f32: [
    size("n"),
    size("k", 0),
    rowsIn("bRows", ({ n, k, transposed }) => transposed ? k! : n!, {
      count: ({ n, k, transposed }) => transposed ? n! : k!,
    }),
    flag("transposed"),
    array("w", ({ n, k }) => packedGemmFloats({ n: n!, k: k! }), {
      access: "out",
      alignment: 16,
    }),
  ],
  projection_argmax_f32: [
    m,
    size("n"),
    size("k"),
    rowsIn("aRows", k),
    packed("w", ({ n, k }) => packedGemmFloats({ n: n!, k: k! }), "packGemm()"),
    rowsOut("idOutRows", () => 1, { type: "i32" }),
    maybeRowsOut("logitsRows", n),
    array("bestOut", ({ m }) => m!, { access: "out" }),
  ],
  quantize_rows_f32: [
    m,
    size("k"),
    levels,
    rowsIn("aRows", k),
    rowsOut("qRows", k, { type: "q8" }),
  ],
  quantize_static_rows_f32: [
    m,
    size("k"),
    float("scale", true),
    zero,
    rowsIn("aRows", k),
    rowsOut("qRows", k, { type: "q8" }),
  ],
  gemm_q8_f32: [m, size("n"), ...q8, rowsOut("cRows", n), act],
  gemm_q8_i32: [m, size("n"), ...q8, rowsOut("cRows", n, { type: "i32" })],
  gemm_q8_u8: [
    m,
    size("n"),
    ...q8,
    rowsOut("cRows", n, { type: "q8" }),
    act,
    float("scale", true),
    zero,
  ],
};
