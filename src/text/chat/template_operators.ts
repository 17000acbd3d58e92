/** Operators between two values, and slices, as Python has them. */
import { templateError } from "./template_error.ts";
import { textOrder } from "./template_texts.ts";
import {
  counted,
  floatOf,
  integerOf,
  isEqual,
  itemsOf,
  kindOf,
  lettersOf,
  Markup,
  numberOf,
  textOf,
  Tuple,
} from "./template_values.ts";
import { ELEMENT_WORK, work, workOnSearch } from "./template_work.ts";

/** Characters that a product or sum makes. */
const LETTERS_MAX = 2 ** 26;

/** Elements that a product or sum makes. */
const ELEMENTS_MAX = 2 ** 20;

/** `a sign b`, of both values. */
export function operated(
  sign: string,
  a: unknown,
  b: unknown,
  line: number,
): unknown {
  switch (sign) {
    case "==":
      return isEqual(a, b);
    case "!=":
      return !isEqual(a, b);
    case "in":
      return contains(b, a, line);
    case "not in":
      return !contains(b, a, line);
    case "~":
      return added(textOf(a), textOf(b), line);
  }
  if (sign === "+" && (a instanceof Markup || b instanceof Markup)) {
    return new Markup(added(escaped(a, b, line), escaped(b, a, line), line));
  }
  if (typeof a === "string" && typeof b === "string") {
    if (sign === "+") return added(a, b, line);
    const holds = compared(sign, textOrder(a, b), 0);
    if (holds !== undefined) return holds;
  }
  if (sign === "+" && Array.isArray(a) && Array.isArray(b)) {
    const isTuple = a instanceof Tuple;
    if (isTuple === b instanceof Tuple) {
      if (a.length + b.length > ELEMENTS_MAX) {
        throw templateError("it makes too long a list", line);
      }
      work((a.length + b.length) * ELEMENT_WORK);
      return isTuple ? Tuple.from([...a, ...b]) : [...a, ...b];
    }
  }
  if (sign === "*") {
    const made = repeated(a, b, line) ?? repeated(b, a, line);
    if (made !== undefined) return made;
  }
  const [x, y] = [numberOf(a), numberOf(b)];
  if (x === undefined || y === undefined) {
    throw templateError(`"${sign}" of ${kindOf(a)} and ${kindOf(b)}`, line);
  }
  const made = ofNumbers(sign, x, y, line);
  if (typeof made !== "number") return made;
  const isWhole = sign !== "/" && integerOf(a) !== undefined &&
    integerOf(b) !== undefined;
  if (!isWhole) return floatOf(made);
  // There is one 0.
  if (Number.isSafeInteger(made)) return made + 0;
  throw templateError("a number of more digits than are exact", line);
}

const ENTITIES: Readonly<Record<string, string>> = {
  ...{ "&": "&amp;", "<": "&lt;", ">": "&gt;", "'": "&#39;", '"': "&#34;" },
};

/** A text that is put beside another one, of which one is safe. */
function escaped(text: unknown, beside: unknown, line: number): string {
  if (text instanceof Markup) return text.text;
  if (typeof text !== "string") {
    throw templateError(`"+" of ${kindOf(text)} and ${kindOf(beside)}`, line);
  }
  work(text.length * ELEMENT_WORK);
  return text.replace(/[&<>'"]/g, (letter) => ENTITIES[letter]);
}

/** Two texts in one, which costs nothing before it is gone through. */
function added(a: string, b: string, line: number): string {
  if (a.length + b.length <= LETTERS_MAX) return a + b;
  throw templateError("it makes too long a text", line);
}

/** Undefined of what is no comparison by size. */
function compared(sign: string, a: number, b: number): boolean | undefined {
  switch (sign) {
    case "<":
      return a < b;
    case ">":
      return a > b;
    case "<=":
      return a <= b;
    case ">=":
      return a >= b;
  }
  return undefined;
}

function ofNumbers(sign: string, x: number, y: number, line: number): unknown {
  if (y === 0 && ["/", "//", "%"].includes(sign)) {
    throw templateError("a division by 0", line);
  }
  switch (sign) {
    case "+":
      return x + y;
    case "-":
      return x - y;
    case "*":
      return x * y;
    case "/":
      return x / y;
    case "//":
      // Of what is a multiple: 1 // 0.1 is 9, as 0.1 is a little more than a tenth.
      return Math.round((x - remainder(x, y)) / y);
    case "%":
      return remainder(x, y);
  }
  const isSo = compared(sign, x, y);
  if (isSo !== undefined) return isSo;
  throw templateError(`there is no operator "${sign}"`, line);
}

/** Of the divisor's sign. */
function remainder(x: number, y: number): number {
  const rest = x % y;
  if (rest === 0) return y < 0 ? -0 : 0;
  return rest < 0 !== y < 0 ? rest + y : rest;
}

/** A text or list so many times; undefined where it is none of these. */
function repeated(all: unknown, times: unknown, line: number): unknown {
  const isText = typeof all === "string";
  const given = integerOf(times);
  if (!(isText || Array.isArray(all)) || given === undefined) return undefined;
  const count = Math.max(0, given);
  const length = all.length * count;
  if (length > (isText ? LETTERS_MAX : ELEMENTS_MAX)) {
    throw templateError(`it repeats something ${count} times`, line);
  }
  work(length * (isText ? 1 : ELEMENT_WORK));
  if (isText) return all.repeat(count);
  // Of no element there may be more than an array has.
  const list = Array.from({ length }, (_, i) => all[i % all.length]);
  return all instanceof Tuple ? Tuple.from(list) : list;
}

function contains(all: unknown, one: unknown, line: number): boolean {
  if (all instanceof Markup) return contains(all.text, one, line);
  if (one instanceof Markup) return contains(all, one.text, line);
  if (typeof all === "string") {
    if (typeof one === "string") {
      workOnSearch(all, one);
      return all.includes(one);
    }
  } else {
    const items = itemsOf(all);
    if (items) {
      for (const each of items) if (isEqual(each, one)) return true;
      return false;
    }
  }
  throw templateError(`"in" of ${kindOf(one)} and ${kindOf(all)}`, line);
}

/** `value[from:to:step]`; undefined or null for a bound that is left out. */
export function sliced(
  value: unknown,
  bounds: readonly unknown[],
  line: number,
): unknown {
  const isText = typeof value === "string";
  if (!isText && !Array.isArray(value)) {
    throw templateError(`a part of ${kindOf(value)}`, line);
  }
  const all: readonly unknown[] = isText ? lettersOf(value) : value;
  const { length } = all;
  const [first, last, step = 1] = bounds.map((bound) => {
    if (bound === undefined || bound === null) return undefined;
    const number = integerOf(bound);
    if (number !== undefined) return number;
    throw templateError(`a part from ${kindOf(bound)} on`, line);
  });
  if (step === 0) throw templateError("a part in steps of 0", line);
  const [least, most] = step > 0 ? [0, length] : [-1, length - 1];
  const place = (bound: number | undefined, absent: number) =>
    bound === undefined
      ? absent
      : Math.min(most, Math.max(least, bound < 0 ? bound + length : bound));
  const to = place(last, step > 0 ? most : least);
  const picked: unknown[] = [];
  for (
    let at = place(first, step > 0 ? least : most);
    step > 0 ? at < to : at > to;
    at += step
  ) picked.push(all[at]);
  if (isText) return picked.join("");
  counted(picked);
  return value instanceof Tuple ? Tuple.from(picked) : picked;
}
