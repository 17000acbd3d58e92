/** A user-defined model whose cell fails at run time on certain rows. */
import type { Cell } from "../../src/graph/cell.ts";
import { defineCell, f32 } from "../../src/graph/cell_builder.ts";
import type { Model } from "../../src/graph/model.ts";
import { seededWeights } from "../../src/tensor/weights.ts";

const weights = seededWeights(7);

/** A step that fails on rows whose largest element is the last: that row of the table is missing. */
export const fragile: Cell = defineCell({
  name: "fragile",
  recurrent: true,
  inputs: { x: f32(4), h: f32(3) },
  body: (op, { x, h }) => {
    const table = weights("table", [3, 5], 5);
    const row = op.Gather(table, op.ArgMax(x));
    const w = weights("w", [3, 8], 8);
    return { h: op.Tanh(op.Gemm(op.Concat(row, h), w)) };
  },
});

/** An `x` that fails, or one of many that do not. */
export function fragileRow(fails: boolean, i: number): number[] {
  return fails ? [0, 0, 0, 1] : [1 + i % 3, i % 4, 0.5, 0.25];
}

/** A chain of fragile steps, one per row; its result is the last state. */
export const fragileChain: Model<number[][]> = {
  name: "fragile chain",
  cells: [fragile],
  shape: "chain",
  check() {},
  unfold(xs, graph) {
    const rows = graph.rows(xs.flat());
    let h = graph.zeros(3);
    xs.forEach((_, t) => {
      const node = graph.node(fragile, { x: graph.row(rows, t, 4), h });
      h = graph.output(node, "h");
      if (t === xs.length - 1) graph.result("h", graph.output(node, "h"));
    });
  },
};
