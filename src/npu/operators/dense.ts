import type { DenseOperator } from "../../graph/operator.ts";
import { embedding, matmul, PASSES } from "../layers.ts";
import type { Costs } from "./costs.ts";
import { onVector } from "./elementwise.ts";

export const dense: Costs<DenseOperator> = {
  Gather: ({ outputs }, { name, rows }) => [
    embedding(name, { width: outputs[0].width }, rows),
  ],
  Gemm: ({ weight, outputs }, { name, rows }) => [
    matmul(name, { inputs: weight.shape[1], outputs: outputs[0].width }, rows),
  ],
  ArgMax: onVector(PASSES.compare),
};
