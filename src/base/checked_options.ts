/** Options at a public boundary: one table of checks for each object, before anything is done with it. */
import { describe, isList } from "./describe.ts";
import { unknownOption, withOptions } from "./options.ts";

/** Checks one value. @throws TypeError or RangeError with `name` and the value */
export type Check = (name: string, value: unknown) => void;

/** A check for every option that there is; one without a value is looked at only where it is required. */
export type Checks<Options> = Readonly<Record<keyof Options & string, Check>>;

/**
 * Reads every option once, inherited ones, too: a getter might tell the check one thing and the engine another.
 * @param owner who takes the options, for messages
 * @param required options that must have a value: their checks see `undefined`, too
 * @returns a copy of them
 * @throws TypeError on what is no object, or an option that there is not, or of the wrong type
 * @throws RangeError on a value that cannot be
 */
export function checkedOptions<Options extends object>(
  owner: string,
  options: Options,
  checks: Checks<Options>,
  required: readonly (keyof Options & string)[] = [],
): Options {
  withOptions(owner, options);
  const given = options as Readonly<Record<string, unknown>>;
  const copy = { ...given };
  const prototype = Object.getPrototypeOf(given);
  if (prototype !== Object.prototype && prototype !== null) {
    // Getters of its class, and what it inherits.
    for (const name of Object.keys(checks)) {
      if (name in given && !Object.hasOwn(copy, name)) copy[name] = given[name];
    }
  }
  // Once through: who pushes a frame every few milliseconds brings some every time.
  const names = Object.keys(copy);
  for (let i = 0; i < names.length; i++) {
    const name = names[i] as keyof Options & string;
    if (!Object.hasOwn(checks, name)) {
      throw unknownOption(owner, name, Object.keys(checks));
    }
    const value = copy[name];
    if (value !== undefined) checks[name](name, value);
  }
  for (const name of required) {
    if (copy[name] === undefined) checks[name](name, undefined);
  }
  return copy as Options;
}

/** A number for which `holds`. */
export function number(what: string, holds: (value: number) => boolean): Check {
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

export const finiteNonNegative: Check = number(
  "finite and at least 0",
  (value) => Number.isFinite(value) && value >= 0,
);

export const finitePositive: Check = number(
  "finite and positive",
  (value) => Number.isFinite(value) && value > 0,
);

/** A value of a type that `typeof` names. */
export function ofType(
  type: "boolean" | "function" | "object" | "string",
): Check {
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

/** An array, every element of which passes a check. */
export function listOf(check: Check): Check {
  return (name, value) => {
    if (!isList(value)) {
      throw new TypeError(`"${name}" is an array, got ${describe(value)}`);
    }
    // By index: a hole is an element without a value.
    for (let i = 0; i < value.length; i++) check(`${name}[${i}]`, value[i]);
  };
}

/** What has these methods, whoever made it. */
export function withMethods(
  what: string,
  methods: readonly string[],
): Check {
  return (name, value) => {
    const members = (value ?? {}) as Readonly<Record<string, unknown>>;
    const missing = methods.find((method) =>
      typeof members[method] !== "function"
    );
    if (missing === undefined) return;
    throw new TypeError(
      `"${name}" is ${what}, which has a method "${missing}", got ${
        describe(value)
      }`,
    );
  };
}

/** An object of the platform, of this realm or another one. */
export function platformObject(what: string, ...tags: string[]): Check {
  return (name, value) => {
    const tag = Object.prototype.toString.call(value).slice(8, -1);
    if (typeof value === "object" && tags.includes(tag)) return;
    throw new TypeError(`"${name}" is ${what}, got ${describe(value)}`);
  };
}

const BUFFERS = platformObject(
  "an ArrayBuffer or a view of one",
  "ArrayBuffer",
  "SharedArrayBuffer",
);

/** A BufferSource. */
export const bytes: Check = (name, value) => {
  if (!ArrayBuffer.isView(value)) BUFFERS(name, value);
};

/** Checked by whoever uses it. */
export const anything: Check = () => {};
