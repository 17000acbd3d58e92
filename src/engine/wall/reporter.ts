/** Tells the user's function, or the console, of what ends no request. */
export function reporter(
  onError: ((error: Error) => void) | undefined,
): (error: unknown, hook?: string) => void {
  const told = new Set<string>();
  return (error, hook) => {
    // There is nobody left to tell of what it throws itself, as Deno's console does when a disk is full.
    try {
      if (onError) {
        const returned: unknown = onError(error as Error);
        if (returned instanceof Promise) returned.catch(() => {});
      } else if (hook === undefined || !told.has(hook)) {
        if (hook !== undefined) told.add(hook);
        console.error(hook ? `Shoal: observer.${hook}:` : "Shoal:", error);
      }
    } catch {
      return;
    }
  };
}
