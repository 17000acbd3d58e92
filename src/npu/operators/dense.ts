import type { DenseOperator, Operands } from "../../graph/operator.ts";
import { lastAxis, rowsOf } from "../../graph/row_layout.ts";
import { embedding, matmul, PASSES } from "../layers.ts";
import type { LayerSpec } from "../layer_spec.ts";
import type { CostContext, Costs } from "./costs.ts";
import { onVector } from "./elementwise.ts";

export const dense: Costs<DenseOperator> = {
  Gather: ({ outputs }, { name, rows }) => [
    embedding(name, { width: outputs[0].width }, rows),
  ],
  Gemm: ({ weight, inputs: [x] }, { name, rows }) => {
    const [outputs, inputs] = weight.shape as [number, number];
    return [matmul(name, { inputs, outputs }, rows * rowsOf(x))];
  },
  MatMul: valueProduct,
  ArgMax: onVector(PASSES.compare),
  /** Compared with the best so far. */
  TopK: onVector(PASSES.compare),
};

/** Every request's right operand is its own, as in attention. */
export function valueProduct(
  { inputs: [a, b], outputs: [c] }: Operands,
  { name, rows }: CostContext,
): LayerSpec[] {
  const [n, k] = [lastAxis(c), lastAxis(a)];
  const matrices = b.width / (n * k);
  return [{
    name,
    gemms: [{
      gemm: { m: rowsOf(a) / matrices, n, k },
      copies: rows * matrices,
      filterIsActivation: true,
    }],
    vector: [],
    extraReadWords: 0,
    extraWriteWords: 0,
  }];
}
