import type { Cell } from "../../graph/cell.ts";
import { type CellGraph, type CellNode, NODE } from "../../graph/cell_graph.ts";
import type { Model, Result } from "../../graph/model.ts";
import type { Outcome } from "../../policy/records.ts";
import type { Request } from "../../policy/request.ts";

/** How a request ended; `result` when done, `error` otherwise. */
export interface Ending {
  readonly outcome: Outcome;
  readonly result?: Result;
  readonly error?: Error;
}

/** A request inside the engine: what a policy sees, and the engine's own books. */
export class ActiveRequest implements Request {
  tag: unknown = undefined;
  /** Start of its first task. */
  startNs = NaN;
  /** Rows submitted and not settled; the slot stays until this is 0. */
  inFlight = 0;
  /** Ended, or about to at the end of its run: further rows are void. */
  over = false;
  /** The ending waits for the end of its run (graph batching). */
  held: Ending | undefined = undefined;
  /** Where the engine keeps it. */
  place = -1;
  /** Departed: nothing more is reported about it. */
  departed = false;
  nodesDone = 0;
  /** Growing steps submitted, and settled. */
  stepsSubmitted = 0;
  stepsSettled = 0;
  /** Belongs to the executor; undefined while it has no room. */
  slot: unknown = undefined;
  /** A row of it was submitted. */
  begun = false;
  /** A copy of what it brought, as long as it waits to be unfolded; the graph is empty until then. */
  waiting: { readonly input: unknown } | undefined = undefined;
  /** Its neighbours in a WaitingList. */
  before: ActiveRequest | undefined = undefined;
  after: ActiveRequest | undefined = undefined;

  constructor(
    readonly id: number,
    readonly model: Model,
    readonly graph: CellGraph,
    readonly arrivalNs: number,
    readonly deadlineNs: number,
    /** Growing steps after which the workload ends the request; hidden from policies. */
    readonly stepsFixed: number | undefined,
    readonly onEnd: ((ending: Ending) => void) | undefined,
  ) {
    graph.owner = this;
  }

  /** Growing steps after which the request is done even without a stop token. */
  get stepsLimit(): number {
    return Math.min(this.graph.stepsMax, this.stepsFixed ?? Infinity);
  }

  /** The node of a growing cell that it executes next: among its last ones, which wait. */
  nextGrown(cell: Cell): CellNode | undefined {
    const { nodes } = this.graph;
    for (let i = nodes.length - 1; i >= 0; i--) {
      const node = nodes[i]!;
      if (node.state !== NODE.waiting) return undefined;
      if (node.cell === cell) return node;
    }
    return undefined;
  }
}
