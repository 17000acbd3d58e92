/** Tells the user's function, or the console, of what ends no request. */
export function reporter(
  onError: ((error: Error) => void) | undefined,
): (error: unknown, hook?: string) => void {
  const told = new Set<string>();
  return (error, hook) => {
    if (onError) {
      // There is nobody left to tell of what it throws itself.
      try {
        const returned: unknown = onError(error as Error);
        if (returned instanceof Promise) returned.catch(() => {});
      } catch {
        return;
      }
    } else if (hook === undefined || !told.has(hook)) {
      if (hook !== undefined) told.add(hook);
      console.error(hook ? `Shoal: observer.${hook}:` : "Shoal:", error);
    }
  };
}
