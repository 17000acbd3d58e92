/**
 * Recurrent layers and loops taken out of a graph: what is left computes what their steps read and what is made of
 * their states; the steps are cells of their own, one node for every position (Cellular Batching, sections 2.1 and
 * 3.1).
 */
import { plainOf, type PlainTensor } from "../tensor/plain_tensor.ts";
import { elementCount, type TensorData } from "../tensor/tensor.ts";
import {
  attributeOf,
  type OnnxAttribute,
  type OnnxGraph,
  type OnnxNode,
} from "./ir.ts";
import type { KnownValue } from "./known_value.ts";
import type { Recurrence } from "./lower/recurrence.ts";
import { recurrenceOf } from "./lower/recurrences.ts";
import { type LoopBody, loopBody } from "./loop_body.ts";
import { type Place, quoted } from "./place.ts";
import { readNames } from "./names.ts";
import { loopSteps, recurrentSteps, type StepCells } from "./step_cells.ts";

/** Where a row that a step reads comes from. */
export type StepSource =
  /** Row `index` of an input of the request. */
  | {
    readonly kind: "input";
    readonly name: string;
    readonly index: number;
    readonly width: number;
  }
  | { readonly kind: "constant"; readonly data: TensorData }
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
  /** Output of the step's cell. */
  readonly output: string;
}

/** A recurrent layer, or a loop. */
export interface StepLayer {
  readonly node: OnnxNode;
  readonly steps: StepCells;
  /** By position: what a step's inputs read, besides states. */
  readonly x: readonly Readonly<Record<string, StepSource>>[];
  /** By direction, in the order of the states. */
  readonly initial: readonly (readonly StepSource[])[];
}

