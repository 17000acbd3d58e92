import {
  checkedOptions,
  type Checks,
  ofType,
} from "../../base/checked_options.ts";
import { describe } from "../../base/describe.ts";
import { checkFeatures, type EngineProbe, THIS_ENGINE } from "./features.ts";

export const PAGE_BYTES = 65_536;
/**
 * Pages of operands: WebAssembly's 32-bit address space but for the last one. Kernels go along a row until they are at
 * its end or behind it, and behind the last page is address 0: they would be done before they began.
 */
export const PAGES_MAX = 65_535;

/** What a memory is for. */
export interface MemoryOptions {
  /** Bytes it must hold at least. */
  bytes: number;
  /** Shared between threads, for a `shared` build. */
  shared?: boolean;
}

const MEMORY_CHECKS: Checks<MemoryOptions> = {
  bytes(_name, bytes) {
    if (Number.isSafeInteger(bytes) && bytes as number >= 0) return;
    throw new RangeError(
      `A memory has a whole number of bytes, got ${describe(bytes)}`,
    );
  },
  shared: ofType("boolean"),
};

/**
 * A memory for the kernels, of whole pages. It never grows, which makes checks of bounds cheaper
 * (see fixed_memory.ts).
 * @throws {TypeError} on an option that is not one
 * @throws {RangeError} if it would be larger than 4 GiB less a page, or the system has no such room
 * @throws {Error} if it should be shared and the engine has no threads
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { createMemory } from "@shoal/core/kernels";
 *
 * const memory = createMemory({ bytes: 100_000 });
 * assert.equal(memory.buffer.byteLength, 2 * 65_536);
 * assert.throws(() => memory.grow(1), RangeError);
 * ```
 */
export function createMemory(
  options: MemoryOptions,
  engine: EngineProbe = THIS_ENGINE,
): WebAssembly.Memory {
  const { bytes, shared = false } = checkedOptions(
    "createMemory()",
    options,
    MEMORY_CHECKS,
    ["bytes"],
  );
  if (shared) checkFeatures(["threads"], engine);
  const initial = Math.ceil(bytes / PAGE_BYTES);
  if (initial > PAGES_MAX) {
    throw new RangeError(
      `A memory of ${bytes} bytes is more than the 4 GiB that WebAssembly addresses, less a page; ` +
        "use smaller models, fewer requests at once, or several engines",
    );
  }
  try {
    return new WebAssembly.Memory({ initial, maximum: initial, shared });
  } catch (cause) {
    throw new RangeError(
      `Cannot reserve ${initial * PAGE_BYTES} bytes${
        shared ? " of shared memory" : ""
      }: ${(cause as Error).message}`,
      { cause },
    );
  }
}
