import type { DenseOperator, OperatorOf, Value } from "../../graph/operator.ts";
import { ACTIVATIONS } from "../../kernels/module/activations.ts";
import { packGemm } from "../../kernels/pack/pack_gemm.ts";
import { BYTES_PER_ELEMENT } from "../../tensor/tensor.ts";
import { fuseActivation } from "./elementwise.ts";
import type { Lowering, Lowerings } from "./lowering.ts";
import { readAsSegments } from "./rows.ts";

export const dense: Lowerings<DenseOperator> = {
  Gather({ table, inputs, outputs }, lowering) {
    const [count, width] = table.shape as [number, number];
    const rows = lowering.ownTable();
    lowering.lies(outputs[0], rows);
    lowering.kernel("gather_rows", [
      "rows",
      lowering.tableOf(inputs[0]),
      lowering.place(table.data),
      width * BYTES_PER_ELEMENT,
      count,
      rows,
    ], true);
  },

  Gemm: lowerGemm,

  ArgMax({ inputs, outputs }, lowering) {
    const x = inputs[0];
    lowering.kernel("argmax_rows_f32", [
      "rows",
      x.width,
      lowering.tableOf(x),
      lowering.output(outputs[0]),
    ]);
  },
};

function lowerGemm(operator: OperatorOf<"Gemm">, lowering: Lowering): void {
  const x = operator.inputs[0];
  const y = operator.outputs[0];
  const n = y.width;
  const weights = packGemm({
    n,
    k: x.width,
    weight: operator.weight.data,
    layout: "nk",
    ...(operator.bias && { bias: operator.bias.data }),
  });
  const readers = lowering.readers(y);
  const argMax = readers.find(({ op }) => op === "ArgMax");
  if (argMax) {
    lowering.fuse(argMax);
    const stored = lowering.leaves(y) || readers.length > 1;
    lowering.kernel("projection_argmax_f32", [
      "rows",
      n,
      x.width,
      lowering.tableOf(x),
      lowering.place(weights),
      lowering.output(argMax.outputs[0]),
      stored ? lowering.output(y) : 0,
      { scratch: lowering.scratch(BYTES_PER_ELEMENT * lowering.rowsPerCall) },
    ]);
    return;
  }
  const { value, act } = fuseActivation(y, lowering);
  const [first, second] = segments(x, lowering);
  lowering.kernel("gemm_f32", [
    "rows",
    n,
    first.width,
    lowering.tableOf(first),
    second?.width ?? 0,
    second ? lowering.tableOf(second) : 0,
    lowering.place(weights),
    lowering.output(value),
    ACTIVATIONS[act],
  ]);
}

/** The rows that a Gemm reads one after the other. */
function segments(x: Value, lowering: Lowering): [Value] | [Value, Value] {
  const producer = lowering.producer(x);
  if (producer && readAsSegments(producer, lowering)) {
    return [producer.inputs[0], producer.inputs[1]];
  }
  return [x];
}
