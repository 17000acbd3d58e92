/**
 * The graph of a session's frames: unfolded and planned once, used for one frame after the other.
 *
 * A state has two buffers in the slot, one that the frame reads and one that it writes; when the frame is done they
 * change places (`turn`). A frame that is not done has only written what nobody reads, so the next one finds
 * the state as this one did. The one is the place of the data that the graph has been brought, the other that of the
 * output that the state comes from, which is a result and so nobody else's.
 */
import { describe, shorten } from "../base/describe.ts";
import { refusePromise } from "../base/refuse_promise.ts";
import {
  type Dtype,
  elements,
  holds,
  type TensorData,
} from "../tensor/tensor.ts";
import { lengthOf } from "../tensor/typed_array.ts";
import { CellGraph, type CellNode } from "./cell_graph.ts";
import { copyOf, type InputData } from "./input_data.ts";
import { restartGraph } from "./restart_graph.ts";
import { axesOf, type RowShape } from "./row_layout.ts";
import { SlotPlan } from "./slot_plan.ts";
import {
  checkStream,
  type Frame,
  initialOf,
  readRow,
  rowNames,
  rowText,
  type StreamModel,
} from "./stream_model.ts";

/** A row that a frame brings. */
interface FrameInput {
  readonly name: string;
  readonly row: RowShape;
}

/** A row that stays from frame to frame. */
interface FrameState {
  readonly dtype: Dtype;
  /** In the first frame. */
  readonly initial: TensorData;
  /** Where it is read. */
  readonly data: InputData;
  /** Where it is written: offsets of a node's outputs, and which of them. */
  readonly node: CellNode;
  readonly port: number;
}

/** A row that whoever pushed the frame gets. */
interface FrameOutput {
  readonly name: string;
  readonly dtype: Dtype;
  readonly width: number;
  readonly shape: readonly number[];
  readonly node: CellNode;
  readonly port: number;
}

/** What sessions of a model share: of what each has of its own, every frame finds caches cold. */
interface Shared {
  /** What messages call a frame. */
  readonly what: string;
  readonly inputs: readonly FrameInput[];
  /** Data that stand for a model's rows until a session writes its own. */
  readonly placeholders: ReadonlyMap<string, TensorData>;
}

const shared = new WeakMap<StreamModel, Shared>();

/**
 * The graph of a session.
 * @typeParam Owner the request of the frame under way
 */
export class FrameGraph<Owner = unknown> {
  readonly graph: CellGraph<Owner>;
  readonly inputs: readonly FrameInput[];
  /** Where what a frame brings is written, in the order of `inputs`. */
  readonly brought: readonly InputData[];
  readonly states: readonly FrameState[];
  readonly outputs: readonly FrameOutput[];
  /** Bytes of all states, one after the other. */
  readonly stateBytes: number;
  readonly #what: string;
  #plan: SlotPlan | undefined;

  /**
   * @throws TypeError or RangeError when the model declares what its frames do not have, or they cannot be
   * used again
   */
  constructor(readonly model: StreamModel) {
    checkStream(model);
    const { stream } = model;
    const graph = new CellGraph<Owner>(model);
    const { what, inputs, placeholders } = sharedOf(model);
    const given: Record<string, InputData> = {};
    for (const [name, values] of placeholders) {
      given[name] = graph.given(values);
    }
    const returned: unknown = stream.frame(graph, given);
    refusePromise(returned, "frame", "model", model.name);
    graph.seal();
    checkFrame(model, graph);
    graph.again = { tag: undefined };
    this.graph = graph;
    this.#what = what;
    this.inputs = inputs;
    this.brought = inputs.map(({ name }) => given[name]);
    this.states = Object.entries(stream.states).map(([name, state]) => ({
      dtype: state.dtype as Dtype,
      initial: placeholders.get(name)!,
      data: given[name],
      ...this.#output(state.from, state),
    }));
    this.outputs = Object.keys(stream.outputs).map((name) => {
      const { node, port } = this.#output(name);
      const row = node.cell.outputs[port];
      const { dtype, width } = row;
      const isScalar = row.shape === undefined && dtype === "i32" &&
        width === 1;
      // Every frame's result has it.
      const shape = Object.freeze(isScalar ? [] : [...axesOf(row)]);
      return { name, dtype: dtype as Dtype, width, shape, node, port };
    });
    this.stateBytes = this.states.reduce(
      (sum, { initial }) => sum + initial.byteLength,
      0,
    );
  }

