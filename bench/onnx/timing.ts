/** Requests to one side, timed. */

/** Answers request i, however often it is asked. */
export type Ask = (i: number) => Promise<unknown>;

/**
 * Keeps requests in flight, one after the other in every lane, each lane at least once, until the time is over and the
 * last of them is answered.
 * @returns milliseconds per request
 */
export async function timePerRequest(
  ask: Ask,
  { lanes, leastMs }: { lanes: number; leastMs: number },
): Promise<number> {
  let asked = 0;
  const startMs = performance.now();
  const lane = async () => {
    do await ask(asked++); while (performance.now() - startMs < leastMs);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return (performance.now() - startMs) / asked;
}

/** Milliseconds that it takes, and what came out. */
export async function timed<T>(run: () => Promise<T>): Promise<[number, T]> {
  const startMs = performance.now();
  const value = await run();
  return [performance.now() - startMs, value];
}
