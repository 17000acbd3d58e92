/**
 * From a probability of speech for every frame to turns: where speech starts and stops. A start is a frame above the
 * threshold; a stop is silence for as long as asked, where silence begins below a lower threshold, so that what wavers
 * about the threshold is one turn (snakers4/silero-vad, utils_vad.py, VADIterator: 0.15 below).
 */

/** OpenAI's `server_vad`. */
export interface TurnSettings {
  /** Probability from which on there is speech. */
  readonly threshold: number;
  /** How much before the first frame with speech a turn begins. */
  readonly prefixPaddingMs: number;
  /** How long it has to be silent for a turn to be over. */
  readonly silenceDurationMs: number;
}

/** What OpenAI has for sessions that do not say. */
export const TURN_SETTINGS: TurnSettings = {
  threshold: 0.5,
  prefixPaddingMs: 300,
  silenceDurationMs: 500,
};

/** How far below the threshold silence begins. */
const HYSTERESIS = 0.15;

/** What happened, in milliseconds of all audio so far. */
export type Turn =
  | { readonly kind: "started"; readonly startMs: number }
  | { readonly kind: "stopped"; readonly endMs: number };

/** Turns of one stream. */
export class TurnDetector {
  #isSpeaking = false;
  #silentFromMs: number | undefined;

  constructor(public settings: TurnSettings) {}

  /** Whether a turn has started and not stopped. */
  get isSpeaking(): boolean {
    return this.#isSpeaking;
  }

  /** A frame of the stream, from `fromMs` to `toMs`. */
  frame(speech: number, fromMs: number, toMs: number): Turn | undefined {
    const { threshold, prefixPaddingMs, silenceDurationMs } = this.settings;
    if (speech >= threshold) {
      this.#silentFromMs = undefined;
      if (this.#isSpeaking) return undefined;
      this.#isSpeaking = true;
      return {
        kind: "started",
        startMs: Math.max(0, fromMs - prefixPaddingMs),
      };
    }
    if (!this.#isSpeaking) return undefined;
    if (speech < threshold - HYSTERESIS) this.#silentFromMs ??= fromMs;
    if (this.#silentFromMs === undefined) return undefined;
    if (toMs - this.#silentFromMs < silenceDurationMs) return undefined;
    this.reset();
    return { kind: "stopped", endMs: toMs };
  }

  /** Nobody is speaking. */
  reset(): void {
    this.#isSpeaking = false;
    this.#silentFromMs = undefined;
  }
}
