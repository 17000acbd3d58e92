/**
 * Where a text has tokens that were added to a vocabulary, and what lies between them.
 * Source: Hugging Face tokenizers, `AddedVocabulary::find_matches`.
 */

/** How a token is found in texts. */
export interface AddedToken {
  readonly content: string;
  /** Whether it is one where it is no part of a word alone. */
  readonly single_word: boolean;
  /** Whether it takes the spaces in front of it. */
  readonly lstrip: boolean;
  /** Whether it takes the spaces behind it. */
  readonly rstrip: boolean;
}

/** A part of a text. */
export interface Section {
  readonly text: string;
  /** Whether it is a token's, spaces left out. */
  readonly isToken: boolean;
  /** Where it begins. */
  readonly start: number;
}

/** What Rust means by `\w`, inside of brackets. */
export const WORD: string = String
  .raw`\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u200C\u200D`;

const WORD_IN_FRONT = new RegExp(`[${WORD}]$`, "u");
const WORD_BEHIND = new RegExp(`^[${WORD}]`, "u");
const SPACES_BEHIND = /^\p{White_Space}*/u;

/**
 * Its parts; none is empty.
 * @param pieces of the text, one behind the other, in which tokens stand alone
 * @param tokenOf the token of a piece, if it is one
 */
export function sectionsOf(
  text: string,
  pieces: readonly string[],
  tokenOf: (piece: string) => AddedToken | undefined,
): Section[] {
  const sections: Section[] = [];
  let told = 0;
  let end = 0;
  const tell = (from: number, to: number) => {
    if (from >= to) return;
    sections.push({
      text: text.slice(from, to),
      isToken: false,
      start: from,
    });
  };
  for (const piece of pieces) {
    let start = end;
    end += piece.length;
    const token = tokenOf(piece);
    if (!token) continue;
    const behind = text.slice(end, end + 2);
    const isPart =
      WORD_IN_FRONT.test(text.slice(Math.max(0, start - 2), start)) ||
      WORD_BEHIND.test(behind);
    if (token.single_word && isPart) continue;
    let stop = end;
    if (token.lstrip) start = Math.max(told, withoutSpaces(text, start));
    if (token.rstrip) stop += SPACES_BEHIND.exec(text.slice(end))![0].length;
    tell(told, start);
    sections.push({ text: piece, isToken: true, start });
    told = stop;
  }
  tell(told, text.length);
  return sections;
}

/** Where the spaces begin that stand in front of a place. */
function withoutSpaces(text: string, place: number): number {
  while (place > 0 && /\p{White_Space}/u.test(text[place - 1])) place--;
  return place;
}
