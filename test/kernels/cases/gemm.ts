import {
  caseFamily,
  drawFloats,
  drawName,
  drawProduct,
  drawRows,
  drawSize,
  drawWeights,
} from "../kernel_case.ts";
import { type Equivalent, floatsOf, integersOf } from "../equivalent.ts";
import {
  type Activation,
  ACTIVATIONS,
} from "../../../src/kernels/module/activations.ts";
import { activate } from "../reference/activation.ts";
import {
  packedGemmFloats,
  packGemm,
} from "../../../src/kernels/pack/pack_gemm.ts";
import { gemm } from "../reference/gemm.ts";
import { argmax } from "../reference/rows.ts";
import { onnxActivation } from "./onnx_activation.ts";

const EXACT_ACTIVATIONS = ["none", "relu"] as const;
/** Peers sum in other orders. */
const PEER_TOLERANCE = 1e-4;

/** act(x w^T + bias) as operators, w [n][k]. */
function dense(
  { m, n, k, act }: { m: number; n: number; k: number; act: Activation },
  a: Float32Array,
  weight: Float32Array,
  bias: Float32Array | undefined,
): Equivalent {
  const last = onnxActivation(act, "sum", "y");
  return {
    nodes: [
      {
        opType: "Gemm",
        inputs: ["x", "w", ...(bias ? ["b"] : [])],
        outputs: [last.length === 0 ? "y" : "sum"],
        attributes: { transB: 1 },
      },
      ...last,
    ],
    constants: [
      { name: "w", shape: [n, k], data: weight },
      ...(bias ? [{ name: "b", shape: [n], data: bias }] : []),
    ],
    inputs: [{ name: "x", shape: [m, k], data: a }],
    outputs: [{ name: "y", shape: [m, n], of: floatsOf("c") }],
    tolerance: PEER_TOLERANCE,
  };
}

/** Sizes of a GEMM case; the second segment of K may be 0. */
export interface GemmCaseSize {
  n: number;
  k1: number;
  k2?: number;
  act?: Activation;
}

/** GEMM over one or two K segments with every activation. */
export const gemmCase = caseFamily<GemmCaseSize>(
  (draw) => {
    const { n, k } = drawProduct(draw.prng);
    return {
      n,
      k1: k,
      k2: draw.prng.int(2) === 0 ? 0 : drawSize(draw.prng),
      act: drawName(draw, ACTIVATIONS, EXACT_ACTIVATIONS),
    };
  },
  (draw, { n, k1, k2 = 0, act = "none" }) => {
    const { rows, exact } = draw;
    const k = k1 + k2;
    const weight = drawWeights(draw, n * k, k);
    const bias = drawFloats(draw, n);
    const a1 = drawRows(draw, k1);
    const a2 = drawRows(draw, k2);
    const a = () => concatenateRows(rows, a1, a2);
    return {
      label: `m=${rows} n=${n} k=${k2 > 0 ? `${k1}+${k2}` : k1}` +
        (act === "none" ? "" : ` ${act}`),
      rows,
      inputs: { a1, a2 },
      blocks: { w: packGemm({ n, k, weight, layout: "nk", bias }) },
      results: { c: { width: n, type: "f32" } },
      call: (kernels, at, m) =>
        kernels.gemm_f32(
          m,
          n,
          k1,
          at.a1,
          k2,
          k2 > 0 ? at.a2 : 0,
          at.w,
          at.c,
          ACTIVATIONS[act],
        ),
      expected: () => ({
        c: gemm({ m: rows, n, k, a: a(), weight, bias }, act),
      }),
      tolerance: exact ? 0 : 2 ** -23 * (k + 8),
      work: { count: 2 * rows * n * k, unit: "GFLOP/s" },
      equivalent: () => dense({ m: rows, n, k, act }, a(), weight, bias),
    };
  },
);

/** GEMM whose result is added to a residual before the activation. */
export const gemmResidualCase = caseFamily<
  { n: number; k: number; act?: Activation }
>(
  (draw) => ({
    ...drawProduct(draw.prng),
    act: drawName(draw, ACTIVATIONS, EXACT_ACTIVATIONS),
  }),
  (draw, { n, k, act = "none" }) => {
    const { rows, exact } = draw;
    const weight = drawWeights(draw, n * k, k);
    const bias = drawFloats(draw, n);
    const a = drawRows(draw, k);
    const r = drawRows(draw, n);
    return {
      label: `m=${rows} n=${n} k=${k} ${act}`,
      rows,
      inputs: { a, r },
      blocks: { w: packGemm({ n, k, weight, layout: "nk", bias }) },
      results: { c: { width: n, type: "f32" } },
      call: (kernels, at, m) =>
        kernels.gemm_residual_f32(
          m,
          n,
          k,
          at.a,
          0,
          0,
          at.w,
          at.r,
          at.c,
          ACTIVATIONS[act],
        ),
      expected: () => ({
        c: gemm({ m: rows, n, k, a: a.data, weight, bias }, "none")
          .map((sum, i) => activate(act, sum + r.data[i])),
      }),
      tolerance: exact ? 0 : 2 ** -23 * (k + 8),
      work: { count: 2 * rows * n * k, unit: "GFLOP/s" },
      equivalent() {
        const last = onnxActivation(act, "sum", "y");
        const product = dense(
          { m: rows, n, k, act: "none" },
          a.data as Float32Array,
          weight,
          bias,
        );
        return {
          ...product,
          nodes: [
            { ...product.nodes[0], outputs: ["product"] },
            {
              opType: "Add",
              inputs: ["product", "r"],
              outputs: [last.length === 0 ? "y" : "sum"],
            },
            ...last,
          ],
          inputs: [
            ...product.inputs,
            { name: "r", shape: [rows, n], data: r.data },
          ],
        };
      },
    };
  },
);

