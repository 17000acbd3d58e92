/**
 * What a request's cells are, in the order in which it passes through them: parts of what is left of a graph without
 * its recurrent layers, and those layers' steps between them.
 */
import type { Cell } from "../graph/cell.ts";
import { type CellPart, cutCell, type PartSource } from "../graph/cut_cell.ts";
import type { Operator, OperatorName } from "../graph/operator.ts";
import type { OnnxNode } from "./ir.ts";
import type { LoweredGraph } from "./lower/lower_graph.ts";
import {
  sourcesOf,
  type StepGraph,
  type StepLayer,
  type StepSource,
} from "./step_graph.ts";

/** A part, by its place among the parts, or a layer with a cell for each direction. */
export type Stop =
  | { readonly kind: "part"; readonly at: number; readonly part: CellPart }
  | {
    readonly kind: "layer";
    readonly at: number;
    readonly layer: StepLayer;
    readonly cells: readonly Cell[];
  };

/** Cells in their order. */
export interface Schedule {
  readonly cells: readonly Cell[];
  readonly stops: readonly Stop[];
  /** Where each of the model's outputs comes from. */
  readonly results: readonly PartSource[];
  /** Where steps find outputs of the rest: a part's output, or an input of the rest (part -1). */
  readonly rest: ReadonlyMap<string, PartSource>;
}

/** How parts are cut and called. */
export interface Cuts {
  /** Operators that parts begin with, besides where a layer's states come in. */
  startsOf(cell: Cell): readonly number[];
  /** Name of the part of operators [from, to), which came from these nodes. */
  nameOf(
    nodes: readonly (OnnxNode | undefined)[],
    from: number,
    to: number,
  ): string;
}

/** Operators that only put elements elsewhere. */
const MOVES: ReadonlySet<OperatorName> = new Set([
  ...(["Concat", "Slice", "Reshape", "Transpose", "Constant"] as const),
]);

/** @param results how many of the graph's outputs are the model's */
export function scheduleOf(
  name: string,
  steps: StepGraph,
  lowered: LoweredGraph,
  results: number,
  cuts: Cuts,
): Schedule {
  const { layers } = steps;
  const stages = new Stages(steps, lowered);
  const { operators, nodes } = stages.sorted();
  const whole = { ...lowered.cell, operators };
  const wanted = whole.results.map((_, place) => place).filter((place) =>
    place < results || stages.results[place].input === undefined
  );
  const cell: Cell = {
    ...whole,
    outputs: wanted.map((i) => whole.outputs[i]),
    results: wanted.map((i) => whole.results[i]),
  };
  const stageAt = (at: number) =>
    at < operators.length ? stages.of(operators[at]) : Infinity;
  const opens = operators.map((_, at) => at).filter((at) =>
    at > 0 && stageAt(at - 1) < stageAt(at)
  );
  // Putting positions together is no layer by itself.
  const starts = new Set(
    cuts.startsOf(cell).filter((at) => {
      const from = opens.findLast((open) => open < at) ?? 0;
      return stageAt(at) === 0 ||
        !operators.slice(from, at).every(({ op }) => MOVES.has(op));
    }),
  );
  for (const at of opens) starts.add(at);
  // What is a state or an input as it is comes last, behind all layers.
  const lastLayer = Math.max(-1, ...stages.layers);
  const last = operators.length === 0 ? 0 : stageAt(operators.length - 1);
  if (last <= lastLayer) starts.add(operators.length);
  const stageOfPart: number[] = [];
  const cut = cutCell(cell, [...starts].sort((a, b) => a - b), (from, to) => {
    stageOfPart.push(stageAt(from));
    return cuts.nameOf(nodes, from, to);
  });

  const stops: (Stop & { stage: number })[] = [
    ...cut.parts.map((part, at) => ({
      kind: "part" as const,
      at,
      part,
      stage: stageOfPart[at],
    })),
    ...layers.map((layer, at) => ({
      kind: "layer" as const,
      at,
      layer,
      cells: layer.steps.cells(name),
      stage: stages.layers[at],
    })),
  ];
  stops.sort((a, b) => a.stage < b.stage ? -1 : a.stage > b.stage ? 1 : 0);
  let priority = 0;
  const placed = stops.map((stop): Stop => {
    const own = (cell: Cell): Cell => ({ ...cell, priority: priority++ });
    return stop.kind === "part"
      ? { ...stop, part: { ...stop.part, cell: own(stop.part.cell) } }
      : { ...stop, cells: stop.cells.map(own) };
  });
  const rest = new Map(stages.results.map(({ name, input }, place) => [
    name,
    input === undefined
      ? cut.results[wanted.indexOf(place)]
      : { part: -1, port: input },
  ]));
  return {
    cells: placed.flatMap((stop) =>
      stop.kind === "part" ? [stop.part.cell] : stop.cells
    ),
    stops: placed,
    results: cut.results.slice(0, results),
    rest,
  };
}

