/** Names that an object of JSON has twice: what it means then is not predictable (RFC 8259, section 4). */

const [QUOTE, BACKSLASH, COMMA, COLON] = codes('"\\,:');
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = codes("[]{}");

/** Millions of empty objects fit into a body: a set for each would take seconds. */
const NO_NAMES = "none";

/** A name, and where it stands. */
export interface FoundName {
  readonly name: string;
  /** The character that its opening quote is. */
  readonly at: number;
}

/**
 * Whether it is JSON is for its parser to say: this looks at what is where names are.
 * @param refused a name that no object may have
 * @returns the first name that its object has already, or that is refused
 */
export function repeatedName(
  text: string,
  refused?: string,
): FoundName | undefined {
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
          const name = unescaped(text, at, end);
          if (name !== undefined) {
            if (name === refused || names.has(name)) return { name, at };
            names.add(name);
          }
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
  return undefined;
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