/** All that the steps of a layer read from elsewhere. */
export function sourcesOf({ x, initial }: StepLayer): StepSource[] {
  return [...x.flatMap((ports) => Object.values(ports)), ...initial.flat()];
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

/** Layers, loops and their steps of a request; what is more stays in the graph. */
const LAYERS_MAX = 256;
const STEPS_MAX = 2 ** 14;

/**
 * Takes recurrent layers of two positions and more out, and loops whose rounds are known and alike.
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
  /** Of values that are made of all positions: by position, what lies there one after the other. */
  readonly #stacks = new Map<string, readonly (readonly StateSource[])[]>();
  /** Of values that are last states: by direction. */
  readonly #lasts = new Map<string, readonly StateSource[]>();
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
      if (!this.#take(node)) this.#nodes.push(node);
      for (const output of node.outputs) this.#producers.set(output, node);
    }
    const read = this.#layers.flatMap(sourcesOf).flatMap((source) =>
      source.kind === "rest" ? [source.name] : []
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

  /** @returns whether it is a layer now */
  #take(node: OnnxNode): boolean {
    const recurrence = this.#recurrence(node);
    if (recurrence) {
      const { positions, directions } = recurrence;
      if (!this.#hasRoom(positions, directions.length)) return false;
      this.#takeRecurrent(node, recurrence);
      return true;
    }
    const known = (name: string) => this.#known.get(name);
    const body = loopBody(node, known, this.place);
    if (!body || !this.#hasRoom(body.rounds, 1)) return false;
    this.#takeLoop(node, body);
    return true;
  }

  #hasRoom(positions: number, directions: number): boolean {
    const count = positions * directions;
    const isTaken = positions <= POSITIONS_MAX &&
      this.#layers.length < LAYERS_MAX && this.#steps + count <= STEPS_MAX;
    if (isTaken) this.#steps += count;
    return isTaken;
  }

  /** Of two positions and more. */
  #recurrence(node: OnnxNode): Recurrence | undefined {
    const at = this.place.node(node);
    try {
      const found = recurrenceOf(
        node,
        (name) =>
          this.#known.get(name) ?? at.fail(`there is no ${quoted(name)}`),
      );
      const isTaken = found && found.positions > 1 &&
        this.#known.get(node.inputs[0])!.constant === undefined;
      return isTaken ? found : undefined;
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      return at.fail(error.message);
    }
  }

  #takeRecurrent(node: OnnxNode, recurrence: Recurrence): void {
    const layer = this.#layers.length;
    const sources = this.#slices(node.inputs[0], 0, recurrence.positions);
    const steps = recurrentSteps(node, recurrence, sources[0].length);
    const { states, directions } = steps;
    this.#layers.push({
      node,
      steps,
      x: sources.map((parts) =>
        Object.fromEntries(parts.map((source, i) => [`x${i}`, source]))
      ),
      initial: directions.map((_, direction) =>
        states.map(({ width }, i) =>
          this.#initial(node.inputs[5 + i] ?? "", width, directions.length)[
            direction
          ]
        )
      ),
    });
    this.#joinPositions(node, layer, steps);
    states.forEach(({ width, makes }, i) => {
      const name = node.outputs[i + 1] ?? "";
      if (name === "") return;
      const lasts = directions.map((_, direction) =>
        lastOf(layer, steps, direction, makes)
      );
      this.#lasts.set(name, lasts);
      const pieces = lasts.map((source) =>
        this.#state(
          directions.length === 1 ? name : this.#fresh(name),
          { type: "float32", dims: [1, 1, width] },
          source,
        )
      );
      if (pieces.length > 1) this.#add("Concat", pieces, [name], { axis: 0 });
    });
  }

  #takeLoop(node: OnnxNode, body: LoopBody): void {
    const { rounds, graph, known, inputs, results } = body;
    const steps = loopSteps(node, body, this.place);
    const layer = this.#layers.length;
    const x = Array.from(
      { length: rounds },
      (): Record<string, StepSource> => ({}),
    );
    const read = new Set([
      ...graph.nodes.flatMap(readNames),
      ...graph.outputs.map(({ name }) => name),
    ]);
    const initial: StepSource[] = [];
    inputs.forEach((input, place) => {
      if (!read.has(graph.inputs[place].name)) return;
      const port = `x${place}`;
      const sources = ((): StepSource[] => {
        switch (input.kind) {
          case "state":
            initial.push(this.#whole(input.initial));
            return [];
          case "captured":
            return x.map(() => this.#whole(input.name));
          case "round":
            return x.map((_, i) => ({
              kind: "constant",
              data: BigInt64Array.of(BigInt(i)),
            }));
          case "slice": {
            const slices = this.#rows(input.of, input.axis, rounds);
            return input.isReversed ? slices.toReversed() : slices;
          }
        }
      })();
      sources.forEach((source, i) => x[i][port] = source);
    });
    this.#layers.push({ node, steps, x, initial: [initial] });
    for (const result of results) {
      const { name, from } = result;
      const output = `y${from}`;
      const { type, dims } = known.get(graph.outputs[from].name)!;
      const at = (position: number): StateSource => ({
        kind: "state",
        ...{ layer, direction: 0, position, output },
      });
      if (result.kind === "last") {
        this.#lasts.set(name, [at(rounds - 1)]);
        this.#state(name, { type, dims }, at(rounds - 1));
        continue;
      }
      const { axis, isReversed } = result;
      const sources = x.map((_, i) => at(isReversed ? rounds - 1 - i : i));
      if (isInRows(dims, axis)) {
        this.#stacks.set(name, sources.map((source) => [source]));
      }
      const piece = { type, dims: dims.toSpliced(axis, 0, 1) };
      const pieces = sources.map((source) =>
        this.#state(rounds === 1 ? name : this.#fresh(name), piece, source)
      );
      if (rounds > 1) this.#add("Concat", pieces, [name], { axis });
    }
  }

  /** All of a value. */
  #whole(name: string): StepSource {
    const { constant, dims } = this.#known.get(name)!;
    if (constant) return constantRow(constant, [0, 1]);
    const origin = this.#origin(name);
    if (this.#inputs.has(origin)) {
      const width = elementCount(dims);
      return { kind: "input", name: origin, index: 0, width };
    }
    return this.#states.get(origin) ?? { kind: "rest", name };
  }

  /** Slices along an axis, each one row. */
  #rows(name: string, axis: number, count: number): StepSource[] {
    const slices = this.#slices(name, axis, count);
    if (slices.every((parts) => parts.length === 1)) return slices.flat();
    return this.#split(name, axis, count);
  }

  /** Slices along an axis, by what lies in them one after the other. */
  #slices(name: string, axis: number, count: number): StepSource[][] {
    const { dims, constant } = this.#known.get(name)!;
    const width = elementCount(dims) / dims[axis];
    const each = (of: (index: number) => StepSource) =>
      Array.from({ length: count }, (_, index) => [of(index)]);
    if (isInRows(dims, axis)) {
      if (constant) {
        return each((index) => constantRow(constant, [index, dims[axis]]));
      }
      const origin = this.#origin(name);
      if (this.#inputs.has(origin)) {
        return each((index) => ({ kind: "input", name: origin, index, width }));
      }
      const stack = this.#stacks.get(origin);
      if (stack?.length === dims[axis]) {
        return stack.slice(0, count).map((sources) => [...sources]);
      }
    }
    return this.#split(name, axis, count).map((source) => [source]);
  }

  /** By direction. */
  #initial(name: string, width: number, directions: number): StepSource[] {
    if (name === "") {
      return Array.from(
        { length: directions },
        () => ({ kind: "zeros", width }),
      );
    }
    const lasts = this.#lasts.get(this.#origin(name));
    if (lasts?.length === directions) return [...lasts];
    return this.#rows(name, 0, directions);
  }

  /** The states of all positions, [positions][directions][1][hidden]. */
  #joinPositions(
    { outputs: [name] }: OnnxNode,
    layer: number,
    { positions, directions, states: [{ width, makes }] }: StepCells,
  ): void {
    if (name === "") return;
    const stack = Array.from(
      { length: positions },
      (_, position) =>
        directions.map((_, direction): StateSource => ({
          kind: "state",
          ...{ layer, direction, position, output: makes },
        })),
    );
    this.#stacks.set(name, stack);
    const piece = { type: "float32" as const, dims: [1, 1, 1, width] };
    const pieces = stack.flat().map((source) =>
      this.#state(this.#fresh(name), piece, source)
    );
    if (directions.length === 1) {
      this.#add("Concat", pieces, [name], { axis: 0 });
      return;
    }
    const joined = this.#fresh(name);
    const dims = [pieces.length, 1, 1, width];
    this.#known.set(joined, { type: "float32", dims });
    this.#add("Concat", pieces, [joined], { axis: 0 });
    const shape = this.#fresh(name);
    const to = [positions, directions.length, 1, width];
    const constant = plainOf("int64", [to.length], to);
    this.#known.set(shape, { ...constant, constant });
    this.#add("Reshape", [joined, shape], [name]);
  }

  /** An input of what is left that is a state. */
  #state(name: string, { type, dims }: KnownValue, source: StateSource) {
    this.#known.set(name, { type, dims });
    this.#states.set(name, source);
    return name;
  }

  /** The first slices of one element along an axis, made by what is left. */
  #split(name: string, axis: number, count: number): StepSource[] {
    const { type, dims } = this.#known.get(name)!;
    if (dims[axis] === 1) return [{ kind: "rest", name }];
    const pieces = Array.from({ length: dims[axis] }, () => {
      const piece = this.#fresh(name);
      this.#known.set(piece, { type, dims: dims.with(axis, 1) });
      return piece;
    });
    this.#add("Split", [name], pieces, { axis });
    return pieces.slice(0, count).map((name) => ({ kind: "rest", name }));
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
  { positions, directions }: StepCells,
  direction: number,
  output: string,
): StateSource {
  const position = directions[direction].isReverse ? 0 : positions - 1;
  return { kind: "state", layer, direction, position, output };
}

/** Whether slices along an axis lie one behind the other. */
function isInRows(dims: readonly number[], axis: number): boolean {
  return elementCount(dims.slice(0, axis)) === 1;
}

/** A row of a constant that has `count`. */
function constantRow(
  { data }: PlainTensor,
  [index, count]: readonly [number, number],
): StepSource {
  const width = data.length / count;
  const row = data.slice(index * width, (index + 1) * width) as TensorData;
  return row.every((value: number | bigint) => Number(value) === 0)
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
    for (const name of readNames(node)) read.add(name);
    return true;
  }).toReversed();
}
