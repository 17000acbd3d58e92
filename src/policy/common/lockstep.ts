/**
 * Runs that carry requests of a chain-shaped model side by side from their first node to their last,
 * padded to a common shape: what serial execution (one request) and graph batching share.
 */
import type { CellNode } from "../../graph/cell_graph.ts";
import type { Cell } from "../../graph/cell.ts";
import { growingCells } from "../../graph/growing_cells.ts";
import type { Launch, Step, Tail } from "../launch.ts";
import type { NodeOf, Request } from "../request.ts";

export interface LockstepOptions {
  worker: number;
  requests: readonly Request[];
  /** The part of the model's cells that the run executes, the growing ones all or none; default: all. */
  cells?: readonly Cell[];
  /** Steps of recurrent static cells, and tokens of ragged ones, that are padded to, from the longest request's; default: that length. */
  padTo?: (longest: number) => number;
  why: string;
}

/**
 * Cell by cell, step by step: step t of a cell holds the t-th node of every request that has one and
 * padding for the others. A growing cell goes on in the tail until all are done.
 */
export function lockstep(
  {
    worker,
    requests,
    cells = requests[0].model.cells,
    padTo = (longest) => longest,
    why,
  }: LockstepOptions,
): Launch {
  const steps: Step[] = [];
  const growing = growingCells(requests[0].model.cells);
  const loop = cells.filter((cell) => growing.includes(cell));
  const tail: Tail = { cells: loop, requests };
  let longestRow = 0;
  const byCell = chainsByCell(requests, cells);
  for (let c = 0; c < cells.length; c++) {
    const cell = cells[c];
    const chains = byCell[c];
    const longest = chains.reduce(
      (most, { length }) => Math.max(most, length),
      0,
    );
    if (longest === 0) continue;
    const length = cell.recurrent && !loop.includes(cell)
      ? padTo(longest)
      : longest;
    for (let t = 0; t < length; t++) {
      const nodes: NodeOf<Request>[] = [];
      for (const chain of chains) if (t < chain.length) nodes.push(chain[t]);
      steps.push({ cell, nodes });
      for (const node of nodes) {
        longestRow = Math.max(longestRow, inputPositions(node));
      }
    }
  }
  return {
    worker,
    steps,
    ...(loop.length > 0 && { tail }),
    paddedRows: requests.length,
    ...(longestRow > 1 && { paddedLength: padTo(longestRow) }),
    release: "end",
    why,
  };
}

/** [cell][request]: the request's nodes of the cell, in order. */
function chainsByCell(
  requests: readonly Request[],
  cells: readonly Cell[],
): NodeOf<Request>[][][] {
  const index = new Map<Cell, number>();
  cells.forEach((cell, c) => index.set(cell, c));
  const chains = cells.map(() => requests.map((): NodeOf<Request>[] => []));
  for (let r = 0; r < requests.length; r++) {
    const { nodes } = requests[r].graph;
    let cell: Cell | undefined;
    let c: number | undefined;
    for (let i = 0; i < nodes.length; i++) {
      const node = nodes[i];
      if (node.cell !== cell) c = index.get(cell = node.cell);
      if (c !== undefined) chains[c][r].push(node);
    }
  }
  return chains;
}

/** Positions of the request's input that a node works on or looks back at; 1 for any other node. */
function inputPositions({ cell, length, caches }: CellNode): number {
  let positions = length;
  for (let i = 0; i < caches.length; i++) {
    if (!cell.caches[i].appends) {
      positions = Math.max(positions, caches[i].seen);
    }
  }
  return positions;
}

/**
 * What padding and bucketing go by: steps of the longest chain of a recurrent cell of the input part, or
 * tokens of the longest ragged node.
 */
export function inputLength(request: Request): number {
  const growing = growingCells(request.model.cells);
  let longest = 0;
  let steps = 0;
  let before: Cell | undefined;
  for (const { cell, length } of request.graph.nodes) {
    steps = cell === before ? steps + 1 : 1;
    before = cell;
    if (cell.tokensMax !== undefined) longest = Math.max(longest, length);
    else if (cell.recurrent && !growing.includes(cell)) {
      longest = Math.max(longest, steps);
    }
  }
  return longest;
}

/** Why a model cannot be padded; undefined when it can. */
export function paddingObstacle(model: Request["model"]): string | undefined {
  return model.shape === "chain"
    ? undefined
    : "padding needs chain-shaped requests (Cellular Batching, section 2.3); use merged or cellular";
}
