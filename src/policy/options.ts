/** Checks of policy options: each names policy, option and value. */
import { describe } from "../base/describe.ts";
import { knownOptions as known } from "../base/options.ts";

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
        describe(value)
      }`,
    );
  }
  return value;
}

/** 0 too. */
export function wholeNumber(
  policy: string,
  option: string,
  value: number,
): number {
  if (!Number.isInteger(value) || value < 0 || value > SIZE_MAX) {
    throw new RangeError(
      `"${option}" of policy "${policy}" is an integer from 0 to ${SIZE_MAX}, got ${
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
      `"${option}" of policy "${policy}" is a number of at least 0, got ${
        describe(value)
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
        describe(value)
      }`,
    );
  }
  return value;
}

/** An option that is one of a few words. */
export function oneOf<T extends string>(
  policy: string,
  option: string,
  value: T,
  words: readonly T[],
): T {
  if (!words.includes(value)) {
    throw new RangeError(
      `"${option}" of policy "${policy}" is ${
        words.map((word) => JSON.stringify(word)).join(" or ")
      }, got ${describe(value)}`,
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
