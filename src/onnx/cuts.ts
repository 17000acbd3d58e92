/** Where a graph is cut into cells. */
import type { Cell } from "../graph/cell.ts";
import type { Operator, OperatorName } from "../graph/operator.ts";
import { productsOf } from "../graph/products.ts";
import { estimatedNs, LAUNCH_NS } from "./operator_time.ts";

/** One cell for each layer, one for all, or cells of at least so many multiply-accumulates. */
export type CellSize = "layer" | "model" | number;

/** What a cell takes at least by default, by estimate: launches hold up a chain of them by a thirty-second. */
export const CELL_NS_MIN = 32 * LAUNCH_NS;

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

/** What cells have of what at least. */
function leastOf(
  size: Exclude<CellSize, "model"> | undefined,
  rows: number,
): { least: number; of: (operator: Operator) => number } {
  if (size === "layer") return { least: 0, of: () => 0 };
  return size === undefined
    ? {
      least: CELL_NS_MIN,
      of: (operator) => estimatedNs(operator, rows),
    }
    : { least: size, of: (operator) => rows * productsOf(operator) };
}

/**
 * The operators that cells begin with, by place. Nothing is cut between a layer and what is computed with it, nor
 * between rows that are put together for a product and the product, or a cache of a cell's own and who looks there.
 * @param size undefined: cells that are worth a launch
 * @param rows of the cell that a request brings at least
 */
export function cutsOf(
  { operators }: Cell,
  size: CellSize | undefined,
  rows = 1,
): number[] {
  if (size === "model") return [];
  const { least, of } = leastOf(size, rows);
  const starts: number[] = [];
  let work = 0;
  let hasLayer = false;
  operators.forEach((operator, at) => {
    const before = operators[at - 1]?.op;
    const joins = operator.op === "Gemm" && before === "Concat" ||
      before === "CacheAppend";
    if (hasLayer && work >= least && !joins && !BELONGS.has(operator.op)) {
      starts.push(at);
      work = 0;
    }
    hasLayer ||= !BELONGS.has(operator.op);
    work += of(operator);
  });
  // What is left at the end is too little for a cell of its own.
  if (work < least) starts.pop();
  return starts;
}
