import type { RecurrentOperator } from "../../graph/operator.ts";
import type { LayerSpec } from "../layer_spec.ts";
import { gruStep, lstmStep, PASSES } from "../layers.ts";
import type { Costs } from "./costs.ts";

export const recurrent: Costs<RecurrentOperator> = {
  LSTM: ({ w, outputs }, { name, rows }) => [
    lstmStep(name, { inputs: w.shape[1], hidden: outputs[0].width }, rows),
  ],
  GRU: ({ w, outputs }, { name, rows }) => [
    gruStep(name, { inputs: w.shape[1], hidden: outputs[0].width }, rows),
  ],
  TreeLSTMLeaf: ({ w, outputs }, { name, rows }) => [
    treeLayer(name, {
      rows,
      hidden: outputs[0].width,
      inputs: w.shape[1],
      children: 0,
    }),
  ],
  TreeLSTMNode: ({ u, arity, outputs }, { name, rows }) => [
    treeLayer(name, {
      rows,
      hidden: outputs[0].width,
      inputs: u.shape[1],
      children: arity,
    }),
  ],
};

/** Gates i, o, u and a forget gate per child; the children's cell states are read, the new written. */
function treeLayer(
  name: string,
  { rows, hidden, inputs, children }: {
    rows: number;
    hidden: number;
    inputs: number;
    children: number;
  },
): LayerSpec {
  const gates = 3 + children;
  const cells = rows * hidden;
  return {
    name,
    gemms: [{ gemm: { m: rows, n: gates * hidden, k: inputs }, copies: 1 }],
    vector: [
      { name: "bias", elements: gates * cells, passes: PASSES.bias },
      {
        name: "gates",
        elements: (gates + 1) * cells,
        passes: PASSES.transcendental,
      },
      {
        name: "state",
        elements: cells,
        passes: (2 + children) * PASSES.mul + children * PASSES.add,
      },
    ],
    extraReadWords: children * cells,
    extraWriteWords: cells,
  };
}
