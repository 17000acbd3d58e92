/** Checks of policy options: each names policy, option and value. */

export function positiveInteger(
  policy: string,
  option: string,
  value: number,
): number {
  if (!Number.isInteger(value) || value < 1) {
    throw new RangeError(
      `"${option}" of policy "${policy}" is a positive integer, got ${value}`,
    );
  }
  return value;
}

export function nonNegative(
  policy: string,
  option: string,
  value: number,
): number {
  if (!(value >= 0)) {
    throw new RangeError(
      `"${option}" of policy "${policy}" is at least 0, got ${value}`,
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
        `Policy "${policy}" has no option "${key}"; it takes ${
          known.join(", ") || "none"
        }`,
      );
    }
  }
}