  /** Where its rows lie in a slot. */
  get plan(): SlotPlan {
    return this.#plan ??= new SlotPlan(this.graph);
  }

  /** Data that the frames' nodes read and nobody writes. */
  get constants(): readonly InputData[] {
    const written = new Set(
      [...this.brought, ...this.states.map(({ data }) => data)],
    );
    return this.graph.inputs.filter((data) => !written.has(data));
  }

  /** All nodes wait, for a frame of this request. */
  begin(owner: Owner): void {
    restartGraph(this.graph, owner);
  }

  /** The frame is done: what it wrote is the state. */
  turn(): void {
    const { states } = this;
    for (let i = 0; i < states.length; i++) {
      const { data, node, port } = states[i];
      // Where the graph was never planned, in simulations, there is nothing to change places.
      if (data.offset < 0) return;
      const offsets = node.offsets as number[];
      const written = offsets[port];
      offsets[port] = data.offset;
      data.offset = written;
    }
  }

  /**
   * The rows of a frame, in the order of `inputs`; each is read once.
   * @throws TypeError or RangeError naming the row that is missing, unknown, or of another type or length
   */
  read(frame: unknown): TensorData[] {
    if (typeof frame !== "object" || frame === null) {
      throw new TypeError(
        `${this.#what} is an object with ${rowNames(this.model.stream.inputs)}`,
      );
    }
    const { inputs } = this;
    for (const name in frame) {
      if (placeOf(inputs, name) >= 0) continue;
      throw new TypeError(
        `${this.#what} has no row "${shorten(name)}"; it takes ${
          rowNames(this.model.stream.inputs)
        }`,
      );
    }
    const data = new Array<TensorData>(inputs.length);
    for (let i = 0; i < inputs.length; i++) {
      const { name, row } = inputs[i];
      data[i] = readRow(this.#what, name, row, (frame as Frame)[name]);
    }
    // Behind all that may run code of the caller's: so many elements are written, into memory that is others' as well.
    for (let i = 0; i < inputs.length; i++) {
      const { name, row } = inputs[i];
      if (lengthOf(data[i]) === row.width) continue;
      throw new RangeError(
        `${this.#what} brings "${shorten(name)}", ${rowText(row)}, got ${
          lengthOf(data[i])
        } elements, whatever it said when it was read`,
      );
    }
    return data;
  }

  /**
   * A caller's arrays for results, in the order of `outputs`; each is read once.
   * @throws TypeError or RangeError naming the first that is none of the model's, or of another type or length
   */
  readInto(
    into: Readonly<Record<string, unknown>>,
  ): (TensorData | undefined)[] {
    const { outputs } = this;
    const arrays = new Array<TensorData | undefined>(outputs.length);
    for (const name in into) {
      const at = placeOf(outputs, name);
      if (at < 0) {
        throw new TypeError(
          `${this.#intoWhat} has "${shorten(name)}"; there are ${
            rowNames(this.model.stream.outputs)
          }`,
        );
      }
      const { dtype, width } = outputs[at];
      const value = into[name];
      const isOfType = holds(dtype, value);
      if (isOfType && lengthOf(value as TensorData) === width) {
        arrays[at] = value as TensorData;
        continue;
      }
      const elements = isOfType
        ? `${lengthOf(value as TensorData)} elements`
        : describe(value);
      throw new (isOfType ? RangeError : TypeError)(
        `${this.#intoWhat}: "${
          shorten(name)
        }" is ${dtype}[${width}], got ${elements}`,
      );
    }
    return arrays;
  }

  /**
   * The arrays that are in it now, for a frame that is taken later.
   * @throws as `readInto`
   */
  arraysIn(
    into: Readonly<Record<string, unknown>>,
  ): Record<string, TensorData> {
    const arrays = this.readInto(into);
    return Object.fromEntries(
      this.outputs.flatMap(({ name }, i) => {
        const array = arrays[i];
        return array === undefined ? [] : [[name, array]];
      }),
    );
  }

  /** What messages call a caller's arrays. */
  get #intoWhat(): string {
    return `"into" of a frame of "${shorten(this.model.name)}"`;
  }

