import type { Tensor } from "../../tensor/tensor.ts";
import type { CellBody } from "../cell_body.ts";
import type { Value } from "../operator.ts";

/**
 * Steps of recurrent and tree networks over states of h units, with an input x. A bias is optional and then 0.
 * `TreeLSTM*` are not in ONNX (Tai, Socher and Manning 2015, section 3.2, N-ary form).
 */
export interface RecurrentOperators {
  /** One step of ONNX LSTM; w [4h, x], r [4h, h], b [8h] (W's, then R's); gates in the order i, o, f, c. */
  LSTM(
    x: Value,
    h: Value,
    c: Value,
    weights: { w: Tensor; r: Tensor; b?: Tensor },
  ): { h: Value; c: Value };
  /**
   * One step of ONNX GRU, linear_before_reset = 1; w [3h, x], r [3h, h], b [6h] (W's, then R's); gates in the
   * order z, r, h. Returns the new state.
   */
  GRU(x: Value, h: Value, weights: { w: Tensor; r: Tensor; b?: Tensor }): Value;
  /** State of a leaf; w [3h, x], b [3h]; gates in the order i, o, u. */
  TreeLSTMLeaf(
    x: Value,
    weights: { w: Tensor; b?: Tensor },
  ): { h: Value; c: Value };
  /**
   * State of an internal node from those of its n children, 1 to 8; u [(3 + n)h, n h] over their h one after the
   * other, b [(3 + n)h]; gates in the order i, f_1..f_n, o, u.
   */
  TreeLSTMNode(
    h: readonly Value[],
    c: readonly Value[],
    weights: { u: Tensor; b?: Tensor },
  ): { h: Value; c: Value };
}

export const recurrentOperators = (body: CellBody): RecurrentOperators => ({
  LSTM(x, h, c, weights) {
    body.known("LSTM", weights, ["w", "r", "b"]);
    body.float("LSTM", x, h, c);
    body.expect(
      h.width === c.width,
      `LSTM h (${h.width}) and c (${c.width}) have one width`,
    );
    body.shape("LSTM W", weights.w, [4 * h.width, x.width]);
    body.shape("LSTM R", weights.r, [4 * h.width, h.width]);
    if (weights.b) body.shape("LSTM B", weights.b, [8 * h.width]);
    const outputs = [
      body.declare("f32", h.width),
      body.declare("f32", h.width),
    ];
    body.operators.push({ op: "LSTM", ...weights, inputs: [x, h, c], outputs });
    return { h: outputs[0], c: outputs[1] };
  },

  GRU(x, h, weights) {
    body.known("GRU", weights, ["w", "r", "b"]);
    body.float("GRU", x, h);
    body.shape("GRU W", weights.w, [3 * h.width, x.width]);
    body.shape("GRU R", weights.r, [3 * h.width, h.width]);
    if (weights.b) body.shape("GRU B", weights.b, [6 * h.width]);
    return body.emit({
      op: "GRU",
      ...weights,
      inputs: [x, h],
      outputs: [body.declare("f32", h.width)],
    });
  },

  TreeLSTMLeaf(x, weights) {
    body.known("TreeLSTMLeaf", weights, ["w", "b"]);
    body.float("TreeLSTMLeaf", x);
    body.weight("TreeLSTMLeaf W", weights.w);
    const hidden = weights.w.shape[0] / 3;
    body.expect(
      Number.isInteger(hidden),
      `TreeLSTMLeaf W has ${weights.w.shape[0]} rows, expected three per unit`,
    );
    body.shape("TreeLSTMLeaf W", weights.w, [3 * hidden, x.width]);
    if (weights.b) body.shape("TreeLSTMLeaf b", weights.b, [3 * hidden]);
    const outputs = [body.declare("f32", hidden), body.declare("f32", hidden)];
    body.operators.push({
      op: "TreeLSTMLeaf",
      ...weights,
      inputs: [x],
      outputs,
    });
    return { h: outputs[0], c: outputs[1] };
  },

  TreeLSTMNode(h, c, weights) {
    body.known("TreeLSTMNode", weights, ["u", "b"]);
    const arity = h.length;
    body.expect(
      arity >= 1 && arity <= 8 && c.length === arity,
      `TreeLSTMNode takes 1 to 8 children, each h and c, got ${arity} h and ${c.length} c`,
    );
    body.float("TreeLSTMNode", ...h, ...c);
    const hidden = h[0].width;
    body.expect(
      [...h, ...c].every((value) => value.width === hidden),
      `TreeLSTMNode children have one width, got ${
        [...h, ...c].map(({ width }) => width).join(", ")
      }`,
    );
    body.shape("TreeLSTMNode U", weights.u, [
      (3 + arity) * hidden,
      arity * hidden,
    ]);
    if (weights.b) {
      body.shape("TreeLSTMNode b", weights.b, [(3 + arity) * hidden]);
    }
    const outputs = [body.declare("f32", hidden), body.declare("f32", hidden)];
    body.operators.push({
      op: "TreeLSTMNode",
      arity,
      ...weights,
      inputs: [...h, ...c],
      outputs,
    });
    return { h: outputs[0], c: outputs[1] };
  },
});
