import {
  type Check,
  type Checks,
  ofType,
  positiveInteger,
  withMethods,
} from "../../base/checked_options.ts";
import { RANK } from "../../base/event_heap.ts";
import type { CostModel } from "../../cost/cost_model.ts";
import type { SharedCost } from "../../cost/shared_cost.ts";
import type { Task } from "../../policy/launch.ts";
import type { ActiveRequest } from "../core/active_request.ts";
import { computed } from "../core/task_extents.ts";
import { checkedNs } from "./checked_ns.ts";
import type { Timeline } from "./timeline.ts";

/** Options of executors on virtual time. */
export interface VirtualWorkersOptions {
  /** The time of the simulation, the same that its driver gets. */
  timeline: Timeline;
  /** What batches take. One with a `demand` (SharedCost) is of a single device that all workers share. */
  cost: CostModel;
  /** Workers, each executing one task at a time; default 1. */
  workers?: number;
  /**
   * Host time of a task between its submission and its worker, integer ns: deciding, merging, launching. A worker's host
   * does one task at a time, beside what the worker executes, so that whoever submits ahead hides it; default: none.
   */
  submitNs?: (task: Task) => number;
  /** Reports a completion, to be passed on to `EngineCore.completed`. */
  onCompleted: (task: Task, startNs: number, endNs: number) => void;
}

/** What has the time of a simulation: a Timeline. */
export const checkTimeline: Check = withMethods("a Timeline", [
  "at",
  "advance",
]);

const checkLatency = withMethods("a cost model", ["latencyNs"]);

/** What a cost model of a shared device may have besides its demand; see SharedCost. */
const SHARED = [
  "interference",
  "htodNs",
  "dtohNs",
] as const satisfies (keyof SharedCost)[];

/** Whoever's it is, what it lacks is said before anything runs. */
const checkCost: Check = (name, cost) => {
  checkLatency(name, cost);
  const { demand } = cost as Partial<SharedCost>;
  if (demand !== undefined) ofType("function")(`${name}.demand`, demand);
  for (const part of SHARED) {
    const given = (cost as Partial<SharedCost>)[part];
    if (given === undefined) continue;
    ofType("function")(`${name}.${part}`, given);
    if (demand !== undefined) continue;
    throw new TypeError(
      `"${name}.${part}" is of a device that workers share: it goes with a "demand", () => 0 for copies alone`,
    );
  }
};

export const VIRTUAL_CHECKS: Checks<VirtualWorkersOptions> = {
  timeline: checkTimeline,
  cost: checkCost,
  workers: positiveInteger,
  submitNs: ofType("function"),
  onCompleted: ofType("function"),
};

/** Options of VIRTUAL_CHECKS that have no default. */
export const VIRTUAL_REQUIRED = ["timeline", "cost", "onCompleted"] as const;

/**
 * Devices on virtual time.
 * @typeParam Slot what the executor keeps with a request
 */
export interface VirtualDevices<Slot> {
  readonly count: number;
  push(task: Task<ActiveRequest<Slot>>): void;
}

/** Workers on virtual time: each takes its tasks first in first out, for as long as the cost model says. */
export class VirtualWorkers<Slot> implements VirtualDevices<Slot> {
  readonly count: number;
  readonly #options: VirtualWorkersOptions;
  readonly #isDone: (request: ActiveRequest<Slot>) => boolean;
  readonly #execute: (task: Task<ActiveRequest<Slot>>) => void;
  readonly #queues: Task<ActiveRequest<Slot>>[][];

  /**
   * @param isDone whether rows of a request that start now are void
   * @param execute called at the end of a task's time, before its completion is reported
   */
  constructor(
    options: VirtualWorkersOptions,
    isDone: (request: ActiveRequest<Slot>) => boolean,
    execute: (task: Task<ActiveRequest<Slot>>) => void,
  ) {
    this.count = options.workers ?? 1;
    this.#options = options;
    this.#isDone = isDone;
    this.#execute = execute;
    this.#queues = Array.from({ length: this.count }, () => []);
  }

  push(task: Task<ActiveRequest<Slot>>): void {
    const queue = this.#queues[task.worker];
    queue.push(task);
    if (queue.length === 1) this.#start(task);
  }

  #start(task: Task<ActiveRequest<Slot>>): void {
    const { timeline, cost, onCompleted } = this.#options;
    const startNs = timeline.nowNs;
    const { rows, extents } = computed(task, this.#isDone);
    const { cell, worker } = task;
    const ns = rows === 0 ? 0 : cost.latencyNs(cell, rows, extents, worker);
    const endNs = startNs + checkedNs("latencyNs", ns, cell, rows);
    timeline.at(endNs, RANK.completion, () => {
      this.#execute(task);
      const queue = this.#queues[task.worker];
      queue.shift();
      if (queue.length > 0) this.#start(queue[0]);
      onCompleted(task, startNs, endNs);
    });
  }
}