/** How many layers, one behind the other, a value is behind. */
class Stages {
  /** Of what a layer reads. */
  readonly layers: number[];
  /** Outputs of the rest, with the cell's input where one is an input as it is. */
  readonly results: readonly { name: string; input: number | undefined }[];
  readonly #stages = new Map<number, number>();

  constructor(readonly steps: StepGraph, readonly lowered: LoweredGraph) {
    const { layers, graph } = steps;
    const { cell } = lowered;
    this.layers = layers.map(() => 0);
    const views = new Map<number, Operator>();
    for (const operator of cell.operators) {
      if (operator.op === "Reshape") {
        views.set(operator.outputs[0].id, operator);
      }
    }
    this.results = graph.outputs.map(({ name }, place) => {
      let { id } = cell.results[place];
      for (let view = views.get(id); view; view = views.get(id)) {
        id = view.inputs[0].id;
      }
      return { name, input: id < cell.inputs.length ? id : undefined };
    });
    const places = new Map(this.results.map(({ name }, i) => [name, i]));
    const ofSource = (source: StepSource): number => {
      if (source.kind === "state") return this.layers[source.layer] + 1;
      if (source.kind !== "rest") return 0;
      return this.#stages.get(cell.results[places.get(source.name)!].id)!;
    };
    // A stage is one more than those before it: as often as there are layers, and once more.
    let isSettled = false;
    while (!isSettled) {
      this.#pass();
      isSettled = true;
      layers.forEach((layer, i) => {
        const stage = sourcesOf(layer).reduce(
          (most, source) => Math.max(most, ofSource(source)),
          0,
        );
        if (stage !== this.layers[i]) isSettled = false;
        this.layers[i] = stage;
      });
    }
  }

  /** Of all values, as far as those of layers are known. */
  #pass(): void {
    const { steps, lowered: { cell, inputs } } = this;
    inputs.forEach((place, id) => {
      const state = steps.states.get(steps.graph.inputs[place].name);
      this.#stages.set(id, state ? this.layers[state.layer] + 1 : 0);
    });
    for (const { inputs, outputs } of cell.operators) {
      const stage = inputs.reduce(
        (most, { id }) => Math.max(most, this.#stages.get(id)!),
        0,
      );
      for (const { id } of outputs) this.#stages.set(id, stage);
    }
  }

  of({ outputs: [{ id }] }: Operator): number {
    return this.#stages.get(id)!;
  }

  /** Operators with the nodes that they are from, stage after stage. */
  sorted(): {
    operators: Operator[];
    nodes: (OnnxNode | undefined)[];
  } {
    const { cell: { operators }, nodes } = this.lowered;
    const order = operators.map((operator, at) => ({
      operator,
      node: nodes[at],
    })).sort((a, b) => this.of(a.operator) - this.of(b.operator));
    return {
      operators: order.map(({ operator }) => operator),
      nodes: order.map(({ node }) => node),
    };
  }
}
