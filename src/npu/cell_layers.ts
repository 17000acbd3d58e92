/**
 * A cell's operators as layers, for a batch of `rows`.
 *
 * Assumption: values between the operators of a cell stay on chip (a cell is launched as one), so
 * elementwise operators cost vector work only; GEMMs read their rows and write their results. Moves
 * of rows (Concat, Slice) are addressing and cost nothing; a Constant is a weight.
 */
import type { Cell } from "../graph/cell.ts";
import type { Operator } from "../graph/operator.ts";
import { positiveInteger } from "./checks.ts";
import type { LayerSpec, VectorWork } from "./layer_spec.ts";
import {
  embedding,
  gruStep,
  lstmStep,
  matmul,
  PASSES,
  SOFTMAX_PASSES,
} from "./layers.ts";

/** The layers of a cell, in the order of its operators. Throws RangeError for a batch below 1. */
export function cellLayers(cell: Cell, rows: number): LayerSpec[] {
  positiveInteger(rows, "batch (rows)");
  return cell.operators.flatMap((operator, i) =>
    operatorLayers(operator, { name: `${cell.name}.${i}.${operator.op}`, rows })
  );
}

function operatorLayers(
  operator: Operator,
  { name, rows }: { name: string; rows: number },
): LayerSpec[] {
  const width = operator.outputs[0].width;
  const onVector = (
    passes: number,
    elements: number = operator.inputs[0].width,
  ): LayerSpec[] => [
    vectorLayer(name, [{
      name: operator.op,
      elements: rows * elements,
      passes,
    }]),
  ];
  switch (operator.op) {
    case "Gather":
      return [embedding(name, { width }, rows)];
    case "Gemm":
      return [
        matmul(
          name,
          { inputs: operator.weight.shape[1], outputs: width },
          rows,
        ),
      ];
    case "LSTM":
      return [
        lstmStep(name, { inputs: operator.w.shape[1], hidden: width }, rows),
      ];
    case "GRU":
      return [
        gruStep(name, { inputs: operator.w.shape[1], hidden: width }, rows),
      ];
    case "TreeLSTMLeaf":
      return [
        treeLayer(name, {
          rows,
          hidden: width,
          inputs: operator.w.shape[1],
          children: 0,
        }),
      ];
    case "TreeLSTMNode": {
      const inputs = operator.u.shape[1];
      return [
        treeLayer(name, {
          rows,
          hidden: width,
          inputs,
          children: operator.arity,
        }),
      ];
    }
    case "Add":
    case "Sub":
      return onVector(PASSES.add);
    case "Mul":
      return onVector(PASSES.mul);
    case "Relu":
      return onVector(PASSES.relu);
    case "Sigmoid":
    case "Tanh":
    case "Exp":
      return onVector(PASSES.transcendental);
    case "Softmax":
      return onVector(SOFTMAX_PASSES);
    case "ArgMax":
      return onVector(PASSES.compare);
    case "Concat":
    case "Slice":
    case "Constant":
      return [];
    default:
      operator satisfies never;
      throw new RangeError(
        `${name}: the NPU model has no cost for this operator`,
      );
  }
}

function vectorLayer(name: string, vector: readonly VectorWork[]): LayerSpec {
  return { name, gemms: [], vector, extraReadWords: 0, extraWriteWords: 0 };
}

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
