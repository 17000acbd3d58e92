/**
 * Sorts the first of a list that are nearly in order already, in place: insertion, which costs a comparison for each
 * and a move for each pair that is not in order.
 * @param count how many of them, at most; the others stay where they are
 */
export function settle<T>(
  list: T[],
  count: number,
  compare: (a: T, b: T) => number,
): void {
  for (let i = 1; i < list.length && i < count; i++) {
    const one = list[i];
    let at = i;
    for (; at > 0 && compare(list[at - 1], one) > 0; at--) {
      list[at] = list[at - 1];
    }
    list[at] = one;
  }
}
