/**
 * Places a request's inputs, caches and node outputs in its slot, reusing buffers whose life is over.
 *
 * A node never writes over its own inputs (so that a failed batch can be run again). It may take
 * over the outputs of a grandparent all of whose readers are ancestors of the node: every order in
 * which the graph may legally run has read them by then, also when parents are only queued on the
 * same worker. It takes a piece of its size or, cut off, of the smallest larger one, and hands what it
 * does not take to the first of its children: a chain lives in two buffers, a binary tree in about its
 * leaves plus its lowest internal nodes, and a shortcut's map stays until the sum is made.
 *
 * Who will read a node of a growing step is not known when it is placed. Every growing cell has two buffers
 * per output, taken in turns: a step reads its own rows and those of the step before, and all of a step
 * lies before the next one's first node (see Model.grow). What growing nodes read of static ones stays.
 */
import { assert } from "../base/assert.ts";
import { BYTES_PER_ELEMENT } from "../tensor/tensor.ts";
import { cacheBytes } from "./cache.ts";
import type { Cell } from "./cell.ts";
import type { CellGraph, CellNode } from "./cell_graph.ts";
import { growingCells } from "./growing_cells.ts";
import type { Piece } from "./piece.ts";
import { rowBytes } from "./row_layout.ts";

/** Every row starts at a multiple of this: one v128. */
export const ROW_ALIGNMENT = 16;

/** Bytes before the data of a slot, for engine and workers to tell each other about the request. */
export const SLOT_HEADER_BYTES = 32;

/** Bytes behind it where operators in plain TypeScript say why they refuse a row; of models that have any. */
export const SLOT_REASON_BYTES = 256;

export function alignUp(bytes: number): number {
  // Not with bit operations: addresses reach 4 GiB, those end at 2.
  return Math.ceil(bytes / ROW_ALIGNMENT) * ROW_ALIGNMENT;
}

const PLAIN = new WeakMap<Cell, boolean>();

/** Whether operators of a cell run in plain TypeScript. */
function hasPlain(cell: Cell): boolean {
  let found = PLAIN.get(cell);
  if (found === undefined) {
    found = cell.operators.some(({ op }) => op === "Plain");
    PLAIN.set(cell, found);
  }
  return found;
}

function outBytes({ cell, length }: CellNode, port: number): number {
  return alignUp(rowBytes(cell.outputs[port]) * length);
}

/** The buffers of a growing cell. */
interface Turns {
  /** Steps placed so far. */
  steps: number;
  /** Offsets by output port, of even and odd steps. */
  readonly buffers: readonly (readonly number[])[];
}

/** Lays out one slot. Offsets are bytes from the slot's start. */
export class SlotPlan {
  /** What the whole slot needs; for a growing graph this includes every step it may still take. */
  readonly bytes: number;
  #used: number;
  /** Empty for a static graph. */
  readonly #growing = new Map<Cell, Turns>();

  constructor(readonly graph: CellGraph) {
    this.#used = SLOT_HEADER_BYTES +
      (graph.model.cells.some(hasPlain) ? SLOT_REASON_BYTES : 0);
    for (const input of graph.inputs) {
      input.offset = this.#take(alignUp(input.data.byteLength));
    }
    for (const cache of graph.caches) {
      cache.offset = this.#take(
        alignUp(cacheBytes(cache, cache.positions).all),
      );
    }
    if (!graph.closed) {
      for (const cell of growingCells(graph.model.cells)) {
        const turn = () =>
          cell.outputs.map((port) => this.#take(alignUp(rowBytes(port))));
        this.#growing.set(cell, { steps: 0, buffers: [turn(), turn()] });
      }
    }
    for (const node of graph.nodes) this.#assign(node);
    this.bytes = this.#used + (graph.closed ? 0 : keptBytes(graph));
  }

  /**
   * Assigns the outputs of a node appended by growth.
   * @throws RangeError when the model keeps more per step than it declared with `grows`
   */
  place(node: CellNode): void {
    this.#assign(node);
    if (this.#used > this.bytes) {
      throw new RangeError(
        `Model "${this.graph.model.name}" keeps more than the ${this.graph.keptPerStep} elements per step ` +
          `it declared; pass the number to graph.grows(stepsMax, keptPerStep)`,
      );
    }
  }

  #assign(node: CellNode): void {
    assert(node.offsets.length === 0, "a node is placed once");
    const turns = this.#growing.get(node.cell);
    if (turns) {
      this.#assignGrowing(node, turns);
      return;
    }
    let free: Piece[] = [];
    for (const parent of node.predecessors) {
      free = handedOn(parent, free);
      for (const grandparent of parent.predecessors) {
        this.#retire(grandparent, node, free);
      }
    }
    if (free.length > PIECES_MAX) trim(free);
    const { outputs } = node.cell;
    const offsets = new Array<number>(outputs.length);
    for (let port = 0; port < outputs.length; port++) {
      const bytes = outBytes(node, port);
      const kept = node.keptPorts.includes(port);
      offsets[port] = (kept ? undefined : this.#reuse(free, bytes)) ??
        this.#take(bytes);
    }
    node.offsets = offsets;
    if (free.length > 0) node.reusable = free;
  }

