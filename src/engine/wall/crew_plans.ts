import { alignUp } from "../../graph/slot_plan.ts";
import type { ScratchPlace } from "../../kernels/module/scratch.ts";
import { teamWays } from "../../kernels/team/leader.ts";
import { TASK_BYTES, type TensorOptions } from "../tensors/tensor_options.ts";
import { TensorStore } from "../tensors/tensor_store.ts";
import { type CrewPlan, crewPlan, teamBytesPerWorker } from "./crew_plan.ts";
import { variantsFor } from "./kernel_variants.ts";
import { probeScratch } from "./scratch_probe.ts";
import { PRACTICE_BYTES } from "./warm_up.ts";
import { ARENA_OFFSET, CONTROL } from "./worker_ring.ts";

/** How long threads look for work, where nobody says. */
export const SPIN_MS = 0.05;

/** Address of the word that workers ring: in the first one's control block. */
export function doorbellOf(store: TensorStore): number {
  return store.workerMemory(0) + 4 * CONTROL.doorbell;
}

/**
 * Bytes of a worker's own memory, from its control block on:
 *
 *     | control block, ring | arena | team | each thread's scratch |
 */
interface WorkerLayout {
  readonly arenaEnd: number;
  readonly scratch: number;
  readonly bytes: number;
}

function workerLayout(
  taskBytes: number,
  threads: number,
  scratchBytes: number,
): WorkerLayout {
  const arenaEnd = alignUp(ARENA_OFFSET) + alignUp(taskBytes);
  const scratch = alignUp(arenaEnd + teamBytesPerWorker(threads));
  return { arenaEnd, scratch, bytes: scratch + threads * scratchBytes };
}

/** Makes the store, and says of every worker what its threads are and where they meet. */
export function planCrews(
  options: TensorOptions,
  kernels: BufferSource,
): { store: TensorStore; plans: CrewPlan[] } {
  const { models, workers = 1, threadsPerWorker = 1, slotBytes } = options;
  const { taskBytes = TASK_BYTES, spinMs = SPIN_MS, niceness = 0 } = options;
  const ways = teamWays(options.team);
  const variants = variantsFor(models);
  const scratch = probeScratch(kernels, { shared: true, variants });
  const layout = workerLayout(taskBytes, threadsPerWorker, scratch.bytes);
  const store = new TensorStore({
    models,
    kernels,
    shared: true,
    workers,
    workerBytes: layout.bytes,
    ...(slotBytes !== undefined && { slotBytes }),
    bytesMin: PRACTICE_BYTES,
  });
  const doorbell = doorbellOf(store);
  const plans = Array.from({ length: workers }, (_, id): CrewPlan => {
    const control = store.workerMemory(id);
    const scratchOf = (thread: number): ScratchPlace => ({
      address: control + layout.scratch + thread * scratch.bytes,
      variants: scratch.variants,
    });
    const plan = crewPlan(
      {
        memory: store.memory,
        kernels,
        programs: store.programs,
        own: store.runnerMemory(id),
        control,
        doorbell,
        spinMs,
        scratch: scratchOf(0),
      },
      threadsPerWorker,
      ways,
      control + layout.arenaEnd,
      scratchOf,
    );
    const starts = plan.starts.map((start) => ({ ...start, niceness }));
    return { ...plan, starts };
  });
  return { store, plans };
}
