/** Operators between two values, and slices, as Python has them. */
import { templateError } from "./template_error.ts";
import {
  entriesOf,
  isEqual,
  kindOf,
  memberOf,
  numberOf,
  textOf,
  UNDEFINED,
} from "./template_values.ts";

/** Elements or characters that a product makes. */
const REPEATED_MAX = 2 ** 26;

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
      return textOf(a) + textOf(b);
  }
  if (typeof a === "string" && typeof b === "string") {
    const made = ofTexts(sign, a, b);
    if (made !== undefined) return made;
  }
  if (sign === "+" && Array.isArray(a) && Array.isArray(b)) return [...a, ...b];
  if (sign === "*") {
    const made = repeated(a, b, line) ?? repeated(b, a, line);
    if (made !== undefined) return made;
  }
  const [x, y] = [numberOf(a), numberOf(b)];
  if (x === undefined || y === undefined) {
    throw templateError(`"${sign}" of ${kindOf(a)} and ${kindOf(b)}`, line);
  }
  return ofNumbers(sign, x, y, line);
}

function ofTexts(sign: string, a: string, b: string): unknown {
  switch (sign) {
    case "+":
      return a + b;
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
    case "<":
      return x < y;
    case ">":
      return x > y;
    case "<=":
      return x <= y;
    case ">=":
      return x >= y;
    case "+":
      return x + y;
    case "-":
      return x - y;
    case "*":
      return x * y;
    case "/":
      return x / y;
    case "//":
      return Math.floor(x / y);
    case "%":
      // Of the divisor's sign.
      return ((x % y) + y) % y;
  }
  throw templateError(`there is no operator "${sign}"`, line);
}

/** A text or list so many times; undefined where it is none of these. */
function repeated(all: unknown, times: unknown, line: number): unknown {
  const isText = typeof all === "string";
  const given = numberOf(times);
  if (!(isText || Array.isArray(all)) || given === undefined) return undefined;
  const count = Math.max(0, given);
  if (!Number.isInteger(count) || all.length * count > REPEATED_MAX) {
    throw templateError(`it repeats something ${count} times`, line);
  }
  return isText ? all.repeat(count) : new Array(count).fill(all).flat();
}

function contains(all: unknown, one: unknown, line: number): boolean {
  if (typeof all === "string" && typeof one === "string") {
    return all.includes(one);
  }
  if (Array.isArray(all)) return all.some((each) => isEqual(each, one));
  if (all === UNDEFINED) return false;
  if (entriesOf(all)) return memberOf(all, one) !== UNDEFINED;
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
  const all: readonly unknown[] = isText ? [...value] : value;
  const { length } = all;
  const [first, last, step = 1] = bounds.map((bound) => {
    if (bound === undefined || bound === null) return undefined;
    const number = numberOf(bound);
    if (number !== undefined && Number.isInteger(number)) return number;
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
  return isText ? picked.join("") : picked;
}
