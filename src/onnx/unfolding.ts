/** A request as a graph of cells: every part once, of every recurrent layer a step for each position and direction. */
import type {
  CellGraph,
  CellNode,
  NodeOutput,
  Source,
} from "../graph/cell_graph.ts";
import type { PartSource } from "../graph/cut_cell.ts";
import type { InputData } from "../graph/input_data.ts";
import { elementCount } from "../tensor/tensor.ts";
import type { Model } from "../graph/model.ts";
import { elementsOf, type InputSpec, type OnnxInput } from "./input_tensors.ts";
import type { LoweredGraph } from "./lower/lower_graph.ts";
import type { Schedule, Stop } from "./schedule.ts";
import type { StateSource, StepGraph, StepSource } from "./step_graph.ts";

/** What a request brings and gets. */
export interface Specs {
  readonly inputs: readonly InputSpec[];
  readonly results: readonly InputSpec[];
}

/** Data of an input, by its name; asked for once, when a node first reads of it. */
export type Bring = (name: string) => InputData;

/** Requests that bring their inputs: see Model. */
export function requests(
  unfold: (bring: Bring, graph: CellGraph) => void,
): Required<Pick<Model<OnnxInput>, "unfold" | "brings">> {
  /** Names of the data of a graph; undefined: constants. The same for all graphs. */
  let names: readonly (string | undefined)[] = [];
  return {
    unfold(input, graph) {
      const brought: string[] = [];
      unfold((name) => {
        brought[graph.inputs.length] = name;
        return graph.data(elementsOf(input[name]));
      }, graph);
      names = graph.inputs.map((_, i) => brought[i]);
    },
    // Not from one that was given up on the way: it has no graph to be used again.
    brings: (input) =>
      names.map((name) =>
        name === undefined ? undefined : elementsOf(input[name])
      ),
  };
}

/** Unfolds requests. */
export function unfolding(
  steps: StepGraph,
  lowered: LoweredGraph,
  schedule: Schedule,
  specs: Specs,
): (bring: Bring, graph: CellGraph) => void {
  return (bring, graph) => {
    const request = new Unfolding(
      steps,
      lowered,
      schedule,
      specs,
      bring,
      graph,
    );
    for (const stop of schedule.stops) {
      if (stop.kind === "part") request.part(stop);
      else request.layer(stop);
    }
    schedule.results.forEach((source, i) =>
      graph.result(specs.results[i].name, request.output(source))
    );
  };
}

class Unfolding {
  readonly #data = new Map<string, InputData>();
  readonly #parts: CellNode[] = [];
  /** By layer, direction and position. */
  readonly #steps: CellNode[][][] = [];

  constructor(
    readonly steps: StepGraph,
    readonly lowered: LoweredGraph,
    readonly schedule: Schedule,
    readonly specs: Specs,
    readonly bring: Bring,
    readonly graph: CellGraph,
  ) {}

  part({ at, part: { cell, inputs } }: Extract<Stop, { kind: "part" }>): void {
    this.#parts[at] = this.graph.node(
      cell,
      Object.fromEntries(
        inputs.map((source, i) => [
          cell.inputs[i].name,
          source.part < 0 ? this.#given(source.port) : this.output(source),
        ]),
      ),
    );
  }

  layer({ at, layer, cells }: Extract<Stop, { kind: "layer" }>): void {
    const { x, initial, steps: { positions, states, directions } } = layer;
    this.#steps[at] = [];
    directions.forEach(({ isReverse }, direction) => {
      const made: CellNode[] = this.#steps[at][direction] = [];
      let before: CellNode | undefined;
      for (let i = 0; i < positions; i++) {
        const position = isReverse ? positions - 1 - i : i;
        const inputs: Record<string, Source> = {};
        for (const [port, source] of Object.entries(x[position])) {
          inputs[port] = this.#source(source);
        }
        states.forEach(({ reads, makes }, place) => {
          inputs[reads] = before
            ? this.graph.output(before, makes)
            : this.#source(initial[direction][place]);
        });
        before = made[position] = this.graph.node(cells[direction], inputs);
      }
    });
  }

  /** An output of a part. */
  output({ part, port }: PartSource): NodeOutput {
    return { kind: "node", node: this.#parts[part], port };
  }

  /** An input of the rest, by its place among the whole cell's. */
  #given(port: number): Source {
    const place = this.lowered.inputs[port];
    const { inputs } = this.specs;
    if (place < inputs.length) {
      const { name, shape } = inputs[place];
      return this.#row(name, 0, elementCount(shape));
    }
    const { name } = this.steps.graph.inputs[place];
    return this.#state(this.steps.states.get(name)!);
  }

  #source(source: StepSource): Source {
    switch (source.kind) {
      case "input":
        return this.#row(source.name, source.index, source.width);
      case "constant": {
        const { data } = source;
        return this.graph.row(this.graph.data(data), 0, data.length);
      }
      case "zeros":
        return this.graph.zeros(source.width);
      case "state":
        return this.#state(source);
      case "rest": {
        const found = this.schedule.rest.get(source.name)!;
        return found.part < 0 ? this.#given(found.port) : this.output(found);
      }
    }
  }

  #state({ layer, direction, position, output }: StateSource): NodeOutput {
    return this.graph.output(this.#steps[layer][direction][position], output);
  }

  #row(name: string, index: number, width: number): Source {
    let data = this.#data.get(name);
    if (data === undefined) {
      data = this.bring(name);
      this.#data.set(name, data);
    }
    return this.graph.row(data, index, width);
  }
}
