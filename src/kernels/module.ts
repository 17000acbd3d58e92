/**
 * The hot core as a typed object: loads assembly/'s module over a memory the host
 * owns. What is here knows nothing of files; bytes or a compiled module come in.
 */
import { instantiateSync } from "@assemblyscript/loader";
import type { KernelExports } from "./exports.ts";

export { ACTIVATIONS } from "./exports.ts";
export type {
  Activation,
  BinaryKernel,
  KernelExports,
  UnaryKernel,
} from "./exports.ts";

/** Version of the ABI this face was written for; see assembly/abi.ts. */
export const ABI_VERSION = 4;

/** Features a build needs beyond WebAssembly 1.0, in the order they are looked for. */
export type EngineFeature = "simd" | "relaxed-simd" | "threads";

// The smallest modules that use each feature; engines refuse what they do not know.
const HEADER = [0, 97, 115, 109, 1, 0, 0, 0];
const PROBES: Record<EngineFeature, readonly number[]> = {
  // (func (result v128) i32.const 0 i8x16.splat)
  "simd": [
    1,
    5,
    1,
    96,
    0,
    1,
    123,
    3,
    2,
    1,
    0,
    10,
    8,
    1,
    6,
    0,
    65,
    0,
    253,
    15,
    11,
  ],
  // (func (result v128) three splats, f32x4.relaxed_madd)
  // deno-fmt-ignore
  "relaxed-simd": [
    1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 19, 1, 17, 0,
    65, 0, 253, 15, 65, 0, 253, 15, 65, 0, 253, 15, 253, 133, 2, 11,
  ],
  // (memory 1 1 shared)
  "threads": [5, 4, 1, 3, 1, 1],
};

/** Whether this engine accepts modules that use `feature`. */
export function supports(feature: EngineFeature): boolean {
  return WebAssembly.validate(new Uint8Array([...HEADER, ...PROBES[feature]]));
}

/** Options of {@linkcode instantiateKernels}. */
export interface InstantiateOptions {
  /**
   * Memory the kernels work on, planned by the host above
   * {@linkcode KernelExports.shoal_static_end}. A shared one needs a `shared` build.
   */
  memory: WebAssembly.Memory;
}

/**
 * Instantiates a build of the hot core over `options.memory`. One instance per thread;
 * several may share a memory.
 *
 * @param source bytes of build/shoal*.wasm, or a module compiled from them
 * @throws {Error} if the engine lacks SIMD (or threads, or relaxed SIMD, where the
 *   build needs them), if memory and build do not fit, or if the ABI differs
 */
export function instantiateKernels(
  source: BufferSource | WebAssembly.Module,
  options: InstantiateOptions,
): KernelExports {
  const { memory } = options;
  const module = source instanceof WebAssembly.Module
    ? source
    : compile(source);
  let exports: KernelExports;
  try {
    // The instance's own exports: the loader's wrap every call to count its arguments.
    exports = instantiateSync(module, { env: { memory } }).instance
      .exports as unknown as KernelExports;
  } catch (cause) {
    if (!(cause instanceof WebAssembly.LinkError)) throw cause;
    throw new Error(
      `Cannot instantiate the kernels over this memory (${memory.buffer.byteLength} bytes, ` +
        `${
          isShared(memory) ? "shared" : "not shared"
        }): a shared memory needs a shared build ` +
        `and the other way round (${cause.message})`,
      { cause },
    );
  }
  const version = exports.shoal_abi_version?.();
  if (version !== ABI_VERSION) {
    throw new Error(
      `Cannot use this kernel module: its ABI version is ${version}, expected ${ABI_VERSION}; build it again`,
    );
  }
  return exports;
}

function compile(bytes: BufferSource): WebAssembly.Module {
  try {
    return new WebAssembly.Module(bytes);
  } catch (cause) {
    const missing = (["simd", "threads", "relaxed-simd"] as const).filter((f) =>
      !supports(f)
    );
    if (missing.length === 0) throw cause;
    throw new Error(
      `Cannot compile the kernels: this engine has no WebAssembly ${
        missing.join(", no ")
      }; ` +
        "use a newer engine or a build without it",
      { cause },
    );
  }
}

/** Whether threads may share this memory. */
export function isShared(memory: WebAssembly.Memory): boolean {
  return typeof SharedArrayBuffer !== "undefined" &&
    memory.buffer instanceof SharedArrayBuffer;
}
