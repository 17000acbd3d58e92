/**
 * Subgraphs of a cell graph: connected nodes of one cell that may be scheduled once everything
 * outside them that they need is done.
 * Source: Cellular Batching, section 4.3 ("Priority refers to ...", "A subgraph contains ...") and 4.4.
 * Assumption: the paper does not say how to cut a graph in which a cell recurs with another one in
 * between (A -> B -> A, with A -> A as well); taken as one, the two A would wait for B, which waits for
 * them. Here every node has a segment, the most changes of cell on a path to it, and only nodes of
 * equal segment join: dependencies between subgraphs then lead to larger segments, never in a circle.
 */
import { NODE } from "../../graph/cell_graph.ts";
import type { Cell } from "../../graph/cell.ts";
import type { NodeOf, Request } from "../request.ts";

/** A request's tag are its subgraphs, a node's the one that it is part of. */
export type CellularRequest = Request<Subgraph[] | undefined, Subgraph>;
export type TaggedNode = NodeOf<CellularRequest>;

/** What a cell type's queue keeps of its subgraphs, see cellular.ts. */
export interface SubgraphQueue {
  /** Queue of subgraphs, oldest first. */
  first: Subgraph | undefined;
  last: Subgraph | undefined;
  /** Submittable nodes that any worker may take, and those pinned, by worker. */
  readyAnywhere: number;
  readonly readyPinned: number[];
}

export class Subgraph {
  /** Submittable nodes in order of becoming so, linked by `CellNode.next`. */
  firstReady: TaggedNode | undefined = undefined;
  #lastReady: TaggedNode | undefined = undefined;
  #readyCount = 0;
  /** Predecessors outside, counted per edge, that are not done. */
  externals = 0;
  /** As many as there were when nothing was done. */
  externalsFirst = 0;
  /** Some other subgraph waits for nodes of it. */
  feedsOthers = false;
  /** In its cell type's queue: all externals are done. */
  released = false;
  /** The request ended; nothing of it is scheduled any more. */
  dead = false;
  /** Worker that must execute its next nodes; -1: any. Changed by `pin` only. */
  pinned = -1;
  /** Tasks under way that contain nodes of it. */
  tasks = 0;
  /** Neighbours in its cell type's queue. */
  before: Subgraph | undefined = undefined;
  after: Subgraph | undefined = undefined;
  #mergedInto: Subgraph | undefined = undefined;
  /** Among its request's. */
  listed = false;

  /** The queue it enters once it is released. */
  queue: SubgraphQueue | undefined = undefined;

  constructor(readonly cell: Cell, readonly segment: number) {}

  get readyCount(): number {
    return this.#readyCount;
  }

  /** As when it was made, for another request whose graph it is of: nothing of the one before is under way. */
  renew(): void {
    this.firstReady = this.#lastReady = undefined;
    this.#readyCount = 0;
    this.externals = this.externalsFirst;
    this.dead = false;
    this.pinned = -1;
    this.tasks = 0;
  }

  /** A node became submittable. */
  addReady(node: TaggedNode): void {
    if (this.#lastReady) this.#lastReady.next = node;
    else this.firstReady = node;
    this.#lastReady = node;
    this.#readyCount++;
    if (this.released) this.#count(1);
  }

  /** Its oldest submittable node was submitted. */
  takeReady(): void {
    const node = this.firstReady!;
    this.firstReady = node.next;
    if (node.next === undefined) this.#lastReady = undefined;
    node.next = undefined;
    this.#readyCount--;
    this.#count(-1);
  }

  /** Books nodes that became submittable (or, negative, were submitted) in the queue's counts. */
  #count(nodes: number): void {
    const queue = this.queue!;
    if (this.pinned < 0) queue.readyAnywhere += nodes;
    else queue.readyPinned[this.pinned] += nodes;
  }

  /** @param worker -1: any */
  pin(worker: number): void {
    if (this.pinned === worker) return;
    const { readyPinned } = this.queue!;
    while (readyPinned.length <= worker) readyPinned.push(0);
    const counted = this.released ? this.readyCount : 0;
    this.#count(-counted);
    this.pinned = worker;
    this.#count(counted);
  }

  /** Enters its queue, as the last. */
  release(): void {
    const queue = this.queue!;
    this.before = queue.last;
    if (queue.last) queue.last.after = this;
    else queue.first = this;
    queue.last = this;
    this.released = true;
    this.#count(this.readyCount);
  }

