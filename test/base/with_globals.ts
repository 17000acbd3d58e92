/**
 * Runs something where some globals are others.
 * @param others by name, of globals that there are
 */
export async function withGlobals<T>(
  others: Readonly<Record<string, unknown>>,
  run: () => T | Promise<T>,
): Promise<T> {
  const own = Object.keys(others).map((name) =>
    [name, Object.getOwnPropertyDescriptor(globalThis, name)!] as const
  );
  for (const [name, value] of Object.entries(others)) {
    Object.defineProperty(globalThis, name, { value, configurable: true });
  }
  try {
    return await run();
  } finally {
    for (const [name, descriptor] of own) {
      Object.defineProperty(globalThis, name, descriptor);
    }
  }
}
