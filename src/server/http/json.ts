/**
 * JSON as clients of the field's protocols write it: integers beyond 2^53 keep their digits (as bigint), and the NaN and
 * Infinity that Python writes are numbers. What has neither, nearly everything, goes through the runtime's own parser.
 */
import { HttpError } from "./http_error.ts";
import { checkNames } from "./json_names.ts";

/** Digits of an integer that is read exactly: more than 64 bits have; longer ones are numbers like any other. */
const DIGITS_MAX = 40;

/** Digits that every double has. */
const DIGITS_EXACT = 15;

/** Arrays, objects and strings: two bytes of them become an object of up to a hundred. */
const PARTS_MAX = 2 ** 22;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * @param bytes UTF-8
 * @param depthMax most arrays and objects within each other: parsers recurse
 * @throws HttpError 400
 */
export function parseJson(bytes: Uint8Array, depthMax: number): unknown {
  const { depth, parts, isPlain } = scan(bytes);
  if (depth > depthMax) {
    throw new HttpError(400, `JSON is nested up to ${depthMax} levels here`);
  }
  if (parts > PARTS_MAX) {
    throw new HttpError(
      400,
      `JSON has up to ${PARTS_MAX} arrays, objects and strings here`,
    );
  }
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new HttpError(400, "The body is not UTF-8");
  }
  checkNames(text);
  try {
    return isPlain ? JSON.parse(text) : new Parser(text).document();
  } catch (error) {
    // The runtime's own words repeat what they stumble over, however long.
    throw new HttpError(400, "The body is not JSON", {}, { cause: error });
  }
}

/** How deep it goes, how many arrays, objects and strings it has, and whether every number is one that the runtime's parser reads exactly. */
function scan(
  bytes: Uint8Array,
): { depth: number; parts: number; isPlain: boolean } {
  let parts = 0;
  let depth = 0;
  let deepest = 0;
  let isPlain = true;
  let digits = 0;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    if (byte >= 0x30 && byte <= 0x39) {
      if (++digits > DIGITS_EXACT) isPlain = false;
      continue;
    }
    // Digits behind a point are rounded as they should be.
    digits = byte === 0x2e ? -Infinity : 0;
    if (byte === QUOTE) {
      parts++;
      for (i++; i < bytes.length && bytes[i] !== QUOTE; i++) {
        if (bytes[i] === BACKSLASH) i++;
      }
    } else if (byte === 0x5b || byte === 0x7b) {
      parts++;
      if (++depth > deepest) deepest = depth;
    } else if (byte === 0x5d || byte === 0x7d) depth--;
    // N of NaN, I of Infinity; both are wrong anywhere else.
    else if (byte === 0x4e || byte === 0x49) isPlain = false;
  }
  return { depth: deepest, parts, isPlain };
}

const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y;
const BLANK = /[ \t\n\r]*/y;
const WORD = /true|false|null|NaN|-?Infinity/y;

const WORDS: Readonly<Record<string, unknown>> = {
  true: true,
  false: false,
  null: null,
  NaN: NaN,
  Infinity: Infinity,
  "-Infinity": -Infinity,
};

/** RFC 8259, and what it is for above. Its depth has been looked at. */
class Parser {
  #at = 0;

  constructor(readonly text: string) {}

  document(): unknown {
    const value = this.#value();
    this.#blank();
    if (this.#at < this.text.length) this.#fail();
    return value;
  }

  #value(): unknown {
    this.#blank();
    const first = this.text[this.#at];
    if (first === "{") return this.#object();
    if (first === "[") return this.#array();
    if (first === '"') return this.#string();
    const word = this.#match(WORD);
    if (word !== undefined) return WORDS[word];
    return this.#number();
  }

  /** Not by a pattern: of one that goes on for megabytes, patterns overflow their stack. */
  #string(): string {
    let end = this.#at;
    do {
      end = this.text.indexOf('"', end + 1);
      if (end < 0) this.#fail();
    } while (this.#isEscaped(end));
    const start = this.#at;
    this.#at = end + 1;
    return JSON.parse(this.text.slice(start, end + 1));
  }

  /** Whether an odd number of backslashes is in front. */
  #isEscaped(at: number): boolean {
    let before = at;
    while (this.text[before - 1] === "\\") before--;
    return (at - before) % 2 === 1;
  }

  #number(): number | bigint {
    const start = this.#at;
    const text = this.#match(NUMBER) ?? this.#fail();
    const value = Number(text);
    const isExact = Number.isSafeInteger(value) ||
      this.#at - start > DIGITS_MAX || /[.eE]/.test(text);
    return isExact ? value : BigInt(text);
  }

  #array(): unknown[] {
    const list: unknown[] = [];
    this.#at++;
    if (this.#taken("]")) return list;
    do list.push(this.#value()); while (this.#taken(","));
    if (!this.#taken("]")) this.#fail();
    return list;
  }

  #object(): Record<string, unknown> {
    const fields: Record<string, unknown> = {};
    this.#at++;
    if (this.#taken("}")) return fields;
    do {
      this.#blank();
      if (this.text[this.#at] !== '"') this.#fail();
      const name = this.#string();
      if (!this.#taken(":")) this.#fail();
      const value = this.#value();
      // As the runtime's parser does it: a field "__proto__" is a field.
      Object.defineProperty(fields, name, {
        value,
        writable: true,
        enumerable: true,
        configurable: true,
      });
    } while (this.#taken(","));
    if (!this.#taken("}")) this.#fail();
    return fields;
  }

  #taken(character: string): boolean {
    this.#blank();
    if (this.text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  #blank(): void {
    BLANK.lastIndex = this.#at;
    BLANK.exec(this.text);
    this.#at = BLANK.lastIndex;
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.text);
    if (found === null) return undefined;
    this.#at = pattern.lastIndex;
    return found[0];
  }

  #fail(): never {
    throw new SyntaxError(`Not JSON at ${this.#at}`);
  }
}
