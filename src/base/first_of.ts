/** The first of a list that are such, at most so many; those behind are not looked at. */
export function firstOf<T>(
  list: readonly T[],
  most: number,
  isSuch: (item: T) => boolean,
): T[] {
  const found: T[] = [];
  for (let i = 0; i < list.length && found.length < most; i++) {
    if (isSuch(list[i])) found.push(list[i]);
  }
  return found;
}
