/**
 * Every kernel of the hot core, one line each: its export, its cases (with their naive
 * reference) and the sizes at which it is timed. Tests and benches iterate over this list,
 * so a new kernel is covered by its line here.
 */
import type { Prng } from "../../src/base/prng.ts";
import {
  additiveAttentionCase,
  attentionAppendCase,
  attentionCase,
} from "./cases/attention.ts";
import {
  gruCase,
  lstmCase,
  treeInternalCase,
  treeLeafCase,
} from "./cases/cells.ts";
import {
  convCase,
  convTransposeCase,
  depthwiseCase,
  nchwConvCase,
} from "./cases/conv.ts";
import { fftCase } from "./cases/fft.ts";
import {
  gemmCase,
  gemmResidualCase,
  packGemmCase,
  projectionCase,
} from "./cases/gemm.ts";
import {
  copyBlocksCase,
  copyCase,
  gatherCase,
  transposeCase,
} from "./cases/moves.ts";
import { poolCase } from "./cases/pool.ts";
import { gemmQ8Case, packGemmQ8Case } from "./cases/q8.ts";
import { convQ8Case } from "./cases/q8_conv.ts";
import { gruQ8Case, lstmQ8Case } from "./cases/q8_cells.ts";
import {
  dynamicQ8Case,
  quantizeCase,
  quantizeStaticCase,
} from "./cases/quantize.ts";
import { resizeCase } from "./cases/resize.ts";
import {
  argmaxCase,
  normCase,
  softmaxCase,
  topkCase,
} from "./cases/row_reductions.ts";
import { binaryCase, unaryCase } from "./cases/rows.ts";
import {
  gruQ8UnitsCase,
  gruUnitsCase,
  lstmQ8UnitsCase,
  lstmUnitsCase,
  treeInternalUnitsCase,
  treeLeafUnitsCase,
} from "./cases/units.ts";
import {
  CELLS,
  CONV_TRANSPOSE,
  DEPTHWISE,
  FFTS,
  GEMMS,
  POOLS,
  Q8_CELLS,
  Q8_CONVOLUTIONS,
  Q8_GEMMS,
  RESIZES,
  RESNET50,
  type Timed,
  TREE_CELLS,
} from "./timed_sizes.ts";
import type { KernelName } from "../../src/kernels/spec/signature.ts";
import type { CaseFamily, CaseGenerator, KernelCase } from "./kernel_case.ts";
import {
  erf,
  gelu,
  geluTanh,
  magnitude,
  relu,
  sigmoid,
  silu,
} from "./reference/activation.ts";

/** Makes a case of a fixed size. */
export type TimedCase = (prng: Prng) => KernelCase;

/** One kernel or several together, how to exercise them and how to time them. */
export interface CaseEntry {
  name: string;
  cases: CaseGenerator;
  /** Heading of its figures. */
  area: string;
  timed: readonly TimedCase[];
}

/** A kernel. */
export interface KernelEntry extends CaseEntry {
  name: KernelName;
}

/** Cases of given sizes, for benches. */
function at<Size>(
  family: CaseFamily<Size>,
  ...sizes: readonly Timed<Size>[]
): TimedCase[] {
  return sizes.map(({ rows, ...size }) => (prng) =>
    family.of({ prng, rows, exact: false }, size as unknown as Size)
  );
}

/** One line of the registry. */
function kernel<Size>(
  name: KernelName,
  area: string,
  cases: CaseFamily<Size>,
  ...sizes: readonly Timed<Size>[]
): KernelEntry {
  return { name, area, cases, timed: at(cases, ...sizes) };
}

const DYNAMIC_Q8 = {
  ...{ rows: 64, n: 512, k: 512, seven: false, rowZero: 128 },
  to: "i32" as const,
};
const ELEMENTWISE = { rows: 16, n: 4096 };
const ROWS = { rows: 64, n: 768 };
const [EXP, NORM, IMAGES] = ["exp, sigmoid, tanh", "normalisation", "images"];
const [UNARY, BINARY] = ["one operand", "two operands"];

