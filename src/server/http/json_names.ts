/**
 * Names that make an object mean different things to different readers: one that it has twice (RFC 8259, section 4: what
 * such an object means is not predictable), so that what a proxy has looked at is not what is served; and `__proto__`.
 */
import { HttpError } from "./http_error.ts";

const [QUOTE, BACKSLASH, COMMA, COLON] = codes('"\\,:');
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = codes("[]{}");

/** Millions of empty objects fit into a body: a set for each would take seconds. */
const NO_NAMES = "none";

/**
 * Whether it is JSON is for its parser to say: this looks at what is where names are.
 * @throws HttpError 400 that says where, and repeats nothing
 */
export function checkNames(text: string): void {
  /** Names so far of every open object, of one that has none yet nothing; undefined for an array. */
  const open: (Set<string> | typeof NO_NAMES | undefined)[] = [];
  /** Of the innermost object, whose next string is a name. */
  let names: Set<string> | typeof NO_NAMES | undefined;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE: {
        const end = endOfString(text, at);
        if (names) {
          if (names === NO_NAMES) open[open.length - 1] = names = new Set();
          addName(names, text, at, end);
        }
        names = undefined;
        at = end;
        break;
      }
      case OPEN_LIST:
        open.push(undefined);
        names = undefined;
        break;
      case OPEN_OBJECT:
        names = NO_NAMES;
        open.push(names);
        break;
      case CLOSE_LIST:
      case CLOSE_OBJECT:
        open.pop();
        names = undefined;
        break;
      case COMMA:
        names = open[open.length - 1];
        break;
      case COLON:
        names = undefined;
    }
  }
}

/** @returns where its closing quote is; the text's length when there is none */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at;
    if (code === BACKSLASH) at++;
  }
  return text.length;
}

function addName(
  names: Set<string>,
  text: string,
  start: number,
  end: number,
): void {
  const name = unescaped(text, start, end);
  if (name === "__proto__" || (name !== undefined && names.has(name))) {
    const what = name === "__proto__"
      ? "a name that no object may have"
      : "a name that its object has already";
    throw new HttpError(400, `The body has ${what}, at character ${start}`);
  }
  if (name !== undefined) names.add(name);
}

/** @returns undefined for what is no string of JSON */
function unescaped(
  text: string,
  start: number,
  end: number,
): string | undefined {
  const raw = text.slice(start + 1, end);
  if (!raw.includes("\\")) return raw;
  try {
    return JSON.parse(text.slice(start, end + 1));
  } catch {
    return undefined;
  }
}

function codes(characters: string): number[] {
  return Array.from(characters, (character) => character.charCodeAt(0));
}
