/**
 * A cell's operators as layers, for a batch of `rows`, or of all tokens of rows that are ragged.
 *
 * Assumption: values between the operators of a cell stay on chip (a cell is launched as one), so
 * elementwise operators cost vector work only; GEMMs read their rows and write their results. Moves
 * of rows and pixels (Concat, Slice, CenterCropPad) are addressing and cost nothing; a Constant is a
 * weight. A convolution does what follows it (see convEpilogue) in the same pass.
 */
import { type Extent, type Extents, isUniform } from "../graph/cache.ts";
import type { Cell } from "../graph/cell.ts";
import { CellUses } from "../graph/cell_uses.ts";
import type { Operator } from "../graph/operator.ts";
import { positiveInteger } from "./checks.ts";
import type { LayerSpec } from "./layer_spec.ts";
import { attention, attentionByRow } from "./operators/attention.ts";
import type { CostContext, Costs } from "./operators/costs.ts";
import { dense } from "./operators/dense.ts";
import { elementwise } from "./operators/elementwise.ts";
import { images } from "./operators/images.ts";
import { plain } from "./operators/plain.ts";
import { quantized } from "./operators/quantized.ts";
import { recurrent } from "./operators/recurrent.ts";
import { rows as rowMoves } from "./operators/rows.ts";
import { signals } from "./operators/signals.ts";

const ROW_COSTS = attentionByRow;

const COSTS: Costs<Exclude<Operator, { op: keyof typeof ROW_COSTS }>> = {
  ...dense,
  ...recurrent,
  ...elementwise,
  ...attention,
  ...rowMoves,
  ...signals,
  ...images,
  ...quantized,
  ...plain,
};

/** The layers of a cell, in the order of its operators. Throws RangeError for a batch below 1. */
export function cellLayers(
  cell: Cell,
  rows: number,
  extents?: Extents,
): LayerSpec[] {
  const tokens = tokensOf(cell, rows, extents);
  const groups = extents === undefined ? [] : grouped(rows, extents);
  return layersByOperator(cell, tokens).flatMap((layers, i) => [
    ...layers,
    ...groups.flatMap(({ extent, count }) => rowLayers(cell, i, extent, count)),
  ]);
}

/** The layers of a cell that depend on the rows, or tokens, of a batch only. */
export function batchLayers(cell: Cell, tokens: number): LayerSpec[] {
  return layersByOperator(cell, tokens).flat();
}

/** The layers that one row adds to those of the batch: attention. */
export function extentLayers(cell: Cell, extent: Extent): LayerSpec[] {
  return cell.operators.flatMap((_, i) => rowLayers(cell, i, extent, 1));
}

/**
 * Tokens of a batch; rows, unless the cell is ragged.
 * @throws RangeError when the batch is below 1, or the cell's cost depends on extents and they are not those of the rows
 */
export function tokensOf(
  cell: Cell,
  rows: number,
  extents?: Extents,
): number {
  positiveInteger(rows, "batch (rows)");
  if (extents === undefined) {
    const depends = cell.tokensMax !== undefined ||
      cell.operators.some(({ op }) => op in ROW_COSTS);
    if (!depends) return rows;
  } else if (isUniform(extents)) {
    return rows * extents.length;
  } else if (extents.length === rows) {
    let tokens = 0;
    for (const { length } of extents) tokens += length;
    return tokens;
  }
  throw new RangeError(
    `The cost of cell "${cell.name}" depends on how long its rows are: ${
      extents === undefined ? "no extents" : `${extents.length} extents`
    } were given for ${rows} rows`,
  );
}

/** Rows of one extent together. */
function grouped(
  rows: number,
  extents: Extents,
): { extent: Extent; count: number }[] {
  if (isUniform(extents)) return [{ extent: extents, count: rows }];
  const groups = new Map<string, { extent: Extent; count: number }>();
  for (const extent of extents) {
    const key = [extent.length, ...extent.caches.map(({ seen }) => seen)]
      .join();
    const group = groups.get(key);
    if (group) group.count++;
    else groups.set(key, { extent, count: 1 });
  }
  return [...groups.values()];
}

/** Layers of the batch, by operator; none where another one does the work, or rows cost one by one. */
function layersByOperator(cell: Cell, tokens: number): LayerSpec[][] {
  const uses = new CellUses(cell);
  const absorbed = new Set<Operator>();
  const absorb = (taken: Operator) => void absorbed.add(taken);
  return cell.operators.map((operator, i) => {
    if (absorbed.has(operator) || operator.op in ROW_COSTS) return [];
    const layers = COSTS[operator.op as keyof typeof COSTS] as (
      operator: Operator,
      context: CostContext,
    ) => LayerSpec[];
    return layers(operator, {
      name: nameOf(cell, i),
      rows: tokens,
      uses,
      absorb,
    });
  });
}

/** The layers of `count` rows of one extent. */
function rowLayers(
  cell: Cell,
  i: number,
  extent: Extent,
  count: number,
): LayerSpec[] {
  const operator = cell.operators[i];
  if (!(operator.op in ROW_COSTS)) return [];
  const layers = ROW_COSTS[operator.op as keyof typeof ROW_COSTS] as (
    operator: Operator,
    context: { name: string; extent: Extent; count: number },
  ) => LayerSpec[];
  return layers(operator, { name: nameOf(cell, i), extent, count });
}

function nameOf({ name, operators }: Cell, i: number): string {
  return `${name}.${i}.${operators[i].op}`;
}
