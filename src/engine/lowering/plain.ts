/** Operators in plain TypeScript: no kernel, but rows like any other. */
import type { PlainRowOperator, Value } from "../../graph/operator.ts";
import { PLAIN_TYPE_OF, type PlainType } from "../../tensor/plain_tensor.ts";
import { type Dtype, elementCount } from "../../tensor/tensor.ts";
import type { Lowerings } from "./lowering.ts";

/** The builder takes none that are quantised. */
const typeOf = ({ dtype }: Value): PlainType => PLAIN_TYPE_OF[dtype as Dtype];

export const plain: Lowerings<PlainRowOperator> = {
  Plain(operator, lowering) {
    const { name, node, opset, attributes, captured, operands } = operator;
    const { inputs, outputs } = operator;
    lowering.plain({
      call: "plain",
      name,
      ...(node !== undefined && { node }),
      opset,
      attributes,
      ...(captured && { captured }),
      inputs: operands.map((operand) => {
        if (operand === undefined || "data" in operand) return operand;
        const { input, dims } = operand;
        const rows = lowering.tableOf(inputs[input]);
        const count = elementCount(dims);
        return { type: typeOf(inputs[input]), dims, rows, count };
      }),
      outputs: outputs.map((output) => ({
        type: typeOf(output),
        dims: output.shape!,
        rows: lowering.output(output),
        count: output.width,
      })),
    });
  },
};
