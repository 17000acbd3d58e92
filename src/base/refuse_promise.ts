/**
 * What a user's function returned that has to be done when it returns: one that is async would be looked at too early,
 * and what it is rejected with would be nobody's.
 * @param name of the function
 * @param owner what it is a function of
 * @param ownerName that one's name, if it has one
 * @throws TypeError on a promise
 */
export function refusePromise(
  returned: unknown,
  name: string,
  owner: string,
  ownerName?: string,
): void {
  if (!(returned instanceof Promise)) return;
  // Whatever becomes of it is nobody's business any more.
  returned.catch(() => {});
  const named = ownerName === undefined ? owner : `${owner} "${ownerName}"`;
  throw new TypeError(
    `"${name}" of ${named} returned a promise; it has to be done when it returns`,
  );
}
