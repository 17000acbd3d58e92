import { describe, isList, listed, shorten } from "./describe.ts";

/**
 * Whether options, or what else has named fields, are an object with known names only.
 * @param owner who takes them, e.g. `Policy "late"`
 * @param what what a name is to its owner
 * @throws TypeError naming the first one that the owner does not have, and those that there are
 */
export function knownOptions(
  owner: string,
  options: unknown,
  known: readonly string[],
  what = "option",
): asserts options is object {
  if (typeof options !== "object" || options === null || isList(options)) {
    throw new TypeError(
      `${owner} takes an object with ${what}s, got ${describe(options)}`,
    );
  }
  for (const key in options) {
    if (Object.hasOwn(options, key) && !known.includes(key)) {
      throw new TypeError(
        `${owner} has no ${what} "${shorten(key)}"; it takes ${
          known.length > 0 ? listed(known, Infinity) : "none"
        }`,
      );
    }
  }
}
