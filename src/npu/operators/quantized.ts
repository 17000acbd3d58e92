/**
 * Products of int8 as the same products of the NPU's words, and what quantises.
 * Assumption: the array computes and moves words of one size, whatever an operator's type.
 */
import type {
  OperatorOf,
  QuantizedOperator,
  Requantized,
} from "../../graph/operator.ts";
import { lastAxis, rowsOf } from "../../graph/row_layout.ts";
import type { LayerSpec, VectorWork } from "../layer_spec.ts";
import { conv, gruStep, lstmStep, matmul, PASSES } from "../layers.ts";
import type { CostContext, Costs } from "./costs.ts";
import { valueProduct } from "./dense.ts";
import { onVector } from "./elementwise.ts";
import { convSizes } from "./images.ts";

/** Division, rounding, sum with the zero point, two bounds. */
const QUANTIZE_PASSES = PASSES.divide + 2 * PASSES.add + 2 * PASSES.compare;
/** And the least and greatest before. */
const RANGE_PASSES = 2 * PASSES.compare;

export const quantized: Costs<QuantizedOperator> = {
  DynamicQuantizeLinear: onVector(RANGE_PASSES + QUANTIZE_PASSES),
  QuantizeLinear: onVector(QUANTIZE_PASSES),
  DequantizeLinear: onVector(PASSES.add + PASSES.mul),
  MatMulInteger: (operator, context) => [product(operator, context)],
  MatMulIntegerToFloat: (operator, context) => [product(operator, context)],
  DynamicMatMulInteger: valueProduct,
  DynamicMatMulIntegerToFloat: valueProduct,
  QLinearMatMul: (operator, context) => [
    requantized(product(operator, context), operator, context),
  ],
  ConvInteger: (operator, context) => [convolution(operator, context)],
  ConvIntegerToFloat: (operator, context) => [convolution(operator, context)],
  QLinearConv: (operator, context) => [
    requantized(convolution(operator, context), operator, context),
  ],
  DynamicQuantizeLSTM: ({ inputs: [x, h] }, { name, rows }) => [
    withInputs(
      lstmStep(name, { inputs: x.width, hidden: h.width }, rows),
      rows * (x.width + h.width),
    ),
  ],
  DynamicQuantizeGRU: ({ inputs: [x, h] }, { name, rows }) => [
    withInputs(
      gruStep(name, { inputs: x.width, hidden: h.width }, rows),
      rows * (x.width + h.width),
    ),
  ],
};

function product(
  { inputs: [q], outputs: [y] }: OperatorOf<"MatMulInteger" | "QLinearMatMul">,
  { name, rows }: CostContext,
): LayerSpec {
  const size = { inputs: lastAxis(q), outputs: lastAxis(y) };
  return matmul(name, size, rows * rowsOf(q));
}

function convolution(
  { shape }: OperatorOf<"ConvInteger" | "QLinearConv">,
  { name, rows }: CostContext,
): LayerSpec {
  return conv(name, convSizes(shape), rows);
}

function withWork(layer: LayerSpec, work: VectorWork): LayerSpec {
  return { ...layer, vector: [...layer.vector, work] };
}

function requantized(
  layer: LayerSpec,
  { outputs: [y] }: OperatorOf<"QLinearMatMul" | "QLinearConv"> & Requantized,
  { rows }: CostContext,
): LayerSpec {
  const elements = rows * y.width;
  return withWork(layer, {
    name: "quantize",
    elements,
    passes: QUANTIZE_PASSES,
  });
}

function withInputs(layer: LayerSpec, elements: number): LayerSpec {
  const passes = RANGE_PASSES + QUANTIZE_PASSES;
  return withWork(layer, { name: "quantize", elements, passes });
}
