/**
 * Ends tests that would wait for ever. Nothing is timed: what ends at all ends long before.
 * @param describe what is waited for
 * @throws Error after `patienceMs`, with what `describe` says then
 */
export async function unlessItHangs<T>(
  describe: () => string,
  body: Promise<T>,
  patienceMs = 60_000,
): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const hangs = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const error = new HangError(
        `After ${patienceMs} ms still outstanding: ${describe()}`,
      );
      reject(error);
    }, patienceMs);
  });
  try {
    return await Promise.race([body, hangs]);
  } finally {
    clearTimeout(timer);
  }
}

/** Something does not end. */
export class HangError extends Error {
  override name = "HangError";
}
