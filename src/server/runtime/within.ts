import { timerMs } from "../../engine/wall/patience.ts";

/** How long requests under way may take when a server ends, unless told. */
const GRACE_MS = 30_000;

/**
 * Waits for requests under way.
 * @param cut ends their connections, when they take too long
 */
export async function within(
  done: Promise<unknown>,
  graceMs = GRACE_MS,
  cut: () => unknown,
): Promise<void> {
  const timer = setTimeout(cut, timerMs(graceMs));
  try {
    await done;
  } finally {
    clearTimeout(timer);
  }
}
