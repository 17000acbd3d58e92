/**
 * Warming up: engines begin with code that was compiled in a hurry and replace it, function by function,
 * by code that was compiled well once a function has proved to be hot. Small calls prove it before the
 * first request does.
 */
import { bytesOf } from "../../base/bytes.ts";
import {
  anything,
  bytes,
  checkedOptions,
  type Checks,
  nonNegative,
  ofType,
} from "../../base/checked_options.ts";
import { describe, listed } from "../../base/describe.ts";
import { fnv1a } from "../../base/hash.ts";
import { msToNs } from "../../base/units.ts";
import { Arena } from "../../kernels/host/arena.ts";
import { practiceCall } from "../../kernels/host/practice_call.ts";
import { fixMemory } from "../../kernels/module/fixed_memory.ts";
import { createMemory, PAGE_BYTES } from "../../kernels/module/memory.ts";
import {
  instantiateKernels,
  type KernelExports,
} from "../../kernels/module/module.ts";
import { KERNEL_NAMES, KERNEL_SPECS } from "../../kernels/spec/registry.ts";
import type { KernelName, Sizes } from "../../kernels/spec/signature.ts";
import type { CellProgram } from "../lowering/cell_program.ts";
import { wallNs } from "./clock.ts";
import { nextTurn } from "./next_turn.ts";
import {
  BLOCKS,
  type Variants,
  WHOLE_DOTS,
} from "../../kernels/module/scratch.ts";
import { probeScratch } from "./scratch_probe.ts";

/** Batches that meet every tile: pairs, tall ones of each height, blocks. */
const ROWS = [1, 2, 3, 4, 5, 6, 20];
const REPEATED_ROWS = 40;
/** Weights that count as coming from memory, and batches that go directly, or in blocks. */
const LARGE: Sizes = { n: 600, k1: 1000 };
const ROWS_OF_LARGE = [2, 3, 4, 45];
/** Least memory to practise on. */
export const PRACTICE_BYTES = 16 * 2 ** 20;
/** Calls without a break. */
const TURN_NS = 1e6;
/** Warm is what has got no faster by so much, for so long. */
const GAIN = 0.97;
const STEADY_NS = 12e6;

/**
 * Options of {@linkcode warmUp}.
 */
export interface WarmUpOptions {
  /** Whether the build is for shared memory. */
  shared: boolean;
  /**
   * Bytes of the memory that the build is to work on, PRACTICE_BYTES at least, which is the default:
   * instances over memories of one size have their code in common.
   */
  memoryBytes?: number;
  /** Default: all kernels. */
  kernels?: Iterable<KernelName>;
  /** Time after which to give up on a kernel's better code; default 100. */
  patienceMs?: number;
}

const WARM_UP_CHECKS: Checks<WarmUpOptions> = {
  shared: ofType("boolean"),
  memoryBytes(name, value) {
    if (Number.isSafeInteger(value) && value as number >= PRACTICE_BYTES) {
      return;
    }
    throw new RangeError(
      `"${name}" is an integer of at least ${PRACTICE_BYTES}, got ${
        describe(value)
      }`,
    );
  },
  // By namesOf(): they can be gone through only once.
  kernels: anything,
  patienceMs: nonNegative,
};

const LARGE_TILES = "large tiles";

/** A compiled build: as long as somebody has it, engines keep its code, for all instances. */
interface Warm {
  readonly module: WebAssembly.Module;
  readonly names: Set<KernelName | typeof LARGE_TILES>;
}

/** By a hash of the build, which says how large its memory is; the one that was asked for last comes last. */
const warm = new Map<string, Warm>();
/** Builds whose code is kept: engines of many sizes would keep as many. */
const WARM_MAX = 8;

/**
 * Calls kernels on small operands of its own until they get no faster; resolves then. Code belongs to
 * the process: instances of the same build in other threads run it as well, and what is warm stays warm.
 * Takes some milliseconds per kernel.
 * @param source bytes of the build
 * @throws {TypeError} on an option that is not one
 * @throws {RangeError} if `memoryBytes` is too small to practise in, or there is no such kernel
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { readKernels, warmUp } from "@shoal/core/kernels";
 *
 * const build = await readKernels("shoal");
 * await warmUp(build, { shared: false, kernels: ["relu_f32"] });
 * await assert.rejects(
 *   warmUp(build, { shared: false, memoryBytes: 1 }),
 *   RangeError,
 * );
 * ```
 */
export async function warmUp(
  source: BufferSource,
  options: WarmUpOptions,
): Promise<void> {
  bytes("source", source);
  const {
    shared,
    memoryBytes = PRACTICE_BYTES,
    kernels: given,
    patienceMs = 100,
  } = checkedOptions("warmUp()", options, WARM_UP_CHECKS, ["shared"]);
  const names = namesOf(given);
  const { module, names: done } = warmBuild(
    fixMemory(bytesOf(source), Math.ceil(memoryBytes / PAGE_BYTES)),
  );
  const cold = names.filter((name) => !done.has(name));
  if (cold.length === 0) return;
  const memory = practiceMemory(memoryBytes, shared);
  if (memory === undefined) return;
  for (const name of cold) done.add(name);
  const kernels = instantiateKernels(module, { memory });
  let top = kernels.shoal_static_end();
  const wanted = (cold.some(takesMatrix) ? BLOCKS : 0) |
    (cold.some(takesBytes) ? WHOLE_DOTS : 0);
  if (wanted !== 0) {
    const scratch = probeScratch(source, {
      shared,
      variants: wanted as Variants,
    });
    kernels.shoal_use_scratch(top, scratch.variants);
    top += scratch.bytes;
  }
  const arena = new Arena(memory, top);
  for (const name of cold) {
    arena.reset();
    await practise(practiceCalls(name, kernels, arena), patienceMs);
  }
  // The tiles for large matrices are the same whichever kernel calls them.
  if (!done.has(LARGE_TILES) && cold.some(takesMatrix)) {
    done.add(LARGE_TILES);
    arena.reset();
    await practise(largeCalls(kernels, arena), patienceMs);
  }
}

