import {
  anything,
  bytes,
  type Check,
  checkedOptions,
  type Checks,
  number,
  ofType,
} from "../../base/checked_options.ts";
import { describe } from "../../base/describe.ts";
import {
  instantiateKernels,
  isShared,
  type KernelExports,
  wasmMemory,
} from "../../kernels/module/module.ts";
import {
  prepareTeam,
  teamBytes,
  type TeamPlace,
  type TeamPlan,
} from "../../kernels/team/block.ts";
import {
  ALL_VARIANTS,
  NO_SCRATCH,
  type ScratchPlace,
} from "../../kernels/module/scratch.ts";
import {
  TeamLeader,
  type TeamWays,
  teamWays,
} from "../../kernels/team/leader.ts";
import { endThreads, startThreads, type Thread } from "./threads.ts";

/**
 * Options of {@linkcode KernelTeam.start}.
 */
export interface KernelTeamOptions extends Partial<TeamPlan & TeamWays> {
  /** Bytes of a build over shared memory. */
  kernels: BufferSource;
  /** A shared memory. Once it has grown, calls stay on one thread. */
  memory: WebAssembly.Memory;
  /** Where the team's `KernelTeam.bytes` lie, 64-byte aligned. */
  address: number;
  /**
   * Where `threads` times `shoal_scratch_bytes(variants)` bytes lie, 16-byte aligned, and the
   * variants that pay on this engine (`probeScratch`); default: none.
   */
  kernelScratch?: ScratchPlace;
  /** A helper died: the team is of no use any more. By default the error is thrown. */
  onFatal?: (error: Error) => void;
}

const PLAN: TeamPlan = {
  threads: 2,
  rowsMax: 1024,
  scratchBytes: 0,
};

const PLAN_CHECKS: Checks<TeamPlan> = {
  threads: atLeast(1),
  rowsMax: atLeast(1),
  scratchBytes: atLeast(0),
};

const TEAM_CHECKS: Checks<KernelTeamOptions> = {
  ...PLAN_CHECKS,
  kernels: bytes,
  memory: wasmMemory,
  // By start(), once it is known how large the team is.
  address: anything,
  kernelScratch: ofType("object"),
  onFatal: ofType("function"),
  // By teamWays().
  leastNs: anything,
  wakeNs: anything,
  spinLoads: anything,
  endSpinLoads: anything,
  patienceMs: anything,
};

/**
 * The kernels on several threads, for hosts that call them without the engine. `kernels` is used as
 * what `instantiateKernels` returns: calls that are worth it are cut, with the same bits as on one
 * thread. Calls block (`Atomics.wait`), so in a browser a team is led from a worker; Deno, Node and Bun
 * may lead it from anywhere.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import {
 *   Arena,
 *   createMemory,
 *   instantiateKernels,
 *   KernelTeam,
 *   readKernels,
 * } from "@shoal/core/kernels";
 *
 * const build = await readKernels("shoal.shared");
 * const memory = createMemory({ bytes: 1 << 22, shared: true });
 * const end = instantiateKernels(build, { memory }).shoal_static_end();
 * const address = Math.ceil(end / 64) * 64;
 * const plan = { threads: 2 };
 * const team = await KernelTeam.start({ kernels: build, memory, address, ...plan });
 *
 * const arena = new Arena(memory, address + KernelTeam.bytes(plan));
 * const a = arena.rows(64, 512, new Float32Array(64 * 512).fill(-1));
 * const out = arena.rows(64, 512, "f32");
 * team.kernels.abs_f32(64, 512, a.table, out.table);
 * assert(arena.read(out).every((x) => x === 1));
 * await team.close();
 * ```
 */
export class KernelTeam {
  /** The exports, for calls from the thread that started the team. */
  readonly kernels: KernelExports;
  readonly #leader: TeamLeader;
  readonly #threads: readonly Thread[];

  /**
   * Bytes that a team needs in its memory. Defaults: 2 threads, rows cut up to 1024 of them, no scratch.
   * @throws TypeError or RangeError when the plan is of no use
   */
  static bytes(plan: Partial<TeamPlan> = {}): number {
    return teamBytes(
      filledIn(checkedOptions("KernelTeam.bytes()", plan, PLAN_CHECKS)),
    );
  }