  /** The state of a stream that has seen no frame. */
  initialState(): Uint8Array {
    const bytes = new Uint8Array(this.stateBytes);
    let at = 0;
    for (const { initial } of this.states) {
      const { buffer, byteOffset, byteLength } = initial;
      bytes.set(new Uint8Array(buffer, byteOffset, byteLength), at);
      at += byteLength;
    }
    return bytes;
  }

  /** The node and port of a result. */
  #output(
    name: string,
    expected?: RowShape,
  ): { node: CellNode; port: number } {
    const { model } = this;
    const rows = this.graph.results.get(name);
    const what = `Result "${shorten(name)}" of ${nameOf(model)}`;
    if (rows === undefined) {
      throw new RangeError(`${what} is declared, but a frame has none`);
    }
    const [{ node, port, token }] = rows.sources;
    if (
      rows.collected || token !== undefined || node.cell.tokensMax !== undefined
    ) {
      throw new TypeError(
        `${what} is rows of a frame's own number; a stream has results of one row`,
      );
    }
    const row = node.cell.outputs[port];
    if (
      expected && (row.dtype !== expected.dtype || row.width !== expected.width)
    ) {
      throw new RangeError(
        `${what} is a state of ${rowText(expected)}, got ${rowText(row)}`,
      );
    }
    return { node, port };
  }
}

function nameOf(model: StreamModel): string {
  return `model "${shorten(model.name)}"`;
}

/** Which of the rows has that name; -1: none. */
function placeOf(rows: readonly { readonly name: string }[], name: string) {
  let at = rows.length - 1;
  while (at >= 0 && rows[at].name !== name) at--;
  return at;
}

function sharedOf(model: StreamModel): Shared {
  const known = shared.get(model);
  if (known !== undefined) return known;
  const { inputs, states } = model.stream;
  const made: Shared = {
    what: `A frame of "${shorten(model.name)}"`,
    inputs: Object.entries(inputs).map(([name, row]) => ({ name, row })),
    placeholders: new Map<string, TensorData>([
      ...Object.entries(inputs).map(([name, { dtype, width }]) =>
        [name, elements(dtype as Dtype, width)] as const
      ),
      ...Object.entries(states).map(([name, state]) =>
        [name, copyOf(initialOf(state))] as const
      ),
    ]),
  };
  shared.set(model, made);
  return made;
}

/** Whether the nodes of a frame can be used for every frame. */
function checkFrame(model: StreamModel, graph: CellGraph): void {
  const fail = (what: string): never => {
    throw new RangeError(`A frame of ${nameOf(model)} ${what}`);
  };
  if (graph.nodes.length === 0) fail("has no node at all");
  if (!graph.closed) {
    fail("grows: how many steps it takes has to be known before it comes");
  }
  if (graph.caches.length > 0) {
    fail("has a cache, of which it would fill the same positions every time");
  }
  const outputs = new Map<CellNode, Set<number>>();
  for (const { from } of Object.values(model.stream.states)) {
    const source = graph.results.get(from)?.sources[0];
    if (source === undefined) continue;
    const ports = outputs.get(source.node) ?? new Set();
    if (ports.has(source.port)) {
      fail(`hands on one output as two states, "${shorten(from)}" among them`);
    }
    outputs.set(source.node, ports.add(source.port));
  }
}
