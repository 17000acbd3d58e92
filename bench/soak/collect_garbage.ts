/** Has the collector run, where the runtime lets (`--v8-flags=--expose-gc`). */
export function collectGarbage(): void {
  (globalThis as { gc?: () => void }).gc?.();
}
