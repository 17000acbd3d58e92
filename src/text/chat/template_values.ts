/** Values of templates as Python has them: what is true, how they are written, what there is to do with them. */
import type { GivenArguments } from "./template_arguments.ts";
import { TemplateValueError } from "./template_error.ts";
import { ELEMENT_WORK, joined, work, workOn } from "./template_work.ts";

/** What a name or a member that there is not stands for. */
export const UNDEFINED: unique symbol = Symbol("undefined");

/** A value that is neither text nor number, list nor map. */
export abstract class Opaque {
  /** What it is, for messages. */
  abstract readonly kind: string;

  /** @throws TemplateValueError where it has some that are not known */
  member(name: string): unknown {
    throw new TemplateValueError(`${this.kind} has no member "${name}"`);
  }

  /** @throws TemplateValueError where Python writes an address */
  get text(): string {
    throw new TemplateValueError(`${this.kind} is no text`);
  }
}

/** What a template may assign to from inside of a loop: `namespace(...)`. */
export class Namespace extends Opaque {
  readonly kind = "a namespace";
  readonly values: Map<string, unknown> = new Map();

  override member(name: string): unknown {
    return this.values.has(name) ? this.values.get(name) : UNDEFINED;
  }

  override get text(): string {
    return `<Namespace ${textOf(Object.fromEntries(this.values))}>`;
  }
}

/** A whole number that Python has as a float: `10 / 2` is written "5.0". Any other one is a number as JavaScript has it. */
export class WholeFloat extends Opaque {
  readonly kind = "number";

  constructor(readonly value: number) {
    super();
  }
}

/** A text that `safe` makes: one that is added to it is written with entities of HTML, as in Jinja. */
export class Markup extends Opaque {
  readonly kind = "a text that is safe";

  readonly #text: string;

  constructor(text: string) {
    super();
    this.#text = text;
  }

  override get text(): string {
    return this.#text;
  }
}

/** What is called: a function, a macro or a value's method. */
export class Callable extends Opaque {
  constructor(
    readonly kind: string,
    readonly call: (given: GivenArguments, line: number) => unknown,
    readonly written?: string,
  ) {
    super();
  }

  override get text(): string {
    return this.written ?? super.text;
  }

  override member(name: string): unknown {
    return this.kind === "a method" ? UNDEFINED : super.member(name);
  }
}

const SERIES_MEMBERS =
  "close count index isdisjoint mapping send start step stop throw".split(" ");

/** What is gone through and is no list: numbers that are counted, a map's entries, or once what a filter makes. */
export class Series extends Opaque {
  constructor(
    readonly kind: "a range" | "a view of a map" | "what is gone through once",
    /** A list, except where it is gone through once. */
    readonly items: Iterable<unknown>,
  ) {
    super();
  }

  /** What goes on where it was left, also behind a loop that was ended. */
  static once(items: Iterable<unknown>): Series {
    const iterator = items[Symbol.iterator]();
    const left = {
      next: () => iterator.next(),
      [Symbol.iterator]: () => left,
    };
    return new Series("what is gone through once", left);
  }

  override member(name: string): unknown {
    return SERIES_MEMBERS.includes(name) ? super.member(name) : UNDEFINED;
  }

  /** Undefined where it is gone through once. */
  get list(): readonly unknown[] | undefined {
    return Array.isArray(this.items) ? this.items : undefined;
  }
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
): readonly (readonly [unknown, unknown])[] | undefined {
  if (value instanceof Map) return counted([...value]);
  const isMap = typeof value === "object" && value !== null &&
    !Array.isArray(value) && !(value instanceof Opaque);
  if (!isMap) return undefined;
  // As in JSON, what is undefined is not there.
  return counted(Object.entries(value)).filter(([, item]) =>
    item !== undefined
  );
}

/** A list that is gone through, or was made. */
export function counted<T extends readonly unknown[]>(all: T): T {
  work(all.length * ELEMENT_WORK);
  return all;
}

