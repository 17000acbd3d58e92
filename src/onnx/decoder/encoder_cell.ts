/** What is computed once of every position that an encoder saw: a ragged cell that appends to caches. */
import type { Cache, CacheSpec } from "../../graph/cache.ts";
import type { CellGraph, CellNode } from "../../graph/cell_graph.ts";
import { elementCount, type TensorData } from "../../tensor/tensor.ts";
import {
  elementsOf,
  type InputSpec,
  lengthOf,
  type OnnxInput,
} from "../input_tensors.ts";
import {
  dtypeOf,
  type LoweredGraph,
  lowerGraph,
} from "../lower/lower_graph.ts";
import { type Place, quoted } from "../place.ts";
import { type DecoderStep, livingNodes } from "./decoder_step.ts";

export class EncoderCell {
  readonly lowered: LoweredGraph;
  /** What a request brings of the encoder. */
  readonly inputs: readonly InputSpec[];

  /** @param caches that it appends to */
  constructor(
    name: string,
    { graph, known, inputs, name: size, most }: NonNullable<
      DecoderStep["encoder"]
    >,
    caches: readonly CacheSpec[],
    place: Place,
  ) {
    this.lowered = lowerGraph(
      { ...graph, nodes: livingNodes(graph.nodes, []) },
      known,
      name,
      place,
      { caches, tokensMax: most },
    );
    this.inputs = this.lowered.inputs.map((at) => {
      const { name, axis } = inputs[at];
      const { type, dims } = known.get(name)!;
      const dtype = dtypeOf(type) ??
        place.fail(`${quoted(name)} is ${type}, of which there are no rows`);
      const shape = dims.with(axis, most);
      return { name, dtype, shape, free: { axis, name: size } };
    });
  }

  /** Positions that a checked request brings. */
  length(given: OnnxInput): number {
    return lengthOf(this.inputs, given);
  }

  /** Appends its node to the graph of a request: a row for each position. */
  append(
    graph: CellGraph,
    given: OnnxInput,
    caches: readonly Cache<CellNode>[],
  ): void {
    const { cell } = this.lowered;
    const length = this.length(given);
    const rows = cell.inputs.map(({ name }, i) => {
      const spec = this.inputs[i];
      const rows = rowsOf(spec, elementsOf(given[spec.name]));
      const width = rows.length / length;
      return [name, graph.row(graph.data(rows), 0, width)] as const;
    });
    graph.node(cell, Object.fromEntries(rows), {
      length,
      caches: Object.fromEntries(
        caches.map((cache, i) => [`cache${i}`, cache]),
      ),
    });
  }
}

/** What a request has along a free axis, position by position. */
function rowsOf({ shape, free }: InputSpec, data: TensorData): TensorData {
  const { axis } = free!;
  const inner = elementCount(shape.slice(axis + 1));
  const outer = elementCount(shape.slice(0, axis));
  if (outer === 1) return data;
  const length = data.length / (inner * outer);
  const rows = data.slice();
  for (let at = 0; at < outer; at++) {
    for (let position = 0; position < length; position++) {
      const from = (at * length + position) * inner;
      const to = (position * outer + at) * inner;
      rows.set(data.subarray(from, from + inner) as never, to);
    }
  }
  return rows;
}
