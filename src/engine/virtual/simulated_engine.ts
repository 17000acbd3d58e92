/** An engine on virtual time that executes nothing: what every simulation is put together of. */
import type { CostModel } from "../../cost/cost_model.ts";
import type { Model } from "../../graph/model.ts";
import type { Task } from "../../policy/launch.ts";
import { RANK } from "../../base/event_heap.ts";
import type { Policy } from "../../policy/policy.ts";
import type { Observer } from "../../policy/records.ts";
import { EngineCore } from "../core/engine.ts";
import { SimExecutor } from "./sim_executor.ts";
import { Timeline } from "./timeline.ts";

/** What is simulated. */
export interface SimulatedOptions {
  readonly models: readonly Model[];
  readonly policy: Policy;
  readonly cost: CostModel;
  /** Default 1. */
  readonly workers?: number;
  /** Host time of a task before its worker has it, ns; default: none. */
  readonly submitNs?: (task: Task) => number;
  /** When the engine's thread, which has other things to do, hears of what ends now; default: at once. */
  readonly heardNs?: (nowNs: number) => number;
  /** Whether the engine hears of the end of tasks later (EngineView.isRemote); default false. */
  readonly isRemote?: boolean;
  /** Requests that may wait; default: the engine's. */
  readonly queueMax?: number;
  readonly observer: Observer;
}

/** An engine, and the time that `driveVirtual` runs it on. */
export function simulatedEngine(
  { models, policy, cost, workers, submitNs, heardNs, ...others }:
    SimulatedOptions,
): { engine: EngineCore; timeline: Timeline } {
  const timeline = new Timeline();
  /** Ends that the engine has not heard of. */
  let unheard = 0;
  const executor = new SimExecutor({
    timeline,
    cost,
    ...(workers !== undefined && { workers }),
    ...(submitNs && { submitNs }),
    onCompleted: (task, startNs, endNs) => {
      const hear = () => engine.completed(task, startNs, endNs);
      const atNs = heardNs?.(timeline.nowNs) ?? timeline.nowNs;
      // Of one that is due to be heard of at this very time it hears first.
      if (atNs <= timeline.nowNs && unheard === 0) return hear();
      unheard++;
      timeline.at(Math.max(atNs, timeline.nowNs), RANK.completion, () => {
        unheard--;
        hear();
      });
    },
  });
  const engine = new EngineCore({
    models,
    policy,
    executor,
    ...others,
  });
  return { engine, timeline };
}
