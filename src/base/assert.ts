/** Thrown when an invariant does not hold: a bug in Shoal, or in a policy of one's own, never the user's input. */
export class AssertionError extends Error {
  override name = "AssertionError";
}

/**
 * Checks an internal invariant; stays on in production.
 * Bad input is not an assertion: the boundary throws RangeError or TypeError for it.
 */
export function assert(
  condition: unknown,
  message = "invariant broken",
): asserts condition {
  if (!condition) throw new AssertionError(message);
}
