/** How requests leave and what is heard of them: the part of the load generator that a test can put itself into. */

/** A request as it goes over the wire. */
export interface WireRequest {
  readonly method: "GET" | "POST";
  /** Path with its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** What came of it. Times are of the generator's clock. */
export interface WireAnswer {
  /** HTTP status; 0 when there was none. */
  readonly status: number;
  /** Why there is no whole answer; undefined when there is. */
  readonly error?: string;
  /** The first byte of the answer's head; NaN without one. */
  readonly firstNs: number;
  readonly endNs: number;
  readonly bytes: number;
  /** When each event of a stream of server-sent events came, but for the one that ends it; empty otherwise. */
  readonly eventsNs: readonly number[];
  /** The text of the answer, where it was asked for. */
  readonly text?: string;
}

/** Connections to a server. */
export interface Wire {
  /**
   * Sends a request on a free connection, or a new one. Never rejects.
   * @param abandon destroys the connection when it fires
   */
  send(
    request: WireRequest,
    options?: { abandon?: AbortSignal; wantsText?: boolean },
  ): Promise<WireAnswer>;
  /** Closes all connections. */
  close(): void;
}

/** The generator's clock. */
export interface LoadClock {
  nowNs(): number;
  /** Resolves then or somewhat later, or as soon as `stop` fires. */
  until(atNs: number, stop?: AbortSignal): Promise<void>;
  /** Lets what has come in be heard. */
  turn(): Promise<void>;
  /** Calls back then or somewhat later. @returns what takes that back */
  at(atNs: number, then: () => void): () => void;
}
