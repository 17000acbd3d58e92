/** Where a graph is cut into cells. */
import type { Cell } from "../graph/cell.ts";
import type { OperatorName } from "../graph/operator.ts";
import { productsOf } from "../graph/products.ts";

/** One cell for each layer, one for all, or cells of at least so many multiply-accumulates. */
export type CellSize = "layer" | "model" | number;

/** What comes behind a layer and is computed together with it, or only moves its rows. */
const BELONGS: ReadonlySet<OperatorName> = new Set([
  ...([
    "BatchNormalization",
    "Add",
    "Sub",
    "Mul",
    "Div",
    "Max",
    "Min",
  ] as const),
  ...(["Relu", "Sigmoid", "Tanh", "Exp", "Gelu", "GeluTanh", "Swish"] as const),
  ...([
    "Erf",
    "Sqrt",
    "Neg",
    "Abs",
    "Clip",
    "LeakyRelu",
    "HardSigmoid",
  ] as const),
  ...(["HardSwish", "Reshape", "Constant", "Slice", "Transpose"] as const),
  ...(["Flatten", "Unflatten", "Concat", "DequantizeLinear"] as const),
  ...(["QuantizeLinear"] as const),
]);

/**
 * The operators that cells begin with, by place. Nothing is cut between a layer and what is computed with it, nor
 * between rows that are put together for a product and the product, or a cache of a cell's own and who looks there.
 */
export function cutsOf({ operators }: Cell, size: CellSize): number[] {
  if (size === "model") return [];
  const least = size === "layer" ? 0 : size;
  const starts: number[] = [];
  let products = 0;
  let hasLayer = false;
  operators.forEach((operator, at) => {
    const before = operators[at - 1]?.op;
    const joins = operator.op === "Gemm" && before === "Concat" ||
      before === "CacheAppend";
    if (
      hasLayer && products >= least && !joins && !BELONGS.has(operator.op)
    ) {
      starts.push(at);
      products = 0;
    }
    hasLayer ||= !BELONGS.has(operator.op);
    products += productsOf(operator);
  });
  return starts;
}