  /**
   * Starts the helpers; resolves when they are there.
   * @throws TypeError on an option that is not one
   * @throws RangeError when the plan or the address is of no use
   * @throws Error when memory is not shared, or calls may not block here
   */
  static async start(options: KernelTeamOptions): Promise<KernelTeam> {
    options = checkedOptions("KernelTeam.start()", options, TEAM_CHECKS, [
      "kernels",
      "memory",
    ]);
    const { memory, address } = options;
    const ways = teamWays(options);
    const place: TeamPlace = { ...filledIn(options), address };
    if (!isShared(memory)) {
      throw new Error("A team's memory is shared between threads; this is not");
    }
    if (!mayBlock()) {
      throw new Error(
        "This thread may not block (a browser's main thread): start the team from a worker",
      );
    }
    const kernels = instantiateKernels(options.kernels, { memory });
    const free = kernels.shoal_static_end() >>> 0;
    if (
      !Number.isInteger(address) || address < free || address % 64 !== 0 ||
      address + teamBytes(place) > memory.buffer.byteLength
    ) {
      throw new RangeError(
        `A team's ${
          teamBytes(place)
        } bytes lie inside memory, 64-byte aligned, from shoal_static_end() = ${free} on; ` +
          `${describe(address)} of ${memory.buffer.byteLength} does not do`,
      );
    }
    const { address: scratch, variants } = options.kernelScratch ?? NO_SCRATCH;
    if (scratch !== 0 || variants !== 0) {
      checkScratch(options.kernelScratch!, {
        each: kernels.shoal_scratch_bytes(variants),
        memory: memory.buffer.byteLength,
        free,
        place,
      });
    }
    prepareTeam(memory, place);
    const scratchOf = (thread: number): ScratchPlace => ({
      address: scratch &&
        scratch + thread * kernels.shoal_scratch_bytes(variants),
      variants,
    });
    kernels.shoal_use_scratch(scratchOf(0).address, variants);
    const leader = new TeamLeader(kernels, memory, place, ways);
    const threads = await startThreads(
      Array.from({ length: place.threads - 1 }, (_, i) => ({
        role: "helper",
        helper: {
          memory,
          kernels: options.kernels,
          place,
          thread: i + 1,
          ways,
          scratch: scratchOf(i + 1),
        },
      })),
      {
        patienceMs: ways.patienceMs,
        onDeath: options.onFatal ?? ((error) => {
          throw error;
        }),
      },
    );
    return new KernelTeam(leader, threads);
  }

  private constructor(leader: TeamLeader, threads: readonly Thread[]) {
    this.kernels = leader.kernels;
    this.#leader = leader;
    this.#threads = threads;
  }

  /** Ends the helpers; `kernels` may still be used, on one thread. */
  async close(): Promise<void> {
    this.#leader.close();
    await endThreads(this.#threads, this.#leader.ways.patienceMs);
  }

  /** `await using team = ...`: closes it at the end of the block. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** @throws RangeError when kernels would write over what is not theirs, or beyond the memory */
function checkScratch(
  { address, variants }: ScratchPlace,
  { each, memory, free, place }: {
    /** Bytes of a thread. */
    readonly each: number;
    readonly memory: number;
    readonly free: number;
    readonly place: TeamPlace;
  },
): void {
  if (![0, 1, 2, ALL_VARIANTS].includes(variants)) {
    throw new RangeError(
      `The variants of "kernelScratch" are 0 to ${ALL_VARIANTS}, got ${
        describe(variants)
      }`,
    );
  }
  const bytes = place.threads * each;
  const end = address + bytes;
  const isApart = end <= place.address ||
    address >= place.address + teamBytes(place);
  const fits = Number.isInteger(address) && address % 16 === 0 &&
    address >= free && end <= memory && isApart;
  if (fits) return;
  throw new RangeError(
    `The ${bytes} bytes of "kernelScratch" lie inside memory, 16-byte aligned, from shoal_static_end() = ${free} on ` +
      `and apart from the team's; ${
        describe(address)
      } of ${memory} does not do`,
  );
}

function filledIn(
  {
    threads = PLAN.threads,
    rowsMax = PLAN.rowsMax,
    scratchBytes = PLAN.scratchBytes,
  }: Partial<TeamPlan>,
): TeamPlan {
  return { threads, rowsMax, scratchBytes };
}

function atLeast(least: number): Check {
  return number(
    `an integer of at least ${least}`,
    (value) => Number.isInteger(value) && value >= least,
  );
}

/** Whether `Atomics.wait` is allowed in this thread. */
function mayBlock(): boolean {
  try {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 1);
    return true;
  } catch {
    return false;
  }
}
