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
  const watcher: Watcher = { onAbort, place: -1, isOver: false };
  const known = watches.get(signal);
  if (known !== undefined) {
    known.add(watcher);
    return () => known.delete(watcher);
  }
  const watch = new SignalWatch(signal);
  watch.add(watcher);
  watch.listen();
  return () => watch.delete(watcher);
}

/** Who is to hear of a signal. */
interface Watcher {
  readonly onAbort: (reason: unknown) => void;
  /** Among all of the signal's. */
  place: number;
  /** It has heard, or left. */
  isOver: boolean;
}

/** Of signals that somebody watches. */
const watches = new WeakMap<AbortSignal, SignalWatch>();

/** One listener for all who watch a signal: from the eleventh on Node warns of a leak. */
class SignalWatch {
  readonly #signal: AbortSignal;
  #watchers: Watcher[] = [];
  readonly #heard = () => {
    const watchers = this.#watchers;
    this.#forget();
    for (const watcher of watchers) {
      if (watcher.isOver) continue;
      watcher.isOver = true;
      watcher.onAbort(reasonOf(this.#signal));
    }
  };

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** @throws what the signal throws; nobody watches it then */
  listen(): void {
    watches.set(this.#signal, this);
    try {
      this.#signal.addEventListener("abort", this.#heard, { once: true });
    } catch (error) {
      this.#forget();
      throw error;
    }
  }

  add(watcher: Watcher): void {
    watcher.place = this.#watchers.push(watcher) - 1;
  }

  delete(watcher: Watcher): void {
    if (watcher.isOver) return;
    watcher.isOver = true;
    // While others hear of it, there is no list any more.
    if (this.#watchers[watcher.place] !== watcher) return;
    const last = this.#watchers.pop()!;
    if (last !== watcher) {
      this.#watchers[watcher.place] = last;
      last.place = watcher.place;
    }
    if (this.#watchers.length > 0) return;
    this.#forget();
    try {
      this.#signal.removeEventListener("abort", this.#heard);
    } catch {
      // The listener does nothing any more.
    }
  }

  #forget(): void {
    this.#watchers = [];
    if (watches.get(this.#signal) === this) watches.delete(this.#signal);
  }
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
