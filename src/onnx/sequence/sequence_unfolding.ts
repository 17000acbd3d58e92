/** A request of any length as a graph of cells: ragged rows first, then steps of layers, and what is between them. */
import type {
  CellGraph,
  CellNode,
  NodeOutput,
  Source,
} from "../../graph/cell_graph.ts";
import type { PartSource } from "../../graph/cut_cell.ts";
import type { InputData } from "../../graph/input_data.ts";
import { newElements, type PlainTensor } from "../../tensor/plain_tensor.ts";
import { elementCount, type TensorData } from "../../tensor/tensor.ts";
import { quoted } from "../place.ts";
import { type Dim, substituteDim } from "../shapes/dim.ts";
import type { InferredValues } from "../shapes/infer_graph.ts";
import { type FreeAxis, freeAxisOf } from "./free_axis.ts";
import type {
  GroupSource,
  HostData,
  InitialState,
  StateSource,
} from "./group.ts";
import type { RequestValues } from "./host_values.ts";
import type { SequenceStop } from "./sequence_cells.ts";

/** What is the same for all requests. */
export interface SequencePlan {
  readonly name: string;
  readonly values: InferredValues;
  readonly free: FreeAxis;
  readonly stops: readonly SequenceStop[];
  /** The model's outputs; of positions with their axis. */
  readonly outputs: readonly {
    readonly name: string;
    readonly axis?: number;
  }[];
}

type GroupStop = Extract<SequenceStop, { kind: "group" }>;
type LayerStop = Extract<SequenceStop, { kind: "layer" }>;

/** @param values of a request that was checked */
export function unfoldSequence(
  plan: SequencePlan,
  values: RequestValues,
  length: number,
  graph: CellGraph,
): void {
  const request = new SequenceUnfolding(plan, values, length, graph);
  for (const stop of plan.stops) {
    if (stop.kind === "group") request.group(stop);
    else request.layer(stop);
  }
  request.results();
}

class SequenceUnfolding {
  readonly #data = new Map<string, InputData>();
  /** By part, of a group that has results: a node, or one for each position. */
  readonly #nodes = new Map<GroupStop, CellNode[][]>();
  /** The group that a value is a result of. */
  readonly #homes = new Map<string, GroupStop>();
  /** By layer, direction and position. */
  readonly #steps: CellNode[][][] = [];

  constructor(
    readonly plan: SequencePlan,
    readonly values: RequestValues,
    readonly length: number,
    readonly graph: CellGraph,
  ) {}

