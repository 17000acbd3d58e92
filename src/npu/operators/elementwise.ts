import type {
  ElementwiseOperator,
  Operator,
  OperatorOf,
} from "../../graph/operator.ts";
import type { LayerSpec } from "../layer_spec.ts";
import {
  GELU_PASSES,
  PASSES,
  SOFTMAX_PASSES,
  SWISH_PASSES,
} from "../layers.ts";
import { type CostContext, type Costs, vectorLayer } from "./costs.ts";

/** alpha x + beta, between two bounds. */
const HARD_PASSES = PASSES.mul + PASSES.add + 2 * PASSES.compare;

/** Passes over every element of the longest input. */
export const onVector =
  (passes: number) =>
  ({ op, inputs }: Operator, { name, rows }: CostContext): LayerSpec[] => [
    vectorLayer(name, [
      {
        name: op,
        elements: rows * Math.max(...inputs.map(({ width }) => width)),
        passes,
      },
    ]),
  ];

export const elementwise: Costs<ElementwiseOperator> = {
  Add: onVector(PASSES.add),
  Sub: onVector(PASSES.add),
  Mul: onVector(PASSES.mul),
  Div: onVector(PASSES.divide),
  Max: onVector(PASSES.compare),
  Min: onVector(PASSES.compare),
  Relu: onVector(PASSES.relu),
  Sigmoid: onVector(PASSES.transcendental),
  Tanh: onVector(PASSES.transcendental),
  Exp: onVector(PASSES.transcendental),
  Gelu: onVector(GELU_PASSES),
  GeluTanh: onVector(GELU_PASSES),
  Swish: onVector(SWISH_PASSES),
  Erf: onVector(PASSES.transcendental),
  Sqrt: onVector(PASSES.divide),
  Neg: onVector(PASSES.mul),
  Abs: onVector(PASSES.compare),
  LeakyRelu: onVector(PASSES.mul + PASSES.compare),
  HardSigmoid: onVector(HARD_PASSES),
  HardSwish: onVector(HARD_PASSES + PASSES.mul),
  Softmax: onVector(SOFTMAX_PASSES),
  /** A comparison for each bound, as of a Relu. */
  Clip(operator: OperatorOf<"Clip">, context) {
    const { least, most } = operator;
    const bounds = [least, most].filter((bound) => bound !== undefined);
    return onVector(bounds.length * PASSES.relu)(operator, context);
  },
};
