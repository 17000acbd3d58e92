import type { PlainRowOperator } from "../../graph/operator.ts";
import { type Costs, vectorLayer } from "./costs.ts";

/** Assumption: operators of which nothing else is known pass over what they take and make once. */
export const plain: Costs<PlainRowOperator> = {
  Plain: ({ name: op, inputs, outputs }, { name, rows }) => {
    const widths = [...inputs, ...outputs].map(({ width }) => width);
    const elements = rows * widths.reduce((sum, width) => sum + width, 0);
    return [vectorLayer(name, [{ name: op, elements, passes: 1 }])];
  },
};
