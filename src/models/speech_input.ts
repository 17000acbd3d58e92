/** What models of speech share: requests that bring frames, features of one instant each. */

/** What a request to `deepSpeech2` brings. */
export interface FramesInput {
  /** Finite numbers, [frames][numbers of a frame], in an array or a Float32Array. */
  readonly frames: ArrayLike<number>;
}

/** What a request to `las` brings. */
export interface SpeechInput extends FramesInput {
  /** Most decoder steps; default: as many as there are frames, up to the model's `stepsMax`. */
  readonly maxSteps?: number;
}
