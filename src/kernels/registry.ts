/**
 * Every kernel of the hot core, one line each: its export, its cases (with their naive
 * reference). Tests and benches iterate over this list, so a new kernel is covered by
 * its line here.
 */
import {
  gruCase,
  lstmCase,
  treeInternalCase,
  treeLeafCase,
} from "./cases/cells.ts";
import { attentionAppendCase, attentionCase } from "./cases/attention.ts";
import {
  gemmCase,
  gemmResidualCase,
  packGemmCase,
  projectionCase,
} from "./cases/gemm.ts";
import {
  convCase,
  convTransposeCase,
  depthwiseCase,
  poolCase,
  resizeCase,
} from "./cases/images.ts";
import { gemmQ8Case, quantizeCase, quantizeStaticCase } from "./cases/q8.ts";
import {
  argmaxCase,
  binaryCase,
  copyCase,
  gatherCase,
  normCase,
  softmaxCase,
  topkCase,
  unaryCase,
} from "./cases/rows.ts";
import type { CaseGenerator } from "./kernel_case.ts";
import type { KernelExports } from "./exports.ts";
import {
  erf,
  gelu,
  geluTanh,
  relu,
  sigmoid,
  silu,
} from "./reference/activation.ts";

/** A kernel and how to exercise it. */
export interface KernelEntry {
  name: keyof KernelExports;
  cases: CaseGenerator;
}

/** All kernels; order is of no meaning. */
export const KERNELS: readonly KernelEntry[] = [
  { name: "gemm_f32", cases: gemmCase },
  { name: "gemm_residual_f32", cases: gemmResidualCase },
  { name: "pack_gemm_f32", cases: packGemmCase },
  { name: "quantize_rows_f32", cases: quantizeCase },
  { name: "quantize_static_rows_f32", cases: quantizeStaticCase },
  { name: "gemm_q8_f32", cases: gemmQ8Case("gemm_q8_f32") },
  { name: "gemm_q8_i32", cases: gemmQ8Case("gemm_q8_i32") },
  { name: "gemm_q8_u8", cases: gemmQ8Case("gemm_q8_u8") },
  { name: "conv_f32", cases: convCase },
  { name: "conv_transpose_f32", cases: convTransposeCase },
  { name: "depthwise_f32", cases: depthwiseCase },
  { name: "pool_max_f32", cases: poolCase("max") },
  {
    name: "pool_average_f32",
    cases: (draw) =>
      poolCase(draw.prng.int(2) ? "average" : "averageWithPadding")(draw),
  },
  { name: "resize_nearest_f32", cases: resizeCase("resize_nearest_f32") },
  { name: "resize_linear_f32", cases: resizeCase("resize_linear_f32") },
  { name: "attention_f32", cases: attentionCase },
  { name: "attention_append_f32", cases: attentionAppendCase },
  { name: "layer_norm_f32", cases: normCase("layer_norm_f32") },
  { name: "rms_norm_f32", cases: normCase("rms_norm_f32") },
  { name: "topk_rows_f32", cases: topkCase },
  { name: "lstm_step_f32", cases: lstmCase },
  { name: "gru_step_f32", cases: gruCase },
  { name: "tree_leaf_f32", cases: treeLeafCase },
  { name: "tree_internal_f32", cases: treeInternalCase },
  { name: "projection_argmax_f32", cases: projectionCase },
  { name: "argmax_rows_f32", cases: argmaxCase },
  { name: "gather_rows", cases: gatherCase },
  { name: "copy_rows", cases: copyCase },
  { name: "softmax_rows_f32", cases: softmaxCase },
  { name: "relu_f32", cases: unaryCase("relu_f32", relu) },
  { name: "neg_f32", cases: unaryCase("neg_f32", (x) => -x) },
  { name: "abs_f32", cases: unaryCase("abs_f32", Math.abs) },
  {
    name: "exp_f32",
    cases: unaryCase("exp_f32", Math.exp, { range: 9, tolerance: 2 ** -23 }),
  },
  {
    name: "sigmoid_f32",
    cases: unaryCase("sigmoid_f32", sigmoid, { range: 9, tolerance: 2 ** -22 }),
  },
  {
    name: "tanh_f32",
    cases: unaryCase("tanh_f32", Math.tanh, { range: 9, tolerance: 2 ** -21 }),
  },
  {
    name: "erf_f32",
    cases: unaryCase("erf_f32", erf, { range: 4, tolerance: 2 ** -22 }),
  },
  {
    name: "gelu_f32",
    cases: unaryCase("gelu_f32", gelu, { range: 6, tolerance: 2 ** -22 }),
  },
  {
    name: "gelu_tanh_f32",
    cases: unaryCase("gelu_tanh_f32", geluTanh, {
      range: 6,
      tolerance: 2 ** -22,
    }),
  },
  {
    name: "silu_f32",
    cases: unaryCase("silu_f32", silu, { range: 9, tolerance: 2 ** -22 }),
  },
  {
    name: "sqrt_f32",
    cases: unaryCase("sqrt_f32", (x) => Math.fround(Math.sqrt(x))),
  },
  { name: "max_f32", cases: binaryCase("max_f32", Math.max) },
  { name: "min_f32", cases: binaryCase("min_f32", Math.min) },
  { name: "add_f32", cases: binaryCase("add_f32", (a, b) => a + b) },
  { name: "sub_f32", cases: binaryCase("sub_f32", (a, b) => a - b) },
  { name: "mul_f32", cases: binaryCase("mul_f32", (a, b) => a * b) },
  { name: "div_f32", cases: binaryCase("div_f32", (a, b) => a / b) },
];