/** What there is to go through in a value, letter by letter in a text; undefined where there is nothing. */
export function itemsOf(value: unknown): Iterable<unknown> | undefined {
  if (value instanceof Series) {
    return value.list ? counted(value.list) : value.items;
  }
  return value === UNDEFINED ? [] : listed(value);
}

/** A text's letters, a list, and a map's keys. */
function listed(value: unknown): readonly unknown[] | undefined {
  if (Array.isArray(value)) return counted(value);
  if (typeof value === "string") return lettersOf(value);
  return entriesOf(value)?.map(([key]) => key);
}

/** A text's characters: of a pair of surrogates there is one. */
export function lettersOf(text: string): string[] {
  work(text.length);
  return [...text];
}

/** What a value is, for messages. */
export function kindOf(value: unknown): string {
  if (value === UNDEFINED) return "what there is not";
  if (value === null) return "none";
  if (value instanceof Opaque) return value.kind;
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
  if (key instanceof Markup) return memberOf(value, key.text);
  workOn(key);
  if (value instanceof Map) {
    const name = numberOf(key) ?? key;
    return value.has(name) ? value.get(name) : UNDEFINED;
  }
  const given = integerOf(key);
  if (given !== undefined) {
    const isRange = value instanceof Series && value.kind === "a range";
    const all = isRange
      ? value.list!
      : typeof value === "string"
      ? lettersOf(value)
      : Array.isArray(value)
      ? value
      : [];
    const at = given < 0 ? all.length + given : given;
    return at in all ? all[at] : UNDEFINED;
  }
  if (typeof key !== "string") return UNDEFINED;
  if (value instanceof Opaque) return value.member(key);
  const isMap = typeof value === "object" && value !== null &&
    !Array.isArray(value);
  const found = isMap && Object.hasOwn(value, key)
    ? (value as Record<string, unknown>)[key]
    : undefined;
  return found === undefined ? UNDEFINED : found;
}

/** Whether a condition holds. */
export function isTrue(value: unknown): boolean {
  if (value === UNDEFINED) return false;
  if (value instanceof WholeFloat) return value.value !== 0;
  if (value instanceof Markup) return value.text !== "";
  if (value instanceof Series) return value.list?.length !== 0;
  if (Array.isArray(value)) return value.length > 0;
  const entries = entriesOf(value);
  return entries ? entries.length > 0 : Boolean(value);
}

/** Whether two values are equal, whole lists and maps. */
export function isEqual(a: unknown, b: unknown): boolean {
  if (a instanceof Markup) a = a.text;
  if (b instanceof Markup) b = b.text;
  if (Array.isArray(a) && Array.isArray(b)) {
    work(Math.min(a.length, b.length) * ELEMENT_WORK);
    const others: readonly unknown[] = b;
    return a instanceof Tuple === b instanceof Tuple &&
      a.length === b.length && a.every((item, i) => isEqual(item, others[i]));
  }
  if (a instanceof Series && b instanceof Series && a !== b) {
    throw new TemplateValueError(`${a.kind} and ${b.kind} are not compared`);
  }
  if (typeof a === "string" && typeof b === "string") {
    if (a.length === b.length) work(a.length);
    return a === b;
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
  if (value instanceof Opaque) return value.text;
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
  work(ELEMENT_WORK);
  if (value === UNDEFINED) return "Undefined";
  if (value instanceof Markup) return `Markup(${quotedAsIn(value.text)})`;
  if (Array.isArray(value)) {
    const all = joined(value.map(writtenOf), ", ");
    if (!(value instanceof Tuple)) return `[${all}]`;
    return value.length === 1 ? `(${all},)` : `(${all})`;
  }
  const entries = entriesOf(value);
  if (entries) {
    const parts = entries.map(([key, item]) =>
      `${writtenOf(key)}: ${writtenOf(item)}`
    );
    return `{${joined(parts, ", ")}}`;
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
  work(text.length);
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
