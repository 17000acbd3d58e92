/** Elementwise and row-wise workloads. */
import type { Prng } from "../../src/base/prng.ts";
import { draw } from "./matrices.ts";
import type { Workload } from "./workload.ts";

const KERNELS = {
  Exp: "exp_f32",
  Sigmoid: "sigmoid_f32",
  Tanh: "tanh_f32",
  Softmax: "softmax_rows_f32",
} as const;

/** An operator over m rows of n numbers. */
export function elementwise(
  prng: Prng,
  opType: keyof typeof KERNELS,
  [m, n]: readonly [number, number],
): Workload {
  const a = draw(prng, m * n, 4);
  return {
    area: opType === "Softmax" ? "softmax" : "exp, sigmoid, tanh",
    shape: `${opType} ${m}x${n}`,
    operations: m * n,
    unit: "G elements/s",
    bytes: 8 * m * n,
    own(own) {
      const [x, y] = [own.rows(m, n, a), own.rows(m, n)];
      const kernel = own.kernels[KERNELS[opType]];
      return {
        run: () => kernel(m, n, x.table, y.table),
        result: () => y.view,
      };
    },
    peer: {
      nodes: [{ opType, inputs: ["x"], outputs: ["y"] }],
      constants: [],
      inputs: [{ name: "x", shape: [m, n] }],
      outputs: [{ name: "y", shape: [m, n] }],
    },
    feeds: { x: { shape: [m, n], data: a } },
    output: "y",
    tolerance: 1e-4,
  };
}
