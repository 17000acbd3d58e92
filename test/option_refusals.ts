/** Tables of options that a public function refuses, each with what it says. */
import assert from "node:assert/strict";

/** Options of which `with` replaces some; a value of undefined leaves one out. */
export interface Refusal {
  with: Readonly<Record<string, unknown>>;
  name: "TypeError" | "RangeError";
  /** The whole message, or what it has to match. */
  message: string | RegExp;
}

/**
 * @param good options that are taken
 * @param take gets options of any type
 */
export async function assertRefuses(
  good: object,
  take: (options: never) => unknown,
  refusals: readonly Refusal[],
): Promise<void> {
  await take({ ...good } as never);
  for (const { with: bad, name, message } of refusals) {
    const given = Object.entries({ ...good, ...bad }).filter(([, value]) =>
      value !== undefined
    );
    const options = Object.fromEntries(given) as never;
    await assert.rejects(
      async () => await take(options),
      { name, message },
      `${Object.keys(bad)} should be refused`,
    );
  }
}
