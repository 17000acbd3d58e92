/** What there is to do with texts, for methods and filters alike. */
import { templateError, TemplateValueError } from "./template_error.ts";
import { counted, kindOf, lettersOf } from "./template_values.ts";
import { joined, work, workOnSearch } from "./template_work.ts";

/** @throws TextFileError when it is none */
export function asText(value: unknown, what: string, line: number): string {
  if (typeof value === "string") return value;
  throw templateError(`${what} takes a text, not ${kindOf(value)}`, line);
}

/** A text, or undefined where none is given. @throws TextFileError when it is something else */
export function optionalText(
  value: unknown,
  what: string,
  line: number,
): string | undefined {
  return (value ?? null) === null ? undefined : asText(value, what, line);
}

/** What Python has as space (`str.isspace`): separators of information, but no byte order mark. */
const SPACES =
  "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const ALL_SPACES = new RegExp(`^[${SPACES}]*$`);
const NEXT_SPACES = new RegExp(`[${SPACES}]+`);

/** Whether a text has nothing in it but space. */
export function isSpace(text: string): boolean {
  return ALL_SPACES.test(text);
}

/** Without characters of a set at its ends; default: space. */
export function stripped(
  text: string,
  ends: "strip" | "lstrip" | "rstrip",
  set?: string,
): string {
  const isOf = set === undefined ? isSpace : (letter: string) => {
    work(set.length);
    return set.includes(letter);
  };
  const letters = lettersOf(text);
  let [from, to] = [0, letters.length];
  while (ends !== "rstrip" && from < to && isOf(letters[from])) from++;
  while (ends !== "lstrip" && to > from && isOf(letters[to - 1])) to--;
  return letters.slice(from, to).join("");
}

/** A text with another part in a part's place, at the first `most` places. */
export function replaced(
  text: string,
  part: string,
  by: string,
  most = Infinity,
): string {
  let left = most < 0 ? Infinity : most;
  if (part === "") {
    // In front of every letter and at the end, but not amid a pair of surrogates.
    const letters = lettersOf(text).map((letter) =>
      left-- > 0 ? by + letter : letter
    );
    return joined(letters, "") + (left > 0 ? by : "");
  }
  workOnSearch(text, part);
  return text.replaceAll(part, (found) => left-- > 0 ? by : found);
}

/** Parts between a separator, or between spaces; the last one has what is behind `most` of them. */
export function splitAt(
  text: string,
  separator: string | undefined,
  most = Infinity,
): string[] {
  workOnSearch(text, separator ?? "");
  const limit = most < 0 ? Infinity : most;
  const parts: string[] = [];
  let rest = separator === undefined ? stripped(text, "lstrip") : text;
  while (parts.length < limit) {
    const found = separator === undefined
      ? NEXT_SPACES.exec(rest)
      : { index: rest.indexOf(separator), 0: separator };
    if (found === null || found.index < 0) break;
    parts.push(rest.slice(0, found.index));
    rest = rest.slice(found.index + found[0].length);
  }
  // Between spaces there is no empty part.
  if (separator !== undefined || rest !== "") parts.push(rest);
  return counted(parts);
}

/** A text whose first letter is a capital, and no other one. */
export function capitalized(text: string): string {
  const [head = ""] = text;
  // Behind it all is as amid the text: a sigma at a word's end is another one.
  work(text.length);
  return capital(head) + text.toLowerCase().slice(head.toLowerCase().length);
}

/** A text whose words begin with capitals, as the method `title` has it: a word is letters. */
export function titled(text: string): string {
  if (text.includes("\u03a3")) {
    throw new TemplateValueError('method "title" of a sigma');
  }
  let isAmid = false;
  const made = lettersOf(text).map((letter) => {
    const as = isAmid ? letter.toLowerCase() : capital(letter);
    isAmid = /\p{Cased}/u.test(letter);
    return as;
  });
  return made.join("");
}

/** A text whose words begin with capitals, as the filter `title` has it: a word is between spaces, brackets and "-". */
export function titledWords(text: string): string {
  return counted(text.split(WORD_BORDERS)).map((word) => {
    const [head = "", ...tail] = lettersOf(word);
    return capital(head) + tail.join("").toLowerCase();
  }).join("");
}

const WORD_BORDERS = new RegExp(`([${SPACES}\\-({[<]+)`);

/** A letter at the beginning of a word. */
function capital(letter: string): string {
  const made = letter.toUpperCase();
  if (made.length === letter.length && !TITLE_CASED.test(letter)) return made;
  throw new TemplateValueError(`${letter} has no capital that is known`);
}

/** Letters that begin a word otherwise than they are written among capitals. */
const TITLE_CASED = /[\u01c4-\u01cc\u01f1-\u01f3\u10d0-\u10ff]/;

/** What ends a line besides "\r\n" (`str.splitlines`). */
const ENDS = "\\n-\\r\\x1c-\\x1e\\x85\\u2028\\u2029";
const LINE_ENDS = new RegExp(`\\r\\n|[${ENDS}]`);

/** Lines, without their ends. */
function linesOf(text: string): string[] {
  work(text.length);
  const lines = counted(text.split(LINE_ENDS));
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

/**
 * A text whose lines have something in front.
 * @param first whether the first one, too
 * @param blank whether empty ones, too
 */
export function indented(
  text: string,
  front: string,
  first: boolean,
  blank: boolean,
): string {
  const lines = linesOf(`${text}\n`);
  const made = lines.map((line, i) => {
    const has = i === 0 ? first : blank || line !== "";
    return has ? front + line : line;
  });
  return joined(made, "\n");
}

/** A text with values in the place of `{}` and `{0}`, as the method `format` puts them. */
export function filledIn(text: string, values: readonly string[]): string {
  work(text.length);
  let [next, isNumbered] = [0, false];
  return text.replace(
    /\{\{|\}\}|\{(\d{0,3})\}|[{}]/g,
    (all, number?: string) => {
      if (all === "{{" || all === "}}") return all[0];
      isNumbered ||= number !== undefined && number !== "";
      const at = number ? Number(number) : next++;
      if (number !== undefined && at in values && !(isNumbered && next > 0)) {
        work(values[at].length);
        return values[at];
      }
      throw new TemplateValueError(
        `method "format" knows {} and {0}, of as many as there are`,
      );
    },
  );
}

/** Below 0 where the first text is less, by characters: those of two surrogates are behind all others. */
export function textOrder(a: string, b: string): number {
  work(a.length + b.length);
  const length = Math.min(a.length, b.length);
  let at = 0;
  while (at < length && a[at] === b[at]) at++;
  const [x, y] = [a, b].map((text) => {
    const unit = text.charCodeAt(at);
    return unit >= 0xd800 && unit < 0xe000 ? unit + 0x2800 : unit;
  });
  return at < length ? x - y : a.length - b.length;
}