/** All kernels; order is of no meaning. */
export const KERNELS: readonly KernelEntry[] = [
  kernel("gemm_f32", "f32 GEMM", gemmCase, ...GEMMS),
  kernel("gemm_residual_f32", "GEMM, fused", gemmResidualCase, {
    rows: 64,
    n: 768,
    k: 768,
    act: "relu",
  }),
  kernel(
    "pack_gemm_f32",
    "both operands dynamic",
    packGemmCase,
    { rows: 64, n: 512, k: 512, transposed: false },
    { rows: 64, n: 512, k: 512, transposed: true },
  ),
  kernel(
    "pack_gemm_q8",
    "both operands dynamic, int8",
    packGemmQ8Case,
    ...[
      { ...DYNAMIC_Q8, transposed: false },
      { ...DYNAMIC_Q8, transposed: true },
    ],
  ),
  kernel("projection_argmax_f32", "GEMM, fused", projectionCase, {
    rows: 16,
    n: 30_000,
    k: 512,
    keep: false,
  }),
  kernel("quantize_rows_f32", "quantisation", quantizeCase, {
    rows: 16,
    k: 3072,
    levels: 127,
  }),
  kernel("quantize_static_rows_f32", "quantisation", quantizeStaticCase, {
    rows: 16,
    k: 3072,
  }),
  kernel(
    "gemm_q8_f32",
    "int8 GEMM, quantised before",
    gemmQ8Case("gemm_q8_f32"),
    { rows: 64, n: 768, k: 768, seven: true },
  ),
  kernel(
    "gemm_q8_i32",
    "int8 GEMM, quantised before",
    gemmQ8Case("gemm_q8_i32"),
    { rows: 64, n: 768, k: 768, seven: false, rowZero: 100 },
    { rows: 64, n: 768, k: 768, seven: true, rowZero: 64 },
  ),
  kernel(
    "gemm_q8_u8",
    "int8 GEMM, quantised before",
    gemmQ8Case("gemm_q8_u8"),
    { rows: 64, n: 768, k: 768, seven: true },
  ),
  kernel("lstm_step_f32", "LSTM step", lstmCase, ...CELLS),
  kernel("lstm_units_f32", "LSTM step", lstmUnitsCase),
  kernel("gru_step_f32", "GRU step", gruCase, ...CELLS),
  kernel("gru_units_f32", "GRU step", gruUnitsCase),
  kernel("lstm_step_q8", "int8 cells", lstmQ8Case, ...Q8_CELLS),
  kernel("lstm_units_q8", "int8 cells", lstmQ8UnitsCase),
  kernel("gru_step_q8", "int8 cells", gruQ8Case, ...Q8_CELLS),
  kernel("gru_units_q8", "int8 cells", gruQ8UnitsCase),
  kernel("tree_leaf_f32", "TreeLSTM", treeLeafCase, ...TREE_CELLS),
  kernel("tree_leaf_units_f32", "TreeLSTM", treeLeafUnitsCase),
  kernel("tree_internal_f32", "TreeLSTM", treeInternalCase, ...TREE_CELLS),
  kernel("tree_internal_units_f32", "TreeLSTM", treeInternalUnitsCase),
  kernel("conv_f32", "ResNet-50 convolutions", convCase, ...RESNET50),
  kernel("depthwise_f32", "depthwise 3x3", depthwiseCase, ...DEPTHWISE),
  kernel("conv_q8_f32", "int8 convolutions", convQ8Case("conv_q8_f32")),
  kernel(
    "conv_q8_i32",
    "int8 convolutions",
    convQ8Case("conv_q8_i32"),
    ...Q8_CONVOLUTIONS,
  ),
  kernel(
    "conv_q8_u8",
    "int8 convolutions, requantised",
    convQ8Case("conv_q8_u8"),
    ...Q8_CONVOLUTIONS.filter(({ seven }) => !seven),
  ),
  kernel(
    "conv_transpose_f32",
    "transposed convolution",
    convTransposeCase,
    ...CONV_TRANSPOSE,
  ),
  kernel("pool_max_f32", "pooling", poolCase("pool_max_f32"), ...POOLS),
  kernel("pool_average_f32", "pooling", poolCase("pool_average_f32"), ...POOLS),
  kernel(
    "resize_nearest_f32",
    IMAGES,
    resizeCase("resize_nearest_f32"),
    ...RESIZES,
  ),
  kernel(
    "resize_linear_f32",
    IMAGES,
    resizeCase("resize_linear_f32"),
    ...RESIZES,
  ),
  kernel(
    "attention_f32",
    "attention, one query row",
    attentionCase,
    {
      ...{ rows: 16, heads: 12, kvHeads: 12 },
      ...{ headSize: 64, capacity: 256, full: true },
    },
    {
      ...{ rows: 16, heads: 16, kvHeads: 4 },
      ...{ headSize: 64, capacity: 256, full: true },
    },
  ),
  kernel("attention_append_f32", "moves", attentionAppendCase, {
    rows: 16,
    keyWidth: 768,
    valueWidth: 768,
  }),
  kernel(
    "additive_attention_f32",
    "attention, one query row",
    additiveAttentionCase,
    { rows: 16, keyWidth: 1024, valueWidth: 1024, capacity: 32 },
  ),
  kernel("rfft_f32", "Fourier transforms", fftCase("rfft_f32"), ...FFTS),
  kernel("irfft_f32", "Fourier transforms", fftCase("irfft_f32"), ...FFTS),
  kernel("softmax_rows_f32", "softmax", softmaxCase, { rows: 64, n: 512 }),
  kernel("layer_norm_f32", NORM, normCase("layer_norm_f32"), ROWS),
  kernel("rms_norm_f32", NORM, normCase("rms_norm_f32"), ROWS),
  kernel("topk_rows_f32", "choice", topkCase, { rows: 16, n: 30_000, k: 8 }),
  kernel("argmax_rows_f32", "choice", argmaxCase, { rows: 16, n: 30_000 }),
  kernel("gather_rows", "moves", gatherCase, {
    rows: 64,
    n: 1024,
    count: 8192,
  }),
  kernel("transpose_rows_f32", "moves", transposeCase, {
    rows: 1,
    height: 256,
    width: 784,
  }),
  kernel("copy_rows", "moves", copyCase, { rows: 64, n: 1024 }),
  // A map of 64 channels out of a stack of 128, as U-Net's.
  kernel("copy_blocks", "moves", copyBlocksCase, {
    ...{ rows: 4, lines: 56, pieces: 56, n: 64 },
    ...{ pieceGap: 64, lineGap: 0 },
  }),
  kernel(
    "exp_f32",
    EXP,
    unaryCase("exp_f32", Math.exp, {
      onnx: { opType: "Exp" },
      range: 9,
      tolerance: 2 ** -23,
    }),
    ELEMENTWISE,
  ),
  kernel(
    "sigmoid_f32",
    EXP,
    unaryCase("sigmoid_f32", sigmoid, {
      onnx: { opType: "Sigmoid" },
      range: 9,
      tolerance: 2 ** -22,
    }),
    ELEMENTWISE,
  ),
  kernel(
    "tanh_f32",
    EXP,
    unaryCase("tanh_f32", Math.tanh, {
      onnx: { opType: "Tanh" },
      range: 9,
      tolerance: 2 ** -21,
    }),
    ELEMENTWISE,
  ),
  kernel(
    "erf_f32",
    UNARY,
    unaryCase("erf_f32", erf, {
      onnx: { opType: "Erf" },
      range: 4,
      tolerance: 2 ** -22,
    }),
    ELEMENTWISE,
  ),
  kernel(
    "gelu_f32",
    UNARY,
    unaryCase("gelu_f32", gelu, {
      onnx: { opType: "Gelu" },
      range: 6,
      tolerance: 2 ** -22,
    }),
    ELEMENTWISE,
  ),
  kernel(
    "gelu_tanh_f32",
    UNARY,
    unaryCase("gelu_tanh_f32", geluTanh, {
      onnx: { opType: "FastGelu", domain: "com.microsoft" },
      range: 6,
      tolerance: 2 ** -22,
    }),
    ELEMENTWISE,
  ),
  kernel(
    "silu_f32",
    UNARY,
    unaryCase("silu_f32", silu, {
      onnx: {
        opType: "QuickGelu",
        domain: "com.microsoft",
        attributes: { alpha: { float: 1 } },
      },
      range: 9,
      tolerance: 2 ** -22,
    }),
    ELEMENTWISE,
  ),
  kernel(
    "relu_f32",
    UNARY,
    unaryCase("relu_f32", relu, { onnx: { opType: "Relu" } }),
    ELEMENTWISE,
  ),
  kernel(
    "neg_f32",
    UNARY,
    unaryCase("neg_f32", (x) => -x, { onnx: { opType: "Neg" } }),
    ELEMENTWISE,
  ),
  kernel(
    "abs_f32",
    UNARY,
    unaryCase("abs_f32", Math.abs, { onnx: { opType: "Abs" } }),
    ELEMENTWISE,
  ),
  kernel(
    "sqrt_f32",
    UNARY,
    unaryCase("sqrt_f32", (x) => Math.fround(Math.sqrt(x)), {
      onnx: { opType: "Sqrt" },
    }),
    ELEMENTWISE,
  ),
  kernel(
    "max_f32",
    BINARY,
    binaryCase("max_f32", Math.max, "Max"),
    ELEMENTWISE,
  ),
  kernel(
    "min_f32",
    BINARY,
    binaryCase("min_f32", Math.min, "Min"),
    ELEMENTWISE,
  ),
  kernel(
    "magnitude_f32",
    BINARY,
    binaryCase("magnitude_f32", magnitude),
    ELEMENTWISE,
  ),
  kernel(
    "add_f32",
    BINARY,
    binaryCase("add_f32", (a, b) => a + b, "Add"),
    ELEMENTWISE,
  ),
  kernel(
    "sub_f32",
    BINARY,
    binaryCase("sub_f32", (a, b) => a - b, "Sub"),
    ELEMENTWISE,
  ),
  kernel(
    "mul_f32",
    BINARY,
    binaryCase("mul_f32", (a, b) => a * b, "Mul"),
    ELEMENTWISE,
  ),
  kernel(
    "div_f32",
    BINARY,
    binaryCase("div_f32", (a, b) => a / b, "Div"),
    ELEMENTWISE,
  ),
];

/** What takes several kernels: timed from where a peer's operator starts to where it ends. */
export const COMPOSITIONS: readonly CaseEntry[] = [
  {
    name: "quantize_rows_f32 + gemm_q8_f32",
    area: "int8 GEMM",
    cases: dynamicQ8Case,
    timed: at(
      dynamicQ8Case,
      ...Q8_GEMMS,
      { ...Q8_GEMMS[3], uniform: true },
    ),
  },
  {
    name: "conv_f32 in NCHW",
    area: "ResNet-50 convolutions from and to NCHW",
    cases: nchwConvCase,
    timed: at(nchwConvCase, ...RESNET50),
  },
];
