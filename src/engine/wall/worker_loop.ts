import { NS_PER_MS, NS_PER_US } from "../../base/units.ts";
import type { RunPlain } from "../../graph/operator.ts";
import { instantiateKernels } from "../../kernels/module/module.ts";
import type { ScratchPlace } from "../../kernels/module/scratch.ts";
import { TeamLeader, type TeamWays } from "../../kernels/team/leader.ts";
import type { TeamPlace } from "../../kernels/team/block.ts";
import type { Sleep } from "../../kernels/team/helper.ts";
import type { CellProgram } from "../lowering/cell_program.ts";
import { CellRunner, type RunnerMemory } from "../tensors/cell_runner.ts";
import { absoluteMs } from "./clock.ts";
import {
  CONTROL,
  ENTRY,
  entryAddress,
  reportDone,
  ringLate,
} from "./worker_ring.ts";

/** What a worker is told once, when it starts. */
export interface WorkerStart {
  readonly memory: WebAssembly.Memory;
  readonly kernels: BufferSource;
  readonly programs: readonly CellProgram[];
  readonly own: RunnerMemory;
  /** Address of its control block. */
  readonly control: number;
  /** Address of the engine's doorbell word. */
  readonly doorbell: number;
  /** How long to look for a next task before going to sleep. */
  readonly spinMs: number;
  /** Scratch memory of its instance of the kernels. */
  readonly scratch: ScratchPlace;
  /** The helpers that share its calls. */
  readonly team?: { readonly place: TeamPlace; readonly ways: TeamWays };
}

/** Loads of `submitted` between two looks at the clock. */
const LOADS_PER_LOOK = 64;

/**
 * Executes tasks until told to stop. Blocks its thread, but for a sleep of more than `restMs`: that is given away,
 * and may end early.
 * @param plain runs operators in plain TypeScript, if programs have any
 */
export function* runWorker(
  start: WorkerStart,
  plain?: RunPlain,
  restMs = Infinity,
): Generator<Sleep, void> {
  const { memory, control, spinMs } = start;
  const kernels = instantiateKernels(start.kernels, { memory });
  kernels.shoal_use_scratch(start.scratch.address, start.scratch.variants);
  const leader = start.team &&
    new TeamLeader(kernels, memory, start.team.place, start.team.ways);
  const runner = new CellRunner(
    leader?.kernels ?? kernels,
    memory,
    start.programs,
    start.own,
    plain,
  );
  const words = new Int32Array(memory.buffer);
  const doubles = new Float64Array(memory.buffer);
  const submitted = (control >>> 2) + CONTROL.submitted;
  const stop = (control >>> 2) + CONTROL.stop;
  const isToldToStop = () => Atomics.load(words, stop) !== 0;
  let lingerUs = 0;
  for (let done = 0;; done++) {
    if (lingerUs > 0) {
      awaitTask(
        words,
        submitted,
        done,
        spinMs,
        lingerUs * NS_PER_US / NS_PER_MS,
      );
      ringLate(words, start, done);
    }
    const lookMs = lingerUs > 0 ? 0 : spinMs;
    while (!awaitTask(words, submitted, done, lookMs, restMs)) {
      yield { words, index: submitted, value: done | 0 };
    }
    if (isToldToStop()) return leader?.close();
    const entry = entryAddress(control, done);
    let quiet: boolean;
    try {
      quiet = runEntry(runner, { words, doubles }, entry);
    } catch (error) {
      // Its helpers may have left before it.
      if (isToldToStop()) return;
      throw error;
    }
    lingerUs = reportDone(words, start, done, quiet);
  }
}

/**
 * Executes a ring's entry, and notes in it when.
 * @param memory linear memory
 * @param entry its address
 * @returns whether it is quiet: a void one is not, since its run may be over
 */
export function runEntry(
  runner: Pick<CellRunner, "run">,
  { words, doubles }: { words: Int32Array; doubles: Float64Array },
  entry: number,
): boolean {
  doubles[(entry >>> 3) + ENTRY.startMs / 2] = absoluteMs();
  const computed = runner.run({
    program: words[(entry >>> 2) + ENTRY.program],
    rows: words[(entry >>> 2) + ENTRY.rows],
    tables: words[(entry >>> 2) + ENTRY.tables] >>> 0,
    padsDone: words[(entry >>> 2) + ENTRY.padsDone] === 1,
    paddedLength: words[(entry >>> 2) + ENTRY.paddedLength],
  });
  doubles[(entry >>> 3) + ENTRY.endMs / 2] = absoluteMs();
  return computed && words[(entry >>> 2) + ENTRY.quiet] === 1;
}

/** Returns once more than `done` tasks are submitted, or after `mostMs`. @returns whether they are */
function awaitTask(
  words: Int32Array,
  submitted: number,
  done: number,
  spinMs: number,
  mostMs: number,
): boolean {
  const sinceMs = absoluteMs();
  const untilMs = sinceMs + Math.min(spinMs, mostMs);
  do {
    for (let load = 0; load < LOADS_PER_LOOK; load++) {
      if (Atomics.load(words, submitted) !== (done | 0)) return true;
    }
  } while (absoluteMs() < untilMs);
  while (Atomics.load(words, submitted) === (done | 0)) {
    const leftMs = sinceMs + mostMs - absoluteMs();
    if (leftMs <= 0) return false;
    Atomics.wait(words, submitted, done | 0, leftMs);
  }
  return true;
}
