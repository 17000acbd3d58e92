/**
 * Weights from plain row-major arrays in ONNX layouts to the panels the kernels stream.
 * Pure functions; a model's weights are packed once and shared by all workers. Every
 * function rejects arrays of the wrong length with a RangeError.
 */
import { describe } from "../../base/describe.ts";
import { knownOptions } from "../../base/options.ts";
import {
  type Column,
  paddedColumns,
  panelsFor,
  piecedFloats,
  piecesOf,
  type Run,
  writePanels,
} from "./panels.ts";

/** Sizes of a GEMM's right operand. */
export interface GemmSize {
  /** Columns of the result. */
  n: number;
  /** Length of the sums, both segments of the kernel together. */
  k: number;
}

/** Options of {@linkcode packGemm}. */
export interface PackGemmOptions extends GemmSize {
  /** n x k numbers. */
  weight: Float32Array;
  /** `"nk"`: weight is [n][k] (ONNX Gemm with transB); `"kn"`: [k][n] (MatMul). */
  layout: "nk" | "kn";
  /** [n]; zeros if absent. */
  bias?: Float32Array;
}

/** Floats of a packed GEMM operand. */
export function packedGemmFloats({ n, k }: GemmSize): number {
  return piecedFloats(panelsFor(n), k);
}

/**
 * Packs for `gemm_f32` and `projection_argmax_f32`.
 * @returns their `w`, as f32
 * @throws {RangeError} if a size is too small or an array has not as many elements as it says
 * @throws {TypeError} if an option has another name or type
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import {
 *   createMemory,
 *   instantiateKernels,
 *   KernelHost,
 *   packGemm,
 *   readKernels,
 * } from "@shoal/core/kernels";
 *
 * const memory = createMemory({ bytes: 1 << 20 });
 * const kernels = instantiateKernels(await readKernels("shoal"), { memory });
 * const host = new KernelHost(kernels, memory);
 * const weight = Float32Array.of(1, 2, 3, 4, 5, 6);
 * const w = host.block(packGemm({ n: 3, k: 2, weight, layout: "kn" }));
 * const a = host.rows(1, 2, Float32Array.of(1, 10));
 * const c = host.rows(1, 3, "f32");
 * host.call("gemm_f32", { n: 3, k1: 2, aRows1: a, w, cRows: c });
 * assert.deepEqual([...host.read(c)], [41, 52, 63]);
 * ```
 */
export function packGemm(options: PackGemmOptions): Float32Array {
  knownOptions("packGemm", options, ["n", "k", "weight", "layout", "bias"]);
  const { n, k, weight, layout, bias } = options;
  if (layout !== "nk" && layout !== "kn") {
    throw new TypeError(
      `Cannot pack weights: layout must be "nk" or "kn", is ${
        describe(layout)
      }`,
    );
  }
  checkSize("n", n, 1);
  checkSize("k", k, 0);
  checkLength("weight", weight, n * k);
  if (bias !== undefined) checkLength("bias", bias, n);
  const out = new Float32Array(packedGemmFloats({ n, k }));
  const [start, stride] = layout === "nk" ? [k, 1] : [1, n];
  writePanels(
    out,
    0,
    paddedColumns(n, (j) => ({
      bias: bias?.[j] ?? 0,
      runs: [{ source: weight, start: j * start, stride, count: k }],
    })),
    piecesOf,
  );
  return out;
}

/** Row `j` of a row-major matrix with rows of `width` floats. */
function rowRun(source: Float32Array, j: number, width: number): Run {
  return { source, start: j * width, stride: 1, count: width };
}

/** A column made of rows `j` of `sources`, one after the other, and the sum of `biases` at j. */
export function rowColumn(
  j: number,
  sources: readonly { source: Float32Array; width: number }[],
  biases: readonly (Float32Array | undefined)[],
): Column {
  return {
    bias: biases.reduce((sum, b) => sum + (b?.[j] ?? 0), 0),
    runs: sources.map(({ source, width }) => rowRun(source, j, width)),
  };
}

/** @throws {RangeError} unless `value` is an integer of at least `least` */
export function checkSize(name: string, value: number, least: number): void {
  if (!Number.isSafeInteger(value) || value < least) {
    throw new RangeError(
      `Cannot pack weights: ${name} must be an integer >= ${least}, is ${value}`,
    );
  }
}

/**
 * @throws {TypeError} unless `array` is a Float32Array
 * @throws {RangeError} unless it has `length` elements
 */
export function checkLength(
  name: string,
  array: Float32Array,
  length: number,
): void {
  if (!(array instanceof Float32Array)) {
    throw new TypeError(
      `Cannot pack weights: ${name} must be a Float32Array, is ${
        describe(array)
      }`,
    );
  }
  if (array.length !== length) {
    throw new RangeError(
      `Cannot pack weights: ${name} must have ${length} elements, has ${array.length}`,
    );
  }
}
