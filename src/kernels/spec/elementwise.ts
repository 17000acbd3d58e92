/** Each element by itself. */
import {
  along,
  byRows,
  type CutKernel,
  ELEMENTS_PER_NS,
  type FamilySpecs,
} from "./kernel_spec.ts";
import { m, rowsIn, rowsOut, size } from "./signature.ts";

/** Columns of a part, so that parts write different cache lines. */
const COLUMNS = 64;

/** Of these operands; results may be written over any of them. */
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

export const ELEMENTWISE = {
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
} satisfies FamilySpecs;
