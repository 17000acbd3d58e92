/**
 * The promise, or an error when it takes too long.
 * @param late makes the error
 */
export async function withinMs<T>(
  promise: Promise<T>,
  patienceMs: number,
  late: () => Error,
): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), timerMs(patienceMs));
  });
  try {
    return await Promise.race([promise, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}

/** Longest delay of a timer: engines take a longer one for none at all. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** A delay that a timer takes; where it is cut short, whoever set it has to look at the time and set another. */
export function timerMs(delayMs: number): number {
  return Math.min(Math.max(0, delayMs), TIMER_MS_MAX);
}
