/** What the lists of kernels' mutants name: tests of test/kernels. */
import type { MutantTest } from "./mutant.ts";

/** What a kernel's cases say of it, the release build alone. */
export function agrees(...kernels: readonly string[]): MutantTest {
  return {
    file: "test/kernels/kernels_test.ts",
    filter: `/^(${kernels.join("|")}) agrees with the naive/`,
  };
}
