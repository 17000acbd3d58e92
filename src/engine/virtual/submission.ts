import { RANK } from "../../base/event_heap.ts";
import type { Task } from "../../policy/launch.ts";
import type { ActiveRequest } from "../core/active_request.ts";
import { checkedNs } from "./checked_ns.ts";
import type { Timeline } from "./timeline.ts";
import type { VirtualDevices } from "./virtual_workers.ts";

/**
 * What lies between a decision and a device: every worker's host hands on one task after the other, each after
 * its time, beside what the worker executes. A worker that has a next task does not notice; one that has none
 * stands still for as long.
 * Source: Late Batching, section 2 ("Ahead-of-Time Scheduling"); Cellular Batching, section 5 ("Keeping the GPU
 * busy").
 */
export class SubmissionDelay<Slot> implements VirtualDevices<Slot> {
  readonly #devices: VirtualDevices<Slot>;
  readonly #timeline: Timeline;
  readonly #submitNs: (task: Task) => number;
  /** When each worker's host has handed on what it was given. */
  readonly #freeNs: number[];
  /** Tasks that each worker's host has not handed on. */
  readonly #waiting: number[];

  /** @param submitNs host time of a task, ns */
  constructor(
    devices: VirtualDevices<Slot>,
    timeline: Timeline,
    submitNs: (task: Task) => number,
  ) {
    this.#devices = devices;
    this.#timeline = timeline;
    this.#submitNs = submitNs;
    this.#freeNs = new Array(devices.count).fill(0);
    this.#waiting = new Array(devices.count).fill(0);
  }

  get count(): number {
    return this.#devices.count;
  }

  push(task: Task<ActiveRequest<Slot>>): void {
    const { nowNs } = this.#timeline;
    const { worker, cell, nodes, padding } = task;
    const rows = nodes.length + padding;
    const ns = checkedNs("submitNs", this.#submitNs(task), cell, rows);
    // One that is due at this very time comes first.
    if (ns === 0 && this.#waiting[worker] === 0) {
      return this.#devices.push(task);
    }
    const freeNs = this.#freeNs[worker] =
      Math.max(this.#freeNs[worker], nowNs) + ns;
    this.#waiting[worker]++;
    this.#timeline.at(freeNs, RANK.completion, () => {
      this.#waiting[worker]--;
      this.#devices.push(task);
    });
  }
}
