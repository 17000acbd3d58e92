import { checkedOptions } from "../../base/checked_options.ts";
import type { CellNode } from "../../graph/cell_graph.ts";
import type { Result } from "../../graph/result.ts";
import type { Task } from "../../policy/launch.ts";
import type { ActiveRequest } from "../core/active_request.ts";
import type { Executor, SessionMemory, Settlement } from "../core/executor.ts";
import { virtualDevices } from "./virtual_devices.ts";
import {
  VIRTUAL_CHECKS,
  VIRTUAL_REQUIRED,
  type VirtualDevices,
  type VirtualWorkersOptions,
} from "./virtual_workers.ts";

/** Growth as a simulation knows it: how far it has gone, and whether it is over. */
interface SimSlot {
  steps: number;
  done: boolean;
}

type SimRequest = ActiveRequest<SimSlot>;
type SimTask = Task<SimRequest>;

/**
 * Executes nothing: tasks take virtual time, as long as the cost model says, and requests grow to the length their
 * workload fixed (`Submission.stepsFixed`), or to their limit. Results are empty.
 *
 * @example Three decoder steps
 * ```ts
 * import assert from "node:assert/strict";
 * import { late, seq2seq } from "@shoal/core";
 * import { driveVirtual, EngineCore, SimExecutor, TableCost, Timeline } from "@shoal/core/simulate";
 *
 * const model = seq2seq({ hidden: 4, sourceVocabulary: 10 });
 * const timeline = new Timeline();
 * const executor = new SimExecutor({
 *   timeline,
 *   cost: new TableCost({ encoder: [[1, 10]], decoder: [[1, 100]] }),
 *   onCompleted: (task, startNs, endNs) => engine.completed(task, startNs, endNs),
 * });
 * const engine = new EngineCore({ models: [model], policy: late(), executor });
 * let endNs = NaN;
 * driveVirtual(engine, timeline, [{
 *   model,
 *   input: { tokens: [7, 3] },
 *   arrivalNs: 0,
 *   stepsFixed: 3,
 *   onEnd: () => endNs = timeline.nowNs,
 * }]);
 * assert.equal(endNs, 2 * 10 + 3 * 100);
 * ```
 */
export class SimExecutor implements Executor {
  readonly #devices: VirtualDevices<SimSlot>;

  /**
   * Workers that have nothing to do.
   * @throws TypeError or RangeError on an option that is not one
   */
  constructor(options: VirtualWorkersOptions) {
    this.#devices = virtualDevices(
      checkedOptions("SimExecutor", options, VIRTUAL_CHECKS, VIRTUAL_REQUIRED),
      (request) => request.slot.done,
      (task) => this.#step(task),
    );
  }

  /**
   * Sessions without a state.
   * @internal
   */
  readonly sessions: SessionMemory = {
    open() {},
    load() {},
    save: ({ frame }) => frame.initialState(),
    close() {},
  };

  /** How many workers there are. */
  get workers(): number {
    return this.#devices.count;
  }

  /**
   * Takes a request in; there is always room.
   * @internal
   */
  admit(request: SimRequest): void {
    request.slot = { steps: 0, done: false };
  }

  /**
   * Nothing needs to be done for a node that a graph grew by.
   * @internal
   */
  grew(_request: SimRequest, _node: CellNode): void {}

  /**
   * Queues a task on its worker.
   * @internal
   */
  push(task: SimTask): void {
    this.#devices.push(task);
  }

  /**
   * What became of a row: void behind the end of its request, otherwise done.
   * @internal
   */
  settle(_task: SimTask, node: CellNode, request: SimRequest): Settlement {
    if (!node.cell.stop || request.graph.stepsMax === 0) return "done";
    const { steps, done } = request.slot;
    const step = request.stepsSettled + 1;
    if (step > steps) return "void";
    return done && step === steps ? "last" : "done";
  }

  /**
   * Rows of the request that have not started take no time.
   * @internal
   */
  abandon(request: SimRequest): void {
    request.slot.done = true;
  }

  /**
   * A simulation has no values.
   * @internal
   */
  result(_request: SimRequest): Result {
    return {};
  }

  /**
   * There is nothing to free.
   * @internal
   */
  release(_request: SimRequest): void {}

  /** Takes the growing steps of a task whose time is up. */
  #step(task: SimTask): void {
    if (!task.cell.stop) return;
    for (const node of task.nodes) {
      const request = node.graph.owner;
      const slot = request.slot;
      if (slot.done || request.graph.stepsMax === 0) continue;
      slot.steps++;
      slot.done = slot.steps >= request.stepsLimit;
    }
  }
}
