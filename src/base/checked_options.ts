/** Options at a public boundary: one table of checks for each object, before anything is done with it. */
import { describe } from "./describe.ts";
import { knownOptions } from "./options.ts";

/** Checks one value. @throws TypeError or RangeError with `name` and the value */
export type Check = (name: string, value: unknown) => void;

/** A check for every option that there is; those without a value are not looked at. */
export type Checks<Options> = Readonly<Record<keyof Options & string, Check>>;

/**
 * Reads every option once: a getter might tell the check one thing and the engine another.
 * @param owner who takes the options, for messages
 * @returns a copy of them
 * @throws TypeError on what is no object, or an option that there is not, or of the wrong type
 * @throws RangeError on a value that cannot be
 */
export function checkedOptions<Options extends object>(
  owner: string,
  options: Options,
  checks: Checks<Options>,
): Options {
  knownOptions(owner, options, Object.keys(checks));
  const copy = { ...options as Readonly<Record<string, unknown>> };
  for (const name in copy) {
    const value = copy[name];
    if (value !== undefined) checks[name as keyof typeof checks](name, value);
  }
  return copy as Options;
}

/** A number for which `holds`. */
function number(what: string, holds: (value: number) => boolean): Check {
  return (name, value) => {
    if (typeof value === "number" && holds(value)) return;
    throw new RangeError(`"${name}" is ${what}, got ${describe(value)}`);
  };
}

export const positiveInteger: Check = number(
  "a positive integer",
  (value) => Number.isSafeInteger(value) && value >= 1,
);

/** An integer from `least` to `most`. */
export function integer(least: number, most: number): Check {
  return number(
    `an integer from ${least} to ${most}`,
    (value) => Number.isInteger(value) && value >= least && value <= most,
  );
}

export const nonNegative: Check = number("at least 0", (value) => value >= 0);

export const positive: Check = number("positive", (value) => value > 0);

/** A value of a type that `typeof` names. */
export function ofType(type: "boolean" | "function" | "object"): Check {
  return (name, value) => {
    if (typeof value === type && value !== null) return;
    const what = type === "object" ? "an object" : `a ${type}`;
    throw new TypeError(`"${name}" is ${what}, got ${describe(value)}`);
  };
}

export function oneOf(choices: readonly string[]): Check {
  return (name, value) => {
    if (choices.includes(value as string)) return;
    throw new RangeError(
      `"${name}" is one of ${choices.join(", ")}, got ${describe(value)}`,
    );
  };
}

/** Checked by whoever uses it. */
export const anything: Check = () => {};
