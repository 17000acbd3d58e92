/**
 * A GPU-like device on virtual time: one stream per worker, first in first out; running batches share
 * the device's capacity; one engine copies in, one copies out, both beside the computation.
 * Source: E2bird, sections 3.2, 5 and 7.1.
 */
import { describe } from "../../base/describe.ts";
import { RANK } from "../../base/event_heap.ts";
import { isShare, SharedCapacity } from "../../cost/shared_capacity.ts";
import type { SharedCost } from "../../cost/shared_cost.ts";
import type { Cell } from "../../graph/cell.ts";
import type { Task } from "../../policy/launch.ts";
import type { ActiveRequest } from "../core/active_request.ts";
import { computed } from "../core/task_extents.ts";
import { checkedNs } from "./checked_ns.ts";
import type { Timeline } from "./timeline.ts";
import type {
  VirtualDevices,
  VirtualWorkersOptions,
} from "./virtual_workers.ts";

/** Copies one batch after the other. */
class CopyEngine {
  readonly #timeline: Timeline;
  #freeNs = 0;

  constructor(timeline: Timeline) {
    this.#timeline = timeline;
  }

  copy(ns: number, then: () => void): void {
    const { nowNs } = this.#timeline;
    if (ns === 0) return then();
    this.#freeNs = Math.max(this.#freeNs, nowNs) + ns;
    this.#timeline.at(this.#freeNs, RANK.completion, then);
  }
}

interface Job {
  readonly task: Task<ActiveRequest>;
  readonly computed: () => void;
}

export class SharedWorkers<Slot> implements VirtualDevices<Slot> {
  readonly count: number;
  readonly #options: VirtualWorkersOptions;
  readonly #cost: SharedCost;
  readonly #isDone: (request: ActiveRequest<Slot>) => boolean;
  readonly #execute: (task: Task<ActiveRequest<Slot>>) => void;
  readonly #queues: Task<ActiveRequest<Slot>>[][];
  readonly #capacity: SharedCapacity<Job>;
  readonly #in: CopyEngine;
  readonly #out: CopyEngine;
  /** Counts the starts and ends: a completion that was planned before the last one is out of date. */
  #version = 0;

  /**
   * @param isDone whether rows of a request that start now are void
   * @param execute called at the end of a task's time, before its completion is reported
   */
  constructor(
    options: VirtualWorkersOptions,
    cost: SharedCost,
    isDone: (request: ActiveRequest<Slot>) => boolean,
    execute: (task: Task<ActiveRequest<Slot>>) => void,
  ) {
    this.count = options.workers ?? 1;
    this.#options = options;
    this.#cost = cost;
    this.#isDone = isDone;
    this.#execute = execute;
    this.#queues = Array.from({ length: this.count }, () => []);
    this.#capacity = new SharedCapacity((batches) =>
      cost.interference?.(batches) ?? 1
    );
    this.#in = new CopyEngine(options.timeline);
    this.#out = new CopyEngine(options.timeline);
  }

  push(task: Task<ActiveRequest<Slot>>): void {
    const queue = this.#queues[task.worker];
    queue.push(task);
    if (queue.length === 1) this.#start(task);
  }

  #start(task: Task<ActiveRequest<Slot>>): void {
    const { timeline } = this.#options;
    const { cell } = task;
    const startNs = timeline.nowNs;
    const { rows, extents } = computed(task, this.#isDone);
    if (rows === 0) {
      timeline.at(startNs, RANK.completion, () => this.#end(task, startNs));
      return;
    }
    const cost = this.#cost;
    const copyNs = (name: "htodNs" | "dtohNs") =>
      checkedNs(name, cost[name]?.(cell, rows) ?? 0, cell, rows);
    this.#in.copy(copyNs("htodNs"), () => {
      const done = () =>
        this.#out.copy(copyNs("dtohNs"), () => this.#end(task, startNs));
      this.#capacity.start(
        { task, computed: done },
        checkedNs(
          "latencyNs",
          cost.latencyNs(cell, rows, extents),
          cell,
          rows,
        ),
        checkedShare(cost.demand(cell, rows, extents), cell, rows),
        timeline.nowNs,
      );
      this.#plan();
    });
  }

  /** Looks ahead to the next end of a computation. */
  #plan(): void {
    const { timeline } = this.#options;
    const version = ++this.#version;
    const next = this.#capacity.next();
    if (next === undefined) return;
    timeline.at(next.atNs, RANK.completion, () => {
      if (version !== this.#version) return;
      this.#capacity.finish(next.job, timeline.nowNs);
      this.#plan();
      next.job.computed();
    });
  }

  #end(task: Task<ActiveRequest<Slot>>, startNs: number): void {
    const { timeline, onCompleted } = this.#options;
    this.#execute(task);
    const queue = this.#queues[task.worker];
    queue.shift();
    if (queue.length > 0) this.#start(queue[0]);
    onCompleted(task, startNs, timeline.nowNs);
  }
}

/** Above 1, as of percents, a batch would slow down itself. */
function checkedShare(demand: number, { name }: Cell, rows: number): number {
  if (typeof demand === "number" && isShare(demand)) return demand;
  throw new RangeError(
    `"demand" is a function that returns a share of the device, from 0 to 1, got ${
      describe(demand)
    } for ${rows} rows of cell "${name}"`,
  );
}
