import { checkCall } from "./check_call.ts";
import type { KernelExports } from "./exports.ts";
import type { KernelName } from "./signature.ts";
import { SIGNATURES } from "./signatures.ts";

/**
 * The exports with every call checked first.
 * @param memory that the kernels were instantiated over
 */
export function checkedKernels(
  kernels: KernelExports,
  memory: WebAssembly.Memory,
): KernelExports {
  const checked = Object.keys(SIGNATURES).map((key) => {
    const name = key as KernelName;
    const kernel = kernels[name] as (...args: number[]) => number | void;
    return [name, (...args: number[]) => {
      checkCall(name, args, { kernels, memory });
      return kernel(...args);
    }];
  });
  return { ...kernels, ...Object.fromEntries(checked) };
}
