/**
 * Places a request's inputs and node outputs in its slot, reusing buffers whose life is over.
 *
 * A node never writes over its own inputs (so that a failed batch can be run again). It may take
 * over the outputs of a grandparent all of whose consumers are parents of the node: every order in
 * which the graph may legally run has read them by then, also when parents are only queued on the
 * same worker. What a node does not take it hands to its child if it has only one: a chain lives in
 * two buffers, a binary tree in about its leaves plus its lowest internal nodes.
 */
import { assert } from "../base/assert.ts";
import { BYTES_PER_ELEMENT } from "../tensor/tensor.ts";
import type { Cell } from "./cell.ts";
import type { CellGraph, CellNode } from "./cell_graph.ts";

/** Every row starts at a multiple of this: one v128. */
export const ROW_ALIGNMENT = 16;

/** Words before the data of a slot; see `SLOT`. */
export const SLOT_HEADER_BYTES = 32;

/** Word indices of a slot's header. */
export const SLOT = {
  /** Nonzero: rows of this request that have not started are void. */
  done: 0,
  /** 1 + index of the node that failed; 0 when none did. */
  failed: 1,
  /** Growing steps taken so far. */
  steps: 2,
  /** Growing steps after which the request is done; 0 when its graph does not grow. */
  stepsLimit: 3,
  /** Number of the call of the cell's program that could not compute the row; -1: it trapped. */
  failedCall: 4,
} as const;

export function alignUp(bytes: number): number {
  // Not with bit operations: addresses reach 4 GiB, those end at 2.
  return Math.ceil(bytes / ROW_ALIGNMENT) * ROW_ALIGNMENT;
}

function rowBytes(cell: Cell, port: number): number {
  return alignUp(cell.outputs[port]!.width * BYTES_PER_ELEMENT);
}

/** Lays out one slot. Offsets are bytes from the slot's start. */
export class SlotPlan {
  /** What the whole slot needs; for a growing graph this includes every step it may still take. */
  readonly bytes: number;
  #used = SLOT_HEADER_BYTES;
  readonly #sizes = new Map<number, number>();

  constructor(readonly graph: CellGraph) {
    for (const input of graph.inputs) {
      input.offset = this.#take(alignUp(input.data.byteLength));
    }
    for (const node of graph.nodes) this.#assign(node);
    this.bytes = this.#used + (graph.closed ? 0 : growthBytes(graph));
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
    const free: number[] = [];
    for (const parent of node.predecessors) {
      if (parent.successors.length === 1 && parent.reusable) {
        free.push(...parent.reusable.splice(0));
      }
      for (const grandparent of parent.predecessors) {
        this.#retire(grandparent, node, free);
      }
    }
    const { outputs } = node.cell;
    const offsets = new Array<number>(outputs.length);
    for (let port = 0; port < outputs.length; port++) {
      const bytes = rowBytes(node.cell, port);
      const kept = (node.keptPorts >> port) & 1;
      const found = kept
        ? -1
        : free.findIndex((offset) => this.#sizes.get(offset) === bytes);
      offsets[port] = found < 0 ? this.#take(bytes) : free.splice(found, 1)[0]!;
    }
    node.offsets = offsets;
    node.reusable = free;
  }

  /** Adds the outputs of `node` to `free` once no one but parents of `descendant` reads them. */
  #retire(node: CellNode, descendant: CellNode, free: number[]): void {
    if (node.reusable === RETIRED) return;
    if (
      !node.successors.every((consumer) =>
        descendant.predecessors.includes(consumer)
      )
    ) return;
    node.reusable = RETIRED;
    node.offsets.forEach((offset, port) => {
      if (!((node.keptPorts >> port) & 1)) free.push(offset);
    });
  }

  #take(bytes: number): number {
    const offset = this.#used;
    this.#used += bytes;
    this.#sizes.set(offset, bytes);
    return offset;
  }
}

const RETIRED: number[] = [];

/**
 * A chain needs two states; a third covers the step between the static part and the growing one.
 * What a step keeps lies in at most one row per output, each padded to the alignment.
 */
function growthBytes(graph: CellGraph): number {
  let states = 0;
  let outputs = 0;
  for (const cell of graph.model.cells) {
    cell.outputs.forEach((_, port) => states += rowBytes(cell, port));
    outputs += cell.outputs.length;
  }
  const rows = Math.min(graph.keptPerStep, outputs);
  const keptBytes = graph.keptPerStep * BYTES_PER_ELEMENT +
    rows * (ROW_ALIGNMENT - BYTES_PER_ELEMENT);
  return 3 * states + graph.stepsMax * alignUp(keptBytes);
}
