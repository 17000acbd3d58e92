/** A file as one cell, to be a part of another. */
import type { Cell } from "../graph/cell.ts";
import type { LoweredGraph } from "./lower/lower_graph.ts";
import { type Place, quoted } from "./place.ts";
import type { StepGraph } from "./step_graph.ts";

/**
 * The cell that a graph was lowered to, ports named as in the file.
 * @throws OnnxError when layers were taken out of it, whose steps are cells of their own
 */
export function wholeCell(
  { graph, layers }: StepGraph,
  { cell, inputs }: LoweredGraph,
  place: Place,
): Cell {
  const [layer] = layers;
  if (layer) {
    place.node(layer.node).fail(
      `its steps are cells of their own; load ${
        quoted(cell.name)
      } with cells: "model"`,
    );
  }
  return {
    ...cell,
    inputs: cell.inputs.map((port, i) => ({
      ...port,
      name: graph.inputs[inputs[i]].name,
    })),
    outputs: cell.outputs.map((port, i) => ({
      ...port,
      name: graph.outputs[i].name,
    })),
  };
}
