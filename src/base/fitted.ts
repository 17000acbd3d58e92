/** Elements that a list is made to fit: an array that grows makes room for 16. */
const FITTED_MAX = 4;

/**
 * A list with one element more; the one given is not to be used any more. For objects of which there are many
 * with lists of one or two elements: those without share one empty list.
 */
export function appended<T>(list: readonly T[], element: T): readonly T[] {
  // Literals fit; concat does, too, and is ten times slower.
  switch (list.length) {
    case 0:
      return [element];
    case 1:
      return [list[0], element];
  }
  if (list.length < FITTED_MAX) return list.concat(element);
  (list as T[]).push(element);
  return list;
}

/** The list, with an element that it need not have had; the one given is not to be used any more. */
export function including<T>(list: readonly T[], element: T): readonly T[] {
  return list.includes(element) ? list : appended(list, element);
}
