/** What servers tell of requests about texts that a model runs, as Text Embeddings Inference counts them. */

/** What one text of a request cost. */
export interface TextCost {
  /** Tokens that the model has run, special ones included. */
  readonly tokens: number;
  /** Nanoseconds until it was tokens. */
  readonly tokenizationNs: number;
  /** From its arrival at the engine until something of it ran, in nanoseconds. */
  readonly queueNs: number;
  /** From then until it was done, in nanoseconds. */
  readonly inferenceNs: number;
}

/** How such a request ended. */
export type TextsEnded =
  | {
    /** Of every text. */
    readonly costs: readonly TextCost[];
    /** From when its body was read until its answer was made. */
    readonly totalNs: number;
  }
  | {
    /** Why it has no answer. */
    readonly error: unknown;
    /** Whether its texts were tokens already. */
    readonly isEncoded: boolean;
  };

/** Hears of each such request. */
export interface TextObserver {
  /**
   * One came, and its body could be read.
   * @param isBatch whether it brought a list of texts, of whatever length
   * @returns called once, when it has ended
   */
  began(isBatch: boolean): (ended: TextsEnded) => void;
}
