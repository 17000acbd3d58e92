/** Where a pattern cuts a text, and which side what it matched goes to. Source: Hugging Face tokenizers, `NormalizedString::split`. */

/** What becomes of what was matched, by the names of tokenizers' files. */
export const SPLIT_BEHAVIORS = [
  "Removed",
  "Isolated",
  "Contiguous",
  "MergedWithPrevious",
  "MergedWithNext",
] as const;

/** One of them. */
export type SplitBehavior = (typeof SPLIT_BEHAVIORS)[number];

interface Segment {
  readonly text: string;
  readonly isMatch: boolean;
}

/**
 * The pieces of a text; none is empty.
 * @param pattern with the flag "g"
 * @param invert whether what was not matched counts as what was, and the other way round
 */
export function splitText(
  text: string,
  pattern: RegExp,
  behavior: SplitBehavior,
  invert = false,
): string[] {
  const pieces: string[] = [];
  let before: Segment | undefined;
  for (const segment of segmentsOf(text, pattern, invert)) {
    if (behavior === "Removed") {
      if (!segment.isMatch) pieces.push(segment.text);
    } else if (before && areJoined(before, segment, behavior)) {
      pieces[pieces.length - 1] += segment.text;
    } else pieces.push(segment.text);
    before = segment;
  }
  return pieces.filter((piece) => piece !== "");
}

function areJoined(
  { isMatch: before }: Segment,
  { isMatch }: Segment,
  behavior: SplitBehavior,
): boolean {
  switch (behavior) {
    case "Contiguous":
      return before === isMatch;
    case "MergedWithPrevious":
      return !before && isMatch;
    case "MergedWithNext":
      return before && !isMatch;
    default:
      return false;
  }
}

function* segmentsOf(
  text: string,
  pattern: RegExp,
  invert: boolean,
): Generator<Segment> {
  let end = 0;
  for (const { 0: match, index } of text.matchAll(pattern)) {
    if (index > end) yield { text: text.slice(end, index), isMatch: invert };
    yield { text: match, isMatch: !invert };
    end = index + match.length;
  }
  if (end < text.length) yield { text: text.slice(end), isMatch: invert };
}
