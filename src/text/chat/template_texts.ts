/** What there is to do with texts, for methods and filters alike. */
import { templateError } from "./template_error.ts";
import { kindOf } from "./template_values.ts";

/** @throws TextFileError when it is none */
export function asText(value: unknown, what: string, line: number): string {
  if (typeof value === "string") return value;
  throw templateError(`${what} takes a text, not ${kindOf(value)}`, line);
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
  const isOf = set === undefined
    ? isSpace
    : (letter: string) => set.includes(letter);
  const letters = [...text];
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
    const letters = [...text].map((letter) =>
      left-- > 0 ? by + letter : letter
    );
    return letters.join("") + (left > 0 ? by : "");
  }
  return text.replaceAll(part, (found) => left-- > 0 ? by : found);
}

/** Parts between a separator, or between spaces; the last one has what is behind `most` of them. */
export function splitAt(
  text: string,
  separator: string | undefined,
  most = Infinity,
): string[] {
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
  return separator === undefined && rest === "" ? parts : [...parts, rest];
}

/** A text whose first letter is a capital, and no other one. */
export function capitalized(text: string): string {
  const [head = "", ...tail] = text;
  return head.toUpperCase() + tail.join("").toLowerCase();
}
