/** Values of templates as Python has them: what is true, how they are written, what there is to do with them. */
import { templateError } from "./template_error.ts";

/** What a name or a member that there is not stands for. */
export const UNDEFINED: unique symbol = Symbol("undefined");

/** What a template may assign to from inside of a loop: `namespace(...)`. */
export class Namespace {
  readonly values: Map<string, unknown> = new Map();
}

/** A whole number that Python has as a float: `10 / 2` is written "5.0". Any other one is a number as JavaScript has it. */
export class WholeFloat {
  constructor(readonly value: number) {}
}

/** Values in round brackets, and entries of maps: a list that is written otherwise and equals no other list. */
export class Tuple extends Array<unknown> {
  /** What its methods make is a list. */
  static override get [Symbol.species](): ArrayConstructor {
    return Array;
  }
}

/** Entries of a map, whoever made it; what objects inherit does not count. */
export function entriesOf(
  value: unknown,
): readonly (readonly [string, unknown])[] | undefined {
  if (value instanceof Namespace) return [...value.values];
  const isMap = typeof value === "object" && value !== null &&
    !Array.isArray(value) && !(value instanceof WholeFloat);
  return isMap ? Object.entries(value) : undefined;
}

/** What a value is, for messages. */
export function kindOf(value: unknown): string {
  if (value === UNDEFINED) return "what there is not";
  if (value === null) return "none";
  if (value instanceof WholeFloat) return "number";
  if (value instanceof Tuple) return "a tuple";
  if (Array.isArray(value)) return "a list";
  return entriesOf(value) ? "a map" : typeof value;
}

/** A number; of a truth value 1 or 0, as Python has it. Undefined for anything else. */
export function numberOf(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  if (value instanceof WholeFloat) return value.value;
  return typeof value === "boolean" ? Number(value) : undefined;
}

/** A number that counts something, as Python takes it; undefined for a float and anything else. What is not exact is a float. */
export function integerOf(value: unknown): number | undefined {
  const number = value instanceof WholeFloat ? undefined : numberOf(value);
  return Number.isSafeInteger(number) ? number : undefined;
}

/** A number that Python has as a float. */
export function floatOf(number: number): number | WholeFloat {
  return Number.isInteger(number) ? new WholeFloat(number) : number;
}

/** A member of a map, or UNDEFINED. */
export function memberOf(value: unknown, key: unknown): unknown {
  if (key === UNDEFINED) return UNDEFINED;
  if (Array.isArray(value) || typeof value === "string") {
    const all = typeof value === "string" ? [...value] : value;
    const given = integerOf(key);
    if (given === undefined) return UNDEFINED;
    const at = given < 0 ? all.length + given : given;
    return at in all ? all[at] : UNDEFINED;
  }
  if (typeof key !== "string") return UNDEFINED;
  if (value instanceof Namespace) {
    return value.values.has(key) ? value.values.get(key) : UNDEFINED;
  }
  return entriesOf(value) && Object.hasOwn(value as object, key)
    ? (value as Record<string, unknown>)[key]
    : UNDEFINED;
}

/** Whether a condition holds. */
export function isTrue(value: unknown): boolean {
  if (value === UNDEFINED) return false;
  if (value instanceof WholeFloat) return value.value !== 0;
  if (Array.isArray(value)) return value.length > 0;
  const entries = entriesOf(value);
  return entries && !(value instanceof Namespace)
    ? entries.length > 0
    : Boolean(value);
}

/** Whether two values are equal, whole lists and maps. */
export function isEqual(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) {
    return a instanceof Tuple === b instanceof Tuple &&
      a.length === b.length && a.every((item, i) => isEqual(item, b[i]));
  }
  const [entries, others] = [entriesOf(a), entriesOf(b)];
  if (entries && others) {
    return a === b || entries.length === others.length &&
        entries.every(([key, item]) => isEqual(item, memberOf(b, key)));
  }
  const number = numberOf(a);
  return a === b || number !== undefined && number === numberOf(b);
}

/** A value as text, as `str()` has it. */
export function textOf(value: unknown): string {
  switch (value) {
    case UNDEFINED:
      return "";
    case null:
    case undefined:
      return "None";
    case true:
      return "True";
    case false:
      return "False";
  }
  const number = numberOf(value);
  if (number !== undefined) return numberText(value, number);
  return typeof value === "object" ? writtenOf(value) : `${String(value)}`;
}

