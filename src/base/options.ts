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
  withOptions(owner, options, what);
  for (const key in options) {
    if (Object.hasOwn(options, key) && !known.includes(key)) {
      throw unknownOption(owner, key, known, what);
    }
  }
}

/** @throws TypeError unless it is an object that may have options; see knownOptions */
export function withOptions(
  owner: string,
  options: unknown,
  what = "option",
): asserts options is object {
  if (typeof options === "object" && options !== null && !isList(options)) {
    return;
  }
  throw new TypeError(
    `${owner} takes an object with ${what}s, got ${describe(options)}`,
  );
}

/** Names an option that its owner does not have, and those that there are; see knownOptions. */
export function unknownOption(
  owner: string,
  key: string,
  known: readonly string[],
  what = "option",
): TypeError {
  return new TypeError(
    `${owner} has no ${what} "${shorten(key)}"; it takes ${
      known.length > 0 ? listed(known, Infinity) : "none"
    }`,
  );
}
