import { describe, shorten } from "../base/describe.ts";
import { appended, including } from "../base/fitted.ts";
import type { TensorData } from "../tensor/tensor.ts";
import { Cache, type CacheSpec, type CacheUse, type Extent } from "./cache.ts";
import type { Cell, Port } from "./cell.ts";
import { copyOf, elementsOf, InputData } from "./input_data.ts";
import {
  cacheUses,
  checkDeclared,
  checkLength,
  checkResult,
  checkSource,
} from "./node_checks.ts";
import { nodesMaxOf } from "./nodes_max.ts";
import type { Piece } from "./piece.ts";
import type { OutputTypes, ResultOptions } from "./result.ts";
import {
  isSamePort,
  type ResultRows,
  resultRows,
  typeOf,
} from "./result_rows.ts";

/** Life of a node. "Ready" is not a state: it follows from the predecessors (see `readyFor`). */
export const NODE = { waiting: 0, submitted: 1, done: 2, void: 3 } as const;

/** Where an input row of a node comes from: made by `output`, `id`, `row` and `zeros` of a CellGraph. */
export type Source =
  /** An output of another node, which the node then follows. */
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

/** An output of a node: what `CellGraph.output` returns. */
export interface NodeOutput {
  /** Tells it apart from the other sources. */
  readonly kind: "node";
  /** The node that makes it. */
  readonly node: CellNode;
  /** Index into the outputs of the node's cell. */
  readonly port: number;
  /** One token of a ragged node's output, as a row of its own. */
  readonly token?: number;
}

/** What sets a node apart besides its inputs. */
export interface NodeOptions {
  /** Tokens that a node of a ragged cell brings, 1 to its `tokensMax`; needed there, and only there. */
  readonly length?: number;
  /** A cache of the request for every cache port of the cell, by name. */
  readonly caches?: Readonly<Record<string, Cache<CellNode>>>;
}

const NONE: readonly number[] = [];
const NO_NODES: readonly never[] = [];
const NO_CACHES: readonly CacheUse<CellNode>[] = [];
const NO_OPTIONS: NodeOptions = {};

/**
 * One node of a request's cell graph: one application of one cell. Policies read it, the engine keeps it.
 * @typeParam Owner see CellGraph
 * @typeParam Tag see CellGraph
 */
export class CellNode<Owner = unknown, Tag = unknown> implements Extent {
  /** Nodes whose outputs it reads, each once. */
  predecessors: readonly CellNode<Owner, Tag>[] = NO_NODES;
  /** Nodes that read its outputs, each once. */
  successors: readonly CellNode<Owner, Tag>[] = NO_NODES;
  /** 0: waiting, 1: submitted, 2: done, 3: void (behind the end of its request); written by the engine only. */
  state: number = NODE.waiting;
  /** The worker it was submitted to; -1 before. */
  worker: number = -1;
  /** @internal Output ports whose rows are results: kept until the request departs, never reused. */
  keptPorts: readonly number[] = NONE;
  /** @internal Byte offset of each output within the slot; assigned by the slot plan, empty before. */
  offsets: readonly number[] = NONE;
  /** Belongs to the policy: whatever it needs to find again for a node; undefined until it says. */
  tag: Tag = undefined as Tag;
  /** Belongs to the policy: a counter, such as predecessors not yet submitted. */
  pending: number = 0;
  /** Belongs to the policy: the node behind it in a list. */
  next: CellNode<Owner, Tag> | undefined = undefined;
  /** @internal Belongs to the slot plan: what a descendant may take over. */
  reusable: Piece[] | undefined = undefined;
  /** @internal Belongs to the slot plan: which growing step it is part of. */
  step = 0;

  /** @internal Use `CellGraph.node`. */
  constructor(
    /** The graph of the request that it is of. */
    readonly graph: CellGraph<Owner, Tag>,
    /** Its place in `graph.nodes`. */
    readonly index: number,
    /** The cell that it applies. */
    readonly cell: Cell,
    /** One source per input port of the cell. */
    public inputs: readonly Source[],
    /** Tokens of its rows; 1 unless the cell is ragged. */
    readonly length: number = 1,
    /** One use per cache port of the cell. */
    public caches: readonly CacheUse<CellNode>[] = NO_CACHES,
  ) {
    for (let i = 0; i < inputs.length; i++) {
      const input = inputs[i];
      if (input.kind === "node") this.#follow(input.node);
    }
    for (let i = 0; i < caches.length; i++) {
      const { cache: { writer } } = caches[i];
      if (writer !== undefined) this.#follow(writer);
    }
  }

