/**
 * Watches a caller's signal. It may be anything: what goes wrong with it here is an error of this call or
 * is ignored, and never reaches the engine.
 * @param onAbort called at most once, with the signal's reason
 * @returns ends the watch; does not throw
 * @throws TypeError when it is no AbortSignal
 * @throws the reason when it is aborted already
 */
export function watchSignal(
  signal: AbortSignal,
  onAbort: (reason: unknown) => void,
): () => void {
  if (!isSignal(signal)) {
    throw new TypeError(
      `"signal" is an AbortSignal, such as the "signal" of an AbortController`,
    );
  }
  if (signal.aborted) throw reasonOf(signal);
  let watching = true;
  const abort = () => {
    if (watching) onAbort(reasonOf(signal));
    watching = false;
  };
  signal.addEventListener("abort", abort, { once: true });
  return () => {
    watching = false;
    try {
      signal.removeEventListener("abort", abort);
    } catch {
      // The listener does nothing any more.
    }
  };
}

/** Signals of another realm or of a polyfill will do. */
function isSignal(signal: unknown): boolean {
  if (typeof signal !== "object" || signal === null) return false;
  const { aborted, addEventListener, removeEventListener } =
    signal as AbortSignal;
  return typeof aborted === "boolean" &&
    typeof addEventListener === "function" &&
    typeof removeEventListener === "function";
}

function reasonOf(signal: AbortSignal): unknown {
  try {
    return signal.reason ?? new DOMException("Aborted", "AbortError");
  } catch (error) {
    return error;
  }
}
