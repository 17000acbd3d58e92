/** Multiply-accumulates that operators take: how much work a cell is. */
import { log2 } from "../base/elementary/logarithm.ts";
import { elementCount } from "../tensor/tensor.ts";
import type { Operator } from "./operator.ts";
import { axesOf, lastAxis, rowsOf } from "./row_layout.ts";

/**
 * Of one request; an element that is only looked at or moved counts as one.
 */
export function productsOf(operator: Operator): number {
  const [x] = operator.inputs;
  const [y] = operator.outputs;
  switch (operator.op) {
    case "Constant":
    case "Reshape":
      return 0;
    case "Gemm":
      return rowsOf(x) * elementCount(operator.weight.shape);
    case "MatMul":
      return y.width * lastAxis(x);
    case "RFFT":
      return x.width * log2(lastAxis(x));
    case "IRFFT":
      return y.width * log2(lastAxis(y));
    case "Conv": {
      const { outHeight, outWidth } = operator.shape;
      return outHeight * outWidth * elementCount(operator.weight.shape);
    }
    case "ConvInteger":
    case "ConvIntegerToFloat":
    case "QLinearConv": {
      const { outHeight, outWidth } = operator.shape;
      return outHeight * outWidth * operator.weight.values.length;
    }
    case "ConvTranspose": {
      const { height, width } = operator.shape;
      return height * width * elementCount(operator.weight.shape);
    }
    case "MatMulInteger":
    case "MatMulIntegerToFloat":
    case "QLinearMatMul":
      return rowsOf(x) * operator.weight.values.length;
    case "LSTM":
    case "GRU":
      return operator.w.data.length + operator.r.data.length;
    case "DynamicQuantizeLSTM":
    case "DynamicQuantizeGRU":
      return operator.w.values.length + operator.r.values.length;
    case "MaxPool":
    case "AveragePool":
    case "GlobalAveragePool":
      return y.width * elementCount(operator.shape.kernel);
    default:
      return Math.max(
        0,
        ...[...operator.inputs, ...operator.outputs].map((value) =>
          elementCount(axesOf(value))
        ),
      );
  }
}
