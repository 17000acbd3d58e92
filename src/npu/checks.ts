/** Boundary checks of the NPU model: every message names the value and the way out. */
import { describe } from "../base/describe.ts";

/** Returns `value` if it is an integer >= 1, throws a RangeError naming it otherwise. */
export function positiveInteger(value: number, what: string): number {
  if (!Number.isSafeInteger(value) || value < 1) {
    throw new RangeError(
      `${what} must be an integer of at least 1, got ${describe(value)}`,
    );
  }
  return value;
}

/** Returns `value` if it is an integer >= 0, throws a RangeError naming it otherwise. */
export function nonNegativeInteger(value: number, what: string): number {
  if (!Number.isSafeInteger(value) || value < 0) {
    throw new RangeError(
      `${what} must be an integer of at least 0, got ${describe(value)}`,
    );
  }
  return value;
}

/** Returns `value` if it is one of `allowed`, throws a RangeError listing them otherwise. */
export function oneOf<T extends string>(
  value: string,
  allowed: readonly T[],
  what: string,
): T {
  const found = allowed.find((name) => name === value);
  if (found === undefined) {
    throw new RangeError(
      `${what} must be one of ${allowed.join(", ")}; got ${describe(value)}`,
    );
  }
  return found;
}