  #follow(source: CellNode): void {
    // Of the same graph: see checkSource.
    const before = source as CellNode<Owner, Tag>;
    // Not a look through the predecessors, of which there may be many: what follows `before` is in order.
    if (before.successors[before.successors.length - 1] === this) return;
    this.predecessors = appended(this.predecessors, before);
    before.successors = appended(before.successors, this);
  }

  /**
   * Whether the node may be submitted to `worker`: it waits, and every input is done, or queued there before
   * this node would be (workers are first in first out).
   */
  readyFor(worker: number): boolean {
    if (this.state !== NODE.waiting) return false;
    const { predecessors } = this;
    for (let i = 0; i < predecessors.length; i++) {
      const before = predecessors[i];
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
  /** Named in messages. */
  readonly name: string;
  /** What its nodes may be of. */
  readonly cells: readonly Cell[];
  /** See Model.nodesMax. */
  readonly nodesMax?: number;
  /** See Model.outputs. */
  readonly outputs?: OutputTypes;
}

/**
 * One request unfolded into nodes of cells and their dependencies; also the builder that a model's
 * `unfold` and `grow` write to. Nodes are appended in a topological order: what a node reads is there before it.
 *
 * A new graph is open: a model appends what it likes. The engine seals it once the request is unfolded, and
 * opens it for nodes and results alone while `Model.grow` runs: the slot is planned for what the request has
 * brought by then, and a graph that a model keeps and appends to later would not fit its request any more.
 * @typeParam Owner the request that it is of, as whoever uses the graph knows it
 * @typeParam Tag what the policy keeps with every node
 */
export class CellGraph<Owner = unknown, Tag = unknown> {
  /** All nodes so far, in a topological order. The engine's own list, to be read. */
  readonly nodes: readonly CellNode<Owner, Tag>[] = [];
  /** What the request brought, in the order of the calls of `ids`, `rows` and `data`. */
  readonly inputs: InputData[] = [];
  /** Its caches, in the order of the calls of `cache`. */
  readonly caches: Cache<CellNode>[] = [];
  /** @internal By name, the rows that are its results. */
  readonly results: Map<string, ResultRows<NodeOutput>> = new Map();
  /** Nodes still neither done nor void; kept by the engine. */
  remaining: number = 0;
  /** @internal The request this graph is of; set by the engine. */
  owner: Owner = undefined as Owner;
  /** Where one request after the other has it, frames of a stream: what belongs to the policy and stays. */
  again: { tag: unknown } | undefined = undefined;
  /** The graph grows no more: static, stopped, or at its limit. */
  closed: boolean = true;
  /** Most growing steps this request may take; 0 for a static graph. */
  stepsMax: number = 0;
  /** Elements each growing step keeps as results. */
  keptPerStep: number = 0;

  readonly #nodesMax: number;
  #state: "open" | "sealed" | "growing" = "open";

  /**
   * @internal The engine makes graphs and hands them to `Model.unfold`.
   * @throws RangeError when the model's `nodesMax` is no number of nodes
   */
  constructor(
    /**
     * The model that it is unfolded by.
     * @internal
     */
    readonly model: GraphModel,
  ) {
    this.#nodesMax = nodesMaxOf(model);
  }

  /**
   * Token ids or other integers of 32 bits that the request brings, to be picked one per step with `id`; copied. While
   * `unfold` runs only.
   * @throws TypeError when they are no list of numbers or the graph is unfolded; RangeError on others, or beyond 2^30
   */
  ids(ids: ArrayLike<number>): InputData {
    this.#brings("ids");
    return this.#bring(elementsOf(ids, Int32Array));
  }

  /**
   * Rows of floats that the request brings, one after the other, to be picked with `row`; copied. While `unfold`
   * runs only.
   * @throws TypeError when they are no list of numbers or the graph is unfolded; RangeError beyond 2^30 numbers
   */
  rows(values: ArrayLike<number>): InputData {
    this.#brings("rows");
    return this.#bring(elementsOf(values, Float32Array));
  }

  /**
   * Rows of elements of any type that the request brings, one after the other, to be picked with `row`; copied.
   * While `unfold` runs only.
   * @throws TypeError when they are no array of a type that rows have, or the graph is unfolded
   */
  data(values: TensorData): InputData {
    this.#brings("data");
    return this.#bring(copyOf(values));
  }

  /** @internal Numbers that stand for what is written into the slot later; not copied. For the engine. */
  given(values: TensorData): InputData {
    return this.#bring(values);
  }

  /**
   * Element `index` of ids that the request brought; a node of a ragged cell takes as many from there on as it has
   * tokens.
   */
  id(data: InputData, index: number): Source {
    return { kind: "input", data, index, width: 1 };
  }

  /** Row `index`, from 0, of rows of `width` elements that the request brought. */
  row(data: InputData, index: number, width: number): Source {
    return { kind: "input", data, index, width };
  }

  /** A row of `width` zeros, such as an initial state. */
  zeros(width: number): Source {
    return { kind: "zeros", width };
  }

  /**
   * A cache as a cell declares it, with room for `positions`; it lives as long as the request. While `unfold`
   * runs only.
   * @throws RangeError unless `positions` is an integer from 1 to `positionsMax`; TypeError when the graph is unfolded
   */
  cache(
    { keyWidth, valueWidth, positionsMax }: CacheSpec,
    positions: number,
  ): Cache<CellNode> {
    this.#brings("cache");
    if (
      !Number.isInteger(positions) || positions < 1 || positions > positionsMax
    ) {
      throw new RangeError(
        `A cache has room for 1 to ${positionsMax} positions, got ${
          describe(positions)
        }`,
      );
    }
    const cache = new Cache<CellNode>(this, keyWidth, valueWidth, positions);
    this.caches.push(cache);
    return cache;
  }

  /**
   * Appends a node. It follows the nodes whose outputs it reads, and the last one that appended to its caches.
   * @param cell one of `model.cells`
   * @param inputs a source for every input port of the cell, by name
   * @param options tokens of a ragged node, and the caches that its cell has ports for
   * @throws TypeError when the graph is complete, the model does not list the cell, an input or cache is
   * missing, of another request, or of another type or width than the port; RangeError when an input lies
   * outside the request's data, tokens have no room, or there are as many nodes as the model allows
   */
  node(
    cell: Cell,
    inputs: Readonly<Record<string, Source>>,
    options: NodeOptions = NO_OPTIONS,
  ): CellNode<Owner, Tag> {
    this.#appends();
    if (!this.model.cells.includes(cell)) {
      throw new TypeError(
        `Cell "${cell.name}" is not listed in the cells of model "${this.#name}"`,
      );
    }
    if (this.nodes.length >= this.#nodesMax) {
      throw new RangeError(
        `A request to "${this.#name}" takes more than ${this.#nodesMax} nodes, the model's "nodesMax"; ` +
          `bring less at once, or raise it`,
      );
    }
    const length = checkLength(cell, options.length);
    const sources = new Array<Source>(cell.inputs.length);
    for (let i = 0; i < cell.inputs.length; i++) {
      const port = cell.inputs[i];
      const source = inputs[port.name];
      if (source === undefined) {
        throw new TypeError(
          `A node of cell "${cell.name}" lacks its input "${port.name}"`,
        );
      }
      checkSource(source, this, port, cell, length);
      sources[i] = source;
    }
    const uses = cell.caches.length === 0
      ? NO_CACHES
      : cacheUses(this, cell, options.caches ?? {}, length);
    const node = new CellNode<Owner, Tag>(
      this,
      this.nodes.length,
      cell,
      sources,
      length,
      uses,
    );
    for (let i = 0; i < uses.length; i++) {
      if (!cell.caches[i].appends) continue;
      const { cache, seen } = uses[i];
      cache.filled = seen;
      cache.writer = node;
    }
    (this.nodes as CellNode<Owner, Tag>[]).push(node);
    this.remaining++;
    return node;
  }

  /**
   * Output `port` of a node, as a source for others.
   * @param token which token of a ragged node; default: all
   * @throws TypeError when the node's cell has no such output
   */
  output(node: CellNode, port: string, token?: number): NodeOutput {
    const { outputs } = node.cell;
    for (let index = 0; index < outputs.length; index++) {
      if (outputs[index].name === port) {
        return token === undefined
          ? { kind: "node", node, port: index }
          : { kind: "node", node, port: index, token };
      }
    }
    throw new TypeError(
      `Cell "${node.cell.name}" has no output ${describe(port)}`,
    );
  }

  /**
   * Declares a result of the request: an output of a node, or one token of it, in the shape of the port.
   * @throws RangeError when rows cannot be along the axis; TypeError when it has one of that name, the model declares none, it is of another type or no
   * output of a node; or while the graph grows, since a step may turn out to be void
   */
  result(name: string, source: NodeOutput, options?: ResultOptions): void {
    this.#appends();
    if (this.#state === "growing") {
      throw new TypeError(
        `Model "${this.#name}" calls graph.result() in grow: a step may turn out to lie behind the end, ` +
          `so graph.collect() takes rows of steps`,
      );
    }
    const port = this.#resultPort(name, source);
    if (this.results.has(name)) {
      throw new TypeError(
        `A request to "${this.#name}" has result "${
          shorten(name)
        }" already; graph.collect() makes rows of one result`,
      );
    }
    this.results.set(name, resultRows(name, port, source, false, options));
  }

  /**
   * Appends a row to a result that is a list of rows: its shape has one axis more than the port, in front.
   * Rows of growing steps that turn out to lie behind the end are left out.
   * @throws TypeError when the rows before were of another type or width, or it is a result of one row; or
   * as `result` does
   */
  collect(name: string, source: NodeOutput, options?: ResultOptions): void {
    this.#appends();
    const port = this.#resultPort(name, source);
    const rows = this.results.get(name);
    if (rows === undefined) {
      this.results.set(name, resultRows(name, port, source, true, options));
      return;
    }
    if (!rows.collected) {
      throw new TypeError(
        `Result "${
          shorten(name)
        }" is one row, given by graph.result(); nothing can be added to it`,
      );
    }
    if (!isSamePort(rows.port, port)) {
      throw new TypeError(
        `Result "${shorten(name)}" is ${typeOf(rows.port)}, got a row ${
          typeOf(port)
        }`,
      );
    }
    rows.sources.push(source);
  }

  #resultPort(name: string, source: NodeOutput): Port {
    checkResult(name, source, this);
    const port = source.node.cell.outputs[source.port];
    checkDeclared(name, port.dtype, this.model);
    source.node.keptPorts = including(source.node.keptPorts, source.port);
    return port;
  }

  /**
   * Declares that the graph grows (see Model.grow), by at most `stepsMax` steps. Steps are counted
   * over the nodes of cells that have a stop rule.
   * @param keptPerStep elements that each step declares as results; the slot is planned for them. Default 1
   * @throws RangeError unless `stepsMax` is a positive integer and `keptPerStep` a non-negative one; TypeError
   * when the graph is unfolded
   */
  grows(stepsMax: number, keptPerStep = 1): void {
    this.#brings("grows");
    if (!Number.isInteger(stepsMax) || stepsMax < 1) {
      throw new RangeError(
        `A growing graph takes at least one step, got a limit of ${
          describe(stepsMax)
        }`,
      );
    }
    if (!Number.isInteger(keptPerStep) || keptPerStep < 0) {
      throw new RangeError(
        `A growing step keeps a whole number of elements, got ${
          describe(keptPerStep)
        }`,
      );
    }
    this.closed = false;
    this.stepsMax = stepsMax;
    this.keptPerStep = keptPerStep;
  }

  /**
   * The request is unfolded: nothing is appended to its graph any more, but while it grows. For the engine.
   * @internal
   */
  seal(): void {
    this.#state = "sealed";
  }

  /** @internal Runs what appends nodes and results of a growing step, then seals the graph again. For the engine. */
  growing(grow: () => void): void {
    this.#state = "growing";
    try {
      grow();
    } finally {
      this.#state = "sealed";
    }
  }

  get #name(): string {
    return shorten(this.model.name);
  }

  #appends(): void {
    if (this.#state !== "sealed") return;
    throw new TypeError(
      `The graph of a request to "${this.#name}" is complete: a model appends to it while unfold or grow runs`,
    );
  }

  #brings(method: string): void {
    this.#appends();
    if (this.#state === "open") return;
    throw new TypeError(
      `Model "${this.#name}" calls graph.${method}() in grow: data, caches and growth itself are brought when ` +
        `the request is unfolded, for its slot is planned then`,
    );
  }

  #bring(data: TensorData): InputData {
    const input = new InputData(this, data);
    this.inputs.push(input);
    return input;
  }
}
