/**
 * The hot core as a typed object: loads assembly/'s module over a memory the host
 * owns. What is here knows nothing of files; bytes or a compiled module come in.
 */
import { instantiateSync } from "@assemblyscript/loader";
import { bytesOf } from "../../base/bytes.ts";
import {
  bytes,
  type Check,
  checkedOptions,
  type Checks,
  platformObject,
  withMethods,
} from "../../base/checked_options.ts";
import {
  checkFeatures,
  type EngineProbe,
  missingFeatures,
  THIS_ENGINE,
} from "./features.ts";
import { fixMemory } from "./fixed_memory.ts";
import { PAGE_BYTES } from "./memory.ts";
import type { KernelExports } from "./exports.ts";

export type { KernelExports } from "./exports.ts";

/**
 * Version of the ABI that instances of a build must have; see docs/abi.md.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import {
 *   ABI_VERSION,
 *   createMemory,
 *   instantiateKernels,
 *   readKernels,
 * } from "@shoal/core/kernels";
 *
 * const memory = createMemory({ bytes: 1 << 20 });
 * const kernels = instantiateKernels(await readKernels("shoal"), { memory });
 * assert.equal(kernels.shoal_abi_version(), ABI_VERSION);
 * ```
 */
export const ABI_VERSION = 12;

/** Options of {@linkcode instantiateKernels}. */
export interface InstantiateOptions {
  /**
   * Memory the kernels work on, planned by the host above
   * {@linkcode KernelExports.shoal_static_end}. A shared one needs a `shared` build.
   */
  memory: WebAssembly.Memory;
  /** How to ask the engine for its features; another one stands in for it in tests. */
  engine?: EngineProbe;
}

const MODULES = platformObject(
  "bytes of a kernel build, or a WebAssembly.Module of them",
  "WebAssembly.Module",
);

/** Bytes of a build or a module compiled from them. */
export const kernelSource: Check = (name, source) => {
  try {
    bytes(name, source);
  } catch {
    MODULES(name, source);
  }
};

export const wasmMemory: Check = platformObject(
  "a WebAssembly.Memory",
  "WebAssembly.Memory",
);

const INSTANTIATE_CHECKS: Checks<InstantiateOptions> = {
  memory: wasmMemory,
  engine: withMethods("an EngineProbe", ["validate"]),
};

/**
 * Instantiates a build of the hot core over `options.memory`. One instance per thread;
 * several may share a memory. From bytes, over a memory that cannot grow (createMemory()
 * makes such), the module is told its size: engines that check bounds in code then check
 * faster.
 *
 * @param source bytes of build/shoal*.wasm, or a module compiled from them
 * @throws {TypeError} on an argument that is not one
 * @throws {Error} if the engine lacks SIMD (or threads, or relaxed SIMD, where the
 *   build needs them), if memory and build do not fit, or if the ABI differs
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import {
 *   createMemory,
 *   instantiateKernels,
 *   readKernels,
 * } from "@shoal/core/kernels";
 *
 * const memory = createMemory({ bytes: 1 << 20 });
 * const kernels = instantiateKernels(await readKernels("shoal"), { memory });
 * // One row of two floats, and the two tables of one address each, behind the module's own data.
 * const base = Math.ceil(kernels.shoal_static_end() / 64) * 64;
 * const [a, aRows, outRows] = [base, base + 64, base + 128];
 * new Float32Array(memory.buffer, a, 2).set([3, -4]);
 * new Uint32Array(memory.buffer)[aRows / 4] = a;
 * new Uint32Array(memory.buffer)[outRows / 4] = a;
 * kernels.abs_f32(1, 2, aRows, outRows);
 * assert.deepEqual([...new Float32Array(memory.buffer, a, 2)], [3, 4]);
 * ```
 */
export function instantiateKernels(
  source: BufferSource | WebAssembly.Module,
  options: InstantiateOptions,
): KernelExports {
  kernelSource("source", source);
  const { memory, engine = THIS_ENGINE } = checkedOptions(
    "instantiateKernels()",
    options,
    INSTANTIATE_CHECKS,
    ["memory"],
  );
  const exports = source instanceof WebAssembly.Module
    ? link(source, memory)
    : linkBytes(source, memory, engine);
  const version = exports.shoal_abi_version?.();
  if (version !== ABI_VERSION) {
    throw new Error(
      `Cannot use this kernel module: its ABI version is ${version}, expected ${ABI_VERSION}; build it again`,
    );
  }
  return exports;
}

function linkBytes(
  bytes: BufferSource,
  memory: WebAssembly.Memory,
  engine: EngineProbe,
): KernelExports {
  checkBuild(bytes, engine);
  const pages = memory.buffer.byteLength / PAGE_BYTES;
  const fixed = new WebAssembly.Module(fixMemory(bytesOf(bytes), pages));
  const exports = tryLink(fixed, memory);
  // A memory that may grow wants the module as it is.
  return exports instanceof Error
    ? link(new WebAssembly.Module(bytes), memory)
    : exports;
}

function link(
  module: WebAssembly.Module,
  memory: WebAssembly.Memory,
): KernelExports {
  const exports = tryLink(module, memory);
  if (!(exports instanceof Error)) return exports;
  throw new Error(
    `Cannot instantiate the kernels over this memory (${memory.buffer.byteLength} bytes, ` +
      `${
        isShared(memory) ? "shared" : "not shared"
      }): a shared memory needs a shared build ` +
      `and the other way round (${exports.message})`,
    { cause: exports },
  );
}

function tryLink(
  module: WebAssembly.Module,
  memory: WebAssembly.Memory,
): KernelExports | WebAssembly.LinkError {
  try {
    // The instance's own exports: the loader's wrap every call to count its arguments.
    return instantiateSync(module, { env: { memory } }).instance
      .exports as unknown as KernelExports;
  } catch (cause) {
    if (!(cause instanceof WebAssembly.LinkError)) throw cause;
    return cause;
  }
}

function checkBuild(bytes: BufferSource, engine: EngineProbe): void {
  if (engine.validate(bytes)) return;
  checkFeatures(["simd"], engine);
  const missing = missingFeatures(["threads", "relaxed-simd"], engine);
  if (missing.length > 0) {
    throw new Error(
      `This engine refuses the module and has no WebAssembly ${
        missing.join(", no ")
      }: take a build that does not need it, as chooseBuild() does`,
    );
  }
}

/** Whether threads may share this memory. */
export function isShared(memory: WebAssembly.Memory): boolean {
  return typeof SharedArrayBuffer !== "undefined" &&
    memory.buffer instanceof SharedArrayBuffer;
}
