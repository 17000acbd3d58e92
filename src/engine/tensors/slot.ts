import type { SlotPlan } from "../../graph/slot_plan.ts";
import type { Task } from "../../policy/launch.ts";
import type { ActiveRequest } from "../core/active_request.ts";

/** A request's piece of the slots' memory. */
export interface Slot {
  readonly address: number;
  readonly bytes: number;
  readonly plan: SlotPlan;
}

/** A request that has such a slot. */
export type SlotRequest = ActiveRequest<Slot>;

/** A task whose rows lie in such slots. */
export type SlotTask = Task<SlotRequest>;
