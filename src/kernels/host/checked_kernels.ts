import { checkCall } from "./check_call.ts";
import type { KernelExports } from "../module/exports.ts";
import { KERNEL_NAMES } from "../spec/registry.ts";

/**
 * The exports with every call checked first: sizes, alignment, places and overlaps of operands, not their
 * types. The release builds themselves check nothing.
 * @param memory that the kernels were instantiated over
 * @returns exports that throw a RangeError naming kernel, argument, value and way out, before the kernel is called
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import {
 *   checkedKernels,
 *   createMemory,
 *   instantiateKernels,
 *   readKernels,
 * } from "@shoal/core/kernels";
 *
 * const memory = createMemory({ bytes: 1 << 20 });
 * const kernels = instantiateKernels(await readKernels("shoal"), { memory });
 * const checked = checkedKernels(kernels, memory);
 * assert.throws(
 *   () => checked.relu_f32(1, 8, 0, 0),
 *   /relu_f32: aRows, a table of 1 rows, lies at 0, in the module's own data/,
 * );
 * ```
 */
export function checkedKernels(
  kernels: KernelExports,
  memory: WebAssembly.Memory,
): KernelExports {
  const checked = KERNEL_NAMES.map((name) => {
    const kernel = kernels[name] as (...args: number[]) => number | void;
    return [name, (...args: number[]) => {
      checkCall(name, args, { kernels, memory });
      return kernel(...args);
    }];
  });
  return { ...kernels, ...Object.fromEntries(checked) };
}
