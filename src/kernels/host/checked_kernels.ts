import { checkCall } from "./check_call.ts";
import type { KernelExports } from "../module/exports.ts";
import { KERNEL_NAMES } from "../spec/registry.ts";

/**
 * The exports with every call checked first.
 * @param memory that the kernels were instantiated over
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
