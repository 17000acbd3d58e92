import { defineCell, f32 } from "../../src/graph/cell_builder.ts";
import type { Cell } from "../../src/graph/cell.ts";
import type { Model } from "../../src/graph/model.ts";

/** A chain of cells without weights, one per layer: what a simulation needs of a network whose costs it has. */
export function layerModel(
  name: string,
  layers: readonly string[],
): Model<unknown> {
  const cells = layers.map((layer) =>
    defineCell({
      name: layer,
      inputs: { x: f32(1) },
      body: (op, { x }) => ({ y: op.Tanh(x) }),
    })
  );
  return {
    name,
    cells,
    shape: "chain",
    check: (_input): asserts _input is unknown => {},
    unfold(_input, graph) {
      let x = graph.row(graph.rows([0]), 0, 1);
      for (const cell of cells) x = graph.output(graph.node(cell, { x }), "y");
    },
  };
}

/**
 * A network of one node per cell, as a chain whose requests bring no image: a simulation has no use for 600
 * KB of them each.
 */
export interface Imageless {
  readonly model: Model<unknown>;
  /** The network's cell that one of the chain stands for: its costs are the chain's. */
  cellOf(cell: Cell): Cell;
}

export function withoutImages({ name, cells }: Model): Imageless {
  const model = layerModel(name, cells.map(({ name }) => name));
  const original = new Map(model.cells.map((cell, i) => [cell, cells[i]]));
  return { model, cellOf: (cell) => original.get(cell)! };
}
