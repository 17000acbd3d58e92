/**
 * Recurrent layers taken out of a graph: what is left computes what their steps read and what is made of their states;
 * the steps are cells of their own, one node for every position (Cellular Batching, sections 2.1 and 3.1).
 */
import { plainOf, type PlainTensor } from "../tensor/plain_tensor.ts";
import { elementCount } from "../tensor/tensor.ts";
import {
  attributeOf,
  type OnnxAttribute,
  type OnnxGraph,
  type OnnxNode,
} from "./ir.ts";
import type { KnownValue } from "./known_value.ts";
import { type Recurrence, recurrenceOf } from "./lower/recurrence.ts";
import { type Place, quoted } from "./place.ts";

/** Where a row that a step reads comes from. */
export type StepSource =
  /** Row `index` of an input of the request. */
  | {
    readonly kind: "input";
    readonly name: string;
    readonly index: number;
    readonly width: number;
  }
  | { readonly kind: "constant"; readonly data: Float32Array }
  | { readonly kind: "zeros"; readonly width: number }
  | StateSource
  /** A value of what is left of the graph. */
  | { readonly kind: "rest"; readonly name: string };

/** The state of a layer behind one of its positions. */
export interface StateSource {
  readonly kind: "state";
  readonly layer: number;
  readonly direction: number;
  readonly position: number;
  readonly state: "h" | "c";
}

/** A recurrent layer. */
export interface StepLayer {
  readonly node: OnnxNode;
  readonly recurrence: Recurrence;
  /** By position: what lies one after the other in a step's input. */
  readonly x: readonly (readonly StepSource[])[];
  /** By direction, in the order of the recurrence's states. */
  readonly initial: readonly (readonly StepSource[])[];
}

/** A graph without its recurrent layers. */
export interface StepGraph {
  /** Behind the inputs of the whole stand those that are states; behind its outputs what steps read. */
  readonly graph: OnnxGraph;
  readonly known: ReadonlyMap<string, KnownValue>;
  readonly layers: readonly StepLayer[];
  /** Inputs that are states, by name. */
  readonly states: ReadonlyMap<string, StateSource>;
}

/** Longer sequences stay one operator: each position is an output of the cell before, and an input of that behind. */
const POSITIONS_MAX = 256;

/** Layers and steps of a request; what is more stays in the graph. */
const LAYERS_MAX = 256;
const STEPS_MAX = 2 ** 14;

/**
 * Takes recurrent layers of two positions and more out.
 * @param known type and dims of every value, and which are constant
 * @param whole leave all of them in
 * @throws OnnxError naming the node whose sizes do not fit
 */
export function stepGraph(
  graph: OnnxGraph,
  known: ReadonlyMap<string, KnownValue>,
  place: Place,
  whole: boolean,
): StepGraph {
  if (whole) return { graph, known, layers: [], states: new Map() };
  return new LayerRemoval(graph, known, place).run();
}

/** Operators that leave elements where they are. */
const VIEWS: ReadonlySet<string> = new Set([
  "Reshape",
  "Squeeze",
  "Unsqueeze",
  "Flatten",
  "Identity",
]);

class LayerRemoval {
  readonly #known: Map<string, KnownValue>;
  readonly #producers = new Map<string, OnnxNode>();
  readonly #inputs: ReadonlySet<string>;
  readonly #nodes: OnnxNode[] = [];
  readonly #layers: StepLayer[] = [];
  readonly #states = new Map<string, StateSource>();
  readonly #layerOf = new Map<OnnxNode, number>();
  #steps = 0;

  constructor(
    readonly graph: OnnxGraph,
    known: ReadonlyMap<string, KnownValue>,
    readonly place: Place,
  ) {
    this.#known = new Map(known);
    this.#inputs = new Set(graph.inputs.map(({ name }) => name));
  }