  group(stop: GroupStop): void {
    const { group: { kind, sources }, isRagged, parts, lowered } = stop;
    const made: CellNode[][] = [];
    this.#nodes.set(stop, made);
    const count = kind === "token" && !isRagged ? this.length : 1;
    for (const { cell, inputs: from } of parts) {
      const nodes: CellNode[] = [];
      for (let position = 0; position < count; position++) {
        const given: Record<string, Source> = {};
        from.forEach((source, i) => {
          const port = cell.inputs[i];
          given[port.name] = source.part < 0
            ? this.#source(
              sources[lowered.inputs[source.port]],
              port.width,
              isRagged ? "all" : kind === "token" ? position : undefined,
            )
            : {
              kind: "node",
              node: made[source.part][position],
              port: source.port,
            };
        });
        nodes.push(
          this.graph.node(
            cell,
            given,
            isRagged ? { length: this.length } : undefined,
          ),
        );
      }
      made.push(nodes);
    }
    for (const name of stop.results.keys()) this.#homes.set(name, stop);
  }

  layer({ at, layer, sources, cells }: LayerStop): void {
    const { recurrence: { states, directions, width } } = layer;
    this.#steps[at] = [];
    directions.forEach(({ isReverse }, direction) => {
      const made: CellNode[] = this.#steps[at][direction] = [];
      let before: CellNode | undefined;
      for (let i = 0; i < this.length; i++) {
        const position = isReverse ? this.length - 1 - i : i;
        const inputs: Record<string, Source> = {};
        this.#positionOf(sources.x, position, width).forEach((source, part) => {
          inputs[`x${part}`] = source;
        });
        states.forEach((state, place) => {
          inputs[state] = before
            ? this.graph.output(before, state)
            : this.#initial(
              sources.initial[direction][place],
              layer.recurrence.hidden,
            );
        });
        before = made[position] = this.graph.node(cells[direction], inputs);
      }
    });
  }

  results(): void {
    for (const { name, axis } of this.plan.outputs) {
      const stop = this.#homes.get(name)!;
      const source = stop.results.get(name)!;
      const nodes = this.#nodes.get(stop)![source.part];
      if (stop.group.kind === "request") {
        this.graph.result(name, outputOf(nodes[0], source));
      } else if (stop.isRagged) {
        this.graph.result(name, outputOf(nodes[0], source), { axis: axis! });
      } else {
        for (const node of nodes) {
          this.graph.collect(name, outputOf(node, source), { axis: axis! });
        }
      }
    }
  }

  /** @param at all positions, one, or the request's */
  #source(
    source: GroupSource,
    width: number,
    at: "all" | number | undefined,
  ): Source {
    switch (source.kind) {
      case "data": {
        const { data } = source;
        const repeats = at === "all" && data.kind === "request";
        const row = data.kind === "token" && typeof at === "number" ? at : 0;
        return this.graph.row(this.#rows(data, repeats), row, width);
      }
      case "value":
        return this.#value(
          source.value,
          typeof at === "number" ? at : undefined,
        );
      case "pick": {
        const position = this.#position(source.position);
        return typeof source.of === "string"
          ? this.#value(source.of, position)
          : this.graph.row(this.#rows(source.of, false), position, width);
      }
      case "state":
        return this.#state(source, typeof at === "number" ? at : undefined);
    }
  }

  /** A result of a group: of a position, if it is of positions and one is asked for. */
  #value(name: string, position: number | undefined): NodeOutput {
    const stop = this.#homes.get(name)!;
    const source = stop.results.get(name)!;
    const nodes = this.#nodes.get(stop)![source.part];
    if (stop.group.kind === "request") return outputOf(nodes[0], source);
    if (!stop.isRagged) return outputOf(nodes[position!], source);
    const all = outputOf(nodes[0], source);
    return position === undefined ? all : { ...all, token: position };
  }

  #state(
    { layer, direction, state, at }: StateSource,
    each: number | undefined,
  ): NodeOutput {
    const steps = this.#steps[layer][direction];
    const { plan: { stops } } = this;
    const stop = stops.find((stop): stop is LayerStop =>
      stop.kind === "layer" && stop.at === layer
    )!;
    const { isReverse } = stop.layer.recurrence.directions[direction];
    const position = at === "each"
      ? each!
      : at === "last"
      ? isReverse ? 0 : this.length - 1
      : this.#position(at.position);
    return this.graph.output(steps[position], state);
  }

  /** What a step reads of a position, one after the other. */
  #positionOf(
    x: LayerStop["sources"]["x"],
    position: number,
    width: number,
  ): Source[] {
    switch (x.kind) {
      case "states":
        return this.#steps[x.layer].map((steps) =>
          this.graph.output(steps[position], "h")
        );
      case "data":
        return [this.graph.row(this.#rows(x.data, false), position, width)];
      case "value":
        return [this.#value(x.value, position)];
    }
  }

  #initial(state: InitialState, hidden: number): Source {
    switch (state.kind) {
      case "constant":
        return state.data.every((value) => value === 0)
          ? this.graph.zeros(hidden)
          : this.graph.row(this.graph.data(state.data), 0, hidden);
      case "row":
        return this.graph.row(
          this.#rows(state.data, false),
          state.index,
          hidden,
        );
      default:
        return this.#source(state, hidden, undefined);
    }
  }

  #position(dim: Dim): number {
    return positionOf(dim, this.plan, this.length);
  }

  /** Rows that are computed on unfolding. @param repeats one row for every position */
  #rows(data: HostData, repeats: boolean): InputData {
    const { value, kind, below } = data;
    const key = [kind, below ?? "", repeats, value].join();
    let found = this.#data.get(key);
    if (found === undefined) {
      let rows = this.#inOrder(value, kind, this.values(value));
      if (below !== undefined) rows = idsOf(value, rows, below);
      if (repeats) rows = repeated(rows, this.length);
      found = this.graph.data(rows);
      this.#data.set(key, found);
    }
    return found;
  }

  /** Elements, position after position. */
  #inOrder(
    name: string,
    kind: HostData["kind"],
    { type, dims, data }: PlainTensor,
  ): TensorData {
    const axis = kind === "token"
      ? freeAxisOf(this.plan.values.get(name)?.dims, this.plan.free) ?? 0
      : 0;
    const before = elementCount(dims.slice(0, axis));
    if (before === 1) return data as TensorData;
    const behind = elementCount(dims.slice(axis + 1));
    const made = newElements(type, data.length);
    for (let i = 0; i < before; i++) {
      for (let t = 0; t < this.length; t++) {
        const from = (i * this.length + t) * behind;
        const to = (t * before + i) * behind;
        for (let at = 0; at < behind; at++) made[to + at] = data[from + at];
      }
    }
    return made as TensorData;
  }
}

/** Rows of a table by number, from behind below 0. @throws RangeError when there is no such row */
function idsOf(name: string, given: TensorData, below: number): Int32Array {
  const ids = new Int32Array(given.length);
  for (let i = 0; i < ids.length; i++) {
    const id = Number(given[i]);
    ids[i] = id < 0 ? id + below : id;
    if (ids[i] >= 0 && ids[i] < below) continue;
    throw new RangeError(
      `${quoted(name)} has ${id}: rows of a table are 0 to ${below - 1}`,
    );
  }
  return ids;
}

/** A position by number, from behind below 0. @throws RangeError when a request has no such position */
function positionOf(
  dim: Dim,
  { free: { name } }: Pick<SequencePlan, "free">,
  length: number,
): number {
  const number = Number(
    substituteDim(dim, (of) => of === name ? length : undefined),
  );
  const position = number < 0 ? number + length : number;
  if (position >= 0 && position < length) return position;
  throw new RangeError(
    `position ${number} of ${
      quoted(name)
    } is read, of which there are ${length}`,
  );
}

/** @throws RangeError when a request is too short for what is read of it, or ids are in no table */
export function checkSequence(
  plan: SequencePlan,
  values: RequestValues,
  length: number,
): void {
  for (const stop of plan.stops) {
    if (stop.kind !== "group") continue;
    for (const source of stop.group.sources) {
      if (source.kind === "pick") positionOf(source.position, plan, length);
      if (source.kind === "state" && typeof source.at === "object") {
        positionOf(source.at.position, plan, length);
      }
      if (source.kind !== "data" || source.data.below === undefined) continue;
      const { value, below } = source.data;
      idsOf(value, values(value).data as TensorData, below);
    }
  }
}

function outputOf(node: CellNode, { port }: PartSource): NodeOutput {
  return { kind: "node", node, port };
}

/** The same elements again and again. */
function repeated<Data extends TensorData>(data: Data, count: number): Data {
  const Elements = data.constructor as new (length: number) => Data;
  const made = new Elements(count * data.length);
  for (let i = 0; i < count; i++) {
    made.set(data as never, i * data.length);
  }
  return made;
}
