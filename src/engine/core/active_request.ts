import type { Cell } from "../../graph/cell.ts";
import { type CellGraph, NODE } from "../../graph/cell_graph.ts";
import type { Model } from "../../graph/model.ts";
import type { Result } from "../../graph/result.ts";
import type { Outcome } from "../../policy/records.ts";
import type { NodeOf, Request } from "../../policy/request.ts";
import type { TensorData } from "../../tensor/tensor.ts";
import type { BatchLog } from "./batch_log.ts";
import type { FrameRows, Session } from "./session.ts";
import type { StepRows } from "./step_rows.ts";

/** How a request ended; `result` when done, `error` otherwise. */
export interface Ending {
  /** Whether it is done, or why not. */
  readonly outcome: Outcome;
  /** Present when it is done; empty in simulations. */
  readonly result?: Result;
  /** Present when it is not. */
  readonly error?: Error;
}

/**
 * Hears that a request has ended.
 * @param endNs when it departed: when its last task ended, for one that is done
 */
export type OnEnd = (ending: Ending, endNs: number) => void;

/**
 * A request inside the engine: what a policy sees, and the engine's own books.
 * @typeParam Slot what the executor keeps with it
 */
export class ActiveRequest<Slot = unknown> implements Request {
  /** Belongs to the policy. */
  tag: unknown = undefined;
  /** Start of its first task; NaN before. */
  startNs: number = NaN;
  /** Rows submitted and not settled; the slot stays until this is 0. */
  inFlight: number = 0;
  /**
   * Long runs that have nodes of it and of whose end the policy has not heard: nobody else has its graph before.
   * @internal
   */
  longRuns = 0;
  /**
   * The last one that was counted.
   * @internal
   */
  longRun = -1;
  /** Ended, or about to at the end of its run: further rows are void. */
  over: boolean = false;
  /**
   * The ending waits for the end of its run (graph batching).
   * @internal
   */
  held: Ending | undefined = undefined;
  /**
   * Where the engine keeps it.
   * @internal
   */
  place = -1;
  /** Departed: nothing more is reported about it. */
  departed: boolean = false;
  /** Nodes of its graph that are done. */
  nodesDone: number = 0;
  /** Growing steps submitted. */
  stepsSubmitted: number = 0;
  /** Growing steps that were done or void. */
  stepsSettled: number = 0;
  /** Belongs to the executor; undefined while it has no room. */
  slot: Slot = undefined as Slot;
  /** A row of it was submitted. */
  begun: boolean = false;
  /**
   * It is a frame, and all of its nodes were submitted.
   * @internal
   */
  isOut = false;
  /**
   * A copy of what it brought, and about how large, as long as it waits to be unfolded; the graph is empty until then.
   * Also of one that is unfolded and waits for room.
   * @internal
   */
  waiting: { readonly input: unknown; readonly bytes: number } | undefined =
    undefined;
  /**
   * What it brings into a graph that was used before, in the order of its inputs, until it is in the slot; undefined:
   * what the graph has.
   * @internal
   */
  brought: readonly (TensorData | undefined)[] | undefined = undefined;
  /**
   * Of a frame: what it brings.
   * @internal
   */
  rows: FrameRows | undefined = undefined;
  /** What its caller calls it. */
  label: string | undefined = undefined;
  /**
   * What becomes of it where there is no room: see Submission.
   * @internal
   */
  whenFull: "wait" | "refuse" = "wait";
  /**
   * Where its batches are written down, if anybody asked.
   * @internal
   */
  log: BatchLog | undefined = undefined;
  /**
   * Its steps, if anybody wants to hear of them.
   * @internal
   */
  steps: StepRows | undefined = undefined;
  /**
   * The one before it in a WaitingList.
   * @internal
   */
  before: ActiveRequest | undefined = undefined;
  /**
   * The one behind it in a WaitingList.
   * @internal
   */
  after: ActiveRequest | undefined = undefined;

  /**
   * `EngineCore.submit` makes requests.
   * @internal
   */
  constructor(
    /** Unique and ascending in order of arrival. */
    readonly id: number,
    /** The model that it was submitted to. */
    readonly model: Model,
    /**
     * Its graph; empty until it is unfolded, and again once it is over and another request may have it. A session's,
     * whose frames have it one after the other.
     */
    public graph: CellGraph<ActiveRequest<Slot>>,
    /** When it was due to arrive. */
    readonly arrivalNs: number,
    /** Latest useful completion; Infinity without a deadline. */
    readonly deadlineNs: number,
    /** When it has to have departed; Infinity: whenever. */
    readonly finishNs: number,
    /** Growing steps after which the workload ends the request; hidden from policies. */
    readonly stepsFixed: number | undefined,
    /** Called when it has ended; undefined from then on. */
    public onEnd: OnEnd | undefined,
    /** Whose frame it is; undefined: an ordinary request. */
    readonly session: ActiveSession<Slot> | undefined = undefined,
  ) {}

  /** Growing steps after which the request is done even without a stop token. */
  get stepsLimit(): number {
    return Math.min(this.graph.stepsMax, this.stepsFixed ?? Infinity);
  }

  /** Its slot, which it loses. */
  takeSlot(): Slot {
    const { slot } = this;
    this.slot = undefined as Slot;
    return slot;
  }

  /** The node of a growing cell that it executes next: among its last ones, which wait. */
  nextGrown(cell: Cell): NodeOf<this> | undefined {
    const { nodes } = this.graph;
    for (let i = nodes.length - 1; i >= 0; i--) {
      const node = nodes[i];
      if (node.state !== NODE.waiting) return undefined;
      if (node.cell === cell) return node;
    }
    return undefined;
  }
}

/** A session whose frames are such requests. */
export type ActiveSession<Slot = unknown> = Session<ActiveRequest<Slot>, Slot>;
