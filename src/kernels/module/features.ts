/**
 * What this engine can run, found out by letting it look at the smallest modules that use a
 * feature, and which build to take for it.
 */
import {
  checkedOptions,
  type Checks,
  ofType,
} from "../../base/checked_options.ts";
import { dotsAreExact } from "./exact_dots.ts";

/** Features a build needs beyond WebAssembly 1.0. */
export type EngineFeature = "simd" | "relaxed-simd" | "threads";

/** How an engine is asked; another one may be put in its place. */
export interface EngineProbe {
  /** WebAssembly.validate. */
  validate(bytes: BufferSource): boolean;
  /** Whether memory can be shared between threads: pages must be cross-origin isolated. */
  sharedMemory: boolean;
}

/** The engine this runs in. */
export const THIS_ENGINE: EngineProbe = {
  validate: (bytes) => WebAssembly.validate(bytes),
  get sharedMemory() {
    return typeof SharedArrayBuffer !== "undefined";
  },
};

const HEADER = [0, 97, 115, 109, 1, 0, 0, 0];
// deno-fmt-ignore
const PROBES: Record<EngineFeature, readonly number[]> = {
  // (func (result v128) i32.const 0 i8x16.splat)
  "simd": [
    1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 8, 1, 6, 0, 65, 0, 253, 15, 11,
  ],
  // (func (result v128) three splats, f32x4.relaxed_madd)
  "relaxed-simd": [
    1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 19, 1, 17, 0,
    65, 0, 253, 15, 65, 0, 253, 15, 65, 0, 253, 15, 253, 133, 2, 11,
  ],
  // (memory 1 1 shared)
  "threads": [5, 4, 1, 3, 1, 1],
};

/**
 * Whether the engine accepts modules that use `feature`, and can share memory for threads.
 * @param engine how it is asked; this one if absent
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { supports } from "@shoal/core/kernels";
 *
 * // Nothing of Shoal runs without.
 * assert(supports("simd"));
 * ```
 */
export function supports(
  feature: EngineFeature,
  engine: EngineProbe = THIS_ENGINE,
): boolean {
  const bytes = new Uint8Array([...HEADER, ...PROBES[feature]]);
  return engine.validate(bytes) &&
    (feature !== "threads" || engine.sharedMemory);
}

/**
 * Refuses hosts that compile nothing while they run. They throw for the smallest module, too.
 * @throws Error naming what an engine needs
 */
export function requireCompiler(): void {
  try {
    new WebAssembly.Module(new Uint8Array(HEADER));
  } catch (cause) {
    throw new Error(
      `This host compiles no WebAssembly while it runs (${
        (cause as Error).message
      }), which an engine has to: pages need 'wasm-unsafe-eval' in their policy (script-src); ` +
        "Cloudflare's workers take only modules that are deployed with them, " +
        "for which there is instantiateKernels of @shoal/core/kernels",
      { cause },
    );
  }
}

/** Features the engine lacks, of those asked for. */
export function missingFeatures(
  wanted: readonly EngineFeature[],
  engine: EngineProbe = THIS_ENGINE,
): EngineFeature[] {
  return wanted.filter((feature) => !supports(feature, engine));
}

const WAYS_OUT: Record<EngineFeature, string> = {
  "simd":
    "the kernels need it: use Chrome 91, Firefox 89, Safari 16.4, Node 16.4, Deno 1.9, Bun or newer",
  "relaxed-simd":
    "take the build without it (shoal.wasm, shoal.shared.wasm), which gives the same bits everywhere",
  "threads":
    "run on one thread with a build that shares no memory (shoal.wasm, shoal.relaxed.wasm), " +
    "or serve the page with the headers for cross-origin isolation",
};

/** @throws {Error} naming what the engine lacks of the features asked for, and the way out */
export function checkFeatures(
  wanted: readonly EngineFeature[],
  engine: EngineProbe = THIS_ENGINE,
): void {
  const missing = missingFeatures(wanted, engine);
  if (missing.length === 0) return;
  throw new Error(
    `This engine has no WebAssembly ${
      missing.map((feature) => `${feature} (${WAYS_OUT[feature]})`)
        .join(", no ")
    }`,
  );
}

/**
 * Whether the engine has relaxed SIMD, with dot products that are exact for the int8 kernels.
 * @param areExact how they are tried, where the engine has them
 */
export function hasExactDots(
  engine: EngineProbe = THIS_ENGINE,
  areExact: () => boolean = dotsAreExact,
): boolean {
  return supports("relaxed-simd", engine) && areExact();
}

/** A release build of the kernels. */
export interface ChosenBuild {
  /** What `readKernels` takes. */
  build:
    | "shoal"
    | "shoal.shared"
    | "shoal.dot"
    | "shoal.dot-shared"
    | "shoal.relaxed"
    | "shoal.relaxed-shared";
  /** Its file in the folder `build` of a checkout. */
  file: `${ChosenBuild["build"]}.wasm`;
  /** Whether its memory is shared, so that worker threads can take part. */
  shared: boolean;
  /** Whether its floats use relaxed SIMD: then their bits hold on one machine and engine. */
  relaxed: boolean;
}

/** What a build is wanted for. */
export interface WantedBuild {
  /** Several threads at work on one memory; default false. */
  threads?: boolean;
  /** Floats in relaxed SIMD: faster, with bits that hold on one machine and engine; default false. */
  relaxed?: boolean;
}

/** By what they use of relaxed SIMD: for one thread, and over shared memory. */
const BUILDS = {
  plain: ["shoal", "shoal.shared"],
  dot: ["shoal.dot", "shoal.dot-shared"],
  relaxed: ["shoal.relaxed", "shoal.relaxed-shared"],
} as const satisfies Record<string, readonly ChosenBuild["build"][]>;

const WANTED_CHECKS: Checks<WantedBuild> = {
  threads: ofType("boolean"),
  relaxed: ofType("boolean"),
};

/**
 * The best build for this engine: over shared memory where threads are wanted and to be had,
 * else for one thread; with relaxed SIMD where it is to be had: its integer dot product, whose
 * sums are the same everywhere, and only where that is wanted its floats, whose bits hold on one
 * machine and engine.
 * @throws {TypeError} on an option that is not one
 * @throws {Error} if the engine has no SIMD: there is no build without
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { chooseBuild, supports } from "@shoal/core/kernels";
 *
 * const hasDot = supports("relaxed-simd");
 * assert.equal(chooseBuild().build, hasDot ? "shoal.dot" : "shoal");
 * const { relaxed } = chooseBuild({ relaxed: true });
 * assert.equal(relaxed, supports("relaxed-simd"));
 * ```
 */
export function chooseBuild(
  wanted: WantedBuild = {},
  engine: EngineProbe = THIS_ENGINE,
): ChosenBuild {
  const { threads = false, relaxed: fast = false } = checkedOptions(
    "chooseBuild()",
    wanted,
    WANTED_CHECKS,
  );
  checkFeatures(["simd"], engine);
  const shared = threads && supports("threads", engine);
  const hasDot = hasExactDots(engine);
  const kind = !hasDot ? "plain" : fast ? "relaxed" : "dot";
  const build = BUILDS[kind][Number(shared)];
  const file = `${build}.wasm` as const;
  return { build, file, shared, relaxed: kind === "relaxed" };
}
