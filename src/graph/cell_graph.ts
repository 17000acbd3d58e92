import type { Dtype, TensorData } from "../tensor/tensor.ts";
import { Cache, type CacheSpec, type CacheUse, type Extent } from "./cache.ts";
import { sameImage, shapeOf } from "./cell_body.ts";
import type { Cell, Port } from "./cell.ts";
import {
  cacheUses,
  checkIndex,
  checkLength,
  checkTokens,
} from "./node_checks.ts";

/** Life of a node. "Ready" is not a state: it follows from the predecessors (see `readyFor`). */
export const NODE = { waiting: 0, submitted: 1, done: 2, void: 3 } as const;

/** Where an input row of a node comes from. */
export type Source =
  | NodeOutput
  /** Element or row `index` of data the request brought along. */
  | {
    readonly kind: "input";
    readonly data: InputData;
    readonly index: number;
    readonly width: number;
  }
  /** A row of zeros: the initial state. */
  | { readonly kind: "zeros"; readonly width: number };

export interface NodeOutput {
  readonly kind: "node";
  readonly node: CellNode;
  readonly port: number;
  /** One token of a ragged node's output, as a row of its own. */
  readonly token?: number;
}

/** What sets a node apart besides its inputs. */
export interface NodeOptions {
  /** Tokens that a node of a ragged cell brings. */
  readonly length?: number;
  /** A cache of the request for every cache port of the cell. */
  readonly caches?: Readonly<Record<string, Cache<CellNode>>>;
}

/** Data a request brings along; lives in its slot from arrival to departure. */
export interface InputData {
  readonly data: TensorData;
  /** Byte offset within the slot; assigned by the slot plan. */
  offset: number;
}

const NONE: readonly number[] = [];
const NO_NODES: readonly CellNode[] = [];
const NO_CACHES: readonly CacheUse<CellNode>[] = [];
const NO_OPTIONS: NodeOptions = {};

/** Graphs are unfolded per request: nodes without neighbours share one empty list. */
function appended(
  nodes: readonly CellNode[],
  node: CellNode,
): readonly CellNode[] {
  if (nodes === NO_NODES) return [node];
  (nodes as CellNode[]).push(node);
  return nodes;
}

/** One node of a request's cell graph: one application of one cell. */
export class CellNode implements Extent {
  /** Nodes whose outputs it reads, each once. */
  predecessors: readonly CellNode[] = NO_NODES;
  successors: readonly CellNode[] = NO_NODES;
  /** One of NODE; written by the engine only. */
  state: number = NODE.waiting;
  /** The worker it was submitted to; -1 before. */
  worker = -1;
  /** A result row: kept until the request departs, never reused. One flag per output port, as bits. */
  keptPorts = 0;
  /** Byte offset of each output within the slot; assigned by the slot plan, empty before. */
  offsets: readonly number[] = NONE;
  /** Belongs to the policy: whatever it needs to find again for a node. */
  tag: unknown = undefined;
  /** Belongs to the policy: a counter, such as predecessors not yet submitted. */
  pending = 0;
  /** Belongs to the policy: the node behind it in a list. */
  next: CellNode | undefined = undefined;
  /** Belongs to the slot plan: what a descendant may take over. */
  reusable: unknown = undefined;
  /** Belongs to the slot plan: which growing step it is part of. */
  step = 0;

  constructor(
    readonly graph: CellGraph,
    readonly index: number,
    readonly cell: Cell,
    /** One source per input port of the cell. */
    readonly inputs: readonly Source[],
    /** Tokens of its rows; 1 unless the cell is ragged. */
    readonly length = 1,
    /** One use per cache port of the cell. */
    readonly caches: readonly CacheUse<CellNode>[] = NO_CACHES,
  ) {
    for (let i = 0; i < inputs.length; i++) {
      const input = inputs[i]!;
      if (input.kind === "node") this.#follow(input.node);
    }
    for (let i = 0; i < caches.length; i++) {
      const { cache: { writer } } = caches[i]!;
      if (writer !== undefined) this.#follow(writer);
    }
  }

