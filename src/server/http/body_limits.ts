/** What bodies may take. */
export interface BodyLimits {
  /** Most bytes. */
  readonly bytesMax: number;
  /**
   * Most bytes of a body that brings texts: it is cut into tokens as a whole, in one turn of the event loop, however few
   * of them a model takes, and a token takes more memory than its text.
   */
  readonly textBytesMax: number;
  /** Most arrays and objects within each other. */
  readonly depthMax: number;
  /** Milliseconds from the first look at a body to its last byte; Infinity: any number. */
  readonly timeoutMs: number;
  /** Most bytes of the bodies of all requests that are under way. */
  readonly bytesTogetherMax: number;
}

/** 64 MiB and 100 levels, as Triton has them; 4 MiB of texts; eight of the largest at once; 30 s. */
export const BODY_LIMITS: BodyLimits = {
  bytesMax: 2 ** 26,
  textBytesMax: 2 ** 22,
  depthMax: 100,
  timeoutMs: 30_000,
  bytesTogetherMax: 2 ** 29,
};
