/** Values of templates as Python has them: what is true, how they are written, what there is to do with them. */
import { templateError } from "./template_error.ts";

/** What a name or a member that there is not stands for. */
export const UNDEFINED: unique symbol = Symbol("undefined");

/** What a template may assign to from inside of a loop: `namespace(...)`. */
export class Namespace {
  readonly values: Map<string, unknown> = new Map();
}

/** Entries of a map, whoever made it; what objects inherit does not count. */
export function entriesOf(
  value: unknown,
): readonly (readonly [string, unknown])[] | undefined {
  if (value instanceof Namespace) return [...value.values];
  const isMap = typeof value === "object" && value !== null &&
    !Array.isArray(value);
  return isMap ? Object.entries(value) : undefined;
}

/** What a value is, for messages. */
export function kindOf(value: unknown): string {
  if (value === UNDEFINED) return "what there is not";
  if (value === null) return "none";
  if (Array.isArray(value)) return "a list";
  return entriesOf(value) ? "a map" : typeof value;
}

/** A number; of a truth value 1 or 0, as Python has it. Undefined for anything else. */
export function numberOf(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  return typeof value === "boolean" ? Number(value) : undefined;
}

/** A member of a map, or UNDEFINED. */
export function memberOf(value: unknown, key: unknown): unknown {
  if (key === UNDEFINED) return UNDEFINED;
  if (Array.isArray(value) || typeof value === "string") {
    const all = typeof value === "string" ? [...value] : value;
    const given = numberOf(key);
    if (given === undefined || !Number.isInteger(given)) return UNDEFINED;
    const at = given < 0 ? all.length + given : given;
    return at in all ? all[at] : UNDEFINED;
  }
  const name = textOf(key);
  if (value instanceof Namespace) {
    return value.values.has(name) ? value.values.get(name) : UNDEFINED;
  }
  const isMap = typeof value === "object" && value !== null;
  return isMap && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : UNDEFINED;
}

/** Whether a condition holds. */
export function isTrue(value: unknown): boolean {
  if (value === UNDEFINED) return false;
  if (Array.isArray(value)) return value.length > 0;
  const entries = entriesOf(value);
  return entries && !(value instanceof Namespace)
    ? entries.length > 0
    : Boolean(value);
}

/** Whether two values are equal, whole lists and maps. */
export function isEqual(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, i) => isEqual(item, b[i]));
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
  return typeof value === "object" ? writtenOf(value) : `${String(value)}`;
}

/** A value in a list or map, as `repr()` has it. */
function writtenOf(value: unknown): string {
  if (value === UNDEFINED) return "Undefined";
  if (Array.isArray(value)) return `[${value.map(writtenOf).join(", ")}]`;
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
  // deno-lint-ignore no-control-regex -- they are what is written otherwise
  const inside = text.replace(/[\\'"\x00-\x1f\x7f]/g, (letter) => {
    if (letter === quote) return `\\${letter}`;
    if (letter === "'" || letter === '"') return letter;
    const code = letter.charCodeAt(0).toString(16).padStart(2, "0");
    return WRITTEN[letter] ?? `\\x${code}`;
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
  if (!entries) return JSON.stringify(value ?? null);
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
      return Number.isInteger(of);
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