  #follow(before: CellNode): void {
    if (this.predecessors.includes(before)) return;
    this.predecessors = appended(this.predecessors, before);
    before.successors = appended(before.successors, this);
  }

  /** Whether every input is done, or queued on `worker` before this node would be. */
  readyFor(worker: number): boolean {
    if (this.state !== NODE.waiting) return false;
    const { predecessors } = this;
    for (let i = 0; i < predecessors.length; i++) {
      const before = predecessors[i]!;
      if (before.state === NODE.done) continue;
      if (before.state !== NODE.submitted || before.worker !== worker) {
        return false;
      }
    }
    return true;
  }
}

/** What a graph needs to know of its model. */
export interface GraphModel {
  readonly name: string;
  readonly cells: readonly Cell[];
}

/** A named result of a request: the rows of its sources, in order. */
export interface ResultRows {
  readonly dtype: Dtype;
  readonly width: number;
  readonly sources: NodeOutput[];
}

/**
 * One request unfolded into nodes of cells and their dependencies; also the builder that a model's
 * `unfold` and `grow` write to. Nodes are appended in a topological order.
 */
export class CellGraph {
  readonly nodes: CellNode[] = [];
  readonly inputs: InputData[] = [];
  readonly caches: Cache<CellNode>[] = [];
  readonly results: Map<string, ResultRows> = new Map();
  /** Nodes still neither done nor void; kept by the engine. */
  remaining = 0;
  /** The request this graph is of; set by the engine. */
  owner: unknown = undefined;
  /** The graph grows no more: static, stopped, or at its limit. */
  closed = true;
  /** Most growing steps this request may take; 0 for a static graph. */
  stepsMax = 0;
  /** Elements each growing step keeps as results. */
  keptPerStep = 0;

  constructor(readonly model: GraphModel) {}

  /** Token ids, to be picked one per step with `id`. */
  ids(ids: ArrayLike<number>): InputData {
    return this.#bring(new Int32Array(ids));
  }

  /** Rows of floats, to be picked with `row`. */
  rows(values: ArrayLike<number>): InputData {
    return this.#bring(new Float32Array(values));
  }

  /** Element `index` of token ids. */
  id(data: InputData, index: number): Source {
    return { kind: "input", data, index, width: 1 };
  }

  /** Row `index` of rows of `width` floats. */
  row(data: InputData, index: number, width: number): Source {
    return { kind: "input", data, index, width };
  }

  zeros(width: number): Source {
    return { kind: "zeros", width };
  }

  /** A cache with room for `positions`; it lives as long as the request. */
  cache(
    { keyWidth, valueWidth, positionsMax }: CacheSpec,
    positions: number,
  ): Cache<CellNode> {
    if (
      !Number.isInteger(positions) || positions < 1 || positions > positionsMax
    ) {
      throw new RangeError(
        `A cache has room for 1 to ${positionsMax} positions, got ${positions}`,
      );
    }
    const cache = new Cache<CellNode>(keyWidth, valueWidth, positions);
    this.caches.push(cache);
    return cache;
  }

