import { checkedOptions } from "../../base/checked_options.ts";
import type { CellNode } from "../../graph/cell_graph.ts";
import type { Result } from "../../graph/model.ts";
import type { Task } from "../../policy/launch.ts";
import type { ActiveRequest } from "../core/active_request.ts";
import type { Executor, Settlement } from "../core/executor.ts";
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

/** Executes nothing: tasks take virtual time, requests grow to the length their workload fixed. */
export class SimExecutor implements Executor {
  readonly #devices: VirtualDevices;

  /** @throws TypeError or RangeError on an option that is not one */
  constructor(options: VirtualWorkersOptions) {
    this.#devices = virtualDevices(
      checkedOptions("SimExecutor", options, VIRTUAL_CHECKS, VIRTUAL_REQUIRED),
      (request) => (request.slot as SimSlot).done,
      (task) => this.#step(task),
    );
  }

  get workers(): number {
    return this.#devices.count;
  }

  admit(request: ActiveRequest): void {
    request.slot = { steps: 0, done: false } satisfies SimSlot;
  }

  grew(_request: ActiveRequest, _node: CellNode): void {}

  push(task: Task): void {
    this.#devices.push(task);
  }

  settle(_task: Task, node: CellNode, request: ActiveRequest): Settlement {
    if (!node.cell.stop || request.graph.stepsMax === 0) return "done";
    const { steps, done } = request.slot as SimSlot;
    const step = request.stepsSettled + 1;
    if (step > steps) return "void";
    return done && step === steps ? "last" : "done";
  }

  abandon(request: ActiveRequest): void {
    (request.slot as SimSlot).done = true;
  }

  /** A simulation has no values. */
  result(_request: ActiveRequest): Result {
    return {};
  }

  release(_request: ActiveRequest): void {}

  /** Takes the growing steps of a task whose time is up. */
  #step(task: Task): void {
    if (!task.cell.stop) return;
    for (const node of task.nodes) {
      const request = node.graph.owner as ActiveRequest;
      const slot = request.slot as SimSlot;
      if (slot.done || request.graph.stepsMax === 0) continue;
      slot.steps++;
      slot.done = slot.steps >= request.stepsLimit;
    }
  }
}
