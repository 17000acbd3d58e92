/**
 * A template's text as pieces: what stands in it as it is, and words of its statements and expressions.
 * Source: Jinja's documentation, "Whitespace Control", with `trim_blocks` and `lstrip_blocks` as transformers sets them
 * for chat templates.
 */
import { templateError } from "./template_error.ts";
import { isSpace, stripped } from "./template_texts.ts";

/** A piece: text, the borders of `{% %}` and `{{ }}`, or a word of what is between. */
export interface TemplateToken {
  readonly kind:
    | "text"
    | "open"
    | "close"
    | "name"
    | "string"
    | "number"
    | "sign";
  readonly value: string;
  readonly line: number;
}

const OPENING = /\{(\{|%|#)([-+]?)/g;
const WORD =
  /\s*(?:([A-Za-z_]\w*)|(\d+(?:\.\d+)?)|('(?:[^'\\]|\\[\s\S])*'|"(?:[^"\\]|\\[\s\S])*")|(-?\}\}|[-+]?%\}|==|!=|<=|>=|\/\/|\*\*|[-+*\/%~<>=.,:|()[\]{}]))/y;

const ESCAPES: Readonly<Record<string, string>> = {
  ...{ n: "\n", t: "\t", r: "\r", a: "\x07", b: "\b", f: "\f", v: "\v" },
  ...{ "\\": "\\", "'": "'", '"': '"', "\n": "" },
};

const ESCAPE =
  /\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|([0-7]{1,3})|([\s\S]))/g;

/** A text as Python reads it between quotes: what is no escape stays as it is. */
function unescaped(written: string, line: number): string {
  return written.replace(
    ESCAPE,
    (
      all,
      x?: string,
      u?: string,
      long?: string,
      octal?: string,
      one?: string,
    ) => {
      if (one !== undefined) {
        if (!"xuU".includes(one) && one !== "N") return ESCAPES[one] ?? all;
        throw templateError(`${all} is no escape that is known`, line);
      }
      const code = octal === undefined
        ? parseInt(x ?? u ?? long!, 16)
        : parseInt(octal, 8);
      if (code <= 0x10ffff) return String.fromCodePoint(code);
      throw templateError(`${all} is no character`, line);
    },
  );
}

/** What a block takes of the spaces behind it. */
type Trims = "all" | "newline" | "nothing";

/** Of a block or comment, by the sign in front of its end. */
function trimsBehind(mark: string): Trims {
  if (mark === "") return "newline";
  return mark === "-" ? "all" : "nothing";
}

/** @throws TextFileError on a word that is none, or what is not closed */
export function templateTokens(source: string): TemplateToken[] {
  const tokens: TemplateToken[] = [];
  // A single newline at the end is no text.
  const text = source.replace(/\r\n?/g, "\n").replace(/\n$/, "");
  let at = 0;
  // Lines are asked for from the beginning to the end: each is counted once.
  let [line, counted] = [1, 0];
  const lineAt = (at: number) => {
    for (; counted < at; counted++) if (text[counted] === "\n") line++;
    return line;
  };
  /** What the block before does to the text behind it. */
  let trims: Trims = "nothing";
  const takeText = (end: number, strips: boolean, isBlock: boolean) => {
    let piece = text.slice(at, end);
    if (trims === "all") piece = stripped(piece, "lstrip");
    if (trims === "newline") piece = piece.replace(/^\n/, "");
    if (strips) piece = stripped(piece, "rstrip");
    else if (isBlock) {
      const begin = piece.lastIndexOf("\n") + 1;
      if (isSpace(piece.slice(begin))) piece = piece.slice(0, begin);
    }
    if (piece !== "") {
      tokens.push({ kind: "text", value: piece, line: lineAt(at) });
    }
  };
  for (;;) {
    OPENING.lastIndex = at;
    const opening = OPENING.exec(text);
    if (opening === null) break;
    const [all, kind, sign] = opening;
    // Spaces are in front of a block's line where nothing else of the line is.
    const isAlone = at === 0 || text.slice(at, opening.index).includes("\n");
    takeText(
      opening.index,
      sign === "-",
      kind !== "{" && sign !== "+" && isAlone,
    );
    at = opening.index + all.length;
    if (kind === "#") {
      const end = /([-+]?)#\}/g;
      end.lastIndex = at;
      const closing = end.exec(text);
      if (closing === null) {
        throw templateError("a comment has no end", lineAt(at));
      }
      at = end.lastIndex;
      trims = trimsBehind(closing[1]);
      continue;
    }
    tokens.push({ kind: "open", value: `{${kind}`, line: lineAt(at) });
    const close = kind === "{" ? "}}" : "%}";
    for (let depth = 0;;) {
      WORD.lastIndex = at;
      const word = WORD.exec(text);
      if (word === null) throw templateError("no word", lineAt(at));
      const line = lineAt(at);
      const [, name, number, string, given] = word;
      let sign = given;
      at = WORD.lastIndex;
      // Of "}}" behind a map, the first half closes the map.
      if (sign?.endsWith("}}") && depth > 0) {
        at -= sign.length - 1;
        sign = sign[0];
      }
      if (sign !== undefined && sign.endsWith(close)) {
        const mark = sign.slice(0, -2);
        trims = close === "}}" && mark === "" ? "nothing" : trimsBehind(mark);
        tokens.push({ kind: "close", value: close, line });
        break;
      }
      if (sign !== undefined) {
        if ("([{".includes(sign)) depth++;
        if (")]}".includes(sign)) depth--;
        tokens.push({ kind: "sign", value: sign, line });
      } else if (string !== undefined) {
        const value = unescaped(string.slice(1, -1), line);
        tokens.push({ kind: "string", value, line });
      } else if (number !== undefined) {
        tokens.push({ kind: "number", value: number, line });
      } else tokens.push({ kind: "name", value: name, line });
    }
  }
  takeText(text.length, false, false);
  return tokens;
}
