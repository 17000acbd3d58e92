/** Which end of a text is cut off. */
export type TruncationSide = "left" | "right";

/**
 * How many tokens of two texts stay, of `room`: those of the longer one are cut until both are of one length.
 * Source: Hugging Face tokenizers, `truncate_encodings`, strategy LongestFirst.
 */
export function longestFirst(
  first: number,
  second: number,
  room: number,
): readonly [number, number] {
  if (first + second <= room) return [first, second];
  const shorter = Math.min(first, second);
  let [short, long] = [
    shorter,
    shorter > room ? shorter : Math.max(shorter, room - shorter),
  ];
  if (short + long > room) {
    short = Math.floor(room / 2);
    long = short + room % 2;
  }
  return first > second ? [long, short] : [short, long];
}

/** So many tokens of a text. */
export function cutTo(
  ids: readonly number[],
  count: number,
  side: TruncationSide,
): readonly number[] {
  if (ids.length <= count) return ids;
  return side === "right" ? ids.slice(0, count) : ids.slice(ids.length - count);
}
