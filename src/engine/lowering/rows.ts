import type { Operator, RowOperator, Value } from "../../graph/operator.ts";
import { BYTES_PER_ELEMENT } from "../../tensor/tensor.ts";
import { stackImages } from "./images.ts";
import type { Lowering, Lowerings } from "./lowering.ts";

export const rows: Lowerings<RowOperator> = {
  Concat(operator, lowering) {
    if (readAsSegments(operator, lowering)) return;
    const [out] = operator.outputs as [Value];
    if (out.image) return stackImages(operator.inputs, out, lowering);
    const to = lowering.output(out);
    let bytes = 0;
    for (const part of operator.inputs) {
      lowering.kernel("copy_rows", [
        "rows",
        part.width * BYTES_PER_ELEMENT,
        lowering.tableOf(part),
        lowering.offset(to, bytes),
      ]);
      bytes += part.width * BYTES_PER_ELEMENT;
    }
  },

  Slice({ start, inputs, outputs }, lowering) {
    const from = lowering.tableOf(inputs[0]);
    lowering.lies(
      outputs[0],
      lowering.offset(from, start * BYTES_PER_ELEMENT),
    );
  },

  Constant({ value, outputs }, lowering) {
    const row = lowering.fixedTable(lowering.place(value.data), 0);
    lowering.lies(outputs[0], row);
  },
};

/** Whether a Concat is read only by Gemms that take its two parts as they are. */
export function readAsSegments(concat: Operator, lowering: Lowering): boolean {
  const value = concat.outputs[0];
  return concat.op === "Concat" && !value.image && concat.inputs.length === 2 &&
    !lowering.leaves(value) &&
    lowering.readers(value).every((reader) =>
      reader.op === "Gemm" &&
      !lowering.readers(reader.outputs[0]).some(({ op }) => op === "ArgMax")
    );
}
