/** A layer as SCALE-Sim's topology files give it: a convolution, or a GEMM. */
import type { Gemm } from "../dataflow.ts";
import {
  checkGeometry,
  convGemm,
  type ConvGeometry,
} from "../conv_geometry.ts";
import { positiveInteger } from "../checks.ts";

export interface ScaleSimLayer {
  name: string;
  gemm: Gemm;
  /** Present for convolutions; `gemm` is then its im2col form, output size rounded up. */
  geometry?: ConvGeometry;
}

export function convLayer(name: string, geometry: ConvGeometry): ScaleSimLayer {
  return { name, geometry, gemm: convGemm(checkGeometry(geometry), "ceil") };
}

export function gemmLayer(name: string, gemm: Gemm): ScaleSimLayer {
  for (const axis of ["m", "n", "k"] as const) {
    positiveInteger(gemm[axis], `GEMM dimension ${axis}`);
  }
  return { name, gemm };
}