/** Product of two run-time operands: the right one, as it is or transposed, is packed first. */
export const packGemmCase = caseFamily<
  { n: number; k: number; transposed: boolean }
>(
  ({ prng }) => ({
    ...drawProduct(prng),
    transposed: prng.int(2) === 1,
  }),
  (draw, { n, k, transposed }) => {
    const { rows, exact } = draw;
    const a = drawRows(draw, k);
    const b = drawWeights(draw, n * k, k);
    const weight = () =>
      transposed
        ? b
        : Float32Array.from(b, (_, i) => b[i % k * n + Math.floor(i / k)]);
    return {
      label: `m=${rows} n=${n} k=${k}${transposed ? " transposed" : ""}`,
      rows,
      inputs: { a },
      blocks: { b },
      tables: { bRows: { block: "b", width: transposed ? k : n } },
      scratch: { w: 4 * packedGemmFloats({ n, k }) },
      results: { c: { width: n, type: "f32" } },
      call(kernels, at, m) {
        kernels.pack_gemm_f32(n, k, at.bRows, transposed ? 1 : 0, at.w);
        kernels.gemm_f32(m, n, k, at.a, 0, 0, at.w, at.c, ACTIVATIONS.none);
      },
      expected: () => ({
        c: gemm({ m: rows, n, k, a: a.data, weight: weight() }, "none"),
      }),
      tolerance: exact ? 0 : 2 ** -23 * (k + 8),
      work: { count: 2 * rows * n * k, unit: "GFLOP/s" },
      equivalent: () => ({
        nodes: [{
          opType: "Gemm",
          inputs: ["x", "b"],
          outputs: ["y"],
          attributes: { transB: transposed ? 1 : 0 },
        }],
        constants: [],
        inputs: [
          { name: "x", shape: [rows, k], data: a.data },
          { name: "b", shape: transposed ? [n, k] : [k, n], data: b },
        ],
        outputs: [{ name: "y", shape: [rows, n], of: floatsOf("c") }],
        tolerance: PEER_TOLERANCE,
      }),
    };
  },
);

/** Projection with arg-max, with and without stored logits. */
export const projectionCase = caseFamily<
  { n: number; k: number; keep: boolean }
>(
  ({ prng }) => ({
    ...drawProduct(prng),
    keep: prng.int(2) === 1,
  }),
  (draw, { n, k, keep }) => {
    const { rows, exact } = draw;
    const weight = drawWeights(draw, n * k, k);
    const bias = drawFloats(draw, n);
    const a = drawRows(draw, k);
    const expected = () => {
      const logits = gemm({ m: rows, n, k, a: a.data, weight, bias }, "none");
      const row = (i: number) => logits.subarray(i * n, (i + 1) * n);
      const id = Int32Array.from({ length: rows }, (_, i) => argmax(row(i)));
      return {
        id,
        best: Float64Array.from(id, (j, i) => row(i)[j]),
        ...(keep ? { logits } : {}),
      };
    };
    return {
      label: `m=${rows} n=${n} k=${k} ${keep ? "logits kept" : "ids only"}`,
      rows,
      inputs: { a },
      blocks: { w: packGemm({ n, k, weight, layout: "nk", bias }) },
      results: {
        id: { width: 1, type: "i32" },
        best: { width: 1, type: "f32", contiguous: true },
        ...(keep ? { logits: { width: n, type: "f32" as const } } : {}),
      },
      call: (kernels, at, m) =>
        kernels.projection_argmax_f32(
          m,
          n,
          k,
          at.a,
          at.w,
          at.id,
          at.logits ?? 0,
          at.best,
        ),
      expected,
      tolerance: exact ? 0 : 2 ** -23 * (k + 8),
      work: { count: 2 * rows * n * k, unit: "GFLOP/s" },
      equivalent() {
        const product = dense(
          { m: rows, n, k, act: "none" },
          a.data as Float32Array,
          weight,
          bias,
        );
        return {
          ...product,
          nodes: [
            { ...product.nodes[0], outputs: ["logits"] },
            {
              opType: "ArgMax",
              inputs: ["logits"],
              outputs: ["y"],
              attributes: { axis: 1, keepdims: 0 },
            },
          ],
          outputs: [{
            name: "y",
            shape: [rows],
            type: "i64",
            of: integersOf("id"),
          }],
          tolerance: 0,
        };
      },
    };
  },
);

function concatenateRows(
  rows: number,
  ...parts: readonly { width: number; data: ArrayLike<number> }[]
): Float32Array {
  const width = parts.reduce((sum, part) => sum + part.width, 0);
  const out = new Float32Array(rows * width);
  let first = 0;
  for (const part of parts) {
    for (let i = 0; i < rows; ++i) {
      for (let j = 0; j < part.width; ++j) {
        out[i * width + first + j] = part.data[i * part.width + j];
      }
    }
    first += part.width;
  }
  return out;
}
