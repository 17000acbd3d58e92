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
import { gemmCase, projectionCase } from "./cases/gemm.ts";
import {
  argmaxCase,
  binaryCase,
  copyCase,
  gatherCase,
  softmaxCase,
  unaryCase,
} from "./cases/rows.ts";
import type { CaseGenerator } from "./kernel_case.ts";
import type { KernelExports } from "./module.ts";
import { relu, sigmoid } from "./reference/activation.ts";

/** A kernel and how to exercise it. */
export interface KernelEntry {
  name: keyof KernelExports;
  cases: CaseGenerator;
}

/** All kernels; order is of no meaning. */
export const KERNELS: readonly KernelEntry[] = [
  { name: "gemm_f32", cases: gemmCase },
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
  { name: "add_f32", cases: binaryCase("add_f32", (a, b) => a + b) },
  { name: "sub_f32", cases: binaryCase("sub_f32", (a, b) => a - b) },
  { name: "mul_f32", cases: binaryCase("mul_f32", (a, b) => a * b) },
  { name: "div_f32", cases: binaryCase("div_f32", (a, b) => a / b) },
];