  run(): StepGraph {
    const { graph } = this;
    for (const node of graph.nodes) {
      const found = this.#taken(node);
      if (found) this.#take(node, found);
      else this.#nodes.push(node);
      for (const output of node.outputs) this.#producers.set(output, node);
    }
    const read = this.#layers.flatMap(({ x, initial }) =>
      [...x, ...initial].flat().flatMap((source) =>
        source.kind === "rest" ? [source.name] : []
      )
    );
    const info = (name: string) => ({ name, ...this.#known.get(name)! });
    const own = new Set(graph.outputs.map(({ name }) => name));
    const outputs = [
      ...graph.outputs,
      ...[...new Set(read)].filter((name) => !own.has(name)).map(info),
    ];
    return {
      graph: {
        ...graph,
        inputs: [...graph.inputs, ...[...this.#states.keys()].map(info)],
        outputs,
        nodes: readNodes(this.#nodes, outputs.map(({ name }) => name)),
      },
      known: this.#known,
      layers: this.#layers,
      states: this.#states,
    };
  }

  #taken(node: OnnxNode): Recurrence | undefined {
    const at = this.place.node(node);
    let found: Recurrence | undefined;
    try {
      found = recurrenceOf(
        node,
        (name) =>
          this.#known.get(name) ?? at.fail(`there is no ${quoted(name)}`),
      );
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      return at.fail(error.message);
    }
    if (found === undefined) return undefined;
    const { positions, directions } = found;
    const steps = positions * directions.length;
    const isTaken = positions > 1 && positions <= POSITIONS_MAX &&
      this.#layers.length < LAYERS_MAX && this.#steps + steps <= STEPS_MAX &&
      this.#known.get(node.inputs[0])!.constant === undefined;
    if (!isTaken) return undefined;
    this.#steps += steps;
    return found;
  }

  #take(node: OnnxNode, recurrence: Recurrence): void {
    const layer = this.#layers.length;
    const { states, directions } = recurrence;
    this.#layerOf.set(node, layer);
    this.#layers.push({
      node,
      recurrence,
      x: this.#positions(node, recurrence),
      initial: this.#initial(node, recurrence),
    });
    this.#joinPositions(node, layer, recurrence);
    states.forEach((state, i) => {
      const name = node.outputs[i + 1] ?? "";
      if (name === "") return;
      const shape = [1, 1, recurrence.hidden];
      const pieces = directions.map((_, direction) =>
        this.#state(
          directions.length === 1 ? name : this.#fresh(name),
          shape,
          lastOf(layer, recurrence, direction, state),
        )
      );
      if (pieces.length > 1) this.#add("Concat", pieces, [name], { axis: 0 });
    });
  }

  /** What steps read besides states. */
  #positions(
    { inputs: [x] }: OnnxNode,
    { positions, width }: Recurrence,
  ): StepSource[][] {
    const each = (of: (position: number) => StepSource[]) =>
      Array.from({ length: positions }, (_, position) => of(position));
    const origin = this.#origin(x);
    if (this.#inputs.has(origin)) {
      return each((index) => [{ kind: "input", name: origin, index, width }]);
    }
    const producer = this.#producers.get(origin);
    const layer = producer && this.#layerOf.get(producer);
    if (layer !== undefined && origin === producer!.outputs[0]) {
      const below = this.#layers[layer].recurrence;
      if (below.positions === positions) {
        return each((position) =>
          below.directions.map((_, direction) => ({
            kind: "state",
            layer,
            direction,
            position,
            state: "h",
          }))
        );
      }
    }
    return this.#split(x, positions).map((name) => [{ kind: "rest", name }]);
  }

  #initial(node: OnnxNode, recurrence: Recurrence): StepSource[][] {
    const { hidden, states, directions } = recurrence;
    const ofStates = states.map((_, i): StepSource[] => {
      const name = node.inputs[5 + i] ?? "";
      const each = (of: (direction: number) => StepSource) =>
        directions.map((_, direction) => of(direction));
      if (name === "") return each(() => ({ kind: "zeros", width: hidden }));
      const { constant } = this.#known.get(name)!;
      if (constant) return each((d) => constantRow(constant, d, hidden));
      const origin = this.#origin(name);
      if (this.#inputs.has(origin)) {
        return each((index) => ({
          kind: "input",
          name: origin,
          index,
          width: hidden,
        }));
      }
      const producer = this.#producers.get(origin);
      const layer = producer && this.#layerOf.get(producer);
      const at = producer ? producer.outputs.indexOf(origin) : -1;
      if (layer !== undefined && at > 0) {
        const below = this.#layers[layer].recurrence;
        if (below.directions.length === directions.length) {
          return each((d) => lastOf(layer, below, d, below.states[at - 1]));
        }
      }
      return this.#split(name, directions.length).map((piece) => ({
        kind: "rest",
        name: piece,
      }));
    });
    return directions.map((_, d) => ofStates.map((sources) => sources[d]));
  }

  /** The states of all positions, [positions][directions][1][hidden]. */
  #joinPositions(
    { outputs: [name] }: OnnxNode,
    layer: number,
    { positions, directions, hidden }: Recurrence,
  ): void {
    if (name === "") return;
    const pieces = Array.from(
      { length: positions },
      (_, position) =>
        directions.map((_, direction) =>
          this.#state(this.#fresh(name), [1, 1, 1, hidden], {
            kind: "state",
            layer,
            direction,
            position,
            state: "h",
          })
        ),
    ).flat();
    if (directions.length === 1) {
      this.#add("Concat", pieces, [name], { axis: 0 });
      return;
    }
    const stack = this.#fresh(name);
    const dims = [pieces.length, 1, 1, hidden];
    this.#known.set(stack, { type: "float32", dims });
    this.#add("Concat", pieces, [stack], { axis: 0 });
    const shape = this.#fresh(name);
    const to = [positions, directions.length, 1, hidden];
    const constant = plainOf("int64", [to.length], to);
    this.#known.set(shape, { ...constant, constant });
    this.#add("Reshape", [stack, shape], [name]);
  }

  /** An input of what is left that is a state. */
  #state(name: string, dims: readonly number[], source: StateSource): string {
    this.#known.set(name, { type: "float32", dims });
    this.#states.set(name, source);
    return name;
  }

  /** Pieces of one element along the first axis. */
  #split(name: string, count: number): string[] {
    if (count === 1) return [name];
    const { type, dims } = this.#known.get(name)!;
    const pieces = Array.from({ length: count }, () => {
      const piece = this.#fresh(name);
      this.#known.set(piece, { type, dims: dims.with(0, 1) });
      return piece;
    });
    this.#add("Split", [name], pieces, { axis: 0 });
    return pieces;
  }

  #add(
    op: string,
    inputs: readonly string[],
    outputs: readonly string[],
    ints: Readonly<Record<string, number>> = {},
  ): void {
    const attributes = Object.entries(ints).map(([name, value]) =>
      [name, { kind: "int", value } satisfies OnnxAttribute] as const
    );
    this.#nodes.push({
      name: outputs[0],
      op,
      domain: "",
      version: 13,
      inputs,
      outputs,
      attributes: new Map(attributes),
    });
  }

  #fresh(name: string): string {
    let i = this.#known.size;
    while (this.#known.has(`${name}#${i}`)) i++;
    // Taken from here on.
    this.#known.set(`${name}#${i}`, this.#known.get(name)!);
    return `${name}#${i}`;
  }

  /** The value whose elements, in their order, a value is. */
  #origin(name: string): string {
    let origin = name;
    for (;;) {
      const producer = this.#producers.get(origin);
      if (!producer || !this.#isView(producer)) return origin;
      origin = producer.inputs[0];
    }
  }

  #isView(node: OnnxNode): boolean {
    if (node.domain !== "") return false;
    if (node.op !== "Transpose") return VIEWS.has(node.op);
    const { dims } = this.#known.get(node.inputs[0])!;
    const perm = attributeOf(node, "perm", "ints") ??
      dims.map((_, i) => dims.length - 1 - i);
    const kept = perm.filter((axis) => dims[axis] !== 1);
    return kept.every((axis, i) => i === 0 || kept[i - 1] < axis);
  }
}

function lastOf(
  layer: number,
  { positions, directions }: Recurrence,
  direction: number,
  state: "h" | "c",
): StateSource {
  const position = directions[direction].isReverse ? 0 : positions - 1;
  return { kind: "state", layer, direction, position, state };
}

function constantRow(
  { data, dims }: PlainTensor,
  index: number,
  width: number,
): StepSource {
  const size = elementCount(dims.slice(1));
  const row = (data as Float32Array).slice(index * size, (index + 1) * size);
  return row.every((value) => value === 0)
    ? { kind: "zeros", width }
    : { kind: "constant", data: row };
}

/** Nodes that somebody reads. */
function readNodes(
  nodes: readonly OnnxNode[],
  outputs: readonly string[],
): OnnxNode[] {
  const read = new Set(outputs);
  return nodes.toReversed().filter((node) => {
    if (!node.outputs.some((name) => name !== "" && read.has(name))) {
      return false;
    }
    for (const name of node.inputs) read.add(name);
    return true;
  }).toReversed();
}
