/**
 * About how long an operator takes, for where cells are cut. What is cut is decided when a file is loaded, by these
 * numbers alone and not by this machine's clock, so that a file has the same cells everywhere; bits do not depend on
 * it either way.
 *
 * Measured: an AMD EPYC, one thread, rows one by one, each layer a cell (`deno task bench:cuts` over the files of
 * docs/onnx.md, "How large cells are").
 */
import { elementCount } from "../tensor/tensor.ts";
import type { Operator } from "../graph/operator.ts";
import { productsOf } from "../graph/products.ts";
import { axesOf, rowsOf } from "../graph/row_layout.ts";

/** What a cell more adds to the time of a request that is alone: 12 to 43 us, median 25, on nine files. */
export const LAUNCH_NS = 20_000;

/** Kinds of kernels by what bounds them. */
export type WorkKind =
  /** Convolutions of all channels, products of several rows. */
  | "products"
  /** Products of a row and a matrix, steps of recurrent layers: each weight is used once. */
  | "vectors"
  /** Convolutions of some channels each. */
  | "groups"
  /** Convolutions of bytes; products of bytes. */
  | "bytes"
  /** Exponentials and the like, element by element. */
  | "functions"
  /** The rest of what kernels do: element by element, moves, reductions, pools. */
  | "elements"
  /** In plain TypeScript: of what it is run for, elements that are looked up, compared or bounded. */
  | "plain";

/**
 * Products, or elements, in a nanosecond: medians, of which most cells are within a factor of two. Softmax of rows of
 * two numbers takes seven times as long as "functions" say, bytes of few channels twice as long as "bytes" do.
 */
export const RATES_PER_NS: Readonly<Record<WorkKind, number>> = {
  products: 22,
  vectors: 14,
  groups: 10,
  bytes: 35,
  functions: 0.5,
  elements: 3,
  plain: 0.4,
};

/** Rows from which on products of a matrix are bound by arithmetic. */
const ROWS_MANY = 4;

const KINDS: Partial<Record<Operator["op"], WorkKind>> = {
  RowAttention: "products",
  MatMul: "products",
  ConvTranspose: "products",
  LSTM: "vectors",
  GRU: "vectors",
  DynamicQuantizeLSTM: "bytes",
  DynamicQuantizeGRU: "bytes",
  MatMulInteger: "bytes",
  MatMulIntegerToFloat: "bytes",
  QLinearMatMul: "bytes",
  Softmax: "functions",
  Exp: "functions",
  Sigmoid: "functions",
  Tanh: "functions",
  Gelu: "functions",
  GeluTanh: "functions",
  Swish: "functions",
  Erf: "functions",
  Plain: "plain",
};

/**
 * What bounds an operator.
 * @param rows of the cell, computed together
 */
export function workKind(operator: Operator, rows = 1): WorkKind {
  switch (operator.op) {
    case "Conv":
      return operator.shape.groups > 1 ? "groups" : "products";
    case "ConvInteger":
    case "ConvIntegerToFloat":
    case "QLinearConv":
      return operator.shape.groups > 1 ? "groups" : "bytes";
    case "Gemm":
      return rows * rowsOf(operator.inputs[0]) < ROWS_MANY
        ? "vectors"
        : "products";
    default:
      return KINDS[operator.op] ?? "elements";
  }
}

/** Products of an operator, those between rows of an attention included. */
function workOf(operator: Operator): number {
  if (operator.op !== "RowAttention") return productsOf(operator);
  const [q, k] = operator.inputs;
  return 2 * elementCount(axesOf(q)) * (axesOf(k).at(-2) ?? 1);
}

/**
 * About how many nanoseconds an operator takes by itself.
 * @param rows of the cell, computed together
 */
export function estimatedNs(operator: Operator, rows = 1): number {
  return rows * workOf(operator) / RATES_PER_NS[workKind(operator, rows)];
}
