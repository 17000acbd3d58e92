/** Checks of policy options: each names policy, option and value. */
import { describe } from "../base/describe.ts";
import { knownOptions as known } from "../base/options.ts";

export function positiveInteger(
  policy: string,
  option: string,
  value: number,
): number {
  if (!Number.isInteger(value) || value < 1) {
    throw new RangeError(
      `"${option}" of policy "${policy}" is a positive integer, got ${
        describe(value)
      }`,
    );
  }
  return value;
}

export function nonNegative(
  policy: string,
  option: string,
  value: number,
): number {
  if (typeof value !== "number" || !(value >= 0)) {
    throw new RangeError(
      `"${option}" of policy "${policy}" is at least 0, got ${describe(value)}`,
    );
  }
  return value;
}

/** @throws TypeError on an option that the policy does not have */
export function knownOptions(
  policy: string,
  options: object,
  names: readonly string[],
): void {
  known(`Policy "${policy}"`, options, names);
}
