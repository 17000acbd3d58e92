/**
 * One recurrent step with any activations, as a cell: the fused operator where it has the semantics
 * asked for, else composed of simple operators, as a user would write a cell of his own.
 */
import type { Cell } from "../../src/graph/cell.ts";
import {
  defineCell,
  f32,
  type Operators,
} from "../../src/graph/cell_builder.ts";
import type { Value } from "../../src/graph/operator.ts";
import { concatenated, type Tensor, tensor } from "../../src/tensor/tensor.ts";

export type ActivationName = "relu" | "sigmoid" | "tanh";

/** Weights of one direction; gates in ONNX order (LSTM i, o, f, c; GRU z, r, h). */
export interface RecurrentWeights {
  /** [gates * hidden][inputSize] */
  readonly w: Tensor;
  /** [gates * hidden][hidden] */
  readonly r: Tensor;
  /** [gates * hidden] each. */
  readonly wb: Tensor;
  readonly rb: Tensor;
}

export interface LstmCellOptions {
  readonly weights: RecurrentWeights;
  /** Of the gates, of the candidate, of the output. */
  readonly activations: readonly ActivationName[];
  /** [3 * hidden]: what i, o, f see of the cell state. */
  readonly peepholes?: Tensor;
}

export interface GruCellOptions {
  readonly weights: RecurrentWeights;
  /** Of the gates, of the candidate. */
  readonly activations: readonly ActivationName[];
  /** Whether the reset gate applies to the recurrent product, or to the state before it. */
  readonly resetAfter: boolean;
}

function activate(op: Operators, name: ActivationName, x: Value): Value {
  switch (name) {
    case "relu":
      return op.Relu(x);
    case "sigmoid":
      return op.Sigmoid(x);
    case "tanh":
      return op.Tanh(x);
  }
}

/** Ports x, h, c; outputs h, c. */
export function lstmCell(options: LstmCellOptions): Cell {
  const { weights, activations, peepholes } = options;
  const { w, r, wb, rb } = weights;
  const hidden = r.shape[1];
  const fused = activations.join() === "sigmoid,tanh,tanh" && !peepholes;
  const [gateAct, candidateAct, outputAct] = activations as [
    ActivationName,
    ActivationName,
    ActivationName,
  ];
  return defineCell({
    name: fused ? "lstm" : "composed lstm",
    recurrent: true,
    inputs: { x: f32(w.shape[1]), h: f32(hidden), c: f32(hidden) },
    body(op, { x, h, c }) {
      if (fused) return op.LSTM(x, h, c, { w, r, b: concatenated(wb, rb) });
      const sums = op.Add(op.Gemm(x, w, wb), op.Gemm(h, r, rb));
      const gate = (index: number, state?: Value): Value => {
        const sum = op.Slice(sums, index * hidden, (index + 1) * hidden);
        if (!state || !peepholes) return sum;
        const weight = op.Slice(
          op.Constant(peepholes),
          index * hidden,
          (index + 1) * hidden,
        );
        return op.Add(sum, op.Mul(weight, state));
      };
      const i = activate(op, gateAct, gate(0, c));
      const f = activate(op, gateAct, gate(2, c));
      const candidate = activate(op, candidateAct, gate(3));
      const next = op.Add(op.Mul(f, c), op.Mul(i, candidate));
      const o = activate(op, gateAct, gate(1, next));
      return { h: op.Mul(o, activate(op, outputAct, next)), c: next };
    },
  });
}

/** Ports x, h; output h. */
export function gruCell(options: GruCellOptions): Cell {
  const { weights, activations, resetAfter } = options;
  const { w, r, wb, rb } = weights;
  const hidden = r.shape[1];
  const fused = activations.join() === "sigmoid,tanh" && resetAfter;
  const [gateAct, candidateAct] = activations as [
    ActivationName,
    ActivationName,
  ];
  return defineCell({
    name: fused ? "gru" : "composed gru",
    recurrent: true,
    inputs: { x: f32(w.shape[1]), h: f32(hidden) },
    body(op, { x, h }) {
      if (fused) return { h: op.GRU(x, h, { w, r, b: concatenated(wb, rb) }) };
      const part = (sum: Value, index: number) =>
        op.Slice(sum, index * hidden, (index + 1) * hidden);
      const fromX = op.Gemm(x, w, wb);
      const fromH = op.Gemm(h, r, rb);
      const gate = (index: number) =>
        activate(op, gateAct, op.Add(part(fromX, index), part(fromH, index)));
      const [z, reset] = [gate(0), gate(1)];
      const recurrent = resetAfter
        ? op.Mul(reset, part(fromH, 2))
        : op.Gemm(op.Mul(reset, h), rowsOf(r, 2), rowsOf(rb, 2));
      const candidate = activate(
        op,
        candidateAct,
        op.Add(part(fromX, 2), recurrent),
      );
      const ones = op.Constant(new Array<number>(hidden).fill(1));
      return {
        h: op.Add(op.Mul(op.Sub(ones, z), candidate), op.Mul(z, h)),
      };
    },
  });
}

/** The rows of gate `index` of three. */
function rowsOf({ shape, data }: Tensor, index: number): Tensor {
  const size = data.length / 3;
  return tensor(
    [shape[0] / 3, ...shape.slice(1)],
    data.slice(index * size, (index + 1) * size),
  );
}
