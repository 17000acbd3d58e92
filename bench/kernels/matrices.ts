/** GEMM and int8 workloads. */
import type { Prng } from "../../src/base/prng.ts";
import { packGemm } from "../../src/kernels/pack.ts";
import { packQ8, quantizeWeights } from "../../src/kernels/pack_q8.ts";
import type { Workload } from "./workload.ts";

/** Numbers in (-scale, scale). */
export function draw(prng: Prng, length: number, scale = 1): Float32Array {
  return Float32Array.from({ length }, () => (prng.float() * 2 - 1) * scale);
}

/** f32 MatMul with constant weights. */
export function matmul(
  prng: Prng,
  [m, n, k]: readonly [number, number, number],
): Workload {
  const a = draw(prng, m * k);
  const weight = draw(prng, k * n, 1 / Math.sqrt(k));
  return {
    area: "f32 GEMM",
    shape: `${m}x${n}x${k}`,
    operations: 2 * m * n * k,
    unit: "GFLOP/s",
    bytes: 4 * (n * k + m * (n + k)),
    own(own) {
      const w = own.put(packGemm({ n, k, weight, layout: "kn" }));
      const [x, y] = [own.rows(m, k, a), own.rows(m, n)];
      return {
        run: () => own.kernels.gemm_f32(m, n, k, x.table, 0, 0, w, y.table, 0),
        result: () => y.view,
      };
    },
    peer: {
      nodes: [{ opType: "MatMul", inputs: ["x", "w"], outputs: ["y"] }],
      constants: [{ name: "w", shape: [k, n], data: weight }],
      inputs: [{ name: "x", shape: [m, k] }],
      outputs: [{ name: "y", shape: [m, n] }],
    },
    feeds: { x: { shape: [m, k], data: a } },
    output: "y",
    tolerance: 1e-4,
  };
}

/** int8 GEMM from f32 to f32, quantisation included, against DynamicQuantizeMatMul. */
export function q8(
  prng: Prng,
  [m, n, k]: readonly [number, number, number],
): Workload {
  const a = draw(prng, m * k);
  const weight = draw(prng, n * k, 1 / Math.sqrt(k));
  const { values, scale } = quantizeWeights({ n, k, weight });
  const turned = new Int8Array(k * n);
  for (let j = 0; j < n; ++j) {
    for (let i = 0; i < k; ++i) turned[i * n + j] = values[j * k + i]!;
  }
  return {
    area: "int8 GEMM",
    shape: `${m}x${n}x${k}`,
    operations: 2 * m * n * k,
    unit: "GOP/s",
    bytes: n * k + 4 * m * (n + k),
    own(own) {
      const w = own.put(packQ8({ n, k, values, scale }));
      const [x, y] = [own.rows(m, k, a), own.rows(m, n)];
      const q = own.rows(m, 4 + Math.ceil(k / 4));
      return {
        run() {
          own.kernels.quantize_rows_f32(m, k, 127, x.table, q.table);
          own.kernels.gemm_q8_f32(m, n, k, 1, q.table, w, y.table, 0);
        },
        result: () => y.view,
      };
    },
    peer: {
      nodes: [{
        opType: "DynamicQuantizeMatMul",
        domain: "com.microsoft",
        inputs: ["x", "w", "scale"],
        outputs: ["y"],
      }],
      constants: [
        { name: "w", shape: [k, n], type: "i8", data: turned },
        { name: "scale", shape: [n], data: scale },
      ],
      inputs: [{ name: "x", shape: [m, k] }],
      outputs: [{ name: "y", shape: [m, n] }],
    },
    feeds: { x: { shape: [m, k], data: a } },
    output: "y",
    // Activations have 7 bits here and 8 there.
    tolerance: 0.1,
  };
}
