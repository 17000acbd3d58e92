import { log2 } from "../../base/elementary/logarithm.ts";
import type { Operator, SignalOperator } from "../../graph/operator.ts";
import { lastAxis } from "../../graph/row_layout.ts";
import { PASSES } from "../layers.ts";
import type { LayerSpec } from "../layer_spec.ts";
import { type CostContext, type Costs, vectorLayer } from "./costs.ts";

/**
 * Assumption: a transform of n real numbers is 5 n / 2 log2 n sums and products on the vector unit, and exchanging
 * numbers between lanes is free. As a product with its matrix (n by n + 2) it would keep the array busy and have n^2
 * weights: 25 times the operations at n = 512.
 */
const transform = (
  { op, inputs: [x], outputs: [y] }: Operator,
  { name, rows }: CostContext,
): LayerSpec[] => {
  const [real, spectrum] = op === "RFFT" ? [x, y] : [y, x];
  const n = 2 * (lastAxis(spectrum) - 1);
  const passes = Math.ceil(2.5 * log2(n)) * PASSES.add;
  return [
    vectorLayer(name, [{ name: op, elements: rows * real.width, passes }]),
  ];
};

export const signals: Costs<SignalOperator> = {
  RFFT: transform,
  IRFFT: transform,
  Magnitude: ({ op, outputs: [y] }, { name, rows }) => [
    vectorLayer(name, [{
      name: op,
      elements: rows * y.width,
      passes: 2 * PASSES.mul + PASSES.add + PASSES.divide,
    }]),
  ],
};
