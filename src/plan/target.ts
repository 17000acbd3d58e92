import type { Target } from "../load/result.ts";

/** Requests of so many that may be late. */
export function lateMax({ share }: Target, requests: number): number {
  // A share of 0.99 of 100 is 99, whatever its last bit.
  return requests - Math.ceil(share * requests - 1e-9);
}
