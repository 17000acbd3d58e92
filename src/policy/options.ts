/** Checks of policy options: each names policy, option and value. */
import { quoted } from "../base/quoted.ts";

/** Batches, queues, rings: more than any run has requests, and still allocated in a moment. */
const SIZE_MAX = 1_048_576;

export function positiveInteger(
  policy: string,
  option: string,
  value: number,
): number {
  if (!Number.isInteger(value) || value < 1 || value > SIZE_MAX) {
    throw new RangeError(
      `"${option}" of policy "${policy}" is a positive integer up to ${SIZE_MAX}, got ${
        quoted(value)
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
      `"${option}" of policy "${policy}" is a number of at least 0, got ${
        quoted(value)
      }`,
    );
  }
  return value;
}

/** An option that is on or off. */
export function flag(policy: string, option: string, value: boolean): boolean {
  if (typeof value !== "boolean") {
    throw new TypeError(
      `"${option}" of policy "${policy}" is true or false, got ${
        quoted(value)
      }`,
    );
  }
  return value;
}

/** @throws TypeError on an option that the policy does not have */
export function knownOptions(
  policy: string,
  options: object,
  known: readonly string[],
): void {
  for (const key of Object.keys(options)) {
    if (!known.includes(key)) {
      throw new TypeError(
        `Policy "${policy}" has no option ${quoted(key)}; it takes ${
          known.join(", ") || "none"
        }`,
      );
    }
  }
}
