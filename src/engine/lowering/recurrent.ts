import type { RecurrentOperator, Value } from "../../graph/operator.ts";
import {
  packGru,
  packLstm,
  packTreeInternal,
  packTreeLeaf,
} from "../../kernels/pack/pack_cells.ts";
import type { Lowerings } from "./lowering.ts";

export const recurrent: Lowerings<RecurrentOperator> = {
  LSTM(operator, lowering) {
    const [x, h, c] = operator.inputs as [Value, Value, Value];
    const weights = packLstm({
      hidden: h.width,
      inputSize: x.width,
      w: operator.w.data,
      r: operator.r.data,
      ...(operator.b && { b: operator.b.data }),
    });
    lowering.kernel("lstm_step_f32", [
      "rows",
      h.width,
      x.width,
      lowering.tableOf(x),
      lowering.tableOf(h),
      lowering.tableOf(c),
      lowering.place(weights),
      lowering.output(operator.outputs[0]),
      lowering.output(operator.outputs[1]),
    ]);
  },

  GRU(operator, lowering) {
    const [x, h] = operator.inputs as [Value, Value];
    const weights = packGru({
      hidden: h.width,
      inputSize: x.width,
      w: operator.w.data,
      r: operator.r.data,
      ...(operator.b && { b: operator.b.data }),
    });
    lowering.kernel("gru_step_f32", [
      "rows",
      h.width,
      x.width,
      lowering.tableOf(x),
      lowering.tableOf(h),
      lowering.place(weights),
      lowering.output(operator.outputs[0]),
    ]);
  },

  TreeLSTMLeaf(operator, lowering) {
    const x = operator.inputs[0];
    const hidden = operator.outputs[0].width;
    const weights = packTreeLeaf({
      hidden,
      inputSize: x.width,
      w: operator.w.data,
      ...(operator.b && { b: operator.b.data }),
    });
    const [h, c] = [
      lowering.output(operator.outputs[0]),
      lowering.output(operator.outputs[1]),
    ];
    lowering.kernel("tree_leaf_f32", [
      "rows",
      hidden,
      x.width,
      lowering.tableOf(x),
      lowering.place(weights),
      h,
      c,
    ]);
  },

  TreeLSTMNode(operator, lowering) {
    const { arity } = operator;
    const hidden = operator.outputs[0].width;
    const weights = packTreeInternal({
      hidden,
      arity,
      r: operator.u.data,
      ...(operator.b && { b: operator.b.data }),
    });
    const hTables = lowering.list(operator.inputs.slice(0, arity));
    const cTables = lowering.list(operator.inputs.slice(arity));
    const [h, c] = [
      lowering.output(operator.outputs[0]),
      lowering.output(operator.outputs[1]),
    ];
    lowering.kernel("tree_internal_f32", [
      "rows",
      hidden,
      arity,
      hTables,
      cTables,
      lowering.place(weights),
      h,
      c,
    ]);
  },
};