  /** @throws RangeError when the node reads a growing step before the last one */
  #assignGrowing(node: CellNode, turns: Turns): void {
    node.step = turns.steps++;
    for (const before of node.predecessors) {
      if (this.#growing.has(before.cell) && before.step < node.step - 1) {
        throw new RangeError(
          `Cell "${node.cell.name}" of model "${this.graph.model.name}" reads "${before.cell.name}" of ` +
            `${
              node.step - before.step
            } steps ago; a growing step reads itself and the step before`,
        );
      }
    }
    const buffers = turns.buffers[node.step % 2];
    node.offsets = buffers.map((offset, port) =>
      node.keptPorts.includes(port) ? this.#take(outBytes(node, port)) : offset
    );
  }

  /** Adds the outputs of `node` to `free` once all that read them run before `descendant`. */
  #retire(node: CellNode, descendant: CellNode, free: Piece[]): void {
    if (node.reusable === RETIRED || this.#growing.has(node.cell)) return;
    const { successors } = node;
    // The last one tells most of those that are not over: nodes are numbered in a topological order.
    const last = successors[successors.length - 1];
    if (last === undefined || last.index >= descendant.index) return;
    if (successors.length > SEARCHED_MAX) return;
    if (successors.some(({ cell }) => this.#growing.has(cell))) return;
    if (!runBefore(successors, descendant)) return;
    node.reusable = RETIRED;
    node.offsets.forEach((offset, port) => {
      if (!node.keptPorts.includes(port)) {
        free.push({ offset, bytes: outBytes(node, port) });
      }
    });
  }

  /** Takes a piece of the size out of `free`, if need be out of the smallest larger one. */
  #reuse(free: Piece[], bytes: number): number | undefined {
    let found = free.findIndex((piece) => piece.bytes === bytes);
    if (found < 0) {
      if (free.length > 1) merge(free);
      free.forEach((piece, i) => {
        const smaller = found < 0 || piece.bytes < free[found].bytes;
        if (piece.bytes >= bytes && smaller) found = i;
      });
    }
    if (found < 0) return undefined;
    const piece = free.splice(found, 1)[0];
    if (piece.bytes > bytes) {
      free.push({ offset: piece.offset + bytes, bytes: piece.bytes - bytes });
    }
    return piece.offset;
  }

  #take(bytes: number): number {
    const offset = this.#used;
    this.#used += bytes;
    return offset;
  }
}

/** In the place of what a node hands on, once its own rows were. */
const RETIRED: Piece[] = [];

/** Joins pieces that are neighbours. */
function merge(pieces: Piece[]): void {
  pieces.sort((a, b) => a.offset - b.offset);
  let last = 0;
  for (let i = 1; i < pieces.length; i++) {
    const { offset, bytes } = pieces[last];
    const next = pieces[i];
    if (offset + bytes === next.offset) {
      pieces[last] = { offset, bytes: bytes + next.bytes };
    } else {
      pieces[++last] = next;
    }
  }
  pieces.length = last + 1;
}

/**
 * Pieces that a node hands on. A tree frees more rows than what lies above them can take, and a list that
 * grew with the graph would make planning quadratic.
 */
const PIECES_MAX = 128;

/** What `parent` leaves to its first child, behind what the child has already. */
function handedOn(parent: CellNode, free: Piece[]): Piece[] {
  const pieces = parent.reusable;
  if (pieces === undefined || pieces === RETIRED) return free;
  parent.reusable = undefined;
  if (free.length === 0) return pieces;
  for (const piece of pieces) free.push(piece);
  return free;
}

/** Leaves the largest half of what is kept: they can be cut up for whatever is needed. */
function trim(pieces: Piece[]): void {
  merge(pieces);
  if (pieces.length <= PIECES_MAX / 2) return;
  pieces.sort((a, b) => b.bytes - a.bytes || a.offset - b.offset);
  pieces.length = PIECES_MAX / 2;
}

/** Edges that a search follows: plans are made as requests arrive. Beyond it a row is kept for longer. */
const SEARCHED_MAX = 256;

/** Whether all of `readers` have run when `later` starts, in every legal order: they are its ancestors. */
function runBefore(readers: readonly CellNode[], later: CellNode): boolean {
  // A reader of a grandparent is the parent: in a chain there is no other.
  if (readers.every((reader) => later.predecessors.includes(reader))) {
    return true;
  }
  const left = new Set(readers);
  // Nodes are numbered in a topological order, readers ascend.
  const first = readers[0].index;
  const open = [later];
  const seen = new Set<CellNode>();
  let edges = 0;
  while (open.length > 0) {
    for (const before of open.pop()!.predecessors) {
      if (left.delete(before) && left.size === 0) return true;
      if (++edges >= SEARCHED_MAX) return false;
      if (before.index <= first || seen.has(before)) continue;
      seen.add(before);
      open.push(before);
    }
  }
  return false;
}

/** What steps keep lies in at most one row per output, each padded to the alignment. */
function keptBytes(graph: CellGraph): number {
  const outputs = graph.model.cells.reduce(
    (sum, cell) => sum + cell.outputs.length,
    0,
  );
  const rows = Math.min(graph.keptPerStep, outputs);
  const perStep = graph.keptPerStep * BYTES_PER_ELEMENT +
    rows * (ROW_ALIGNMENT - BYTES_PER_ELEMENT);
  return graph.stepsMax * alignUp(perStep);
}