  /**
   * Appends a node. It follows the nodes whose outputs it reads, and the last one that appended to its caches.
   * @throws TypeError when the model does not list the cell, an input or cache is missing, or of another type or width than the port;
   * RangeError when an input lies outside the request's data, or tokens have no room
   */
  node(
    cell: Cell,
    inputs: Readonly<Record<string, Source>>,
    options: NodeOptions = NO_OPTIONS,
  ): CellNode {
    if (!this.model.cells.includes(cell)) {
      throw new TypeError(
        `Cell "${cell.name}" is not listed in the cells of model "${this.model.name}"`,
      );
    }
    const length = checkLength(cell, options.length);
    const sources = new Array<Source>(cell.inputs.length);
    for (let i = 0; i < cell.inputs.length; i++) {
      const port = cell.inputs[i]!;
      const source = inputs[port.name];
      if (source === undefined) {
        throw new TypeError(
          `A node of cell "${cell.name}" lacks its input "${port.name}"`,
        );
      }
      if (!fits(source, port)) {
        throw new TypeError(
          `Input "${port.name}" of cell "${cell.name}" is ${port.dtype}[${
            shapeOf(port)
          }], got ${describe(source)}`,
        );
      }
      if (source.kind === "input") checkIndex(source, { port, cell, length });
      else if (source.kind === "node") {
        checkTokens(source.node, source.token, { port, cell, length });
      } else if (cell.tokensMax !== undefined) {
        throw new TypeError(
          `Input "${port.name}" of ragged cell "${cell.name}" cannot be ${
            describe(source)
          }`,
        );
      }
      if (source.kind === "node" && source.node.graph !== this) {
        throw new TypeError(
          `Input "${port.name}" of cell "${cell.name}" belongs to another request's graph`,
        );
      }
      sources[i] = source;
    }
    const uses = cell.caches.length === 0
      ? NO_CACHES
      : cacheUses(cell, options.caches ?? {}, length);
    const node = new CellNode(
      this,
      this.nodes.length,
      cell,
      sources,
      length,
      uses,
    );
    for (let i = 0; i < uses.length; i++) {
      if (!cell.caches[i]!.appends) continue;
      const { cache, seen } = uses[i]!;
      cache.filled = seen;
      cache.writer = node;
    }
    this.nodes.push(node);
    this.remaining++;
    return node;
  }

  /**
   * Output `port` of a node, as a source for others.
   * @param token which token of a ragged node; default: all
   */
  output(node: CellNode, port: string, token?: number): NodeOutput {
    const { outputs } = node.cell;
    for (let index = 0; index < outputs.length; index++) {
      if (outputs[index]!.name === port) {
        return token === undefined
          ? { kind: "node", node, port: index }
          : { kind: "node", node, port: index, token };
      }
    }
    throw new TypeError(`Cell "${node.cell.name}" has no output "${port}"`);
  }

  /** Declares a row of the request's result; repeated calls with one name append rows. */
  result(name: string, source: NodeOutput): void {
    const { dtype, width } = source.node.cell.outputs[source.port]!;
    let rows = this.results.get(name);
    if (rows === undefined) {
      rows = { dtype, width, sources: [] };
      this.results.set(name, rows);
    }
    if (rows.width !== width || rows.dtype !== dtype) {
      throw new TypeError(
        `Result "${name}" is ${rows.dtype}[${rows.width}], got a row ${dtype}[${width}]`,
      );
    }
    source.node.keptPorts |= 1 << source.port;
    rows.sources.push(source);
  }

  /**
   * Declares that the graph grows (see Model.grow), by at most `stepsMax` steps. Steps are counted
   * over the nodes of cells that have a stop rule.
   * @param keptPerStep elements that each step declares as results; the slot is planned for them
   */
  grows(stepsMax: number, keptPerStep = 1): void {
    if (!Number.isInteger(stepsMax) || stepsMax < 1) {
      throw new RangeError(
        `A growing graph takes at least one step, got a limit of ${stepsMax}`,
      );
    }
    if (!Number.isInteger(keptPerStep) || keptPerStep < 0) {
      throw new RangeError(
        `A growing step keeps a whole number of elements, got ${keptPerStep}`,
      );
    }
    this.closed = false;
    this.stepsMax = stepsMax;
    this.keptPerStep = keptPerStep;
  }

  #bring(data: TensorData): InputData {
    const input = { data, offset: -1 };
    this.inputs.push(input);
    return input;
  }
}

function fits(source: Source, port: Port): boolean {
  switch (source.kind) {
    case "node": {
      const output = source.node.cell.outputs[source.port]!;
      return output.width === port.width && output.dtype === port.dtype &&
        sameImage(output, port);
    }
    case "input":
      return source.width === port.width &&
        (source.data.data instanceof Int32Array) === (port.dtype === "i32");
    case "zeros":
      return source.width === port.width;
  }
}

function describe(source: Source): string {
  switch (source.kind) {
    case "node": {
      const output = source.node.cell.outputs[source.port]!;
      return `${output.dtype}[${shapeOf(output)}]`;
    }
    case "input": {
      const dtype = source.data.data instanceof Int32Array ? "i32" : "f32";
      return `${dtype}[${source.width}]`;
    }
    case "zeros":
      return `zeros[${source.width}]`;
  }
}
