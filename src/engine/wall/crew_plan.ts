import type { ScratchPlace } from "../../kernels/module/scratch.ts";
import {
  teamBytes,
  type TeamPlace,
  type TeamPlan,
} from "../../kernels/team/block.ts";
import type { TeamWays } from "../../kernels/team/leader.ts";
import { ROWS_PER_CALL } from "../lowering/cell_program.ts";
import type { ThreadStart } from "./threads.ts";
import type { WorkerStart } from "./worker_loop.ts";

/** What a worker's threads are and where they meet. */
export interface CrewPlan {
  readonly memory: WebAssembly.Memory;
  /** Address of the worker's control block. */
  readonly control: number;
  /** Where worker and helpers meet; undefined without helpers. */
  readonly team: TeamPlace | undefined;
  /** The worker first. */
  readonly starts: readonly ThreadStart[];
}

const LINE_BYTES = 64;

/** Enough for usual convolutions, and attention over 8192 positions; calls that need more stay on one thread. */
const TEAM_SCRATCH_BYTES = 131_072;

function teamPlan(threads: number): TeamPlan {
  return {
    threads,
    rowsMax: ROWS_PER_CALL,
    scratchBytes: TEAM_SCRATCH_BYTES,
  };
}

/** Bytes of a worker's team, whose block starts at a cache line. */
export function teamBytesPerWorker(threads: number): number {
  return threads === 1 ? 0 : LINE_BYTES + teamBytes(teamPlan(threads));
}

/** The threads of one worker: itself and its helpers. */
export function crewPlan(
  worker: WorkerStart,
  threads: number,
  ways: TeamWays,
  free: number,
  scratchOf: (thread: number) => ScratchPlace,
): CrewPlan {
  const { memory, kernels, control } = worker;
  if (threads === 1) {
    const starts = [{ role: "worker", worker } as const];
    return { memory, control, team: undefined, starts };
  }
  const address = Math.ceil(free / LINE_BYTES) * LINE_BYTES;
  const place: TeamPlace = { ...teamPlan(threads), address };
  return {
    memory,
    control,
    team: place,
    starts: [
      { role: "worker", worker: { ...worker, team: { place, ways } } },
      ...Array.from({ length: threads - 1 }, (_, i): ThreadStart => ({
        role: "helper",
        helper: {
          memory,
          kernels,
          place,
          thread: i + 1,
          ways,
          scratch: scratchOf(i + 1),
        },
      })),
    ],
  };
}
