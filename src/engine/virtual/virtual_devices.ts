import { isShared } from "../../cost/shared_cost.ts";
import type { Task } from "../../policy/launch.ts";
import type { ActiveRequest } from "../core/active_request.ts";
import { SharedWorkers } from "./shared_workers.ts";
import { SubmissionDelay } from "./submission.ts";
import {
  type VirtualDevices,
  VirtualWorkers,
  type VirtualWorkersOptions,
} from "./virtual_workers.ts";

/** The devices that a cost model speaks of: one that shares its capacity, or one per worker. */
export function virtualDevices<Slot>(
  options: VirtualWorkersOptions,
  isDone: (request: ActiveRequest<Slot>) => boolean,
  execute: (task: Task<ActiveRequest<Slot>>) => void,
): VirtualDevices<Slot> {
  const { cost, timeline, submitNs } = options;
  const devices = isShared(cost)
    ? new SharedWorkers(options, cost, isDone, execute)
    : new VirtualWorkers(options, isDone, execute);
  return submitNs ? new SubmissionDelay(devices, timeline, submitNs) : devices;
}
