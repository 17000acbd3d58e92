/**
 * Puts an item behind those of a list that it does not come before. Looks from the end, where who came last belongs as
 * a rule.
 * @param compare as of Array.sort
 */
export function insertInOrder<T>(
  list: T[],
  item: T,
  compare: (a: T, b: T) => number,
): void {
  let at = list.length;
  while (at > 0 && compare(list[at - 1], item) > 0) at--;
  list.splice(at, 0, item);
}
