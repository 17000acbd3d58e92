/** A model of streams whose frames are one node of one cell. */
import type { Cell, Port } from "../graph/cell.ts";
import type { OutputTypes } from "../graph/result.ts";
import type { RowShape } from "../graph/row_layout.ts";
import {
  defineStream,
  type StateSpec,
  type StreamModel,
} from "../graph/stream_model.ts";
import type { Dtype } from "../tensor/tensor.ts";

/**
 * A cell's inputs that no state is are what frames bring, and its outputs that no state comes from what they give.
 * @param states inputs that are states, each with the output that it is in the next frame; zeros in the first
 */
export function cellStream<I extends string, O extends OutputTypes>(
  name: string,
  cell: Cell,
  states: Readonly<Record<string, string>>,
): StreamModel<I, O> {
  const froms = new Set(Object.values(states));
  const isState = ({ name }: Port) => Object.hasOwn(states, name);
  const rows = (ports: readonly Port[]): Record<string, RowShape> =>
    Object.fromEntries(ports.map(({ name, ...row }) => [name, row]));
  const given = rows(cell.inputs.filter(isState));
  const outputs = cell.outputs.filter(({ name }) => !froms.has(name));
  return defineStream<I, O>({
    name,
    cells: [cell],
    inputs: rows(cell.inputs.filter((port) => !isState(port))) as Record<
      I,
      RowShape
    >,
    states: Object.fromEntries(
      Object.entries(states).map(([name, from]): [string, StateSpec] => [
        name,
        { ...given[name], from },
      ]),
    ),
    outputs: Object.fromEntries(
      outputs.map(({ name, dtype }) => [name, dtype as Dtype]),
    ) as O,
    frame(graph, given) {
      const inputs = cell.inputs.map(({ name, width }) =>
        [name, graph.row(given[name], 0, width)] as const
      );
      const node = graph.node(cell, Object.fromEntries(inputs));
      for (const { name } of cell.outputs) {
        graph.result(name, graph.output(node, name));
      }
    },
  });
}