/** A number as Python writes it: floats of 1e16 on, and below 1e-4, have exponents of two digits. */
function numberText(value: unknown, number: number): string {
  if (integerOf(value) !== undefined) return `${number}`;
  if (!Number.isFinite(number)) {
    return Number.isNaN(number) ? "nan" : number > 0 ? "inf" : "-inf";
  }
  const [digits, exponent] = number.toExponential().split("e");
  const power = Number(exponent);
  if (power >= -4 && power < 16) {
    if (Object.is(number, -0)) return "-0.0";
    return Number.isInteger(number) ? number.toFixed(1) : `${number}`;
  }
  const size = `${Math.abs(power)}`.padStart(2, "0");
  return `${digits}e${power < 0 ? "-" : "+"}${size}`;
}

/** A value in a list or map, as `repr()` has it. */
function writtenOf(value: unknown): string {
  if (value === UNDEFINED) return "Undefined";
  if (Array.isArray(value)) {
    const all = value.map(writtenOf).join(", ");
    if (!(value instanceof Tuple)) return `[${all}]`;
    return value.length === 1 ? `(${all},)` : `(${all})`;
  }
  const entries = entriesOf(value);
  if (entries) {
    const parts = entries.map(([key, item]) =>
      `${writtenOf(key)}: ${writtenOf(item)}`
    );
    return `{${parts.join(", ")}}`;
  }
  return typeof value === "string" ? quotedAsIn(value) : textOf(value);
}

const WRITTEN: Readonly<Record<string, string>> = {
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\\": "\\\\",
};

/** A text in quotes as Python writes it: in double ones where it has single ones alone. */
function quotedAsIn(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  // What is not printed is written otherwise, and of spaces all but one.
  const inside = text.replace(/[\\'"]|(?! )[\p{C}\p{Z}]/gu, (letter) => {
    if (letter === quote) return `\\${letter}`;
    if (letter === "'" || letter === '"') return letter;
    const code = letter.codePointAt(0)!.toString(16);
    return WRITTEN[letter] ??
      (code.length <= 2
        ? `\\x${code.padStart(2, "0")}`
        : code.length <= 4
        ? `\\u${code.padStart(4, "0")}`
        : `\\U${code.padStart(8, "0")}`);
  });
  return `${quote}${inside}${quote}`;
}

/**
 * A value as JSON, with spaces as Python's `json.dumps` writes them.
 * @param indent spaces in front of what is inside; default: all in one line
 * @throws TypeError on what is no JSON
 */
export function jsonOf(value: unknown, indent?: number, depth = 0): string {
  if (value === UNDEFINED || value instanceof Namespace) {
    throw new TypeError(`${kindOf(value)} is no JSON`);
  }
  const lines = (open: string, parts: readonly string[], close: string) => {
    if (parts.length === 0) return open + close;
    if (indent === undefined) return open + parts.join(", ") + close;
    const newline = (depth: number) => `\n${" ".repeat(indent * depth)}`;
    const inside = newline(depth + 1);
    return `${open}${inside}${parts.join(`,${inside}`)}${
      newline(depth)
    }${close}`;
  };
  const inside = (item: unknown) => jsonOf(item, indent, depth + 1);
  if (Array.isArray(value)) return lines("[", value.map(inside), "]");
  const entries = entriesOf(value);
  if (!entries) {
    if (value instanceof WholeFloat) return textOf(value);
    if (typeof value !== "number") return JSON.stringify(value ?? null);
    return Number.isFinite(value) ? textOf(value) : `${value}`;
  }
  const parts = entries.map(([key, item]) =>
    `${JSON.stringify(key)}: ${inside(item)}`
  );
  return lines("{", parts, "}");
}

/** Whether `of is name`. */
export function isSuch(of: unknown, name: string, line: number): boolean {
  switch (name) {
    case "defined":
      return of !== UNDEFINED;
    case "undefined":
      return of === UNDEFINED;
    case "none":
      return of === null;
    case "string":
      return typeof of === "string";
    case "number":
      return numberOf(of) !== undefined;
    case "integer":
      return typeof of !== "boolean" && integerOf(of) !== undefined;
    case "float":
      return numberOf(of) !== undefined && integerOf(of) === undefined;
    case "boolean":
      return typeof of === "boolean";
    case "true":
      return of === true;
    case "false":
      return of === false;
    case "mapping":
      return entriesOf(of) !== undefined;
    case "sequence":
    case "iterable":
      // What there is not has nothing in it.
      return typeof of === "string" || Array.isArray(of) ||
        entriesOf(of) !== undefined || of === UNDEFINED;
    case "odd":
    case "even": {
      const number = numberOf(of);
      if (number === undefined) {
        throw templateError(`${kindOf(of)} is neither odd nor even`, line);
      }
      return Math.abs(number % 2) === (name === "odd" ? 1 : 0);
    }
  }
  throw templateError(`there is no test "${name}"`, line);
}
