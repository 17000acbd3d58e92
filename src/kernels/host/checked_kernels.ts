import { checkCall } from "./check_call.ts";
import type { KernelExports } from "../module/exports.ts";
import type { KernelName } from "../spec/signature.ts";
import { SIGNATURES } from "../spec/signatures.ts";

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