  /** Leaves its queue. */
  withdraw(): void {
    const queue = this.queue!;
    this.#count(-this.readyCount);
    this.released = false;
    if (this.before) this.before.after = this.after;
    else queue.first = this.after;
    if (this.after) this.after.before = this.before;
    else queue.last = this.before;
    this.before = this.after = undefined;
  }

  /** The subgraph this one has become part of. */
  root(): Subgraph {
    if (this.#mergedInto === undefined) return this;
    return this.#mergedInto = this.#mergedInto.root();
  }

  joinInto(other: Subgraph): void {
    const root = other.root();
    if (this.root() !== root) this.root().#mergedInto = root;
  }
}

/** Most changes of cell on a path to the node. */
function segmentOf(node: TaggedNode): number {
  let segment = 0;
  for (const before of node.predecessors) {
    const theirs = before.tag.segment;
    segment = Math.max(
      segment,
      before.cell === node.cell ? theirs : theirs + 1,
    );
  }
  return segment;
}

/** Finds or makes the subgraph of a node whose predecessors all have theirs (in `tag`). */
function assignSubgraph(node: TaggedNode): void {
  const segment = segmentOf(node);
  let own: Subgraph | undefined;
  for (const before of node.predecessors) {
    const theirs = before.tag;
    if (before.cell !== node.cell || theirs.segment !== segment) continue;
    if (own) theirs.joinInto(own);
    else own = theirs.root();
  }
  node.tag = own ?? new Subgraph(node.cell, segment);
}

/**
 * Subgraph of a node that growth appended: that of its predecessor when nothing else holds it back,
 * or one of its own.
 */
export function joinGrown(node: TaggedNode): Subgraph {
  const waitingFor = new Set<Subgraph>();
  for (const before of node.predecessors) {
    if (before.state !== NODE.done) waitingFor.add(before.tag);
  }
  const [only] = waitingFor;
  const segment = segmentOf(node);
  const joins = waitingFor.size === 1 && only.cell === node.cell &&
    only.segment === segment;
  const own = joins ? only : new Subgraph(node.cell, segment);
  node.tag = own;
  countExternals(node);
  return own;
}

/** Of a graph that is used again: it is the same for whoever has it next. */
interface Partition {
  readonly subgraphs: Subgraph[];
  /** By node. */
  readonly tags: readonly Subgraph[];
}

/** As `partition`; a graph that is used again keeps its subgraphs. */
export function subgraphsOf(graph: CellularRequest["graph"]): Subgraph[] {
  const { nodes } = graph;
  if (graph.again === undefined) return partition(nodes);
  const known = graph.again.tag as Partition | undefined;
  if (known === undefined) {
    const subgraphs = partition(nodes);
    for (const subgraph of subgraphs) {
      subgraph.externalsFirst = subgraph.externals;
    }
    const made: Partition = { subgraphs, tags: nodes.map(({ tag }) => tag) };
    graph.again.tag = made;
    return subgraphs;
  }
  const { subgraphs, tags } = known;
  for (const subgraph of subgraphs) subgraph.renew();
  for (let i = 0; i < nodes.length; i++) nodes[i].tag = tags[i];
  return subgraphs;
}

/** Splits a whole graph of which nothing is done; every node's `tag` is its subgraph afterwards. */
export function partition(nodes: readonly TaggedNode[]): Subgraph[] {
  for (let i = 0; i < nodes.length; i++) assignSubgraph(nodes[i]);
  const subgraphs: Subgraph[] = [];
  for (let i = 0; i < nodes.length; i++) {
    const subgraph = nodes[i].tag.root();
    nodes[i].tag = subgraph;
    if (subgraph.listed) continue;
    subgraph.listed = true;
    subgraphs.push(subgraph);
  }
  for (let i = 0; i < nodes.length; i++) countExternals(nodes[i]);
  return subgraphs;
}

/** Adds the node's unfinished inputs from other subgraphs to its subgraph's count. */
function countExternals(node: TaggedNode): void {
  const subgraph = node.tag;
  for (const before of node.predecessors) {
    const theirs = before.tag;
    if (theirs === subgraph || before.state === NODE.done) continue;
    subgraph.externals++;
    theirs.feedsOthers = true;
  }
}
