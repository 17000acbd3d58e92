/**
 * Readers of what a JSON body holds. A protocol says once which fields a request has and what each may be; what it
 * does not have is refused by name, so that no client takes for granted what nobody did. Each protocol writes its own
 * error body from a FieldError.
 */
import { describe, isList, listed, shorten } from "../../base/describe.ts";

/** What is wrong with a field. */
export type Fault =
  /** Not there, though it has to be. */
  | "missing"
  /** Of another type, or a value that cannot be. */
  | "invalid"
  /** The protocol has no such field. */
  | "unknown"
  /** The protocol has it, this server has not. */
  | "unsupported";

/** A field of a request that cannot be taken. */
export class FieldError extends Error {
  override readonly name = "FieldError";

  /**
   * @param problem what of the message follows the field's name
   * @param field its path in the body, e.g. `input[3]`; "" for the body itself
   */
  constructor(
    readonly problem: string,
    readonly fault: Fault,
    readonly field = "",
  ) {
    super(`${field === "" ? "the body" : `"${shorten(field)}"`} ${problem}`);
  }

  /** The same of what holds the value. */
  within(part: string | number): FieldError {
    const own = typeof part === "number" ? `[${part}]` : part;
    const dot = this.field === "" || this.field.startsWith("[") ? "" : ".";
    return new FieldError(this.problem, this.fault, own + dot + this.field);
  }
}

/**
 * Reads one value.
 * @throws FieldError with its path below that value
 */
export type Read<T> = (value: unknown) => T;

/** What a table of readers reads. */
export type Fields<Readers> = {
  readonly [Name in keyof Readers]: Readers[Name] extends Read<infer T> ? T
    : never;
};

export function invalid(expected: string, value: unknown): FieldError {
  return value === undefined
    ? new FieldError("is required", "missing")
    : new FieldError(`is ${expected}, got ${describe(value)}`, "invalid");
}

export const text: Read<string> = (value) => {
  if (typeof value === "string") return value;
  throw invalid("a string", value);
};

export const flag: Read<boolean> = (value) => {
  if (typeof value === "boolean") return value;
  throw invalid("true or false", value);
};

/** An integer from `least` to `most`. */
export function integer(
  least: number,
  most = Number.MAX_SAFE_INTEGER,
): Read<number> {
  return (value) => {
    if (Number.isInteger(value)) {
      const integer = value as number;
      if (integer >= least && integer <= most) return integer;
    }
    // A bigint is what has no place among safe integers: it may well be more than the least.
    const isBounded = most < Number.MAX_SAFE_INTEGER ||
      typeof value === "bigint" || (value as number) > most;
    throw invalid(
      isBounded
        ? `an integer from ${least} to ${most}`
        : `an integer of at least ${least}`,
      value,
    );
  };
}

/** A number from `least` to `most`. */
export function number(least: number, most: number): Read<number> {
  return (value) => {
    if (typeof value === "number" && value >= least && value <= most) {
      return value;
    }
    throw invalid(`a number from ${least} to ${most}`, value);
  };
}

export function oneOf<const Choice extends string>(
  choices: readonly Choice[],
): Read<Choice> {
  return (value) => {
    if ((choices as readonly unknown[]).includes(value)) return value as Choice;
    throw invalid(`one of ${choices.join(", ")}`, value);
  };
}

/** An array of `least` to `most` of what `read` reads. */
export function list<T>(
  read: Read<T>,
  least = 0,
  most = Infinity,
): Read<readonly T[]> {
  return (value) => {
    if (!isList(value)) throw invalid("an array", value);
    if (value.length < least || value.length > most) {
      const expected = most < Infinity
        ? `${least} to ${most} elements`
        : `at least ${least === 1 ? "1 element" : `${least} elements`}`;
      throw new FieldError(
        `has ${expected}, got ${value.length}`,
        "invalid",
      );
    }
    return value.map((element, i) => part(read, element, i));
  };
}

function part<T>(read: Read<T>, value: unknown, name: string | number): T {
  try {
    return read(value);
  } catch (error) {
    throw error instanceof FieldError ? error.within(name) : error;
  }
}

/** What need not be there; null stands for nothing, as in all of these protocols. */
export function optional<T>(read: Read<T>): Read<T | undefined> {
  return (value) =>
    value === undefined || value === null ? undefined : read(value);
}

export function withDefault<T>(read: Read<T>, otherwise: T): Read<T> {
  return (value) =>
    value === undefined || value === null ? otherwise : read(value);
}

/** What has no bearing on the answer: any value. */
export const ignored: Read<undefined> = () => undefined;

/**
 * What the protocol has and this server has not, unless its value asks for nothing.
 * @param neutral values that ask for nothing; lists and objects by what JSON makes of them
 */
export function unsupported(
  why: string,
  ...neutral: readonly unknown[]
): Read<undefined> {
  return (value) => {
    if (value === undefined || value === null) return undefined;
    if (neutral.some((known) => asksTheSame(known, value))) return undefined;
    throw new FieldError(`is not supported: ${why}`, "unsupported");
  };
}

function asksTheSame(known: unknown, value: unknown): boolean {
  return known === value || typeof known === "object" &&
      JSON.stringify(known) === JSON.stringify(value);
}

/**
 * An object with these fields and no others.
 * @param what what it is, for messages
 */
export function object<Readers extends Readonly<Record<string, Read<unknown>>>>(
  what: string,
  readers: Readers,
): Read<Fields<Readers>> {
  const names = Object.keys(readers);
  return (value) => {
    const given = anObject(value);
    for (const name of Object.keys(given)) {
      if (Object.hasOwn(readers, name)) continue;
      throw new FieldError(
        `is no field of ${what}; it takes ${listed(names, Infinity)}`,
        "unknown",
        name,
      );
    }
    const read: Record<string, unknown> = {};
    for (const name of names) {
      read[name] = fieldOf(given, name, readers[name]);
    }
    return read as Fields<Readers>;
  };
}

/** An object of values that `read` reads, whatever they are called. */
export function record<T>(read: Read<T>): Read<Readonly<Record<string, T>>> {
  return (value) =>
    Object.fromEntries(
      Object.entries(anObject(value)).map(([name, each]) => [
        name,
        part(read, each, name),
      ]),
    );
}

/** One field of an object. @throws FieldError with its name in its path */
export function fieldOf<T>(
  given: Readonly<Record<string, unknown>>,
  name: string,
  read: Read<T>,
): T {
  return part(read, Object.hasOwn(given, name) ? given[name] : undefined, name);
}

/** Any object that is no list. */
export const anObject: Read<Readonly<Record<string, unknown>>> = (value) => {
  if (typeof value === "object" && value !== null && !isList(value)) {
    return value as Readonly<Record<string, unknown>>;
  }
  throw invalid("an object", value);
};