/**
 * Each once; all of them unless told.
 * @throws TypeError on what is no list of names
 * @throws RangeError on a name that no kernel has
 */
function namesOf(given: Iterable<KernelName> | undefined): KernelName[] {
  if (given === undefined) return KERNEL_NAMES;
  if (
    typeof given === "string" || typeof given?.[Symbol.iterator] !== "function"
  ) {
    throw new TypeError(
      `"kernels" are names of kernels, got ${describe(given)}`,
    );
  }
  const names = [...new Set(given)];
  for (const name of names) {
    if (!KERNEL_NAMES.includes(name)) {
      throw new RangeError(
        `"kernels" has ${describe(name)}, which is none of ${
          listed(KERNEL_NAMES, Infinity)
        }`,
      );
    }
  }
  return names;
}

/**
 * A memory as large as theirs, of which hardly anything is touched; undefined where the system has no
 * room for a second one: then the first requests do the practising.
 */
function practiceMemory(
  bytes: number,
  shared: boolean,
): WebAssembly.Memory | undefined {
  try {
    return createMemory({ bytes, shared });
  } catch (error) {
    if ((error as Error).cause === undefined) throw error;
    return undefined;
  }
}

/** Repeats calls until they get no faster. */
async function practise(
  calls: readonly (() => void)[],
  patienceMs: number,
): Promise<void> {
  const startNs = wallNs();
  let best = Infinity;
  for (let nowNs = startNs, bestNs = startNs;;) {
    const turnNs = nowNs;
    let passes = 0;
    do {
      for (const call of calls) call();
      passes++;
      nowNs = wallNs();
    } while (nowNs - turnNs < TURN_NS);
    const passNs = (nowNs - turnNs) / passes;
    if (passNs < GAIN * best) {
      best = passNs;
      bestNs = nowNs;
    }
    const steady = nowNs - bestNs > STEADY_NS;
    if (steady || nowNs - startNs > msToNs(patienceMs)) return;
    await pause();
    nowNs = wallNs();
  }
}

/**
 * The event loop has its turn, and the compiler, which works on other threads, may have this core. Of pages that nobody
 * sees browsers keep timers back, by a second or a minute each.
 */
function pause(): Promise<void> {
  const isHidden = globalThis.document?.visibilityState === "hidden";
  return new Promise((resolve) =>
    isHidden ? nextTurn(resolve) : setTimeout(resolve, 0)
  );
}

function warmBuild(bytes: Uint8Array<ArrayBuffer>): Warm {
  const key = `${bytes.length}/${fnv1a(bytes)}`;
  let build = warm.get(key);
  build ??= { module: new WebAssembly.Module(bytes), names: new Set() };
  warm.delete(key);
  warm.set(key, build);
  if (warm.size > WARM_MAX) warm.delete(warm.keys().next().value!);
  return build;
}

function practiceCalls(
  name: KernelName,
  kernels: KernelExports,
  arena: Arena,
): (() => void)[] {
  const kernel = kernels[name] as (...args: number[]) => void;
  return ROWS.map((rows, choice) => {
    const args = practiceCall(name, { kernels, arena, rows, choice });
    // Tiles of few rows have to prove as hot as those of many.
    const times = Math.ceil(REPEATED_ROWS / rows);
    return () => {
      for (let i = 0; i < times; i++) kernel(...args);
    };
  });
}

/** Kernels that programs call. */
export function kernelsOf(programs: readonly CellProgram[]): Set<KernelName> {
  return new Set(
    programs.flatMap(({ calls }) =>
      calls.flatMap((call) => {
        const made = call.call === "each" ? call.calls : [call];
        return made.flatMap((one) =>
          one.call === "kernel" ? [one.kernel as KernelName] : []
        );
      })
    ),
  );
}

/** Whether a kernel takes packed f32 weights. */
function takesMatrix(name: KernelName): boolean {
  return weightsOf(name) === "f32";
}

/** Whether a kernel takes packed int8 weights. */
function takesBytes(name: KernelName): boolean {
  return weightsOf(name) === "i32";
}

/** Type of the words of a kernel's packed weights, if it has any. */
function weightsOf(name: KernelName): string | undefined {
  for (const parameter of KERNEL_SPECS[name].parameters) {
    if (parameter.kind === "array" && parameter.name === "w") {
      return parameter.type;
    }
  }
  return undefined;
}

function largeCalls(kernels: KernelExports, arena: Arena): (() => void)[] {
  return ROWS_OF_LARGE.map((rows) => {
    const practice = { kernels, arena, rows, choice: 0, sizes: LARGE };
    const args = practiceCall("gemm_f32", practice) as Parameters<
      KernelExports["gemm_f32"]
    >;
    return () => kernels.gemm_f32(...args);
  });
}
