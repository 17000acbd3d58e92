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

/** A member of a map, or UNDEFINED. */
export function memberOf(value: unknown, key: unknown): unknown {
  if (Array.isArray(value) || typeof value === "string") {
    const all = typeof value === "string" ? [...value] : value;
    if (!Number.isInteger(key)) return UNDEFINED;
    const at = Number(key) < 0 ? all.length + Number(key) : Number(key);
    return at in all ? all[at] : UNDEFINED;
  }
  if (value instanceof Namespace) {
    return value.values.has(`${key}`) ? value.values.get(`${key}`) : UNDEFINED;
  }
  const isMap = typeof value === "object" && value !== null;
  return isMap && Object.hasOwn(value, `${key}`)
    ? (value as Record<string, unknown>)[`${key}`]
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
  return a === b;
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
  return typeof value === "object" ? jsonOf(value, "'") : `${value}`;
}

/** A value as JSON, with spaces as Python writes them. */
export function jsonOf(value: unknown, quote = '"'): string {
  if (Array.isArray(value)) {
    return `[${value.map((item) => jsonOf(item, quote)).join(", ")}]`;
  }
  const entries = entriesOf(value);
  if (entries) {
    const parts = entries.map(([key, item]) =>
      `${jsonOf(key, quote)}: ${jsonOf(item, quote)}`
    );
    return `{${parts.join(", ")}}`;
  }
  if (typeof value === "string") {
    return quote === '"' ? JSON.stringify(value) : `'${value}'`;
  }
  return quote === '"' ? JSON.stringify(value ?? null) : textOf(value);
}

/** What `of.name(...)` does. */
export function method(
  of: unknown,
  name: string,
  values: readonly unknown[],
  line: number,
): unknown {
  const [first, second] = values;
  if (typeof of === "string") {
    switch (name) {
      case "strip":
      case "lstrip":
      case "rstrip":
        return stripped(of, name, first);
      case "startswith":
        return of.startsWith(`${first}`);
      case "endswith":
        return of.endsWith(`${first}`);
      case "upper":
        return of.toUpperCase();
      case "lower":
        return of.toLowerCase();
      case "replace":
        return of.replaceAll(`${first}`, () => `${second}`);
      case "split":
        return first === undefined || first === null
          ? of.split(/\s+/).filter((part) => part !== "")
          : of.split(`${first}`);
      case "join":
        return (first as readonly unknown[]).map(textOf).join(of);
    }
  }
  const entries = entriesOf(of);
  switch (entries && name) {
    case "items":
      return entries!.map((entry) => [...entry]);
    case "keys":
      return entries!.map(([key]) => key);
    case "values":
      return entries!.map(([, value]) => value);
    case "get": {
      const found = memberOf(of, first);
      return found === UNDEFINED ? second ?? null : found;
    }
  }
  throw templateError(`there is no method "${name}" of such a value`, line);
}

/** Without characters of a set at its ends; default: space. */
function stripped(text: string, how: string, set: unknown): string {
  const isOf = typeof set === "string"
    ? (letter: string) => set.includes(letter)
    : (letter: string) => letter.trim() === "";
  const letters = [...text];
  let [from, to] = [0, letters.length];
  while (how !== "rstrip" && from < to && isOf(letters[from])) from++;
  while (how !== "lstrip" && to > from && isOf(letters[to - 1])) to--;
  return letters.slice(from, to).join("");
}

/** What `of | name(...)` makes. */
export function filtered(
  of: unknown,
  name: string,
  values: readonly unknown[],
  line: number,
): unknown {
  const [first, second] = values;
  const list = () =>
    Array.isArray(of)
      ? of
      : typeof of === "string"
      ? [...of]
      : (entriesOf(of) ?? []).map(([key]) => key);
  switch (name) {
    case "trim":
      return textOf(of).trim();
    case "upper":
      return textOf(of).toUpperCase();
    case "lower":
      return textOf(of).toLowerCase();
    case "capitalize": {
      const [head = "", ...tail] = textOf(of);
      return head.toUpperCase() + tail.join("").toLowerCase();
    }
    case "string":
      return textOf(of);
    case "safe":
      return of;
    case "int":
      return Math.trunc(Number(of)) || 0;
    case "length":
    case "count":
      return list().length;
    case "first":
      return memberOf(list(), 0);
    case "last":
      return memberOf(list(), -1);
    case "list":
      return list();
    case "reverse":
      return typeof of === "string"
        ? list().reverse().join("")
        : list().toReversed();
    case "join":
      return list().map(textOf).join(first === undefined ? "" : `${first}`);
    case "replace":
      return textOf(of).replaceAll(`${first}`, () => `${second}`);
    case "default":
    case "d":
      return of === UNDEFINED || isTrue(second ?? false) && !isTrue(of)
        ? first ?? ""
        : of;
    case "tojson":
      return jsonOf(of);
    case "items":
      return (entriesOf(of) ?? []).map((entry) => [...entry]);
  }
  throw templateError(`there is no filter "${name}"`, line);
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
      return typeof of === "number";
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
      return typeof of === "string" || Array.isArray(of) ||
        entriesOf(of) !== undefined;
    case "odd":
      return Math.abs(Number(of) % 2) === 1;
    case "even":
      return Number(of) % 2 === 0;
  }
  throw templateError(`there is no test "${name}"`, line);
}
