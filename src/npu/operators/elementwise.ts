import type {
  ElementwiseOperator,
  Operator,
  OperatorOf,
} from "../../graph/operator.ts";
import type { LayerSpec } from "../layer_spec.ts";
import { GELU_PASSES, PASSES, SOFTMAX_PASSES } from "../layers.ts";
import { type CostContext, type Costs, vectorLayer } from "./costs.ts";

/** Passes over every element of the first input. */
export const onVector =
  (passes: number) =>
  ({ op, inputs }: Operator, { name, rows }: CostContext): LayerSpec[] => [
    vectorLayer(name, [
      { name: op, elements: rows * inputs[0].width, passes },
    ]),
  ];

export const elementwise: Costs<ElementwiseOperator> = {
  Add: onVector(PASSES.add),
  Sub: onVector(PASSES.add),
  Mul: onVector(PASSES.mul),
  Relu: onVector(PASSES.relu),
  Sigmoid: onVector(PASSES.transcendental),
  Tanh: onVector(PASSES.transcendental),
  Exp: onVector(PASSES.transcendental),
  Gelu: onVector(GELU_PASSES),
  Softmax: onVector(SOFTMAX_PASSES),
  /** A comparison for each bound, as of a Relu. */
  Clip(operator: OperatorOf<"Clip">, context) {
    const { least, most } = operator;
    const bounds = [least, most].filter((bound) => bound !== undefined);
    return onVector(bounds.length * PASSES.relu)(operator, context);
  },
};
