/**
 * The cell graph of a request as a diagram: a box for each cell, however many nodes of it there are, an arrow for what
 * nodes of one hand to those of another.
 */
import type { Cell } from "../graph/cell.ts";
import { CellGraph, type CellNode } from "../graph/cell_graph.ts";
import type { Model } from "../graph/model.ts";
import { typeOf } from "../graph/result_rows.ts";
import type { Diagram, DiagramArrow, DiagramBox } from "../report/diagram.ts";

/** Steps of a growing graph that are looked at: the second has what each hands to the next. */
const STEPS = 2;

/** A model, and what its boxes say. */
export interface DiagramOf {
  readonly model: Model;
  /** A request: what boxes and arrows count nodes of. */
  readonly request: unknown;
  /** What comes in, such as "x: f32[1, 3]". */
  readonly inputs: readonly string[];
  /** Lines of a cell's box, its name the first, but for the number of its nodes. */
  linesOf(cell: Cell, place: number): readonly string[];
}

/** The diagram of a request. */
export function cellDiagram(
  { model, request, inputs, linesOf }: DiagramOf,
): Diagram {
  const graph = grownGraph(model, request);
  const places = new Map(model.cells.map((cell, i) => [cell, i + 1]));
  const [first, last] = [0, model.cells.length + 1];
  const counts = new Map<Cell, number>();
  const arrows = new Arrows();
  for (const node of graph.nodes) {
    counts.set(node.cell, (counts.get(node.cell) ?? 0) + 1);
    const to = places.get(node.cell)!;
    node.inputs.forEach((source, i) => {
      const { name } = node.cell.inputs[i];
      if (source.kind === "input") {
        arrows.add(first, to, typeOf(node.cell.inputs[i]));
      } else if (source.kind === "node") {
        const { cell } = source.node;
        const port = cell.outputs[source.port];
        const one = source.token === undefined ? "" : ", one position";
        arrows.add(
          places.get(cell)!,
          to,
          `${port.name} to ${name}: ${typeOf(port)}${one}`,
        );
      }
    });
    for (const before of cacheWriters(node)) {
      arrows.add(places.get(before.cell)!, to, "caches", true);
    }
  }
  for (const [name, { sources, port }] of graph.results) {
    const text = `${name}: ${typeOf(port)}`;
    for (const { node } of sources) {
      arrows.add(places.get(node.cell)!, last, text);
    }
  }
  const box = (cell: Cell, place: number): DiagramBox => {
    const { tokensMax, phase, stop } = cell;
    const isStep = phase === "decoder" || stop !== undefined;
    const isPosition = tokensMax !== undefined || phase === "encoder";
    const count = counts.get(cell) ?? 0;
    return {
      kind: isStep ? "step" : isPosition ? "positions" : "static",
      lines: [
        ...linesOf(cell, place),
        isStep
          ? "a node for each step"
          : `${count} ${count === 1 ? "node" : "nodes"} a request`,
      ],
    };
  };
  return {
    title: model.name,
    boxes: [
      { kind: "end", lines: ["request", ...inputs] },
      ...model.cells.map(box),
      { kind: "end", lines: ["results", ...graph.results.keys()] },
    ],
    arrows: arrows.all(),
  };
}

/** A request's graph, with the first steps that it grows by. */
function grownGraph(model: Model, request: unknown): CellGraph {
  const graph = new CellGraph(model);
  model.unfold(request, graph);
  graph.seal();
  for (let step = 1; step < Math.min(STEPS, graph.stepsMax); step++) {
    const last = graph.nodes[graph.nodes.length - 1];
    graph.growing(() => model.grow!(last, graph));
  }
  return graph;
}

/** Nodes that it follows for what they appended to caches that it looks at. */
function cacheWriters({ predecessors, caches }: CellNode): CellNode[] {
  return predecessors.filter((before) =>
    before.caches.some(({ cache }, i) =>
      before.cell.caches[i].appends &&
      caches.some((use) => use.cache === cache)
    )
  );
}

/** Arrows, those of the same two boxes as one. */
class Arrows {
  readonly #arrows = new Map<string, DiagramArrow & { lines: string[] }>();

  add(from: number, to: number, text: string, dashed = false): void {
    const key = `${from} ${to} ${dashed}`;
    let arrow = this.#arrows.get(key);
    if (arrow === undefined) {
      arrow = { from, to, lines: [], ...(dashed && { dashed }) };
      this.#arrows.set(key, arrow);
    }
    if (!arrow.lines.includes(text)) arrow.lines.push(text);
  }

  all(): DiagramArrow[] {
    return [...this.#arrows.values()].sort((a, b) =>
      a.from - b.from || a.to - b.to
    );
  }
}
