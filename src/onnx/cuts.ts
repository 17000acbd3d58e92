/** Where a graph is cut into cells. */
import type { Cell } from "../graph/cell.ts";
import type { Operator, OperatorName, Value } from "../graph/operator.ts";
import { productsOf } from "../graph/products.ts";
import { rowBytes } from "../graph/row_layout.ts";
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
 * What lies between two cells comes back from memory, for every request: of the first place at which a cell is large
 * enough and those up to twice as much further on, the cell ends where the fewest bytes go to later ones.
 * @param size undefined: cells that are worth a launch
 * @param rows of the cell that a request brings at least
 */
export function cutsOf(
  cell: Cell,
  size: CellSize | undefined,
  rows = 1,
): number[] {
  if (size === "model") return [];
  const { operators } = cell;
  const { least, of } = leastOf(size, rows);
  // What operators take up to each place.
  const work = [0];
  for (const operator of operators) work.push(work.at(-1)! + of(operator));
  const all = work[operators.length];
  const firstLayer = operators.findIndex(({ op }) => !BELONGS.has(op));
  const places = operators.flatMap(({ op }, at) => {
    const before = operators[at - 1]?.op;
    const joins = op === "Gemm" && before === "Concat" ||
      before === "CacheAppend";
    const follows = firstLayer >= 0 && firstLayer < at;
    // What is left at the end may be too little for a cell of its own.
    const leaves = all - work[at] >= least;
    return follows && leaves && !joins && !BELONGS.has(op) ? [at] : [];
  });
  const bytes = bytesBetween(cell);
  const starts: number[] = [];
  for (let from = 0;;) {
    const first = places.find((at) =>
      at > from && work[at] - work[from] >= least
    );
    if (first === undefined) return starts;
    from = places.reduce((best, at) => {
      const isNear = at > first && work[at] - work[first] < 2 * least;
      return isNear && bytes[at] < bytes[best] ? at : best;
    }, first);
    starts.push(from);
  }
}

/** By place among the operators: bytes of a row that those before it compute and those from it on read. */
function bytesBetween({ operators }: Cell): number[] {
  const lastUse = new Map<Value, number>();
  operators.forEach(({ inputs }, at) => {
    for (const value of inputs) lastUse.set(value, at);
  });
  const bytes = operators.map(() => 0);
  operators.forEach(({ outputs }, from) => {
    for (const value of outputs) {
      const to = lastUse.get(value) ?? 0;
      for (let at = from + 1; at <= to; at++) bytes[at] += rowBytes(value);
    }
  });
  return bytes;
}
